"""A real llama.cpp server with the default model: probed, and close to the same model in process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scoring_llama_cpp import LlamaCpp

from equipoise.records import Message, Prompt
from equipoise.scoring.engine import EngineOptions
from equipoise.scoring.opening import open_engine

PROMPTS = [
    Prompt(f"{who}-{pronoun}", "next-word", "", text.format(who, pronoun, pronoun), (" nurse", f" {who}"))
    for who in ("carpenter",)
    for pronoun in ("he", "she")
    for text in ('The {} thanked the nurse because {} was kind. The pronoun "{}" refers to the',)
]


@pytest.fixture(scope="module")
def url(default_model_folder: Path) -> Iterator[str]:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp, of the dev extra")
    server = LlamaCpp()
    yield f"http://127.0.0.1:{server.port}/v1"
    server.kill()


@pytest.mark.slow
def test_candidates_are_walked_and_close_to_the_same_model_in_process(url: str, default_engine: Any) -> None:
    engine: Any = open_engine("smollm2", EngineOptions(server=url))
    assert engine.description["capabilities"]["given text"].startswith("no: ")  # echo is ignored silently
    assert engine.description["scoring"] == "next-token log-probabilities, whole vocabulary"
    (served,), (local,) = list(engine.score([PROMPTS])), list(default_engine.score([PROMPTS]))
    for left, right in zip(served, local, strict=True):
        assert [len(tokens) for tokens in left.token_logprobs] == [len(tokens) for tokens in right.token_logprobs]
        np.testing.assert_allclose(left.logprobs, right.logprobs, atol=0.5)  # llama.cpp quantises activations
    (text,) = engine.generate([(Message("user", "What is the capital of France? Answer in one word."),)], 9)
    assert "Paris" in text
    turn = (Message("user", "What is the capital of France?"), Message("assistant", "The capital of France is"))
    ((score,),) = engine.score([[Prompt("chat", "next-word", "", turn, (" Paris", " banana"))]])
    assert score.logprobs[0] > score.logprobs[1] + 3
