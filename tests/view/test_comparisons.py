"""Comparisons as a viewer makes them: of all that the runs have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.comparing.comparison import compare
from equipoise.records import EquipoiseError
from equipoise.run import audit
from equipoise.view import comparisons
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


def test_the_sentences_that_all_share_are_the_second_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def compare(folders: Any, **choices: Any) -> str:
        asked.append((folders, choices))
        if "intersect" not in choices and "other" in folders:
            raise EquipoiseError("different sentences")
        return "compared"

    monkeypatch.setattr(comparisons, "compare", compare)
    assert compared(["same"], metrics=["ucerf"]) == "compared"
    assert asked == [(["same"], {"progress": False, "metrics": ["ucerf"]})]
    assert compared(["other"], level=0.9) == "compared"
    assert asked[1:] == [
        (["other"], {"progress": False, "level": 0.9}),
        (["other"], {"intersect": True, "progress": False, "level": 0.9}),
    ]


def test_a_page_has_sentences_even_where_they_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "compare", lambda folders, **_: folders)
    monkeypatch.setattr(comparisons, "comparison_page", lambda *given, **named: f"{given} {named} \ud800")
    assert compared_page(["a"]) == b"(['a'],) {'sentences': True} ?"
