"""Drafts from a language model: the requests of a plan, an estimate of their cost, and the replies.

Every reply is on disk before it counts, and becomes drafts however the run ends. Rerunning asks only for what is
missing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from filelock import FileLock, Timeout

from ...datasets.pronouns import FORMS, PronounSet
from ...files import sha256
from ...progress import Progress, silent
from ...records import ModelError
from ...scoring.server.api import Api
from ...scoring.server.http_client import OutOfBudget, Refused, Unanswered
from ..steps import BuildError, BuildFolder, Draft, Step, as_lines
from ..wordlist import HE, SHE, WordList
from .prompt_files import KINDS, fill
from .replies import ReplyLog, Row, sentences_of

TOKENS_A_SENTENCE = 30
CHARACTERS_A_TOKEN = 4.0
SECONDS_A_REPLY = 8.0
"""Seconds per reply in an estimate before any reply has come."""

REFUSALS_IN_A_ROW = 10
"""The run ends if the server refuses its first requests and answers none: the fault is not in one prompt."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to generate: word pairs, sentences per pair, direction and type, pronouns, identity markers, sampling."""

    words: WordList
    samples: int = 10
    samples_a_request: int = 15
    kinds: tuple[str, ...] = KINDS
    min_gap: float = 10.0
    limit: int | None = None
    seed: int = 0
    temperature: float = 1.0
    pronouns: tuple[PronounSet, ...] = (HE, SHE)
    markers: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        if self.samples < 1 or self.samples_a_request < 1:
            raise BuildError("the number of samples must be at least 1")
        if self.limit is not None and self.limit < 1:
            raise BuildError("the number of pairs must be at least 1")
        unknown = set(self.kinds) - set(KINDS)
        if unknown or not self.kinds:
            raise BuildError(f"sentences are of type1 or type2, not {', '.join(sorted(unknown)) or 'none'}")


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the model; `key` holds everything that could change the answer."""

    key: str
    type: str
    target: str
    other: str
    part: int
    count: int
    seed: int
    prompt: str
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a generation: requests to send, tokens in and out, time, and money if prices are known."""

    requests: int
    already: int
    tokens_in: int
    tokens_out: int
    seconds: float
    cost: float | None


@dataclass
class Outcome:
    """How a generation ended: the reasons of failures, refused prompts, and notes."""

    failures: list[str] = field(default_factory=list)
    refused: int = 0
    notes: list[str] = field(default_factory=list)


def requests_of(plan: Plan, prompts: dict[str, str], model: str) -> list[Request]:
    """Return the requests of the plan: all pairs (or `limit` of them, spread evenly), both directions, each type."""
    pairs = plan.words.pairs(plan.min_gap)
    if not pairs:
        raise BuildError(f"no two words of {plan.words.name} differ by more than {plan.min_gap:g} points")
    if plan.limit is not None:
        count = min(plan.limit, len(pairs))
        pairs = [pairs[i * len(pairs) // count] for i in range(count)]
    requests: list[Request] = []
    for male, female in pairs:
        for target, other in ((male, female), (female, male)):
            for kind in plan.kinds:
                for marker in plan.markers:
                    requests += _parts(plan, prompts[kind], (kind, target.name, other.name, marker), model)
    return requests


def _parts(plan: Plan, template: str, about: tuple[str, str, str, str], model: str) -> Iterator[Request]:
    kind, target, other, marker = about
    left, part = plan.samples, 0
    while left > 0:
        count = min(left, plan.samples_a_request)
        prompt = fill(template, f"{marker} {target}".strip(), other, count, plan.pronouns)
        identity = json.dumps([model, prompt, part, plan.seed, plan.temperature], ensure_ascii=False)
        key = sha256(identity)[:24]
        yield Request(key, kind, target, other, part, count, int(key[:7], 16), prompt, marker)
        left, part = left - count, part + 1


def estimate(
    requests: Sequence[Request],
    log: ReplyLog,
    *,
    concurrency: int,
    prices: tuple[float, float] | None,
    retry_refused: bool = False,
) -> Estimate:
    """Return the cost of the requests that are still to be sent; `prices` are per million tokens in and out."""
    missing = still_missing(requests, log, retry_refused=retry_refused)
    tokens_in = round(sum(len(request.prompt) for request in missing) / CHARACTERS_A_TOKEN)
    tokens_out = sum(request.count for request in missing) * TOKENS_A_SENTENCE
    measured = [float(row["reply"].get("seconds") or 0) for row in log.replies.values()]
    seconds = sum(measured) / len(measured) if measured else SECONDS_A_REPLY
    cost = (tokens_in * prices[0] + tokens_out * prices[1]) / 1e6 if prices else None
    done = len(requests) - len(missing)
    return Estimate(len(missing), done, tokens_in, tokens_out, seconds * len(missing) / concurrency, cost)


def still_missing(requests: Sequence[Request], log: ReplyLog, *, retry_refused: bool) -> list[Request]:
    """Return the requests that have neither a reply nor, unless they are asked again, a refusal."""
    passed_over = {} if retry_refused else log.refusals
    return [request for request in requests if request.key not in log.replies and request.key not in passed_over]


def generate(
    folder: BuildFolder,
    requests: Sequence[Request],
    api: Api,
    *,
    plan: Plan,
    concurrency: int = 4,
    now: Callable[[], str],
    progress: Progress = silent,
    retry_refused: bool = False,
) -> Outcome:
    """Fill the build folder with replies and drafts, and return how it ended.

    A prompt that the server refuses is recorded and passed over. A server that refuses everything (a wrong key, an
    unknown model) ends the run with a ModelError. Replies become drafts in every case.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    with _only_writer(folder):
        log = ReplyLog(folder.generations)
        outcome = Outcome(notes=[note] if (note := log.repair()) else [])
        run = _Generation(log, api, plan, now, lambda: progress("replies", run.done(requests), len(requests)))
        missing = still_missing(requests, log, retry_refused=retry_refused)
        try:
            asyncio.run(run.ask_all(missing, concurrency, outcome))
        finally:
            _write_drafts(folder, requests, log, api.model, plan, now())
            outcome.refused = sum(request.key in log.refusals for request in requests)
    outcome.failures = list(dict.fromkeys(outcome.failures))
    return outcome


@contextmanager
def _only_writer(folder: BuildFolder) -> Iterator[None]:
    """Hold the folder: two runs at once would pay for the same replies."""
    try:
        with FileLock(folder.path / ".generate.lock", timeout=0):
            yield
    except Timeout:
        raise BuildError(f"another `build generate` is running in {folder.path}") from None


class _Generation:
    """Asks for replies, several at a time, and logs each one."""

    def __init__(
        self, log: ReplyLog, api: Api, plan: Plan, now: Callable[[], str], progress: Callable[[], None]
    ) -> None:
        self._log, self._api, self._plan, self._now, self._progress = log, api, plan, now, progress
        self._answered = self._refused = 0

    def done(self, requests: Sequence[Request]) -> int:
        """Return how many of the requests have a reply."""
        return sum(request.key in self._log.replies for request in requests)

    async def ask_all(self, requests: Sequence[Request], concurrency: int, outcome: Outcome) -> None:
        """Ask for every reply; after a fatal error no request is started, but those under way are paid and finish."""
        self._progress()
        queue = iter(requests)
        fatal: list[ModelError] = []

        async def work() -> None:
            for request in queue:
                try:
                    await self._ask(request)
                except Unanswered as error:
                    outcome.failures.append(str(error))
                except OutOfBudget as error:
                    outcome.failures.append(str(error))
                    return
                except ModelError as error:
                    fatal.append(error)
                self._progress()
                if fatal:
                    return

        async with self._api.client:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(concurrency, len(requests))):
                        group.create_task(work())
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
        if fatal:
            raise fatal[0]

    async def _ask(self, request: Request) -> None:
        tokens = (request.count + 2) * TOKENS_A_SENTENCE * 2
        try:
            reply = await self._api.reply(
                request.prompt, seed=request.seed, temperature=self._plan.temperature, tokens=tokens
            )
        except Refused as refusal:
            self._log.append({"request": self._asked(request), "refusal": str(refusal), "when": self._now()})
            self._refused += 1
            if not self._answered and self._refused >= REFUSALS_IN_A_ROW:
                raise ModelError(f"the server refused the first {self._refused} requests: {refusal}") from None
            return
        replied = asdict(reply) | {"usage": dict(reply.usage)}
        self._log.append({"request": self._asked(request), "reply": replied, "when": self._now()})
        self._answered += 1

    def _asked(self, request: Request) -> dict[str, Any]:
        server = {"address": self._api.client.url, "model": self._api.model}
        return asdict(request) | server | {"temperature": self._plan.temperature}


def _write_drafts(
    folder: BuildFolder, requests: Sequence[Request], log: ReplyLog, model: str, plan: Plan, when: str
) -> None:
    drafts = drafts_of(log.replies[request.key] for request in requests if request.key in log.replies)
    settings: dict[str, Any] = {"model": model, "samples": plan.samples, "pairs of": plan.words.name}
    pronouns = ["/".join(map(chosen.in_form, FORMS)) for chosen in plan.pronouns]
    settings |= {"seed": plan.seed, "pronouns": ",".join(pronouns)}
    if any(plan.markers):
        settings["markers"] = ",".join(filter(None, plan.markers))
    refused = sum(request.key in log.refusals for request in requests)
    replied = sum(request.key in log.replies for request in requests)
    reasons = {"prompt refused": refused, "request failed": len(requests) - replied - refused}
    step = Step("generate", len(requests), len(drafts), reasons, settings, when)
    folder.commit(step, {folder.drafts.name: as_lines(drafts)})


def drafts_of(rows: Iterable[Row]) -> list[Draft]:
    """Return the sentences in the replies; brackets are removed from `text` and stay in `raw`."""
    drafts = []
    for row in rows:
        request, reply = row["request"], row["reply"]
        sentences = sentences_of(reply["text"], cut_off=reply.get("finish_reason") == "length")
        for number, raw in enumerate(sentences, start=1):
            text = " ".join(raw.replace("[", "").replace("]", "").split())
            id = f"{request['key'][:12]}-{number:02}"
            people = (request["type"], request["target"], request["other"])
            drafts.append(Draft(id, *people, text, raw, request["key"], request.get("marker", "")))
    return drafts
