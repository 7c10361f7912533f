"""The table of what an audit was asked until it was settled."""

from __future__ import annotations

from pathlib import Path

from kept_texts import assert_kept

from equipoise.records.showing import Table, every
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
