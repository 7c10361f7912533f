"""Rows of batches fill passes, come back in order, and passes become smaller where memory runs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.records import ModelError
from equipoise.scoring.encoding import Question
from equipoise.scoring.huggingface.schedule import Batch, Schedule
from equipoise.scoring.packing.rules import Mode, planned
from equipoise.scoring.packing.shape import Shape


class Passes:
    """Answers every predicted token with minus its number, and tells the rows of each pass."""

    device = torch.device("cpu")

    def __init__(self, *, rows: int = 2, padded: int = 3, predictions: int = 99, most: int = 99, sums: bool = False):
        self.shape = Shape(8, 8, rows, padded, predictions, 1, False)
        self.told: list[tuple[Mode, int]] = []
        self._most, self._sums = most, sums

    def run(self, rows: Sequence[Any], mode: Mode) -> tuple[Any, torch.Tensor]:
        if len(rows) > self._most:
            raise torch.OutOfMemoryError
        self.told.append((mode, len(rows)))
        targets = np.concatenate([row.targets for row in rows]).astype(float)
        values = np.stack([-targets, targets * 10, targets * 100], axis=1) if self._sums else -targets[:, None]
        return np.array([len(row.targets) for row in rows]), torch.tensor(values)


def batch(*questions: Sequence[tuple[int, ...]], mode: Mode = "padded", tokens: int = 8) -> Batch:
    """Return a batch of questions; the tokens of a continuation are predicted after two of a prompt."""
    made = [Question.of([(1, 2, *tail) for tail in tails], 2, split=False) for tails in questions]
    return Batch((), planned(made, mode, row_tokens=tokens))


def finished(passes: Passes, batches: Sequence[Batch], notes: list[str] | None = None) -> list[Any]:
    schedule = Schedule(passes, name="m", notes=notes if notes is not None else [])  # type: ignore[arg-type]
    return [[list(question) for question in one.logprobs()] for one in schedule.finished(iter(batches))]


FIRST = [[(3,), (4, 5)], [(6,)]]
SECOND = [[(7, 8), (9,)]]
EXPECTED = [[[(-3.0,), (-4.0, -5.0)], [(-6.0,)]], [[(-7.0, -8.0), (-9.0,)]]]


@pytest.mark.parametrize("mode", ["packed", "padded", "cached"])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_every_batch_comes_back_in_order_with_its_own_answers(mode: Mode, rows: int) -> None:
    for tokens in (4, 8, 100):
        passes = Passes(rows=rows, padded=rows)
        assert finished(passes, [batch(*FIRST, mode=mode, tokens=tokens), batch(*SECOND, mode=mode)]) == EXPECTED
        assert all(found == mode and 1 <= count <= rows for found, count in passes.told)
    assert finished(Passes(), []) == []


def test_packed_rows_of_several_batches_share_a_pass_and_others_do_not() -> None:
    passes = Passes(rows=2)
    finished(passes, [batch(*FIRST, mode="packed", tokens=100), batch(*SECOND, mode="packed", tokens=100)])
    assert passes.told == [("packed", 2)]
    passes = Passes(padded=9)
    finished(passes, [batch(*FIRST), batch(*SECOND)])
    assert len(passes.told) == 2, "rows of two batches stay apart"
    passes = Passes(rows=9, padded=9)
    finished(passes, [batch(*FIRST, mode="packed", tokens=100), batch(*SECOND)])
    assert [mode for mode, _ in passes.told] == ["packed", "padded"]


def test_a_pass_predicts_no_more_than_it_may() -> None:
    several = [batch(*FIRST, mode="packed", tokens=100) for _ in range(3)]
    # The row of FIRST predicts at the prompt's end and at one more node.
    for predictions, sizes in ((6, [3]), (5, [2, 1]), (4, [2, 1]), (3, [1, 1, 1])):
        passes = Passes(rows=9, predictions=predictions)
        finished(passes, several := [batch(*FIRST, mode="packed", tokens=100) for _ in several])
        assert [count for _, count in passes.told] == sizes


def test_passes_become_smaller_where_memory_runs_out() -> None:
    passes, notes = Passes(rows=4, most=1), []  # type: ignore[var-annotated]
    batches = [batch(*SECOND, mode="packed", tokens=100) for _ in range(4)]
    assert finished(passes, batches, notes) == [EXPECTED[1]] * 4
    assert passes.told == [("packed", 1)] * 4
    assert notes[0] == "memory ran out: passes now have at most 2 rows" and passes.shape.rows == 1
    sentence = r"^m and one row of \d+ tokens do not fit into the memory of cpu; use a smaller dtype"
    with pytest.raises(ModelError, match=sentence):
        finished(Passes(most=0), [batch(*SECOND)])


def test_one_by_one_each_row_has_a_pass() -> None:
    passes = Passes(sums=True)
    one = batch(*FIRST)
    Schedule(passes, name="m", notes=[]).one_by_one(one)  # type: ignore[arg-type]
    assert passes.told == [("padded", 1)] * len(one.plan.rows) and one.left == 0
    assert list(one.logprobs()) == [((-3.0,), (-4.0, -5.0)), ((-6.0,),)]
    assert list(one.sums()) == [[30, 300], [60, 600]], "of each question's first token"


def test_a_probability_is_never_above_one() -> None:
    one = batch([(3,)])
    (row,) = one.plan.rows
    one.take(row, np.array([[1e-7]]))
    assert list(one.logprobs()) == [((0.0,),)] and one.left == 0


@pytest.mark.parametrize(("mode", "sizes"), [("packed", [2, 2, 1]), ("padded", [3, 2])])
def test_a_pass_has_as_many_rows_as_its_mode_allows(mode: Mode, sizes: list[int]) -> None:
    passes = Passes(rows=2, padded=3)
    finished(passes, [batch(*([(number, 9)] for number in range(3, 8)), mode=mode, tokens=3)])
    assert passes.told == [(mode, size) for size in sizes]
