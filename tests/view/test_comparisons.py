"""Comparisons as a viewer makes them: of all that the runs have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.comparing.comparison import compare
from equipoise.records import EquipoiseError
from equipoise.run import audit
from equipoise.view.comparisons import compared, compared_page

FEW = {"resamples": 20, "permutations": 20}


def test_runs_on_other_sentences_are_compared_on_those_that_all_were_asked(some_runs: Path, tmp_path: Path) -> None:
    fewer = audit("planted:strength=1.2,bias=0.3", "builtin", out=tmp_path / "fewer", resamples=20, limit=60).path
    whole = some_runs / "suite" / "alpha"
    with pytest.raises(EquipoiseError, match="different"):
        compare([whole, fewer], **FEW)
    (match, *_) = compared([whole, fewer], **FEW).matches
    assert 0 < len(match.outcomes[0]) < 240


def test_the_page_has_the_cases_on_which_the_runs_differ(some_runs: Path) -> None:
    page = compared_page([some_runs / "suite" / name for name in ("alpha", "delta")]).decode()
    assert 'id="differing"' in page and "sentences differently" in page
