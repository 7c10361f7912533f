"""Raters as they are: they click twice, have two tabs and old ones open, and go back. On bare sockets."""

from __future__ import annotations

import asyncio
import html
import urllib.parse
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from equipoise.builder.survey.rater_client import _FIELD, _SENTENCE, RaterLog, SimulatedRater


@dataclass
class Reply:
    """What a raw browser got."""

    status_code: int
    headers: dict[str, str]
    text: str


class RawBrowser:
    """A browser on a bare socket: a real client would take more of the processor than the server it measures."""

    def __init__(self, address: str, cookie: str = "") -> None:
        self._address = address
        self._host, _, port = address.removeprefix("http://").partition(":")
        self._port, self._cookie = int(port), cookie
        self.statuses: Counter[int] = Counter()
        self.slow_s = 0.0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams = None

    def second_tab(self) -> RawBrowser:
        """Return another connection with the same cookie."""
        tab = RawBrowser(self._address, self._cookie)
        tab.statuses = self.statuses
        return tab

    async def request(self, method: str, path: str, data: dict[str, str] | None = None) -> Reply:
        try:
            async with asyncio.timeout(30):
                return await self._request(method, path, urllib.parse.urlencode(data or {}))
        except TimeoutError:
            self._close()
            raise OSError("no answer") from None
        except (OSError, EOFError):
            self._close()
            raise

    async def _request(self, method: str, path: str, body: str) -> Reply:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        form = f"content-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}\r\n" if body else ""
        sent = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncookie: {self._cookie}\r\n{form}\r\n{body}".encode()
        if self.slow_s and body:
            # As a phone with a bad connection: the form comes in two halves.
            writer.write(sent[: len(sent) // 2])
            await asyncio.sleep(self.slow_s)
            sent = sent[len(sent) // 2 :]
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        text = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
        if "set-cookie" in headers:
            self._cookie = headers["set-cookie"].partition(";")[0]
        if headers.get("connection") == "close":
            self._close()
        status = int(head[0].split()[1])
        self.statuses[status] += 1
        return Reply(status, headers, text)


@dataclass
class CarelessRater(SimulatedRater):
    """A rater who clicks twice, has two tabs and old ones open, and goes back; `said` is what was acknowledged."""

    said: dict[str, str] = field(default_factory=dict)
    did: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    slow_s: float = 0.0
    careful: bool = False
    _old: list[dict[str, str]] = field(default_factory=list)

    async def _answer(self, client: Any, action: str, page: str, log: RaterLog) -> str | None:
        client.slow_s, client.statuses = self.slow_s, self.statuses
        if action != "/answer" or self.careful:
            return await super()._answer(client, action, page, log)
        fields = dict(_FIELD.findall(page))
        text = html.unescape(_SENTENCE.search(page)[1])
        vote = self._vote(text)
        form = fields | {name: reply for name, reply in zip(self.questions.names, vote, strict=True) if reply}
        await asyncio.sleep(self.rng.uniform(0, 2 * self.pause_s))
        chance = self.rng.random()
        if chance < 0.10:
            await self._at_once(client, "double posts", text, (form, form), log)
        elif chance < 0.20:
            await self._at_once(client, "two tabs", text, (form, self._other(form)), log)
        if chance < 0.20:
            return await self._send(client, "GET", "/work", log, {})
        if chance < 0.25 and self._old:
            await self._again("old tabs", client, self._old[self.rng.randrange(len(self._old))])
        elif chance < 0.30 and self._old:
            await self._again("back buttons", client, self._other(self._old[-1]))
        before = len(log.acknowledged)
        following = await self._send(client, "POST", "/answer", log, form, text)
        if len(log.acknowledged) > before:
            self._note(text, form)
        return following

    def _other(self, form: dict[str, str]) -> dict[str, str]:
        return (
            form | {"coherent": "no"}
            if form["coherent"] == "yes"
            else form | dict.fromkeys(self.questions.names, "yes")
        )

    def _note(self, text: str, form: dict[str, str]) -> None:
        self.said[text] = form["coherent"]
        self._old.append(form)

    async def _at_once(
        self, client: Any, what: str, text: str, forms: tuple[dict[str, str], ...], log: RaterLog
    ) -> None:
        """Send forms from two tabs at once; whatever was taken is the answer, and both must be told so kindly."""
        self.did[what] += 1
        tabs = [client, client.second_tab()]
        replies = await asyncio.gather(
            *(tab.request("POST", "/answer", data=form) for tab, form in zip(tabs, forms, strict=True)),
            return_exceptions=True,
        )
        taken = [
            form
            for form, reply in zip(forms, replies, strict=True)
            if isinstance(reply, Reply) and reply.status_code == 303 and "notice=" not in reply.headers["location"]
        ]
        if len({form["coherent"] for form in taken}) > 1:
            self.broken += 1  # two different answers cannot both be taken
        if taken:
            log.acknowledged.append(text)
            self._note(text, taken[0])
        await tabs[1].__aexit__()

    async def _again(self, what: str, client: Any, form: dict[str, str]) -> None:
        """Send an old form again; it must lead on, and change nothing."""
        self.did[what] += 1
        try:
            reply = await client.request("POST", "/answer", data=form)
            self.broken += reply.status_code not in (303, 503, 429)
        except (OSError, EOFError):
            pass
