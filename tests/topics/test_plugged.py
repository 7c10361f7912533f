"""Sections of other packages: shown as their own, and a reason on the page where their code fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plug_in import write_plug_in

from equipoise import report
from equipoise.records import EquipoiseError
from equipoise.records.showing import Section
from equipoise.runs import Run
from equipoise.topics import plugged


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with a section, one that fails when it is made, and one that cannot be loaded."""
    code = (
        "from equipoise.records.showing import Section\n"
        "def fine(run):\n    return Section('Fine', (), 'fine', intro='All is well.')\n"
        "def wrong(run):\n    raise IndexError('no row 3')\n"
    )
    points = (
        "[equipoise.topics]\nfine = equipoise_plugged:fine\nwrong = equipoise_plugged:wrong\nlost = equipoise_lost:no\n"
    )
    write_plug_in(tmp_path, "equipoise-plugged", points, code)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_a_section_that_fails_says_why_on_the_page_and_fails_elsewhere(planted_run: Path) -> None:
    page = report.run_page(Run(planted_run))
    assert "All is well." in page and page.count('<section id="plugged-') == 2
    assert "This section is missing: the plug-in for topic &#39;wrong&#39; fails: IndexError: no row 3." in page
    assert "the plug-in equipoise_lost:no for topic &#39;lost&#39; fails: ModuleNotFoundError" in page
    with pytest.raises(EquipoiseError, match="equipoise_lost:no"):
        list(report.charts(Run(planted_run)))


@pytest.mark.usefixtures("installed")
def test_what_is_plugged_in() -> None:
    run: Any = None
    assert plugged.listed() == ["fine", "lost", "wrong"]
    assert (
        plugged.section("fine", run)
        == plugged.on_page("fine", run)
        == Section("Fine", (), "fine", intro="All is well.")
    )
    with pytest.raises(IndexError, match="no row 3"):
        plugged.section("wrong", run)
