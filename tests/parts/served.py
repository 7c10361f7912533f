"""Prompts for a served model, its scores, and what these must be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from server_loopback import BOS, Loopback, truth

from equipoise.options.table import EngineOptions
from equipoise.records import Prompt, Score
from equipoise.scoring.engine import identity_key
from equipoise.scoring.opening import open_engine

PROMPTS = [
    Prompt(f"e{n}", "next-word", "", f"The {who} said that {n}", (" nurse", " cook", "!"))
    for n, who in enumerate(["judge", "clerk", "baker", "Ärztin"] * 3)
]


CHOICES = [Prompt(f"e{n}", "mcq", "", f"Question {n}? Answer:", (" A", " B", " C")) for n in range(30)]


def opened(server: Loopback, **options: Any) -> Any:
    return open_engine("smollm2", EngineOptions(server=server.url, **options))


def scored(engine: Any, prompts: list[Prompt]) -> list[Score]:
    batches = engine.batches(prompts)
    scores = [score for part in engine.score([prompts[i] for i in batch] for batch in batches) for score in part]
    by_key = {score.prompt_key: score for score in scores}
    return [by_key[prompt.key(identity_key(engine))] for prompt in prompts]


def expected(prompt: Prompt, *, bos: bool = False, seed: int = 0) -> list[list[float]]:
    context = [BOS] * bos + list(str(prompt.context).encode())
    return [truth([*context, *c.encode()], seed)[len(context) - 1 :] for c in prompt.continuations]


def assert_true(scores: list[Score], prompts: list[Prompt], **settings: Any) -> None:
    for score, prompt in zip(scores, prompts, strict=True):
        for tokens, values in zip(score.token_logprobs, expected(prompt, **settings), strict=True):
            np.testing.assert_allclose(tokens, values, atol=1e-9)


def many() -> list[Prompt]:
    """Return more prompts than fit into the batches that are under way at once."""
    return [
        replace(prompt, example_id=f"{prompt.example_id}-{n}", context=f"{n} {prompt.context}")
        for n in range(40)
        for prompt in PROMPTS
    ]
