"""How much is computed at once: by hand for two devices, and what free memory may change."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.scoring.packing import shape
from equipoise.scoring.packing.shape import Shape, choose_shape, free_memory

WIDTHS = {"hidden": 2000, "inner": 6000, "vocabulary": 50_000, "itemsize": 2}


def test_a_cpu_takes_one_row_and_predicts_what_a_quarter_of_memory_holds() -> None:
    # A quarter of 1.2e9 bytes; a position needs 50,000 numbers of 2 bytes and of 4.
    assert choose_shape("cpu", free=1_200_000_000, **WIDTHS) == Shape(128, 2560, 1, 8, 1000, 0, False)
    assert choose_shape("cpu", free=0, **WIDTHS).predictions == 64


@pytest.mark.parametrize(("tokens", "rows"), [(100, 1), (1024, 1), (2047, 1), (2048, 2), (5000, 4), (10**6, 8)])
def test_a_gpu_takes_as_many_rows_as_half_of_memory_holds(tokens: int, rows: int) -> None:
    # A token's activations: 16 x 2000 and 6 x 6000 numbers of 2 bytes.
    free = 2 * tokens * (16 * 2000 + 6 * 6000) * 2
    chosen = choose_shape("cuda", free=free, **WIDTHS)
    assert chosen == Shape(4096, 1024, rows, 128, chosen.predictions, 2, True)
    assert chosen.predictions == max(64, free // 4 // 300_000)


@pytest.mark.parametrize(
    ("hidden", "inner", "expected"),
    [
        (576, 1536, (512, 512, 64)),
        (1000, 3000, (512, 512, 64)),
        (1000, 4600, (512, 512, 64)),
        (1000, 4700, (4096, 1024, 8)),
        (1500, 2000, (4096, 1024, 8)),  # a layer of exactly 18 million weights
        (4096, 14_336, (4096, 1024, 8)),
    ],
)
def test_a_small_model_computes_more_tokens_at_once(hidden: int, inner: int, expected: tuple[int, int, int]) -> None:
    chosen = choose_shape("cuda", free=10**11, hidden=hidden, inner=inner, vocabulary=50_000, itemsize=2)
    assert chosen[:3] == expected


def test_half_of_a_shape_is_never_nothing() -> None:
    assert Shape(128, 384, 9, 7, 101, 2, True).halved() == Shape(128, 384, 4, 3, 50, 2, True)
    assert Shape(128, 384, 1, 1, 1, 0, False).halved() == Shape(128, 384, 1, 1, 1, 0, False)


def test_sizes_are_whole_numbers() -> None:
    chosen = choose_shape("cuda", free=10**9 + 1, **WIDTHS)
    assert all(isinstance(size, int) for shape in (chosen, chosen.halved()) for size in shape)
    assert isinstance(free_memory(), int)


def test_free_memory_is_what_the_system_says_is_available(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    lines = tmp_path / "meminfo"
    lines.write_text("MemTotal:       4000 kB\nOdd:name:      1 kB\nMemAvailable:   3000 kB\n")
    monkeypatch.setattr(shape, "open", lambda path: lines.open(), raising=False)
    assert free_memory() == 3000 * 1024
    lines.write_text("MemTotal:       4000 kB\n")
    monkeypatch.setattr(shape.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 100}.__getitem__)
    assert free_memory() == 4096 * 50 and isinstance(free_memory(), int)
