"""Drafts from a language model: which pairs are asked for, with which prompt, and what came back.

Every reply is written down, with all that was asked, before the next one counts: a crash costs at most the replies
under way. Rerunning asks only for what is missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ...records import ModelError
from ..model_client import Reply, Server
from ..steps import BuildError, BuildFolder, Draft, Step, json_lines, write_records
from ..wordlist import WordList
from .replies import sentences_of

KINDS = ("type1", "type2")
SLOTS = ("{target}", "{other}", "{count}")
TOKENS_A_SENTENCE = 30
CHARACTERS_A_TOKEN = 4.0
SECONDS_A_REPLY = 8.0
"""What a reply is taken to last before any has come: for the estimate only."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be generated: the words, the samples for each pair, direction and type, and how the model is asked."""

    words: WordList
    samples: int = 10
    samples_a_request: int = 15
    kinds: tuple[str, ...] = KINDS
    min_gap: float = 10.0
    limit: int | None = None
    seed: int = 0
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.samples < 1 or self.samples_a_request < 1:
            raise BuildError("the number of samples must be at least 1")
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


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a generation will take: requests to make, tokens in and out, time, and money if prices are known."""

    requests: int
    already: int
    tokens_in: int
    tokens_out: int
    seconds: float
    cost: float | None


def read_prompts(folder: Path | None) -> dict[str, str]:
    """Return the prompt template of each type, from the folder (`type1.txt`, `type2.txt`) or the package's own."""
    prompts = {}
    for kind in KINDS:
        if folder is None:
            text = resources.files(__package__).joinpath("prompts", f"{kind}.txt").read_text(encoding="utf-8")
        else:
            path = folder / f"{kind}.txt"
            if not path.is_file():
                raise BuildError(f"{path} is not there: a folder of prompts holds type1.txt and type2.txt")
            text = path.read_text(encoding="utf-8")
        missing = [slot for slot in SLOTS if slot not in text]
        if missing:
            raise BuildError(
                f"{folder or 'prompts'}/{kind}.txt lacks {', '.join(missing)}, which say what to write about"
            )
        prompts[kind] = text
    return prompts


def requests_of(plan: Plan, prompts: dict[str, str], model: str) -> list[Request]:
    """Return every request of the plan: all pairs, both directions, each type; `limit` keeps so many pairs, spread."""
    pairs = plan.words.pairs(plan.min_gap)
    if not pairs:
        raise BuildError(f"no two words of {plan.words.name} differ by more than {plan.min_gap:g} points")
    if plan.limit is not None and plan.limit < len(pairs):
        pairs = [pairs[i * len(pairs) // plan.limit] for i in range(max(plan.limit, 1))]
    requests: list[Request] = []
    for male, female in pairs:
        for target, other in ((male, female), (female, male)):
            for kind in plan.kinds:
                requests += _parts(plan, prompts[kind], kind, target.name, other.name, model)
    return requests


def _parts(plan: Plan, template: str, kind: str, target: str, other: str, model: str) -> Iterable[Request]:
    left, part = plan.samples, 0
    while left > 0:
        count = min(left, plan.samples_a_request)
        # replace(), not format(): a user's prompt may have braces of its own.
        prompt = template
        for slot, word in zip(SLOTS, (f"the {target}", f"the {other}", str(count)), strict=True):
            prompt = prompt.replace(slot, word)
        said = json.dumps([model, prompt, part, plan.seed, plan.temperature], ensure_ascii=False)
        key = hashlib.sha256(said.encode()).hexdigest()[:24]
        yield Request(key, kind, target, other, part, count, int(key[:7], 16), prompt)
        left, part = left - count, part + 1


def estimate(
    requests: Sequence[Request],
    done: dict[str, dict[str, Any]],
    *,
    concurrency: int,
    prices: tuple[float, float] | None,
) -> Estimate:
    """Return what is still to be made; seconds by the replies there are, `prices` a million tokens in and out."""
    todo = [request for request in requests if request.key not in done]
    tokens_in = round(sum(len(request.prompt) for request in todo) / CHARACTERS_A_TOKEN)
    tokens_out = sum(request.count for request in todo) * TOKENS_A_SENTENCE
    measured = [row["reply"]["seconds"] for row in done.values()]
    each = sum(measured) / len(measured) if measured else SECONDS_A_REPLY
    cost = (tokens_in * prices[0] + tokens_out * prices[1]) / 1e6 if prices else None
    return Estimate(len(todo), len(requests) - len(todo), tokens_in, tokens_out, each * len(todo) / concurrency, cost)


def replies_there(folder: BuildFolder) -> dict[str, dict[str, Any]]:
    """Return the replies that earlier runs have paid for, by the request's key."""
    if not folder.generations.is_file():
        return {}
    return {row["request"]["key"]: row for _, row in json_lines(folder.generations)}


def generate(
    folder: BuildFolder,
    requests: Sequence[Request],
    server: Server,
    *,
    plan: Plan,
    concurrency: int = 4,
    now: Callable[[], str],
    progress: Progress = lambda what, done, total: None,
) -> list[str]:
    """Fill the build folder with replies and drafts; return why requests failed, each reason once.

    A server that refuses (a wrong key, an unknown model) ends it at once; what was paid for is kept.
    """
    done = replies_there(folder)
    todo = [request for request in requests if request.key not in done]
    folder.path.mkdir(parents=True, exist_ok=True)
    _mend(folder.generations)
    lock = threading.Lock()
    failures: list[str] = []

    def ask(request: Request) -> None:
        tokens = (request.count + 2) * TOKENS_A_SENTENCE * 2
        reply = server.chat(request.prompt, seed=request.seed, temperature=plan.temperature, max_tokens=tokens)
        row = _row(request, reply, server, plan, now())
        with lock:
            _append(folder.generations, row)
            done[request.key] = row

    progress("replies", len(requests) - len(todo), len(requests))
    with ThreadPoolExecutor(concurrency) as pool:
        waiting: set[Future[None]] = set()
        queue = iter(todo)
        try:
            while True:
                while len(waiting) < concurrency and (request := next(queue, None)) is not None:
                    waiting.add(pool.submit(ask, request))
                if not waiting:
                    break
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    _note_failure(future, failures)
                progress("replies", len(done), len(requests))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    drafts = drafts_of([done[request.key] for request in requests if request.key in done])
    write_records(folder.drafts, drafts)
    settings = {"model": server.model, "samples": plan.samples, "pairs of": plan.words.name, "seed": plan.seed}
    reasons = {"request failed": len(requests) - sum(request.key in done for request in requests)}
    folder.record(Step("generate", len(requests), len(drafts), reasons, settings, now()))
    return list(dict.fromkeys(failures))


def _note_failure(future: Future[None], failures: list[str]) -> None:
    error = future.exception()
    if error is None:
        return
    if not isinstance(error, ModelError):
        raise error
    # Refused for good: every other request would be refused as well.
    if "answered 4" in str(error):
        raise error
    failures.append(str(error))


def _row(request: Request, reply: Reply, server: Server, plan: Plan, when: str) -> dict[str, Any]:
    asked = {"address": server.address, "model": server.model, "temperature": plan.temperature}
    return {"request": asdict(request) | asked, "reply": asdict(reply) | {"usage": dict(reply.usage)}, "when": when}


def _append(path: Path, row: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as out:
        out.write(json.dumps(row, ensure_ascii=False) + "\n")
        out.flush()
        os.fsync(out.fileno())


def _mend(path: Path) -> None:
    """Cut off a last line that a crash left half-written, so that the next one does not go on with it."""
    if not path.is_file():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def drafts_of(rows: Iterable[dict[str, Any]]) -> list[Draft]:
    """Return the sentences in the replies; brackets go from `text` and stay in `raw`."""
    drafts = []
    for row in rows:
        request, reply = row["request"], row["reply"]
        found = sentences_of(reply["text"], cut_off=reply["finish_reason"] == "length")
        for number, raw in enumerate(found, start=1):
            text = " ".join(raw.replace("[", "").replace("]", "").split())
            id = f"{request['key'][:12]}-{number:02}"
            drafts.append(Draft(id, request["type"], request["target"], request["other"], text, raw, request["key"]))
    return drafts
