"""Passes of a tiny model: which attention, shape and positions each mode takes, and what comes of it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tiny import LLAMA, make_engine, make_model

from equipoise.scoring.huggingface import passes as module
from equipoise.scoring.huggingface.attention import GROUPED, SEGMENTED
from equipoise.scoring.huggingface.passes import Passes
from equipoise.scoring.packing.prefix_tree import Row, Sequences, alone, forks, pack
from equipoise.scoring.packing.shape import CPU_ROW_TOKENS, DENSE_ROW_TOKENS

SEQUENCES = [(5, 6, 7, 8), (5, 6, 9), (5, 6, 7, 10, 11), (12, 13, 14)]
STARTS = [2, 2, 2, 1]


def passes_of(kind: str = "LlamaConfig", **choices: Any) -> Passes:
    settings = LLAMA if kind == "LlamaConfig" else {}
    return Passes(make_model(kind, 60, **settings), **choices)


def rows(how: str) -> list[Row]:
    sequences = Sequences.of(SEQUENCES, STARTS)
    return {"packed": pack(sequences, row_tokens=100), "padded": alone(sequences), "cached": forks(sequences)}[how]


def plain(passes: Passes) -> dict[int, list[float]]:
    """Return the log-probability of each predicted token, by one plain pass for each sequence."""
    found = {}
    for owner, (ids, start) in enumerate(zip(SEQUENCES, STARTS, strict=True)):
        with torch.inference_mode():
            logits = passes.model(input_ids=torch.tensor([ids])).logits[0].log_softmax(dim=-1)
        found[owner] = [float(logits[place - 1, ids[place]]) for place in range(start, len(ids))]
    return found


def taken(asked: list[Row], counts: Any, values: torch.Tensor) -> dict[int, list[float]]:
    """Return the first value of each predicted token by its sequence."""
    found, place = {}, 0
    assert list(counts) == [len(row.targets) for row in asked]
    for row in asked:
        for owner, count in zip(row.owners.tolist(), row.counts.tolist(), strict=True):
            found[owner] = values[place : place + count, 0].tolist()
            place += count
    return found


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("mode", ["packed", "padded", "cached"])
def test_every_mode_gives_the_plain_answers(mode: Any, dense: bool, fixed: bool) -> None:
    passes = passes_of()
    if dense:
        passes.attend_densely()
    if fixed:
        passes.shape = passes.shape._replace(fixed=True, rows=3, row_tokens=24)
    asked = rows(mode)
    groups = [[row for row in asked if row.stem == stem] for stem in sorted({row.stem for row in asked})]
    found = {}
    for group in groups:
        with passes.in_use():
            counts, values = passes.run(group, mode)
        assert values.shape == (sum(counts), 1) and values.dtype == torch.float32
        found |= taken(group, counts, values)
    for owner, expected in plain(passes).items():
        assert found[owner] == pytest.approx(expected, abs=1e-4)


def test_which_attention_each_pass_takes() -> None:
    passes = passes_of()
    seen: list[str] = []
    passes.model.register_forward_pre_hook(lambda *_: seen.append(passes.model.config._attn_implementation))
    with passes.in_use():
        passes.run(rows("packed"), "packed")
        passes.run(rows("padded"), "padded")
        passes.run(rows("cached")[:1], "cached")
        passes.attend_densely()
        passes.run(rows("packed"), "packed")
        passes.step(torch.tensor([[5, 6]]), torch.ones(1, 2), torch.tensor([[0, 1]]), None)
        assert passes.model.config._attn_implementation == GROUPED
    assert seen[0] == SEGMENTED and seen[-1] == GROUPED and set(seen[1:-1]) == {"sdpa"}
    assert passes.model.config._attn_implementation == "sdpa", "at the end it is as it was"


def test_what_a_model_is_and_can() -> None:
    passes = passes_of()
    assert passes.segmented and passes.shape.row_tokens == CPU_ROW_TOKENS and not passes.sparse and not passes.compiled
    assert (passes.device.type, passes.dtype, passes.vocabulary) == ("cpu", torch.float32, 60)
    assert passes.layers == list(passes.model.model.layers) and passes.steps
    assert passes.may_be_sparse == bool(passes.model._supports_flex_attn)
    passes.shape = passes.shape._replace(row_tokens=CPU_ROW_TOKENS + 1)
    assert not passes.may_be_sparse, "rows must consist of whole blocks"
    passes.attend_densely()
    assert not passes.segmented and passes.shape.row_tokens == DENSE_ROW_TOKENS
    model = make_model("LlamaConfig", 60, **LLAMA)
    model.config._attn_implementation = "eager"
    eager = Passes(model)
    assert not eager.segmented and eager.shape.row_tokens == DENSE_ROW_TOKENS
    stateful = passes_of("MambaConfig")
    assert not stateful.steps and not stateful.segmented


def test_the_layers_are_the_longest_list_of_modules() -> None:
    passes = passes_of()
    layers = passes.layers
    assert len(layers) > 1
    inner, short = passes.model.model, torch.nn.ModuleList([torch.nn.Identity()])
    for parts in ((short, inner), (inner, short)):
        passes.model.model = torch.nn.Sequential(*parts)
        assert passes.layers == layers
    passes.model.model = torch.nn.Identity()
    assert passes.layers == []


@pytest.mark.parametrize("chosen", ["", "elsewhere"])
def test_what_is_compiled_is_kept_in_the_cache_or_where_the_user_wants_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: str
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    monkeypatch.setenv(module.COMPILED, chosen)
    if not chosen:
        monkeypatch.delenv(module.COMPILED)
    passes = passes_of()
    for layer in passes.layers:
        monkeypatch.setattr(layer, "compile", lambda **_: None)
    passes.compile()
    assert os.environ[module.COMPILED] == (chosen or str(tmp_path / "compiled"))


def test_layers_are_compiled_and_used_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.COMPILED, "somewhere")
    passes = passes_of()
    told: list[Any] = []
    for layer in passes.layers:
        monkeypatch.setattr(layer, "compile", lambda **chosen: told.append(chosen))
        layer._compiled_call_impl = "compiled"
    passes.compile()
    assert passes.compiled and told == [{"dynamic": False}] * 2
    passes.decompile()
    assert not passes.compiled and all(layer._compiled_call_impl is None for layer in passes.layers)


def test_values_are_the_same_in_parts_and_have_sums_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = torch.randn(5, 60)
    picks, targets = torch.tensor([0, 4, 2, 2]), torch.tensor([1, 2, 3, 4])
    expected = logits.log_softmax(dim=-1)[picks, targets][:, None]
    for reduced in (False, True):
        passes = passes_of(reduced=reduced)
        for size in (module.LOGIT_BYTES, 4 * 60 * 2, 1):
            monkeypatch.setattr(module, "LOGIT_BYTES", size)
            values = passes._values(logits, picks, targets)
            assert torch.allclose(values[:, :1], expected, atol=1e-5)
            assert values.shape[1] == (3 if reduced else 1)
            if reduced:
                assert torch.allclose(values[:, 1:], module.vocabulary_sums(logits)[picks], atol=1e-5)


@pytest.mark.parametrize(
    ("size", "rows"), [(4 * 60 * 5, [5]), (4 * 60 * 5 - 1, [4, 1]), (4 * 60 * 2, [2, 2, 1]), (1, [1] * 5)]
)
def test_as_many_rows_of_logits_are_widened_at_once_as_fit(
    size: int, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    sums = module.vocabulary_sums
    monkeypatch.setattr(module, "LOGIT_BYTES", size)
    monkeypatch.setattr(module, "vocabulary_sums", lambda wide: (seen.append(len(wide)), sums(wide))[1])
    values = passes_of(reduced=True)._values(torch.randn(5, 60).half(), torch.tensor([0, 4]), torch.tensor([1, 2]))
    assert seen == rows and values.dtype == torch.float32


def test_a_pass_of_fixed_size_is_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = passes_of()
    passes.attend_densely()
    passes.shape = passes.shape._replace(fixed=True, rows=3, row_tokens=24)
    shapes: list[Any] = []
    stack = module.stack

    def stacked(given: Any, *, height: int, width: int) -> Any:
        shapes.append((height, width))
        return stack(given, height=height, width=width)

    monkeypatch.setattr(module, "stack", stacked)
    passes.run(rows("packed"), "packed")
    passes.run(rows("padded"), "padded")
    passes.shape = passes.shape._replace(fixed=False)
    passes.run(rows("packed"), "packed")
    assert shapes == [(3, 24), (0, 0), (0, 0)]


def test_arrays_on_a_cpu_are_tensors_as_they_are() -> None:
    array = np.arange(4)
    assert torch.equal(passes_of().tensor(array), torch.arange(4))


def test_how_many_texts_fit_into_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.scoring.huggingface import writing

    config = {"num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32, "num_hidden_layers": 3}
    free, reserved, allocated = 10**9, 2 * 10**8, 10**8
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: reserved)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: allocated)

    def fit(tokens: int, kind: str = "cuda", **more: Any) -> int:
        text = SimpleNamespace(**{**config, **more})
        model = SimpleNamespace(config=SimpleNamespace(get_text_config=lambda: text))
        asked = SimpleNamespace(device=SimpleNamespace(type=kind), model=model, dtype=torch.bfloat16)
        return writing._rows_at_once(asked, tokens)  # type: ignore[arg-type]

    assert fit(5000, kind="cpu") == writing.CPU_TEXTS
    row = 2 * 3 * 2 * 8 * 5000 * 2 * 2.0
    assert fit(5000) == int(1.1e9 * 0.6 / row) == 343
    assert fit(5000, num_key_value_heads=None) == 171 and fit(5000, head_dim=16) == 171
    assert fit(1) == writing.GPU_TEXTS and fit(10**9) == 1
    cuda, cpu = (writing.texts_at_once(torch.device(kind)) for kind in ("cuda", "cpu"))
    assert (cuda, cpu) == (2048, 16)


def test_texts_are_written_in_smaller_batches_where_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.records import ModelError
    from equipoise.scoring.huggingface import writing

    engine = make_engine()
    sizes: list[int] = []
    batch = writing._batch

    def limited(passes: Any, asked: Any, *rest: Any) -> Any:
        sizes.append(len(asked))
        if len(asked) > most:
            raise torch.OutOfMemoryError
        return batch(passes, asked, *rest)

    contexts = ["The nurse", "A", "The nurse told the driver that he", "He", "She was"]
    together = engine.generate(contexts, 4)
    monkeypatch.setattr(writing, "_batch", limited)
    most = 2
    assert engine.generate(contexts, 4) == together and sizes == [5, 2, 2, 1]
    most = 0
    with pytest.raises(ModelError, match=r"^one text of 4 tokens does not fit into memory$"):
        engine.generate(contexts, 4)


def test_a_gpu_copies_arrays_while_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    passes: Any = object.__new__(Passes)
    passes.device = torch.device("cuda")
    pinned = SimpleNamespace(to=lambda *given, **named: told.append((given, named)) or "there")
    monkeypatch.setattr(torch, "from_numpy", lambda array: SimpleNamespace(pin_memory=lambda: pinned))
    assert passes.tensor(np.zeros(2)) == "there" and told == [((passes.device,), {"non_blocking": True})]


def test_prompts_run_with_a_cache_take_the_models_own_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = make_engine("LlamaConfig", **LLAMA)._passes
    sequences = Sequences.of([(1, 2, 3), (1, 2, 4)], [2, 2])
    attended: list[str] = []
    attend = passes._attend
    monkeypatch.setattr(passes, "_attend", lambda name: attended.append(name) or attend(name))
    passes.run(pack(sequences, row_tokens=64), "packed")
    passes.run(forks(sequences), "cached")
    assert attended == [SEGMENTED, passes._attention]
