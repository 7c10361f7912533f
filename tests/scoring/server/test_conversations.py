"""Servers of every kind: all that they are asked, how they are described, and every score, as it was kept."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from kept_texts import assert_kept
from served import opened, scored

from equipoise.records import EquipoiseError, Message, Prompt, Sampling

TEXT = [
    Prompt("e1", "next-word", "", "The judge said that", (" nurse", " cook", "!", " cook book")),
    Prompt("e2", "next-word", "", "Die Ärztin", (" a", " b")),
]
CHAT = [
    Prompt("c1", "next-word", "", (Message("user", "Who?"), Message("assistant", "The")), (" nurse", " cook")),
    Prompt("c2", "next-word", "", (Message("system", "Be brief."), Message("user", "Who?")), ("nurse", "cook")),
]
LETTERS = [Prompt(f"m{n}", "mcq", "", f"Question {n}? Answer:", (" A", " B", " C")) for n in range(3)]
WRITTEN = ["The nurse", (Message("user", "Who is it?"),)]
KINDS: dict[str, tuple[Sequence[str], dict[str, Any], dict[str, Any], list[Prompt]]] = {
    "given text": ((), {}, {}, TEXT),
    "given text after a beginning": ((), {"bos": True}, {}, TEXT),
    "given text without a beginning": ((), {"bos": True}, {"bos": "never"}, TEXT),
    "a beginning that is missing": ((), {}, {"bos": "always"}, TEXT),
    "a plain echo": (("plain echo",), {}, {}, TEXT),
    "next tokens": (("echo ignored",), {}, {}, TEXT),
    "the best next tokens": (("echo ignored",), {"top": 20}, {}, TEXT),
    "five next tokens": (("nulls",), {"top": 5}, {}, TEXT),
    "values of another place": (("shifted",), {}, {}, TEXT),
    "own answers": (("own answers",), {}, {}, TEXT),
    "other tokens": (("other tokens",), {"bos": True}, {}, TEXT),
    "a template as text": ((), {"template": "text", "bos": True}, {}, CHAT),
    "a template as ids": ((), {"template": "ids", "bos": True}, {}, CHAT),
    "a template as ids of another text": (("odd text",), {"template": "ids"}, {}, CHAT),
    "letters of a chat": (("chat only", "no tokenize"), {}, {}, LETTERS),
    "few letters of a chat": (("chat only", "no tokenize", "few"), {}, {}, LETTERS),
    "a chat asked for words": (("chat only", "no tokenize"), {}, {}, TEXT),
    "samples of a chat": (("chat only", "no tokenize", "no logprobs"), {}, {"samples": 12}, LETTERS),
    "samples of a chat that thinks": (
        ("chat only", "no tokenize", "thinks"), {}, {"samples": 8, "reasoning_tokens": 9}, LETTERS,
    ),
    "a chat that thinks": (("chat only", "no tokenize", "thinks"), {}, {}, LETTERS),
    "samples of texts": ((), {}, {"samples": 6}, TEXT),
    "no log-probabilities": (("no logprobs",), {}, {}, TEXT),
    "sharpened": (("sharpened",), {}, {}, TEXT),
    "too much mass": (("too much mass",), {}, {}, TEXT),
    "two models": (("two models",), {}, {}, TEXT),
    "no list of models": (("no list",), {}, {}, TEXT),
}  # fmt: skip


def summed(bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how often each field of a request had which value; long values by their hash, whatever their order."""
    counts: dict[str, Counter[str]] = {}
    for body in bodies:
        for name, value in body.items():
            text = json.dumps(value, sort_keys=True)
            short = text if len(text) < 30 else f"sha {hashlib.sha256(text.encode()).hexdigest()[:8]}"
            counts.setdefault(name, Counter())[short] += 1
    return {name: sorted(f"{value} x{times}" for value, times in seen.items()) for name, seen in sorted(counts.items())}


@pytest.mark.parametrize("name", KINDS)
def test_what_a_server_is_asked_and_what_comes_of_it_is_as_it_was_kept(
    name: str, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.scoring.server.api.nearly_one", lambda: 0.9999)
    faults, settings, options, prompts = KINDS[name]
    server = serve(*faults, **settings)
    made: Any
    try:
        engine = opened(server, concurrency=1, chat_time="2026-01-02T03:04:05", **options)
        made = [engine.name, engine.identity, engine.tasks, engine.texts_at_once, engine.batches(prompts)]
        tested = summed(server.bodies)
        server.bodies.clear()
        try:
            made += [[(score.logprobs, score.flags, score.limits, score.stops) for score in scored(engine, prompts)]]
        except EquipoiseError as error:
            made += [str(error)]
        asked = summed(server.bodies)
        server.bodies.clear()
        try:
            made += [engine.generate(WRITTEN, 5), engine.generate(WRITTEN[1:], 6, Sampling(0.5, 3))]
        except EquipoiseError as error:
            made += [str(error)]
        made += [engine.description, engine.notes, tested, asked, summed(server.bodies)]
        engine.close()
    except EquipoiseError as error:
        made = [str(error)]
    made.append(dict(sorted(server.paths.items())))
    assert_kept(f"scoring/{name.replace(' ', '-')}", *made, hide=[server.url, server.url.removesuffix("/v1")])
