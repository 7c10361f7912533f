"""Dropout: the mean of thinned networks, whatever is in the batch, and the model is left as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny import make_engine

from equipoise.options.table import EngineOptions
from equipoise.records import EquipoiseError, ModelError, Prompt, Score
from equipoise.scoring.engine import Engine
from equipoise.scoring.huggingface.dropout import KIND, DropoutEngine, _kept, _Mask
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


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_a_mask_is_put_on_what_a_layer_adds(named: bool, several: bool) -> None:
    before, added = torch.ones(1, 2, 50), torch.arange(100.0).reshape(1, 2, 50)
    mask = _Mask(0.4, (1, 2, 3))
    output = (before + added, "cache") if several else before + added
    given = ((), {"hidden_states": before}) if named else ((before, torch.zeros(1)), {})
    thinned = mask(None, *given, output)
    if several:
        assert thinned[1:] == ("cache",)
        thinned = thinned[0]
    expected = before + added * _kept(0.4, (1, 2, 3), 50)
    assert torch.allclose(thinned, expected) and not torch.allclose(thinned, before + added)
    assert torch.equal(_kept(0.4, (1, 2, 3), 50), _kept(0.4, (1, 2, 3), 50))
    for other in ((1, 2, 4), (2, 1, 3), (0, 2, 3)):
        assert not torch.equal(_kept(0.4, other, 50), _kept(0.4, (1, 2, 3), 50))


def test_what_an_engine_with_dropout_says_of_itself() -> None:
    plain = make_engine("LlamaConfig")
    engine = DropoutEngine(plain, share=0.25, passes=3, seed=7)
    assert engine.name == plain.name and plain.compiled == "never"
    dropout = {"share": 0.25, "passes": 3, "seed": 7, "kind": KIND}
    assert engine.identity == {**plain.identity, "dropout": dropout} and engine.description == plain.description
    assert engine.notes == [*plain.notes, "each answer is the mean of 3 passes with dropout 0.25 (seed 7)"]
    assert engine.shape == plain.shape and engine.batches(TINY) == plain.batches(TINY)
    engine.expect(5)
    assert plain._prompts == 5
    opened = open_engine((plain._model, plain._encoder._tokenizer), EngineOptions(dropout=0.5, passes=4, seed=2))
    assert opened.identity["dropout"] == {**dropout, "share": 0.5, "passes": 4, "seed": 2}
    plain._passes.model.model.layers = torch.nn.Sequential()
    with pytest.raises(ModelError, match=r"has no list of layers, so dropout cannot be put into it$"):
        DropoutEngine(plain, share=0.1, passes=1, seed=0)


def test_every_pass_and_layer_has_a_mask_of_its_own() -> None:
    seen: list[tuple[int, ...]] = []
    engine = DropoutEngine(make_engine("LlamaConfig"), share=0.3, passes=3, seed=5)
    for number in range(3):
        with engine._thinned(number):
            for layer in engine._layers:
                (hook,) = layer._forward_hooks.values()
                seen.append(hook._seeds)
        assert not any(layer._forward_hooks for layer in engine._layers)
    assert seen == [(5, number, place) for number in range(3) for place in range(len(engine._layers))]


def test_examples_and_prompts_are_told_to_the_model() -> None:
    engine = DropoutEngine(make_engine("LlamaConfig"), share=0.25, passes=3, seed=7)
    told: list[object] = []
    engine._engine.prepare = told.append  # type: ignore[method-assign]
    engine.prepare(["e", "f"])  # type: ignore[list-item]
    assert told == [["e", "f"]]


def test_a_mask_is_that_of_its_seeds_in_order() -> None:
    number = ((1 + 5) * 1_000_003 + 1 + 6) * 1_000_003 + 1 + 7
    drawn = torch.rand(50, generator=torch.Generator().manual_seed(number % 2**63))
    mask = _kept(0.4, (5, 6, 7), 50)
    assert mask.dtype == torch.float32 and mask.tolist() == pytest.approx(
        [(one >= 0.4) / 0.6 for one in drawn.tolist()]
    )
    large = _kept(0.4, (2**62, 3), 50)
    seed = ((2**62 + 1) % 2**63 * 1_000_003 + 4) % 2**63
    again = torch.rand(50, generator=torch.Generator().manual_seed(seed)) >= 0.4
    assert torch.equal(large > 0, again)


def test_a_mask_has_the_type_of_what_a_layer_gives() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        mask = _Mask(0.4, (1, 2))
        thinned = mask(None, (torch.ones(1, 2, 8, dtype=dtype),), {}, torch.zeros(1, 2, 8, dtype=dtype))
        assert thinned.dtype == dtype
    # A mask follows its layer to another device.
    assert mask(None, (torch.ones(1, 8, device="meta"),), {}, torch.zeros(1, 8, device="meta")).device.type == "meta"
