"""The how-to's chart works exactly as printed: on the page, in figures and in a notebook."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pandas as pd
import pytest


@pytest.fixture
def page(guide: Any) -> Any:
    return guide("plug-ins.md", "A chart")


@pytest.mark.slow
def test_the_section_of_the_page_is_shown_everywhere(page: Any) -> None:
    audit, figures, tables = [shlex.split(command, comments=True)[1:] for command in page.commands]
    # The planted engine stands in for the page's model: the answers are not the point here.
    for command in (["audit", "planted", *audit[2:], "--limit", "20", "--resamples", "50"], figures, tables):
        done = page.run(*command)
        assert done.returncode == 0, done.stderr
    folder = page.folder / "runs" / "sure"
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert '<section id="sureness"' in text and text.index('id="sureness"') < text.index('id="cases"')
    rows = pd.read_csv(folder / "measurements.csv").query("metric == 'certainty' and group == 'gender=male,type=type2'")
    assert f"{rows['value'].item():.3f} [{rows['low'].item():.3f}, {rows['high'].item():.3f}]" in text
    names = {file.name for file in (folder / "figures").iterdir()}
    assert {f"sureness-builtin-next-word-type2.{ending}" for ending in ("pdf", "svg", "png")} <= names
    code = "import equipoise; print(equipoise.load('runs/sure').plot.sureness(type='type2').get_size_inches()[0])"
    assert float(page.python(code).stdout) == 6.75
    assert json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["finished"]
