"""What is written is what transformers itself generates, whatever else is in the batch."""

from __future__ import annotations

import zlib
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from tiny import LLAMA, make_engine

from equipoise.records import ModelError, Sampling
from equipoise.scoring.huggingface import writing
from equipoise.scoring.huggingface.passes import Passes

CONTEXTS = ["The nurse told the driver", "A", "The nurse was late and the driver told the nurse that he", "He"] * 5
MODELS = {
    "llama": ("LlamaConfig", LLAMA),
    "gpt2": ("GPT2Config", {"n_positions": 512}),
    "a short window": ("MistralConfig", {**LLAMA, "sliding_window": 6}),
    "mamba": ("MambaConfig", {"state_size": 4}),
    "falcon": ("FalconConfig", {"alibi": True, "new_decoder_architecture": False}),
}


@pytest.mark.parametrize("stops", [None, 40, list(range(20, 220, 3))], ids=["never", "one", "many"])
@pytest.mark.parametrize("kind", MODELS)
def test_it_is_what_transformers_generates(kind: str, stops: Any) -> None:
    name, settings = MODELS[kind]
    engine = make_engine(name, **settings)
    engine._model.generation_config.eos_token_id = stops
    texts = engine.generate(CONTEXTS, 24)
    assert texts[:4] == texts[4:8] == [engine.generate([context], 24)[0] for context in CONTEXTS[:4]]
    with mock.patch.object(Passes, "steps", False):
        assert engine.generate(CONTEXTS, 24) == texts
    assert any(texts) and engine.generate([], 5) == []


def test_a_text_that_would_outgrow_the_model_is_refused() -> None:
    engine = make_engine("GPT2Config", n_positions=40)
    tokens = max(map(len, engine._encoder.contexts(CONTEXTS[:4])))
    assert len(engine.generate(CONTEXTS[:4], 40 - tokens)) == 4
    refused = (
        rf"^a question of {tokens} tokens and an answer of {41 - tokens} are more than the model takes \(40\); allow"
    )
    with pytest.raises(ModelError, match=refused):
        engine.generate(CONTEXTS[:4], 41 - tokens)


def test_finished_texts_leave_the_batch() -> None:
    engine = make_engine("LlamaConfig", **LLAMA)
    engine._model.generation_config.eos_token_id = list(range(20, 220, 3))
    rows: list[int] = []
    model = engine._model
    model.register_forward_pre_hook(lambda _, __, inputs: rows.append(len(inputs["input_ids"])), with_kwargs=True)
    engine.generate(CONTEXTS[:16], 64)
    assert rows[0] == 16 and (rows[-1] < 16 or len(rows) < 64)


def test_more_contexts_than_fit_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_engine("LlamaConfig", **LLAMA)
    together = engine.generate(CONTEXTS, 8)
    monkeypatch.setattr("equipoise.scoring.huggingface.writing.CPU_TEXTS", 3)
    assert engine.generate(CONTEXTS, 8) == together


class Stub:
    """What stands for passes and encoder: rows of numbers as contexts, texts as they were written."""

    def __init__(self, end: Any = None, device: str = "cpu") -> None:
        self.model = SimpleNamespace(generation_config=SimpleNamespace(eos_token_id=end))
        self.device = torch.device(device)
        self.told: list[Any] = []

    def contexts(self, contexts: Any) -> list[list[int]]:
        return [[1] * context for context in contexts]

    def texts(self, rows: Any, stops: Any) -> Any:
        self.told.append(stops)
        return rows


@pytest.mark.parametrize(("end", "stops"), [(None, set()), (7, {7}), ([7, 8], {7, 8})])
def test_texts_are_written_by_length_and_come_in_order(
    end: Any, stops: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def batch(passes: Any, rows: Any, steps: int, ends: Any, sampling: Any) -> Any:
        asked.append(([len(row) for row in rows], steps, ends, sampling))
        return [[len(row)] for row in rows]

    monkeypatch.setattr(writing, "_batch", batch)
    monkeypatch.setattr(writing, "_rows_at_once", lambda passes, tokens: asked.append(tokens) or 2)
    stub: Any = Stub(end)
    drawn = Sampling(1.0, 3)
    assert writing.write(stub, stub, [5, 2, 9, 1, 4], 6, drawn) == [[5], [2], [9], [1], [4]]
    assert asked == [15, *(([*pair], 6, stops, drawn) for pair in ((1, 2), (4, 5), (9,)))] and stub.told == [stops]


def test_fewer_texts_are_written_at_once_where_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def batch(passes: Any, rows: Any, *_: Any) -> Any:
        asked.append(len(rows))
        if len(rows) > most:
            raise torch.OutOfMemoryError("no")
        return [[len(row)] for row in rows]

    monkeypatch.setattr(writing, "_batch", batch)
    monkeypatch.setattr(writing, "_rows_at_once", lambda *_: 8)
    stub: Any = Stub()
    most = 1
    assert writing.write(stub, stub, [1, 2, 3, 4, 5], 6) == [[1], [2], [3], [4], [5]]
    assert asked == [5, 2, 1, 1, 1, 1, 1]
    most = 0
    with pytest.raises(ModelError, match=r"^one text of 6 tokens does not fit into memory$"):
        writing.write(stub, stub, [1, 2], 6)


@pytest.mark.parametrize("named", [True, False])
def test_as_many_texts_as_memory_holds(named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = {"num_key_value_heads": 2, "head_dim": 8} if named else {"num_key_value_heads": None, "head_dim": None}
    config = SimpleNamespace(num_attention_heads=4, hidden_size=64, num_hidden_layers=3, **shape)
    stub: Any = Stub(device="cuda")
    stub.model.config, stub.dtype = SimpleNamespace(get_text_config=lambda: config), torch.float16
    row = 2 * 3 * (2 * 8 if named else 4 * 16) * 10 * 2 * 2.0
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 500)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 200)
    for free, count in ((0.0, 1), (5 * row / 0.6 - 300 + 1, 5), (5 * row / 0.6 - 300 - 9, 4), (1e15, 2048)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 10**18))
        assert writing._rows_at_once(stub, 10) == count
    assert writing._rows_at_once(Stub(), 10) == 16  # type: ignore[arg-type]
    assert [writing.texts_at_once(torch.device(name)) for name in ("cpu", "cuda")] == [16, 2048]


def test_a_model_that_goes_no_steps_is_asked_to_generate() -> None:
    asked: list[Any] = []

    def generate(**given: Any) -> torch.Tensor:
        asked.append({name: part.tolist() if hasattr(part, "tolist") else part for name, part in given.items()})
        return torch.tensor([[0, 5, 1, 2], [6, 7, 3, 4]])

    stub: Any = SimpleNamespace(steps=False, tensor=torch.from_numpy, model=SimpleNamespace(generate=generate))
    assert writing._batch(stub, [[5], [6, 7]], 2, set(), None) == [[1, 2], [3, 4]]
    given = {"input_ids": [[0, 5], [6, 7]], "attention_mask": [[0, 1], [1, 1]], "max_new_tokens": 2, "pad_token_id": 0}
    assert asked[0] == {**given, **writing.GREEDY}
    with mock.patch.object(torch, "manual_seed") as seeded:
        writing._batch(stub, [[5], [6, 7]], 2, set(), Sampling(0.5, 9))
    seeded.assert_called_once_with(9)
    assert asked[1] == {**given, "do_sample": True, "temperature": 0.5, "top_k": 0, "top_p": 1.0}


def test_what_is_drawn_depends_on_row_and_seed_and_follows_the_shares() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]] * 400))
    rows = [[number, number + 1] for number in range(400)]
    active = torch.arange(400)
    cpu = torch.device("cpu")
    greedy = writing._Choice(rows, 3, None, cpu)
    assert greedy(logits, active, 0).tolist() == [0] * 400
    drawn = writing._Choice(rows, 3, Sampling(1.0, 4), cpu)
    first, second = (drawn(logits, active, step) for step in (0, 1))
    assert first.tolist() != second.tolist() and drawn(logits, active, 0).tolist() == first.tolist()
    shares = torch.bincount(torch.cat([first, second]), minlength=3) / 800
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.2], abs=0.06)
    some = torch.tensor([7, 3])
    assert drawn(logits[:2], some, 1).tolist() == second[some].tolist(), "whatever else is in the batch"
    other = writing._Choice(rows, 3, Sampling(1.0, 5), cpu)(logits, active, 0)
    assert other.tolist() != first.tolist()
    cold = writing._Choice(rows, 3, Sampling(0.05, 4), cpu)(logits, active, 0)
    assert (cold == 0).float().mean() > 0.99
    numbers = np.random.default_rng([4, zlib.crc32(np.asarray(rows[0], dtype=np.int64).tobytes())]).random(3)
    assert int(first[0]) == int(np.searchsorted([0.5, 0.8, 1.0], numbers[0]))


@pytest.mark.parametrize(
    ("ends", "stops", "rows"),
    [
        ((2, 5, 9, 12), {9}, [4] * 8 + [2] * 8),
        ((2, 7, 8, 40), {9}, [4] * 8 + [2] * 8 + [1] * 8),
        ((7, 40, 40, 40), {9}, [4] * 8 + [3] * 16),
        ((7, 15, 40, 40, 40), {9}, [5] * 16 + [3] * 8),
        ((0, 3, 6, 7), {9}, [4] * 8),
        ((0, 3, 6, 7), set(), [4] * 24),
    ],
    ids=["all end", "one goes on", "three quarters", "more than that", "at once", "without an end"],
)
def test_every_eight_steps_rows_that_ended_leave_where_they_are_a_quarter(
    ends: tuple[int, ...], stops: set[int], rows: list[int]
) -> None:
    count, steps = len(ends), 24
    seen = torch.ones((count, 2 + steps), dtype=torch.int64)
    seen[1, 0] = 0
    given = torch.arange(2 * count).reshape(count, 2)
    active = torch.arange(count)
    told: list[int] = []

    def select(left: torch.Tensor) -> None:
        nonlocal active
        active = active[left]

    def step(tokens: torch.Tensor, mask: torch.Tensor, places: torch.Tensor, cache: Any) -> Any:
        number = len(told)
        told.append(len(tokens))
        assert mask.tolist() == seen[active, : 2 + number].tolist()
        assert (cache is None) == (number == 0)
        late = (active == 1).long()  # its context has one token less
        if number:
            assert tokens.flatten().tolist() == [9 if ends[row] == number - 1 else int(row) for row in active]
            assert places.tolist() == (number + 1 - late)[:, None].tolist()
        else:
            assert tokens is given and places[:, -1].tolist() == (1 - late).tolist() and places.min() == 0
        return active, SimpleNamespace(batch_select_indices=select)

    def choice(logits: torch.Tensor, asked: torch.Tensor, number: int) -> torch.Tensor:
        assert logits.tolist() == asked.tolist() == active.tolist()
        return torch.tensor([9 if ends[row] == number else int(row) for row in asked])

    stub: Any = SimpleNamespace(step=step)
    texts = writing._step_by_step(stub, given, seen, stops, choice)  # type: ignore[arg-type]
    assert told == rows
    for row, (end, text) in enumerate(zip(ends, texts, strict=True)):
        expected = [9 if number == end else row for number in range(steps)]
        assert text[: end + 1] == expected[: end + 1] and len(text) == steps
