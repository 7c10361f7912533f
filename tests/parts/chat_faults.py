"""A chat server that misbehaves as servers do, and what becomes of paid replies then: kept, repeated, lost.

A real HTTP server on this machine misbehaves for the first requests; `build generate` then runs twice. "kept" are the
replies in the log, "repeated" prompts that were answered (and paid) twice, "lost" answered prompts without a reply in
the log.
"""

from __future__ import annotations

import email.utils
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from equipoise.builder.draft.generation import Plan, Request, generate, requests_of
from equipoise.builder.draft.prompt_files import read_prompts
from equipoise.builder.draft.replies import ReplyLog
from equipoise.builder.steps import BuildFolder, Draft, read_records
from equipoise.builder.wordlist import occupations
from equipoise.records import ModelError
from equipoise.scoring.server.api import Api
from equipoise.scoring.server.http_client import Client, Limits

TEXT = "1. [The cook] met [the nurse] before [he] left town.\n2. [The cook] saw [the nurse], and [she] smiled."
OPTIONS = Limits(seconds=1.0, attempts=3, longest_pause=0.02, wait_budget=4.0)
PLAN = Plan(occupations(), samples=2, limit=2)


def requests(plan: Plan = PLAN) -> list[Request]:
    return requests_of(plan, read_prompts(None), "m")


def reply(content: Any = TEXT, **message: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": "stop"}
    return {"choices": [choice], "model": "served", "usage": {"prompt_tokens": 9}}


@dataclass
class Act:
    """What the server does to one request: a status and a body, or a fault on the wire."""

    status: int = 200
    body: Any = field(default_factory=reply)
    headers: dict[str, str] = field(default_factory=dict)
    wire: str = ""

    @property
    def answers(self) -> bool:
        """Whether this is a whole, usable reply, for which one would have to pay."""
        if self.wire or self.status != 200 or not isinstance(self.body, dict) or not self.body.get("choices"):
            return False
        choice = self.body["choices"][0]
        content = choice.get("message", {}).get("content")
        text = content if isinstance(content, str) else "".join(part["text"] for part in content or [])
        return bool(text.strip()) and choice["finish_reason"] != "content_filter"


class Misbehaving:
    """A chat server that plays the given acts to its first requests, then answers well."""

    def __init__(self, acts: list[Act]) -> None:
        self.acts = acts
        self.answered: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                prompt = body["messages"][0]["content"]
                with outer.lock:
                    act = outer.acts.pop(0) if outer.acts else Act()
                    outer.asked[prompt] += 1
                    outer.bodies.append(body)
                    outer.keys.add(self.headers["authorization"])
                try:
                    outer.play(self, act)
                    if act.answers:
                        with outer.lock:
                            outer.answered[prompt] += 1
                except OSError:
                    pass

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def play(self, handler: BaseHTTPRequestHandler, act: Act) -> None:
        if act.wire == "close":
            handler.close_connection = True
            handler.connection.close()
            return
        if act.wire == "hang":
            time.sleep(3)
            return
        content = act.body.encode() if isinstance(act.body, str) else json.dumps(act.body).encode()
        handler.send_response(act.status)
        for name, value in act.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(content) + (50 if act.wire == "cut" else 0)))
        handler.end_headers()
        if act.wire == "drip":
            for byte in content[:20]:
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                time.sleep(0.25)
            return
        handler.wfile.write(content)
        if act.wire == "cut":
            handler.close_connection = True


@contextmanager
def misbehaving(*acts: Act) -> Iterator[Misbehaving]:
    """Give a server that plays these acts."""
    server = Misbehaving(list(acts))
    thread = threading.Thread(target=server.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.server.shutdown()
        thread.join()
        server.server.server_close()


def busy(**headers: str) -> Act:
    return Act(429, {"error": {"message": "slow down"}}, headers)


def in_a_second() -> str:
    return email.utils.formatdate(time.time() + 1, usegmt=True)


FAULTS: dict[str, Callable[[], list[Act]]] = {
    "400 for a prompt": lambda: [Act(400, {"error": {"message": "bad prompt"}})],
    "422 for a prompt": lambda: [Act(422, {"error": "unprocessable"})],
    "content filter": lambda: [
        Act(body={"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]})
    ],
    "model refuses": lambda: [Act(body=reply(None, refusal="I cannot do that."))],
    "429, Retry-After 1": lambda: [busy(**{"retry-after": "1"})] * 2,
    "429, Retry-After as a date": lambda: [busy(**{"retry-after": in_a_second()})],
    "429 without a header, ten times": lambda: [busy()] * 10,
    "429, Retry-After over the budget": lambda: [Act()] * 4 + [busy(**{"retry-after": "99999"})] * 4,
    "429, no quota left": lambda: [Act()] * 4 + [Act(429, {"error": {"code": "insufficient_quota", "message": "pay"}})],
    "500, 502, 503": lambda: [Act(500, "oops"), Act(502, "<html>"), Act(503, "", {"retry-after": "0"})],
    "500 for ever": lambda: [Act()] * 4 + [Act(500, "oops")] * 12,
    "content as a list of parts": lambda: [
        Act(body=reply([{"type": "text", "text": TEXT[:20]}, {"type": "text", "text": TEXT[20:]}]))
    ],
    "empty reply": lambda: [Act(body=reply(""))],
    "null reply": lambda: [Act(body=reply(None))],
    "blank reply": lambda: [Act(body=reply(" \n "))],
    "one byte every quarter second": lambda: [Act(wire="drip")],
    "no answer at all": lambda: [Act(wire="hang")],
    "connection closed": lambda: [Act(wire="close")] * 2,
    "body cut off": lambda: [Act(wire="cut")],
    "not JSON": lambda: [Act(body="<html>Welcome</html>")],
    "JSON without choices": lambda: [Act(body={"object": "list", "data": []})],
    "200 with an error": lambda: [Act(body={"error": {"message": "overloaded"}})],
    "usage of the wrong type": lambda: [Act(body=reply() | {"usage": "many", "model": None})],
    "401 after four replies": lambda: [Act()] * 4 + [Act(401, {"error": {"message": "key revoked"}})] * 4,
    "redirect": lambda: [Act()] * 4 + [Act(301, "", {"location": "http://127.0.0.1:9/v1"})],
}


@dataclass(frozen=True)
class Result:
    """What was left: replies kept after the first run and after both, prompts paid twice, replies lost, drafts."""

    first: int
    kept: int
    refused: int
    repeated: int
    lost: int
    drafts_first: int
    error: str


def suffer(name: str, folder: Path) -> Result:
    """Return what is left after a run with this fault and a second run without it."""
    build, asked, error = BuildFolder(folder), requests(), ""
    with misbehaving(*FAULTS[name]()) as server:
        kept: list[int] = []
        drafts = 0
        for run in range(2):
            api = Api(Client(server.address, OPTIONS), "m")
            try:
                generate(build, asked, api, plan=PLAN, concurrency=2, now=lambda: "now")
            except ModelError as failure:
                error = str(failure)
            kept.append(len(ReplyLog(build.generations).replies))
            if run == 0:
                drafts = len(read_records(build.drafts, Draft, made_by="generate"))
                with server.lock:
                    server.acts.clear()
        log = ReplyLog(build.generations)
        stored = {row["request"]["prompt"] for row in log.replies.values()}
        repeated = sum(count - 1 for count in server.answered.values())
        lost = sum(prompt not in stored for prompt in server.answered)
    return Result(kept[0], kept[1], len(log.refusals), repeated, lost, drafts, error)
