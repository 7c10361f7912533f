"""The table of a gate: what came out, the value with its interval and n, and under it why where that is not enough."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from equipoise.media.terminal import draw
from equipoise.records import Estimate
from equipoise.topics.checks import checked
from equipoise.verdict.gate import Check, gate

ESTIMATE = Estimate(0.13934, 0.09843, 0.18546, 0.95, 244, "jackknife")
PASSED = Check("flip_rate[type=type1] <= 0.20", "w", "high", 0.18546, "<=", 0.2, "passed", passed=True)
PASSED = replace(PASSED, of="builtin · next-word", estimate=ESTIMATE)
OPEN = replace(PASSED, requirement="accuracy >= 0.6", tested="low", sign=">=", bound=0.6, outcome="undecided")
OPEN = replace(OPEN, of="gendered-control · next-word", more=170, at_least=39, at_most=2254, passed=False)
UNUSABLE = replace(PASSED, outcome="not usable", why="Not usable: no answer.", passed=False, estimate=None)


def printed(checks: list[Check], width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(draw(checked([(check.of, check) for check in checks])))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_checks_of_several_datasets_are_a_table_in_100_columns() -> None:
    head, passed, undecided, *note = printed([PASSED, OPEN], 100)
    assert head.split() == ["required", "of", "value", "n"]
    value = "0.1393 [0.0984, 0.1855]"
    assert re.split("  +", passed) == ["passed", PASSED.requirement, PASSED.of, value, "244"]
    assert undecided.startswith("undecided  accuracy >= 0.6 ") and undecided.endswith(f"{value}  244")
    assert " ".join(note) == (
        "accuracy >= 0.6 of gendered-control · next-word: the bound is inside the interval, about 170 more sets would"
        " decide it (8 in 10 such audits take 39 to 2,254)"
    )


def test_a_name_that_all_checks_share_is_said_once() -> None:
    several = [PASSED, replace(PASSED, requirement="flip_rate[type=type1] <= 0.15", outcome="FAILED")]
    name, head, *rows = printed(several, 80)
    assert name == PASSED.of and head.split() == ["required", "value", "n"] and len(rows) == 2
    assert rows[1] == "FAILED  flip_rate[type=type1] <= 0.15  0.1393 [0.0984, 0.1855]  244"


def test_what_all_names_begin_with_is_said_once() -> None:
    kinds = ("ambiguous (type 1)", "resolvable (type 2)")
    drops = [replace(PASSED, requirement="drop of ucerf=0.02", of=f"builtin · next-word, {kind}") for kind in kinds]
    name, head, *rows = printed(drops, 80)
    assert name == "builtin · next-word" and head.split() == ["required", "of", "value", "n"]
    assert [re.split("  +", row)[2] for row in rows] == list(kinds)


def test_digits_tell_a_bound_from_the_end_of_the_interval() -> None:
    assert "0.1855]" in printed([replace(PASSED, bound=0.1852)], 80)[2]


def test_what_is_not_usable_has_no_value_and_says_why_once() -> None:
    lines = printed([UNUSABLE, replace(UNUSABLE, requirement="accuracy >= 0.6")], 80)
    assert lines[-1] == "Not usable: no answer." and lines[2].endswith(" –") and len(lines) == 5
    assert printed([UNUSABLE, OPEN], 120)[3] == "builtin · next-word: Not usable: no answer."


@pytest.mark.parametrize(
    ("tested", "sign", "note"),
    [
        ("value", "<=", "Only the value was tested."),
        ("low", "<=", "Only the low end of the interval was tested."),
        ("high", ">=", "Only the high end of the interval was tested."),
        ("low", ">", None),
        ("high", "<", None),
        ("settled", "<=", None),
    ],
)
def test_a_gate_that_does_not_test_the_whole_interval_says_so(tested: str, sign: str, note: str | None) -> None:
    assert list(checked([("a", replace(PASSED, tested=tested, sign=sign))]).notes) == ([note] if note else [])


def test_a_real_check_has_the_interval_and_n_of_the_report(planted_run: Path) -> None:
    (check,) = gate(planted_run, "flip_rate[type=type1] >= 0.5")
    table = checked([(check.of, check)])
    assert table.title == check.of == "builtin · next-word"
    assert list(table.rows[0].cells) == ["passed", check.requirement, check.estimate]
    assert check.estimate.n == 38 and check.estimate.low > 0.5
