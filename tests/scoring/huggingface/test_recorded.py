"""Passes are replayed only where a recording has given what the model gives; else the model computes them.

A recording needs a GPU. Here one is made up: what is computed while it records is computed again at each replay, from
the same tensors and into the same ones. `benchmarks/gpu.py --part model` replays real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from equipoise.scoring.huggingface.recorded import WARM_UP, Recorder


class Gpu:
    """Stands for `torch.cuda`, and notes what is done in which order."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.here = self.Stream("main")
        self.graph_made: Any = None
        self.stale = self.impossible = False

    def Stream(self, name: str = "aside") -> Any:
        return SimpleNamespace(name=name, wait_stream=lambda other: self.done.append((name, "waits for", other.name)))

    def current_stream(self) -> Any:
        return self.here

    @contextmanager
    def stream(self, other: Any) -> Iterator[None]:
        self.here, before = other, self.here
        yield
        self.here = before

    def CUDAGraph(self) -> Any:
        graph = SimpleNamespace(kernels=[])
        graph.replay = lambda: (self.done.append("replay"), [kernel() for kernel in graph.kernels])
        return graph

    @contextmanager
    def graph(self, graph: Any) -> Iterator[None]:
        self.graph_made = graph
        yield
        self.graph_made = None
        if self.impossible:
            raise RuntimeError("operation not permitted when stream is capturing")

    def synchronize(self) -> None:
        self.done.append("synchronize")

    def compute(self, kernel: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Compute something; a recording keeps it, and replays it into the same tensor."""
        self.done.append((self.here.name, "records" if self.graph_made else "computes"))
        output = kernel()
        if self.graph_made and not self.stale:
            self.graph_made.kernels.append(lambda: output.copy_(kernel()))
        return output


class Body(torch.nn.Module):
    """Adds up what it is given."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self.gpu = gpu

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor | None = None, **_: Any) -> Any:
        return SimpleNamespace(last_hidden_state=self.gpu.compute(lambda: tokens * 2.0 + (0 if mask is None else mask)))


class Model(torch.nn.Module):
    """A model with a body and a head."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self.base_model = Body(gpu)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()
    monkeypatch.setattr(torch, "cuda", made)
    return made


def answer(recorder: Recorder, body: Any, number: float, size: int = 3, **named: Any) -> list[float]:
    with recorder.in_use():
        tensors = {"tokens": torch.full((size,), number), "mask": torch.arange(float(size))}
        output = body(**{**tensors, "settings": {"a": 1}, "use_cache": False, **named})
    values: list[float] = output.last_hidden_state.tolist()
    return values


COMPUTED, RECORDED = ("main", "computes"), ("main", "records")


def test_the_third_pass_is_replayed_with_its_own_inputs(gpu: Gpu) -> None:
    model = Model(gpu)
    recorder = Recorder(model)
    for number in (1.0, 2.0, 3.0, 4.0):
        assert answer(recorder, model.base_model, number) == [2 * number, 2 * number + 1, 2 * number + 2]
    warm_up = [("aside", "waits for", "main"), *[("aside", "computes")] * WARM_UP, ("main", "waits for", "aside")]
    assert gpu.done == [COMPUTED, COMPUTED, *warm_up, RECORDED, *["replay"] * 3]
    assert "forward" not in vars(model.base_model), "the body is as it was"


def test_what_the_first_pass_was_given_is_not_overwritten(gpu: Gpu) -> None:
    model = Model(gpu)
    recorder = Recorder(model)
    given = [torch.full((3,), number) for number in (1.0, 2.0, 3.0)]
    for tokens in given:
        answer(recorder, model.base_model, 0.0, tokens=tokens)
    assert gpu.done[-1] == "replay" and [tokens[0].item() for tokens in given] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "named",
    [
        {"size": 4},
        {"use_cache": True},
        {"mask": None},
        {"mask": torch.zeros(3, dtype=torch.float64)},
        {"settings": {"a": 2}},
        {"more": 1},
        {"tokens": torch.zeros(3, dtype=torch.int64)},
    ],
    ids=["shape", "setting", "no mask", "precision", "settings", "more", "kind"],
)
def test_a_pass_of_another_kind_is_computed(gpu: Gpu, named: dict[str, Any]) -> None:
    model = Model(gpu)
    recorder = Recorder(model)
    for number in (1.0, 2.0):
        answer(recorder, model.base_model, number)
    gpu.done.clear()
    answer(recorder, model.base_model, 5.0, **named)
    assert gpu.done == [COMPUTED]
    assert answer(recorder, model.base_model, 5.0) == [10.0, 11.0, 12.0]
    assert gpu.done == [COMPUTED, "replay"], "the recording is kept"


def test_a_tensor_where_there_was_none_is_of_another_kind(gpu: Gpu) -> None:
    model = Model(gpu)
    recorder = Recorder(model)
    for number in (1.0, 2.0):
        answer(recorder, model.base_model, number, mask=None)
    gpu.done.clear()
    assert answer(recorder, model.base_model, 3.0) == [6.0, 7.0, 8.0]
    assert answer(recorder, model.base_model, 3.0, mask=None) == [6.0, 6.0, 6.0]
    assert gpu.done == [COMPUTED, "replay"]


def test_a_pass_with_fewer_inputs_is_computed(gpu: Gpu) -> None:
    model = Model(gpu)
    recorder = Recorder(model)
    for number in (1.0, 2.0):
        answer(recorder, model.base_model, number)
    gpu.done.clear()
    with recorder.in_use():
        model.base_model(tokens=torch.ones(3))
    assert gpu.done == [COMPUTED]


def test_passes_of_two_kinds_wait_for_two_of_the_first(gpu: Gpu) -> None:
    model = Model(gpu)
    recorder = Recorder(model)
    for size in (3, 4, 4, 4):
        answer(recorder, model.base_model, 1.0, size)
    assert gpu.done == [COMPUTED] * 4
    answer(recorder, model.base_model, 1.0, 3)
    assert RECORDED in gpu.done
    gpu.done.clear()
    answer(recorder, model.base_model, 1.0, 3)
    assert gpu.done == ["replay"]


@pytest.mark.parametrize("fault", ["stale", "impossible"])
def test_a_model_that_cannot_be_recorded_is_tried_once(gpu: Gpu, fault: str) -> None:
    setattr(gpu, fault, True)
    model = Model(gpu)
    recorder = Recorder(model)
    for number in (1.0, 2.0, 3.0, 4.0):
        assert answer(recorder, model.base_model, number)[0] == 2 * number
    assert gpu.done.count(RECORDED) == 1 and gpu.done[-2:] == [COMPUTED] * 2
    assert ("synchronize" in gpu.done) == (fault == "impossible"), "what was started before the fault has ended"


def test_a_model_without_a_body_of_its_own_is_computed(gpu: Gpu) -> None:
    alone: Any = Body(gpu)
    alone.base_model = alone
    recorder = Recorder(alone)
    for number in (1.0, 2.0, 3.0):
        answer(recorder, alone, number)
    assert gpu.done == [COMPUTED] * 3


def test_inputs_without_names_are_known_by_their_places(gpu: Gpu) -> None:
    model = Model(gpu)
    recorder = Recorder(model)
    for number in (1.0, 2.0, 3.0):
        with recorder.in_use():
            output = model.base_model(torch.full((3,), number), mask=torch.arange(3.0))
        assert output.last_hidden_state.tolist() == [2 * number, 2 * number + 1, 2 * number + 2]
    assert gpu.done[-1] == "replay"


def test_a_body_that_was_replaced_before_is_given_back(gpu: Gpu) -> None:
    model = Model(gpu)
    plain = model.base_model.forward

    def replaced(tokens: torch.Tensor, **named: Any) -> Any:
        gpu.done.append("replaced")
        return plain(tokens, **named)

    model.base_model.forward = replaced  # type: ignore[method-assign]
    recorder = Recorder(model)
    for number in (1.0, 2.0, 3.0):
        assert answer(recorder, model.base_model, number)[0] == 2 * number
    assert gpu.done[0] == "replaced" and gpu.done[-1] == "replay" and model.base_model.forward is replaced


def test_the_body_is_given_back_where_a_pass_fails(gpu: Gpu) -> None:
    model = Model(gpu)
    with pytest.raises(KeyError), Recorder(model).in_use():
        raise KeyError
    assert "forward" not in vars(model.base_model)
