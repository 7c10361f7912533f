"""Simulated raters: they answer a survey end to end over HTTP, with given accuracy and speed.

For tests, and to estimate the answers and the money a survey will take. Their time is counted, not waited for, unless
a pause is asked for.
"""

from __future__ import annotations

import asyncio
import html
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from ..steps import BuildError, Sentence
from ..verdict.plan import reply_of
from ..verdict.questions import Questionnaire, published
from ..verdict.votes import Vote
from .entrance import KnownQuestion

_FORM = re.compile(r'<form method="post" action="(/test|/answer)" id="question">')
_FIELD = re.compile(r'<input type="hidden" name="(csrf|ticket)" value="([^"]*)">')
_SENTENCE = re.compile(r'<blockquote id="sentence"[^>]*>(.*?)</blockquote>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Profile:
    """How a rater answers: the share of right answers, and the median seconds per sentence (log-normal spread)."""

    accuracy: float = 0.95
    seconds: float = 15.0
    spread: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.accuracy <= 1:
            raise BuildError(f"accuracy must be a share from 0 to 1, not {self.accuracy:g}")
        if self.seconds <= 0:
            raise BuildError(f"seconds per sentence must be more than 0, not {self.seconds:g}")


@dataclass
class RaterLog:
    """What one rater did: acknowledged answers (by sentence), seconds of work, and waits for the next sentence."""

    acknowledged: list[str] = field(default_factory=list)
    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    reconnects: int = 0
    ended: str = ""


Truth = Mapping[str, Vote]
"""The right answer to each sentence, by its text."""


def truth_of(
    sentences: Sequence[Sentence], test: Sequence[KnownQuestion], *, incoherent: float = 0.0, seed: int = 0
) -> dict[str, Vote]:
    """Return the right answers for simulated raters: by the type each sentence was written as; some are incoherent."""
    rng = random.Random(seed)
    truth = {question.text: question.answer for question in test}
    for sentence in sentences:
        ambiguous = sentence.type == "type1"
        first, second = (
            "yes" if ambiguous or sentence.target == person else "no" for person in (sentence.first, sentence.second)
        )
        vote: Vote = ("yes", first, second)
        if rng.random() < incoherent:
            vote = ("no", "", "")
        truth |= {version.text: vote for version in sentence.versions()}
    return truth


def _browser(address: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=address, timeout=30.0, limits=httpx.Limits(max_connections=1))


@dataclass
class SimulatedRater:
    """One rater with a browser of their own; `entry` is the path of the invitation, or of the panel's door."""

    address: str
    entry: str
    profile: Profile
    truth: Truth
    rng: random.Random
    panel_id: str = ""
    pause_s: float = 0.0
    delay_s: float = 0.0
    until: float = float("inf")
    clock: Callable[[], float] = time.monotonic
    browser: Callable[[str], Any] = _browser
    questions: Questionnaire = field(default_factory=published)

    async def work(self) -> RaterLog:
        """Answer until nothing is left or time is up, and return the log; a lost server is waited for."""
        log = RaterLog()
        await asyncio.sleep(self.delay_s)
        async with self.browser(self.address) as client:
            page = await self._send(
                client, "POST", self.entry, log, {"agree": "yes"} | ({"id": self.panel_id} if self.panel_id else {})
            )
            while page is not None and self.clock() < self.until:
                form = _FORM.search(page)
                if form is None:
                    log.ended = _heading(page)
                    break
                page = await self._answer(client, form[1], page, log)
        return log

    async def _answer(self, client: Any, action: str, page: str, log: RaterLog) -> str | None:
        shown = _SENTENCE.search(page)
        if shown is None:
            raise BuildError("the survey shows a form without a sentence")
        text = html.unescape(shown[1])
        fields = dict(_FIELD.findall(page))
        log.seconds += self.rng.lognormvariate(0.0, self.profile.spread) * self.profile.seconds
        if self.pause_s:
            await asyncio.sleep(self.rng.uniform(0, 2 * self.pause_s))
        vote = self._vote(text)
        fields |= {name: reply for name, reply in zip(self.questions.names, vote, strict=True) if reply}
        answered = text if action == "/answer" else ""
        return await self._send(client, "POST", action, log, fields, answered)

    def _vote(self, text: str) -> Vote:
        right = self.truth.get(text)
        if right is None:
            raise BuildError(f"a simulated rater was asked an unknown sentence: {text!r}")
        return reply_of(right, self.questions, 1 - self.profile.accuracy, self.rng)

    async def _send(
        self, client: Any, method: str, path: str, log: RaterLog, data: Mapping[str, str], text: str = ""
    ) -> str | None:
        """Return the next page; a broken connection or a busy server is waited out, until time is up."""
        begun, is_answer = self.clock(), bool(text)
        while self.clock() < self.until:
            try:
                response = await client.request(method, path, data=data or None)
                if response.status_code == 303:
                    # Acknowledged: whatever happens to the next page, this answer must be stored.
                    if text and "notice=" not in response.headers["location"]:
                        log.acknowledged.append(text)
                    method, path, data, text = "GET", response.headers["location"], {}, ""
                    continue
                if response.status_code in (429, 503):
                    await asyncio.sleep(0.5)
                    continue
                if response.status_code >= 400:
                    log.ended = f"{response.status_code}: {_heading(response.text)}"
                    return None
                if is_answer:
                    log.waits.append(self.clock() - begun)
                return str(response.text)
            except (httpx.TransportError, OSError, EOFError):
                log.reconnects += 1
                # The answer may be stored or not; the page shows what is asked now.
                begun = self.clock()
                if path in ("/answer", "/test"):
                    method, path, data, text = "GET", "/work", {}, ""
                await asyncio.sleep(0.2)
        log.ended = "time was up"
        return None


def _heading(page: str) -> str:
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", page)
    return html.unescape(heading[1]) if heading else "a page without a heading"


async def _all(raters: Sequence[SimulatedRater]) -> list[RaterLog]:
    return list(await asyncio.gather(*(rater.work() for rater in raters)))


def run_raters(raters: Sequence[SimulatedRater]) -> list[RaterLog]:
    """Return the log of each rater; all work at the same time."""
    return asyncio.run(_all(raters))
