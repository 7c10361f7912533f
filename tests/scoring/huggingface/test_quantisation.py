"""Weights in fewer bits are near the model's, and have keys of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.options.table import EngineOptions
from equipoise.records import EquipoiseError, Prompt
from equipoise.scoring.engine import identity_key
from equipoise.scoring.opening import open_engine

PROMPTS = [
    Prompt(f"{who}-{pronoun}", "task", "", f"The {who} told the clerk that {pronoun}", (" was late", f" is the {who}"))
    for who in ("nurse", "driver", "cook", "judge")
    for pronoun in ("he", "she")
]


@pytest.fixture(scope="module")
def folder(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


def values(engine: Any) -> np.ndarray:
    (scores,) = engine.score([PROMPTS])
    return np.array([value for score in scores for tokens in score.token_logprobs for value in tokens])


def test_fewer_bits_are_near_the_model_and_have_keys_of_their_own(tmp_path: Path) -> None:
    folder, tokenizer = tmp_path / "model", make_tokenizer()
    make_model("LlamaConfig", len(tokenizer), scale=0.1, **{**LLAMA, "intermediate_size": 64}).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    plain, eight, four = (open_engine(str(folder), EngineOptions(quantize=kind)) for kind in (None, "int8", "int4"))
    exact = values(plain)
    near, far = (np.abs(values(engine) - exact).mean() for engine in (eight, four))
    assert 0 < near < 0.02 < far < 0.3
    assert len({identity_key(engine) for engine in (plain, eight, four)}) == 3
    assert eight.description["quantize"] == "int8"
    with pytest.raises(EquipoiseError, match="quantize must be int8 or int4, not 'int3'"):
        open_engine(str(folder), EngineOptions(quantize="int3"))
