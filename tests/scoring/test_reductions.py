"""Summaries of the whole vocabulary, made on the device, are those of the estimators with k = its size."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from exactness import plain_scores
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.measuring.items import Items
from equipoise.options import EngineOptions
from equipoise.records import EquipoiseError, Prompt
from equipoise.scoring.engine import identity_key
from equipoise.scoring.huggingface.model import vocabulary_sums
from equipoise.scoring.opening import open_engine
from equipoise.scoring.reductions import REDUCTIONS, first_token_mass, reductions
from equipoise.uncertainty import ESTIMATORS, entropy

PROMPTS = [
    Prompt(name, "task", "", f"The {name} told the driver that she", (" was", " refers to the driver", " was late"))
    for name in ("nurse", "clerk", "secretary of the board")
]
OVER_ALL = {name: one for name, one in ESTIMATORS.items() if one.reduction.startswith("vocab")}


@given(st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=60))
def test_two_sums_tell_what_the_estimators_tell_of_the_whole_distribution(logits: list[float]) -> None:
    sums = vocabulary_sums(torch.tensor([logits]))[0].tolist()
    found = reductions(*sums, vocabulary=len(logits), mass=0.5)
    probs = torch.tensor([logits], dtype=torch.float64).softmax(dim=-1).numpy()
    assert set(found) == set(REDUCTIONS)
    assert found["vocab_bits"] == pytest.approx(float(entropy(probs)[0]), abs=1e-4)
    for one in OVER_ALL.values():
        # An arccos is steep at 1: there a rounding in the seventh place is one in the third.
        assert found[one.reduction] == pytest.approx(float(one.certainty(probs)[0]), abs=2e-3)


def test_the_ends_of_the_scale() -> None:
    even = vocabulary_sums(torch.zeros(1, 1000))[0].tolist()
    found = reductions(*even, vocabulary=1000, mass=0.0)
    assert found["vocab_bits"] == pytest.approx(math.log2(1000), abs=1e-4)
    assert [found[one.reduction] for one in OVER_ALL.values()] == pytest.approx([0, 0, 0], abs=1e-3)
    # -inf: tokens that a model forbids.
    sure = vocabulary_sums(torch.tensor([[0.0] + [-math.inf] * 999]))[0].tolist()
    found = reductions(*sure, vocabulary=1000, mass=1.0)
    assert found["vocab_bits"] == 0
    assert [found[one.reduction] for one in OVER_ALL.values()] == pytest.approx([1, 1, 1])


def test_continuations_that_begin_alike_count_once() -> None:
    assert first_token_mass([(7, math.log(0.25)), (9, math.log(0.5)), (7, math.log(0.25))]) == pytest.approx(0.75)


def test_an_engine_gives_them_beside_the_scores(tiny_llama: Callable[..., Path]) -> None:
    folder = str(tiny_llama())
    engine: Any = open_engine(folder, EngineOptions(device="cpu", whole_vocabulary=True))
    (packed,) = engine.score([PROMPTS])
    single = plain_scores(engine, PROMPTS)
    plain: Any = open_engine(folder, EngineOptions(device="cpu"))
    assert identity_key(engine) != identity_key(plain)  # a score without them is not one with them
    (without,) = plain.score([PROMPTS])
    for prompt, score, other, bare in zip(PROMPTS, packed, single, without, strict=True):
        assert score.token_logprobs == bare.token_logprobs
        assert bare.reductions == {}
        assert score.reductions == pytest.approx(other.reductions, abs=1e-5)
        ids = torch.tensor([engine._encoder.questions([prompt])[0].sequences[0][:-1]])
        with torch.inference_mode():
            probs = engine._model(ids).logits[0, -1:].double().softmax(dim=-1)
        assert score.reductions["vocab_bits"] == pytest.approx(float(entropy(probs.numpy())[0]), abs=1e-4)
        for one in OVER_ALL.values():
            assert score.reductions[one.reduction] == pytest.approx(float(one.certainty(probs.numpy())[0]), abs=1e-4)
        # " was" and " was late" begin alike, and all that is said begins with one of two tokens.
        firsts = {question[0] for question in bare.token_logprobs}
        assert score.reductions["vocab_mass"] == pytest.approx(sum(map(math.exp, firsts)), abs=1e-6)


@pytest.mark.slow
def test_an_audit_measures_them_and_takes_ucerf_by_them(tiny_llama: Callable[..., Path], tmp_path: Path) -> None:
    folder = str(tiny_llama())
    run = equipoise.audit(folder, limit=12, resamples=5, estimators=["perplexity", "vocab-renyi"], out=tmp_path / "a")
    found = run.measurements.set_index(["metric", "group"])["value"]
    items = run.outcomes
    assert set(REDUCTIONS) <= set(items.columns)
    for name in ("vocab_bits", "vocab_mass"):
        assert found[name, "all"] == pytest.approx(items[name].mean())
    assert found["certainty_vocab_renyi", "type=type2"] == pytest.approx(
        items.loc[items["type"] == "type2", "vocab_renyi"].mean()
    )
    assert found["ucerf_vocab_renyi", "type=type2"] <= 1
    # Measured anew, without the model, by another of them.
    again = equipoise.remeasure(run.path, estimators=["vocab-entropy"])
    _, outcomes = next(again.answers())
    assert np.array_equal(
        Items(outcomes).columns(ESTIMATORS["vocab-entropy"])["certainty"], items["vocab_entropy"].to_numpy()
    )


def test_a_run_without_them_says_what_to_do(tmp_path: Path) -> None:
    run = equipoise.audit("planted", limit=8, resamples=5, out=tmp_path / "run")
    assert not set(REDUCTIONS) & set(run.outcomes.columns)
    assert not {"vocab_bits", "vocab_mass"} & set(run.measurements["metric"])
    with pytest.raises(EquipoiseError, match="audit the model with whole_vocabulary"):
        equipoise.remeasure(run.path, estimators=["vocab-entropy"])


def test_the_command_line_has_them(tiny_llama: Callable[..., Path], tmp_path: Path) -> None:
    arguments = ["audit", str(tiny_llama()), "--limit", "8", "--resamples", "5", "--whole-vocabulary", "--no-html"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert result.exit_code == 0
    shown = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--all", "--no-html"], catch_exceptions=False)
    assert "vocab_bits" in shown.output


def test_a_mass_that_rounding_puts_beyond_its_ends_is_cut() -> None:
    assert [reductions(1.0, 0.5, 10, mass)["vocab_mass"] for mass in (-1e-9, 0.25, 1 + 1e-9)] == [0.0, 0.25, 1.0]
