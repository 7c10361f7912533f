"""Every score of a server with a fault is right or refused: whatever the fault, whenever it begins, however we ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from server_faults import CHATS, FAULTS, OF_WAY, SECRET, TOKENS, WAYS, WHENS, Faulty
from server_loopback import Loopback

from equipoise.options.table import EngineOptions
from equipoise.records import EquipoiseError, Message, Prompt, Score
from equipoise.scoring.engine import identity_key
from equipoise.scoring.opening import open_engine
from equipoise.scoring.score_store import ScoreStore
from equipoise.scoring.server.methods import LEFT_OUT

COUNT = 70
MODEL = "another model"

ANOTHER = "another request's answer"
PLAUSIBLE = (MODEL, f"{MODEL} behind a cache", *CHATS, "context cut", "after temperature")
CANNOT_BE_TOLD = {(way, fault, "once in a hundred") for way in ("chat", "samples") for fault in PLAUSIBLE}
"""A single answer that is as good as any other: only asking every question twice could tell (docs/engines.md)."""

QUICK = {
    ("echo", "another model", "after the probe"),
    ("plain echo", "two rows exchanged", "after the probe"),
    ("next tokens", "the answer's beginning dropped", "from the start"),
    ("chat", "after temperature", "from the start"),
    ("chat", "the answer to much the same prompt", "from the start"),
    ("chat", ANOTHER, "after the probe"),
    ("chat", "tokens by their names", "from the start"),
    ("samples", f"{MODEL} behind a cache", "after the probe"),
    ("samples", "some texts filtered", "once in a hundred"),
}


def prompts_of(way: str, fault: str = "") -> list[Prompt]:
    """Return the prompts of an audit: texts, or conversations where the fault is one of the chat template."""
    if way in ("chat", "samples"):
        return [Prompt(f"e{n}", "mcq", "", f"Question {n} of many? Answer:", (" A", " B", " C")) for n in range(COUNT)]
    words = (" n", " ck")
    texts = [Prompt(f"e{n}", "next-word", "", f"The judge, {n} years old, said that the", words) for n in range(COUNT)]
    if fault not in TOKENS:
        return texts
    return [replace(prompt, context=_turns(str(prompt.context))) for prompt in texts]


def _turns(text: str) -> tuple[Message, ...]:
    return Message("user", text), Message("assistant", "It is the")


@dataclass
class Ended:
    """What is left of an audit: scores by example, what was said, how many requests, how long."""

    scores: dict[str, Score]
    said: str
    requests: int
    seconds: float
    stored: str


def audit(server: Loopback, way: str, prompts: list[Prompt], folder: Path, begin: Callable[[], None]) -> Ended:
    """Ask the prompts; an error that is not a sentence of ours is raised."""
    path, said, start, keys = folder / "scores.jsonl", "", time.monotonic(), {}
    try:
        options = EngineOptions(server=server.url, samples=WAYS[way].get("samples", 0), concurrency=4)
        engine: Any = open_engine("toy", options)
        begin()
        keys = {prompt.key(identity_key(engine)): prompt.example_id for prompt in prompts}
        with ScoreStore(path) as store:
            store.scorer(engine)(prompts)
        said = repr([engine.notes, engine.description, engine.identity])
    except EquipoiseError as error:
        said += str(error)
    scores = {}
    with ScoreStore(path) as store:
        scores = {keys[key]: replace(score, prompt_key="") for key, score in store._scores.items()}
    stored = path.read_text()
    return Ended(scores, said, sum(server.paths.values()), time.monotonic() - start, stored)


@cache
def good(way: str, is_chat: bool, template: str) -> Ended:
    """Return what a server without fault gives."""
    import tempfile

    server = Loopback(*WAYS[way]["faults"], template=template)
    with tempfile.TemporaryDirectory() as name:
        fault = next(iter(TOKENS)) if is_chat else ""
        ended = audit(server, way, prompts_of(way, fault), Path(name), lambda: None)
    server.close()
    assert len(ended.scores) == COUNT, ended.said
    return ended


@pytest.fixture(autouse=True)
def _key(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_API_KEY", SECRET)


def cases() -> list[Any]:
    return list(_cases())


def _cases() -> Iterator[Any]:
    for way, faults in OF_WAY.items():
        for fault in faults:
            for when in WHENS:
                if when == "from the start" and fault.startswith(MODEL):
                    continue  # then it is simply the model that is served
                if when == "once in a hundred" and fault == ANOTHER:
                    continue  # that one may be alone
                marks = [] if (way, fault, when) in QUICK else [pytest.mark.slow]
                yield pytest.param(way, fault, when, marks=marks, id=f"{way}-{fault}-{when}")


def test_there_are_at_least_sixty_modes_for_every_way_of_asking() -> None:
    assert all(3 * len(faults) >= 60 for faults in OF_WAY.values()) and set(WAYS) == set(OF_WAY)
    assert all(fault in FAULTS for faults in OF_WAY.values() for fault in faults)


@pytest.mark.parametrize(("way", "fault", "when"), cases())
def test_every_score_is_right_or_refused(way: str, fault: str, when: str, tmp_path: Path) -> None:
    is_chat = fault in TOKENS
    template = ("text" if len(fault) % 2 else "ids") if is_chat else ""
    right = good(way, is_chat, template)
    server = Faulty(way, fault, when, template=template)
    ended = audit(server, way, prompts_of(way, fault), tmp_path, server.begin)
    server.close()
    assert server.wrong, "the fault was never met"
    wrong = [name for name, score in ended.scores.items() if not is_right(score, right.scores[name])]
    if (way, fault, when) in CANNOT_BE_TOLD:
        assert len(wrong) <= server.wrong
    else:
        assert not wrong, f"{len(wrong)} of {len(ended.scores)} scores are wrong: {wrong[:5]}; {ended.said}"
    assert ended.requests <= 3 * right.requests + 100 and ended.seconds < 60, "bounded by count and time"
    assert SECRET not in ended.said + ended.stored
    if len(ended.scores) < COUNT:
        assert ended.said and "\n" not in ended.said, "one sentence says why"


def is_right(score: Score, good: Score) -> bool:
    """Return whether a score is that of the good run; of samples some may be left out, which a flag says."""
    if LEFT_OUT in score.flags:
        assert score.limits is not None and good.limits is not None
        counts, whole = score.limits.counts, good.limits.counts
        return sum(counts) < sum(whole) and all(a <= b for a, b in zip(counts, whole, strict=True))
    if score.flags != good.flags or score.limits != good.limits:
        return False
    pairs = zip(score.token_logprobs, good.token_logprobs, strict=True)
    return all(len(a) == len(b) and np.allclose(a, b, atol=1e-9, rtol=0) for a, b in pairs)
