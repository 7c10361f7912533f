"""The table of what an audit was asked until it was settled."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.measuring.settling import Decision
from equipoise.records.showing import Cell, Table, every
from equipoise.run import audit
from equipoise.topics.settled import settled


def test_every_requirement_has_a_row_with_what_came_of_it(tmp_path: Path) -> None:
    until = ["flip_rate[type=type2] <= 0.10", "accuracy >= 0.99999"]
    run = audit("planted:strength=2,noise=1", "builtin", out=tmp_path, until=until, at_most=40, by=[], resamples=20)
    section = settled(run)
    assert section is not None and "At most 5%" in str(section)
    (table,) = every([section], Table)
    assert len(table.rows) == 2 and all("of 266" in str(row.cells) for row in table.rows)
    plain = audit("planted", "builtin", out=tmp_path / "plain", limit=40, by=[], resamples=20)
    assert settled(plain) is None


def test_what_is_described_is_as_it_was_kept(tmp_path: Path) -> None:
    until = ["flip_rate[type=type2] <= 0.10", "accuracy >= 0.6"]
    run = audit("planted:strength=2,noise=1", "builtin", out=tmp_path, until=until, at_most=60, by=[], resamples=20)
    assert_kept("topics/settled", settled(run))


def test_a_comparison_is_told_by_its_own_word_and_others_by_their_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    asks = ("ucerf >= 0.5", "ucerf", "type=type1", ">=", 0.5)
    several = [
        Decision(*asks, "passed", 0.1, 0.05, 0.15, 0.95, 1200, 2400, "stopped", None, "better"),
        Decision(*asks, "undecided", 0.5, 0.4, 0.6, 0.95, 30, 40, "budget", 1500),
    ]
    monkeypatch.setattr("equipoise.topics.settled.decisions_of", {"one": several, "two": []}.get)
    run: Any = SimpleNamespace(level=0.9, parts=["one", "two"])
    section = settled(run)
    assert section is not None and "At most 10% of such audits" in str(section)
    (table,) = every([section], Table)
    required, about = Cell("ucerf >= 0.5", code=True), "one, type=type1"
    assert [tuple(row.cells) for row in table.rows] == [
        (Cell("better", strong=True), required, about, "0.100 [0.050, 0.150]", "1,200 of 2,400", None),
        (Cell("undecided", strong=True), required, about, "0.500 [0.400, 0.600]", "30 of 40", "about 1,500"),
    ]
