"""Linear layers laid out for oneDNN answer as before, and where a model does not stand it, nothing is changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny import LLAMA, make_engine, make_model
from transformers import LlamaForCausalLM

from equipoise.scoring.huggingface import cpu as huggingface_cpu
from equipoise.scoring.huggingface.cpu import LaidOutLinear, lay_out

IDS = [1, 2, 3, 4, 5, 6, 7]

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")


def laid_out(model: Any) -> int:
    return sum(isinstance(module, LaidOutLinear) for module in model.modules())


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        told: torch.Tensor = model(torch.tensor([IDS])).logits
    return told


def test_a_model_answers_as_before_with_every_linear_layer_but_the_head_laid_out() -> None:
    model = make_model("LlamaConfig", 300, **LLAMA).eval()
    before = logits(model)
    with torch.inference_mode():
        assert lay_out(model, IDS)
    assert laid_out(model) == 7 * len(model.model.layers)
    assert isinstance(model.lm_head, torch.nn.Linear)
    assert torch.allclose(logits(model), before, atol=1e-5)
    # Weights are not held twice.
    assert sum(p.numel() for p in model.model.layers.parameters()) == sum(
        p.numel() for name, p in model.model.layers.named_parameters() if "norm" in name
    )


def test_an_engine_lays_its_model_out_and_still_knows_its_size() -> None:
    engine = make_engine("LlamaConfig", **LLAMA)
    size = engine.description["parameters"]
    list(engine.score([[]][:0]))
    assert laid_out(engine._model) > 0
    assert engine.description["parameters"] == size


class ReadsWeights(LlamaForCausalLM):
    def forward(self, **inputs: Any) -> Any:
        self.model.layers[0].mlp.up_proj.weight.sum()
        return super().forward(**inputs)


def test_a_model_that_reads_its_layers_weights_keeps_them() -> None:
    model = make_model("LlamaConfig", 300, **LLAMA).eval()
    model.__class__ = ReadsWeights
    with torch.inference_mode():
        before = model(input_ids=torch.tensor([IDS])).logits
        assert not lay_out(model, IDS)
        assert laid_out(model) == 0
        assert torch.equal(model(input_ids=torch.tensor([IDS])).logits, before)


def test_shared_weights_half_precision_and_want_of_memory_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tied = make_model("LlamaConfig", 300, **LLAMA).eval()
    first, second = (layer.mlp for layer in tied.model.layers)
    second.up_proj.weight = first.up_proj.weight
    with torch.inference_mode():
        assert lay_out(tied, IDS)
        assert laid_out(tied) == 7 * 2 - 2
        assert not lay_out(make_model("LlamaConfig", 300, **LLAMA).bfloat16(), IDS)
        monkeypatch.setattr(huggingface_cpu, "free_memory", lambda: 0)
        assert not lay_out(make_model("LlamaConfig", 300, **LLAMA), IDS)


PLAIN = """
import resource, sys, torch
from transformers import AutoModelForCausalLM
AutoModelForCausalLM.from_pretrained(sys.argv[1])(input_ids=torch.tensor([[1, 2, 3]]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

LAID_OUT = """
import resource, sys, torch
from transformers import AutoModelForCausalLM
from equipoise.scoring.huggingface.cpu import lay_out
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
with torch.inference_mode():
    assert lay_out(model, [1, 2, 3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can be told to give pages back")
def test_laying_out_needs_hardly_more_memory_than_plain_transformers(tmp_path: Path) -> None:
    model = make_model("LlamaConfig", 300, **{**LLAMA, "hidden_size": 1024, "intermediate_size": 16384})
    model.save_pretrained(tmp_path)
    size = sum(weight.nbytes for weight in model.parameters()) / 1024
    peaks = [
        int(subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, check=True, text=True).stdout)
        for code in (PLAIN, LAID_OUT)
    ]
    assert peaks[1] < peaks[0] + size / 3, (peaks, size)


@pytest.mark.parametrize(("start", "size"), [(0, 3), (1, 3), (5, 1), (100, 0)])
def test_only_whole_pages_of_a_weight_are_given_back(start: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    class Library:
        def madvise(self, place: Any, length: Any, advice: int) -> None:
            asked.append((place.value or 0, length.value, advice))

    monkeypatch.setattr(huggingface_cpu.ctypes, "CDLL", lambda name: Library())
    page = huggingface_cpu.PAGESIZE
    first = 7 * page + start
    huggingface_cpu._page_out(SimpleNamespace(data_ptr=lambda: first, nbytes=size * page))  # type: ignore[arg-type]
    ((place, length, advice),) = asked
    assert advice == 21 and place % page == 0 and first <= place < first + page
    assert length == max(0, (first + size * page) // page * page - place)


def test_operations_that_are_missing_or_give_no_numbers_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert huggingface_cpu.available()

    class Odd:
        def __init__(self, layer: torch.nn.Linear) -> None:
            assert (layer.in_features, layer.out_features, layer.weight.requires_grad) == (8, 8, False)

        def __call__(self, given: torch.Tensor) -> torch.Tensor:
            assert given.tolist() == [[0.0] * 8]
            return torch.tensor([[0.0, float("nan")]])

    monkeypatch.setattr(huggingface_cpu, "LaidOutLinear", Odd)
    assert not huggingface_cpu.available()
    for error in (AttributeError, RuntimeError, NotImplementedError):
        monkeypatch.setattr(huggingface_cpu, "LaidOutLinear", lambda layer, error=error: (_ for _ in ()).throw(error()))
        assert not huggingface_cpu.available()


def test_memory_for_the_largest_weight_twice_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for spare, done in ((-1, False), (0, True)):
        model = make_model("LlamaConfig", 300, **LLAMA).eval()
        largest = max(weight.nbytes for weight in model.parameters())
        assert largest > min(weight.nbytes for weight in model.parameters())
        monkeypatch.setattr(huggingface_cpu, "free_memory", lambda room=2 * largest + spare: room)
        old = [layer for _, _, layer in huggingface_cpu.linear_layers(model) if layer is not model.lm_head]
        with torch.inference_mode():
            assert lay_out(model, IDS) is done
        weights = [(layer.weight.numel() == 0, layer.weight.requires_grad) for layer in old]
        assert set(weights) == ({(True, False)} if done else {(False, True)}), "old weights are freed"
