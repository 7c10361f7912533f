"""The viewer as static files: every link leads somewhere, and nothing else is replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.records import EquipoiseError
from equipoise.view.export import MARK, comparable, export
from equipoise.view.index import Index


def quiet(what: str, done: int, total: int) -> None:
    pass


@pytest.mark.slow
def test_every_page_is_there_and_every_link_leads_to_one(
    some_runs: Path, tmp_path: Path, visit: Callable[..., Any]
) -> None:
    out = tmp_path / "site"
    number = export(Index(some_runs), out, progress=quiet)
    files = {file.name for file in out.iterdir()} - {MARK}
    assert number == len(files) == 2 + 2 + 1 + 1 + 4, (
        "style, script, list, histories, one history, one comparison, runs"
    )
    for file in out.glob("*.html"):
        links = re.findall(r'href="([^"#?:]+)"', file.read_text().partition("<script")[0])
        assert set(links) <= files, file.name
        assert "reading …" not in file.read_text()
    tab = visit((out / "index.html").as_uri())
    tab.wait_for_selector("html[data-list=ready]")
    tab.fill("[name=q]", "gamma")
    assert tab.locator("table.runs tbody tr:visible").count() == 1
    assert tab.get_by_role("link", name="Ask").count() == 0 and tab.locator("input[name=run]:visible").count() == 0
    tab.fill("[name=q]", "")
    tab.get_by_role("link", name="Compare the 4 runs").click()
    tab.wait_for_selector("#differing")
    tab.get_by_role("link", name="All runs").click()
    tab.locator("table.runs a").first.click()
    tab.wait_for_selector("html[data-cases=ready]", timeout=30_000)
    # The same again replaces it; a folder of somebody's own stays.
    (out / "stray.txt").write_text("x")
    export(Index(some_runs), out, progress=quiet)
    assert not (out / "stray.txt").exists()


def test_a_folder_that_is_not_an_export_is_left_alone(some_runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(EquipoiseError, match="not an export of the viewer"):
        export(Index(some_runs), tmp_path, progress=quiet)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_only_a_few_runs_that_were_asked_the_same_are_compared(some_runs: Path) -> None:
    entries = Index(some_runs).entries()
    assert [len(several) for several in comparable(entries).values()] == [4]
    assert comparable(entries[:1]) == {} and comparable(entries * 4) == {}
