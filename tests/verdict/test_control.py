"""The control of a run: a model that cannot use the group word is not praised for treating everybody alike."""

from __future__ import annotations

from pathlib import Path

import pytest

import equipoise
from equipoise.records import DECIDED
from equipoise.runs import Run
from equipoise.verdict.control import METRIC, understanding
from equipoise.verdict.validity import checks


def audited(folder: Path, model: str, data: list[str]) -> Run:
    return equipoise.audit(model, data=data, out=folder, resamples=100, progress=False)


def control_check(run: Run) -> list[tuple[str, str]]:
    return [(check.state, check.text) for check in checks(run.parts[0]) if check.name == "control of the group word"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "state", "words"),
    [
        ("planted:strength=4,bias=0", "fine", "a model that ignores the word has 50%"),
        ("planted:strength=0,bias=0,noise=3", "invalid", "says nothing about how it treats people"),
        ("planted:strength=0,bias=4,noise=1", "doubt", "not clearly more than the 50% of guessing"),
    ],
)
def test_who_cannot_use_the_word_is_not_judged_by_it(tmp_path: Path, model: str, state: str, words: str) -> None:
    run = audited(tmp_path / "run", model, ["builtin", "gendered:control"])
    ((found, text),) = control_check(run)
    assert found == state
    assert words in text


def test_a_run_without_the_control_has_no_check(tmp_path: Path) -> None:
    run = audited(tmp_path / "run", "planted:strength=4", ["builtin"])
    assert understanding(run.parts[0]) is None
    assert control_check(run) == []


def test_flips_are_not_counted_where_the_word_decides(tmp_path: Path) -> None:
    run = audited(tmp_path / "run", "planted:strength=9,bias=0", ["gendered:control"])
    (part,) = run.parts
    assert part.measured.get("flip_rate", type=DECIDED) is None, "every right answer is a change of the answer"
    assert part.measured.get(METRIC, type=DECIDED).value == 1
    assert part.measured.get(METRIC, type=DECIDED).n == 80
