"""The viewer as static files: every link leads somewhere, and nothing else is replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.files import sha256
from equipoise.records import EquipoiseError
from equipoise.view import export as exporting
from equipoise.view import pages
from equipoise.view.export import MARK, _address, _all, comparable, export
from equipoise.view.index import DAMAGED, RUNNING, Index, ListedPart


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


def test_every_page_of_an_export_is_made_of_its_runs(
    some_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(some_runs)
    by_place = {entry.place.rpartition("/")[2]: entry for entry in index.entries()}

    def refuse(folder: Path) -> bytes:
        if folder.name == "delta":
            raise EquipoiseError("the page is damaged")
        return f"<body>{folder.name}</body>".encode()

    def titled(title: str, several: list[Any], limits: object) -> str:
        return f"<body>{title}: {[entry.place for entry in several]} {limits}</body>"

    monkeypatch.setattr(exporting, "stored_page", refuse)
    monkeypatch.setattr(exporting, "compared_page", lambda several: f"<body>{[f.name for f in several]}".encode())
    monkeypatch.setattr(exporting, "history_page", titled)
    told: list[Any] = []
    out = tmp_path / "site"
    number = export(index, out, ["a limit"], progress=lambda *what: told.append(what))
    files = {file.name: file.read_text() for file in out.iterdir()}
    assert files.pop(MARK) == "made by equipoise view --export\n"
    assert number == len(files) == 10 and told == [("writing pages", n, max(n, 8)) for n in range(1, 11)]
    assert files["view.css"] == pages.style_file() and files["view.js"] == pages.script_file()
    what = "builtin · next-word"
    compare, over_time = _address(what), f"history-{sha256(b'planted')[:10]}.html"
    entries = index.entries()
    compared = [(f"Compare the 4 runs on {what}", compare)]
    assert files["index.html"] == pages.list_page(entries, here="index", static=True, comparisons=compared, seen=0)
    runs = [by_place[name] for name in ("alpha", "beta", "gamma", "delta")]
    shown = {"models": {"planted": (over_time, runs)}, "static": True}
    assert files["histories.html"] == pages.drawn_page("histories.html", "History", here="history", **shown)

    def barred(body: str, *more: tuple[str, str]) -> str:
        return pages.with_bar(body, [("All runs", "index.html"), ("All histories", "histories.html"), *more]).decode()

    places = [entry.place for entry in runs]
    assert files[over_time] == barred(f"<body>planted: {places} ['a limit']</body>")
    assert files[compare] == barred(f"<body>{['delta', 'gamma', 'beta', 'alpha']}")
    history = ("History of this model", over_time)
    assert files[f"run-{by_place['alpha'].slug}.html"] == barred("<body>alpha</body>", history)
    refused = pages.message_page("This cannot be shown", "the page is damaged", static=True)
    assert files[f"run-{by_place['delta'].slug}.html"] == refused


def test_an_export_of_no_runs_and_one_that_is_made_again_are_whole(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    out, draft = tmp_path / "site", tmp_path / ".site.next"
    draft.mkdir()
    (draft / "left.html").write_text("of one that was killed")
    for _ in range(2):
        assert export(Index(tmp_path / "runs"), out, progress=quiet) == 4
        names = {"view.css", "view.js", "index.html", "histories.html", MARK}
        assert {file.name for file in out.iterdir()} == names and not draft.exists()
        (out / "stray.txt").write_text("x")


def test_runs_are_compared_with_those_that_were_asked_the_same(some_runs: Path) -> None:
    (one, two, three, _) = Index(some_runs).entries()
    more = [*one.parts, ListedPart("bbq", "mcq")]
    first, second = replace(one, parts=more), replace(two, parts=more[::-1])
    assert comparable([first, second, three]) == {"bbq · mcq, builtin · next-word": [first, second]}
    assert list(comparable([one] * 12)) == ["builtin · next-word"] and comparable([one] * 13) == {}


def test_only_runs_of_a_model_with_several_lead_to_its_history(
    some_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three, *_ = Index(some_runs).entries()
    entries = [replace(one, model="alone"), two, three]
    monkeypatch.setattr(exporting, "stored_page", lambda folder: b"<body>")
    monkeypatch.setattr(exporting, "compared_page", lambda several: b"<body>")
    monkeypatch.setattr(exporting, "history_page", lambda *what: "<body>")
    files = dict(_all(entries, []))
    leads = [f"history-{sha256(b'planted')[:10]}.html" in files[f"run-{entry.slug}.html"] for entry in entries]
    assert leads == [False, True, True]
    assert ["History of this model" in files[f"run-{entry.slug}.html"] for entry in entries] == leads


def test_only_finished_runs_have_a_page_and_are_compared(some_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three, four = Index(some_runs).entries()
    entries = [one, replace(two, state=RUNNING), three, replace(four, state=DAMAGED)]
    monkeypatch.setattr(exporting, "stored_page", lambda folder: f"<body>{folder.name}".encode())
    monkeypatch.setattr(exporting, "compared_page", lambda several: f"<body>{[f.name for f in several]}".encode())
    monkeypatch.setattr(exporting, "history_page", lambda *what: "<body>")
    files = dict(_all(entries, []))
    assert {name for name in files if name.startswith("run-")} == {f"run-{e.slug}.html" for e in (one, three)}
    what = "builtin · next-word"
    assert files[_address(what)].endswith(str([one.folder.name, three.folder.name]))
    compared = [(f"Compare the 2 runs on {what}", _address(what))]
    assert files["index.html"] == pages.list_page(entries, here="index", static=True, comparisons=compared, seen=0)
