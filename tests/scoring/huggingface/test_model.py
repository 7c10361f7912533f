"""Facts of a model: an encoder is known by its architecture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from saved_models import BERT, refusal, save
from tiny import LLAMA, make_model

from equipoise.scoring.huggingface import model as module
from equipoise.scoring.huggingface.model import (
    ancestor_mask,
    block_mask,
    config_sha256,
    describe_gpus,
    evaluating,
    gpus,
    is_encoder,
    is_on_one_gpu,
    linear_layers,
    parameters_sha256,
    shape_for,
    vocabulary_sums,
    window,
)


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "Electra"])
def test_an_encoder_is_refused_by_its_architecture(tmp_path: Path, kind: str) -> None:
    folder = save(f"{kind}ForMaskedLM", tmp_path / "masked", **BERT)
    refused = f"masked is not a causal language model: {kind.lower()} is an encoder, which predicts masked words"
    assert refusal(folder) == refused


def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path) -> None:
    t5 = save("T5ForConditionalGeneration", tmp_path / "t5", d_model=32, num_layers=1, num_heads=2, d_ff=32, d_kv=16)
    assert refusal(t5) == f"{t5} is not a causal language model: t5 is an encoder with a decoder"


def seen(ends: list[int]) -> np.ndarray:
    """Return which node sees which: its ancestors and itself."""
    nodes = range(len(ends))
    return np.array([[other <= node < ends[other] for other in nodes] for node in nodes])


ENDS = [[6, 3, 3, 6, 5, 6], [1, 2, 3, 4, 5, 6], [6, 6, 6, 6, 6, 6]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_node_sees_its_ancestors_and_itself(dtype: torch.dtype) -> None:
    mask = ancestor_mask(torch.tensor(ENDS), dtype)
    assert mask.shape == (3, 1, 6, 6) and mask.dtype == dtype
    for row, ends in enumerate(ENDS):
        assert np.array_equal((mask[row, 0] == 0).numpy(), seen(ends))
    assert set(mask.unique().tolist()) == {0.0, float(torch.finfo(dtype).min)}


def test_a_block_mask_has_every_block_in_which_a_node_sees_another() -> None:
    rng = np.random.default_rng(3)
    width, block = 512, module.BLOCK
    ends = np.minimum(np.arange(width) + rng.integers(1, 300, width), width)
    mask = block_mask(torch.tensor(ends)[None])
    sees = seen(ends.tolist())
    blocks = sees.reshape(width // block, block, width // block, block).any(axis=(1, 3))
    for query in range(width // block):
        count = int(mask.kv_num_blocks[0, 0, query])
        assert sorted(mask.kv_indices[0, 0, query, :count].tolist()) == np.flatnonzero(blocks[query]).tolist()
    places = torch.arange(width)
    at = mask.mask_mod(torch.tensor(0), torch.tensor(0), places[:, None], places[None, :])
    assert np.array_equal(at.numpy(), sees)
    assert (block, block) == mask.BLOCK_SIZE and mask.seq_lengths == (width, width)


def test_sums_over_the_vocabulary_are_those_of_the_formulas() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [2.0, 1.0, -1.0, 0.5]])
    shares = torch.softmax(logits.double(), dim=1)
    entropy, overlap = -(shares * shares.log()).sum(dim=1), shares.sqrt().sum(dim=1) / 2
    assert torch.allclose(vocabulary_sums(logits).double(), torch.stack([entropy, overlap], dim=1), atol=1e-6)


def test_the_shape_follows_from_the_model_s_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(module, "choose_shape", lambda device, **facts: asked.append((device, facts)))
    monkeypatch.setattr(module, "free_memory", lambda: 77)
    model = make_model("LlamaConfig", 300, **LLAMA)
    shape_for(model, torch.device("cpu"))
    shape_for(model.bfloat16(), torch.device("cpu"))
    facts = {"free": 77, "hidden": 32, "inner": 48, "vocabulary": 300, "itemsize": 4}
    assert asked == [("cpu", facts), ("cpu", {**facts, "itemsize": 2})]
    for inner, expected in ((None, 128), (0, 128), ([48, 64], 64)):
        text = SimpleNamespace(hidden_size=32, intermediate_size=inner)
        monkeypatch.setattr(type(model.config), "get_text_config", lambda self, text=text: text)
        shape_for(model, torch.device("cpu"))
        assert asked[-1][1]["inner"] == expected


@pytest.mark.parametrize(
    ("home", "devices", "alone"),
    [
        ("transformers.models.llama.modeling_llama", ["cuda:0", "cuda:0"], True),
        ("transformers.models.llama.modeling_llama", ["cuda:0", "cuda:1"], False),
        ("transformers.models.llama.modeling_llama", ["cuda:0", "cpu"], False),
        ("transformers.models.llama.modeling_llama", ["cpu"], False),
        ("peft.peft_model", ["cuda:0"], False),
    ],
)
def test_which_models_are_on_one_gpu(home: str, devices: list[str], alone: bool) -> None:
    weights = [SimpleNamespace(device=torch.device(name)) for name in devices]
    model = type("Model", (), {"__module__": home, "parameters": lambda self: iter(weights)})()
    assert is_on_one_gpu(model) is alone


def test_linear_layers_are_those_but_the_head() -> None:
    model = make_model("LlamaConfig", 300, **LLAMA)
    layers = linear_layers(model)
    assert len(layers) == 2 * 7 and all(getattr(parent, name) is layer for parent, name, layer in layers)
    assert model.get_output_embeddings() not in [layer for _, _, layer in layers]


@pytest.mark.parametrize("training", [True, False])
def test_a_model_is_evaluated_and_left_as_it_was(training: bool) -> None:
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(2, 2)).train(training)
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert model.training is training and model[0].training is training
    model.eval()
    model[0].train()
    with pytest.raises(ValueError, match="odd"):
        _fail(model)
    assert not model.training


def _fail(model: Any) -> None:
    with evaluating(model):
        assert not model[0].training
        raise ValueError("odd")


def test_a_hash_of_weights_changes_with_every_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(**tensors: Any) -> str:
        return parameters_sha256(SimpleNamespace(state_dict=lambda: tensors))

    first = torch.arange(6.0)
    plain = of(a=first, b=torch.ones(2))
    assert plain == of(b=torch.ones(2), a=first.clone()) == of(a=first, b=torch.ones(2), c="no tensor")
    others = [
        of(a=first, b=torch.ones(2) * 1.5),
        of(a=first.flip(0), b=torch.ones(2)),
        of(a=first.reshape(2, 3), b=torch.ones(2)),
        of(a=first.half(), b=torch.ones(2)),
        of(c=first, b=torch.ones(2)),
        of(a=first),
    ]
    assert len({plain, *others}) == 7
    monkeypatch.setattr(module, "CHECKSUM_BYTES", 5)
    assert of(a=first, b=torch.ones(2)) == plain, "summed in parts or at once"


@pytest.mark.parametrize(
    ("facts", "size"),
    [
        ({}, None),
        ({"sliding_window": 8}, 8),
        ({"sliding_window": 8, "attention_chunk_size": 4}, 4),
        ({"sliding_window": 0}, None),
        ({"sliding_window": None, "window_size": 1}, 1),
        ({"sliding_window": 8, "layer_types": ["full_attention", "full_attention"]}, None),
        ({"sliding_window": 8, "layer_types": ["full_attention", "sliding_attention"]}, 8),
        ({"local_attention": 9, "layer_types": []}, 9),
        ({"attention_window_size": "x"}, None),
    ],
)
def test_how_far_back_a_model_looks(facts: dict[str, Any], size: int | None) -> None:
    config = SimpleNamespace(get_text_config=lambda: SimpleNamespace(**facts))
    assert window(config) == size


def test_which_models_are_encoders() -> None:
    assert is_encoder(SimpleNamespace(model_type="bert"))
    assert not is_encoder(SimpleNamespace(model_type="llama"))
    for name in ("is_decoder", "causal", "is_encoder_decoder"):
        assert not is_encoder(SimpleNamespace(model_type="bert", **{name: True}))


def test_a_hash_of_settings_leaves_out_where_a_model_came_from() -> None:
    def of(**facts: Any) -> str:
        return config_sha256(SimpleNamespace(to_dict=lambda: facts))

    plain = of(a=1, b=[2])
    assert plain == of(
        b=[2], a=1, _name_or_path="x", transformers_version="1", architectures=[], dtype=1, torch_dtype=2
    )
    assert plain != of(a=1, b=[3]) and plain != of(a=1, b=[2], c=None)


def test_gpus_are_named_with_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus() == [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    facts = SimpleNamespace(name="NVIDIA H200", total_memory=139 * 2**30 + 5)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: facts)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert gpus() == ["cuda:0", "cuda:1"]
    assert describe_gpus() == ["cuda:0 (NVIDIA H200, 139 GiB)", "cuda:1 (NVIDIA H200, 139 GiB)"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert describe_gpus() == []
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert describe_gpus() == ["mps (Apple)"]


@pytest.mark.parametrize("at_once", [3, 8, 2**20])
def test_checksums_are_plain_and_weighted_sums_that_wrap_around(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECKSUM_BYTES", at_once)
    tensor = torch.tensor([[1.5, -2.0], [3.25, 1e-9]])

    def signed(number: int) -> int:
        return (number + 2**63) % 2**64 - 2**63

    plain = weighted = 0
    for place, byte in enumerate(tensor.numpy().tobytes()):
        weight = signed(place * 0x5851F42D4C957F2D + 0x14057B7EF767814F)
        plain, weighted = plain + byte, weighted + byte * signed(weight ^ (weight >> 29))
    assert module._checksums(tensor) == [plain % 2**64, weighted % 2**64]
    assert module._checksums(tensor.t()) != module._checksums(tensor) == module._checksums(tensor.t().t())


def test_masks_are_made_where_the_nodes_are() -> None:
    ends = torch.ones(2, 2 * module.BLOCK, dtype=torch.long, device="meta")
    assert module.ancestor_mask(ends, torch.float32).device.type == "meta"


def test_settings_that_json_cannot_hold_are_hashed_as_text() -> None:
    def hashed(**content: Any) -> str:
        return module.config_sha256(SimpleNamespace(to_dict=lambda: content))

    assert hashed(a=torch.float16, b=1) == hashed(b=1, a="torch.float16") != hashed(a=torch.float32, b=1)
