"""Dropout: the mean of thinned networks, whatever is in the batch, and the model is left as it was."""

from __future__ import annotations

import numpy as np
import pytest
from tiny import make_engine

from equipoise.options.table import EngineOptions
from equipoise.records import EquipoiseError, ModelError, Prompt, Score
from equipoise.scoring.engine import Engine
from equipoise.scoring.huggingface.dropout import DropoutEngine, _kept
from equipoise.scoring.opening import open_engine

TINY = [Prompt("e", "t", "", "The nurse told the driver that he", (" was", " nurse", " told"))]


def scored(engine: Engine, prompts: list[Prompt]) -> list[Score]:
    return next(iter(engine.score([prompts])))


def test_dropout_is_the_mean_of_thinned_networks_whatever_is_in_the_batch() -> None:
    engine = DropoutEngine(make_engine("LlamaConfig"), share=0.3, passes=4, seed=0)
    (alone,) = scored(engine, TINY)
    other = Prompt("f", "t", "", "The nurse told the driver that she was", (" nurse", " driver"))
    together = scored(engine, [other, *TINY])
    np.testing.assert_allclose(together[1].logprobs, alone.logprobs, atol=1e-5)
    plain = scored(make_engine("LlamaConfig"), TINY)[0]
    assert np.abs(np.subtract(plain.logprobs, alone.logprobs)).max() > 1e-3
    assert alone.reductions["ensemble_agreement"] < 1


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_channels_that_are_kept_make_up_for_those_that_are_silenced(share: float) -> None:
    masks = np.array([_kept(share, (seed, 1), 2000).numpy() for seed in range(20)])
    assert np.unique(masks).tolist() == pytest.approx([0, 1 / (1 - share)], rel=1e-6)
    assert masks.mean() == pytest.approx(1, abs=0.05), "what a layer adds stays the same on average"
    assert len(np.unique(masks, axis=0)) == 20 and not (_kept(share, (0, 2), 2000).numpy() == masks[0]).all()


def test_the_model_is_left_as_it_was_after_dropout() -> None:
    plain = make_engine("LlamaConfig")
    before = scored(plain, TINY)[0].logprobs
    scored(DropoutEngine(plain, share=0.5, passes=2, seed=1), TINY)
    assert scored(plain, TINY)[0].logprobs == before


def test_dropout_needs_a_model_that_is_loaded_here() -> None:
    with pytest.raises(ModelError, match="planted is not one"):
        open_engine("planted", EngineOptions(dropout=0.1))
    with pytest.raises(EquipoiseError, match="dropout must be at least 0 and below 1"):
        EngineOptions(dropout=1.0)
