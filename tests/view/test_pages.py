"""The viewer's own pages: nothing that a run says becomes markup, and only our own scripts may run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise import __version__
from equipoise.media.page.charts import glyph
from equipoise.media.page.html import SORTING, code_of, style
from equipoise.records import Estimate
from equipoise.report import run_page
from equipoise.runs.run import Run
from equipoise.view import pages
from equipoise.view.index import DAMAGED, FINISHED, RUNNING, Entry, ListedPart

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}}"
PLAIN = Entry("slug-1", "place", Path("run"), FINISHED, "model", [ListedPart("data", "task")], "2026-11-17T03:00:00")


def readable(page: str) -> str:
    """Return a page without its style, scripts and drawings, one tag a line."""
    plain = re.sub(r"<(script|style|svg|template)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"(?<=>)(?=<)", "\n", plain))


@pytest.mark.parametrize("state", [FINISHED, RUNNING, DAMAGED])
def test_nothing_that_a_run_says_becomes_markup(state: str) -> None:
    part = ListedPart(
        HOSTILE, HOSTILE, {"ucerf": {HOSTILE: Estimate(0.5, 0.4, 0.6, 0.95, 3, HOSTILE)}}, HOSTILE, HOSTILE
    )
    entry = replace(PLAIN, place=HOSTILE, state=state, model=HOSTILE, note=HOSTILE, parts=[part], date=HOSTILE)
    for shown in (pages.list_page([entry]), pages.rows_of(entry), pages.message_page(HOSTILE, HOSTILE)):
        assert "<img" not in shown and "<script>" not in shown and "49" not in shown
        assert not re.search(r'"[^"]*\bonerror=alert[^"]*"[^>]*>(?=.*onerror)', shown) or "&lt;img" in shown


def test_dots_are_drawn_on_the_same_axis_for_all_runs() -> None:
    def place(value: float) -> str:
        part = ListedPart("data", "task", {"ucerf": {"": Estimate(value, value, value, 0.95, 3, "")}})
        found = re.search(r'<circle cx="([\d.]+)"', pages.rows_of(replace(PLAIN, parts=[part])))
        assert found is not None
        return found[1]

    assert [float(place(value)) for value in (0.0, 0.5, 1.0)] == [4.0, 50.0, 96.0]


def test_a_stored_page_is_trusted_only_with_exactly_our_script(planted_run: Path) -> None:
    page = run_page(Run(planted_run)).encode()
    assert pages.is_ours(page)
    assert not pages.is_ours(page.replace(b'"use strict"', b'"use strict";fetch("/")'))
    assert not pages.is_ours(page + b"<script>alert(1)</script>")
    assert not pages.is_ours(b"")


def test_the_bar_is_put_before_the_page_s_own_and_changes_nothing_else(planted_run: Path) -> None:
    page = run_page(Run(planted_run)).encode()
    shown = pages.with_bar(page, [("All runs", "index.html"), (HOSTILE, "x.html")])
    assert b"<img src=x" not in shown.partition(b"<main")[0]
    assert pages.is_ours(shown)
    at = shown.index(b"<style>html{overflow-anchor")
    end = shown.index(b"</nav>", at) + len(b"</nav>")
    assert shown[:at] + shown[end:] == page


def test_addresses_leave_out_what_is_empty() -> None:
    assert pages.address("a.html") == "a.html" == pages.address("a.html", q="")
    assert pages.address("a.html", ("run", "x"), ("run", "y & z"), q="ü") == "a.html?run=x&run=y+%26+z&q=%C3%BC"


def test_a_long_list_begins_with_some_rows_and_has_all() -> None:
    entries = [replace(PLAIN, slug=f"slug-{number}") for number in range(pages.MOST_ROWS + 20)]
    shown = pages.list_page(entries)
    rows = re.findall(r"<tr data-slug=[^>]*>", shown)
    assert len(rows) == len(entries) and [row.endswith(" hidden>") for row in rows] == [False] * 100 + [True] * 20
    assert "Show all 120 runs" in shown and ' id="more">' in shown
    assert ' id="more" hidden>' in pages.list_page(entries[:5])


VALUES = {"type1": Estimate(0.25, 0.2, 0.3, 0.95, 9, ""), "type2": Estimate(0.75, 0.7, 0.8, 0.95, 9, "")}
FULL = ListedPart("Data", "Task", {"ucerf": VALUES}, "difference found", "A Sentence.")


def test_dots_are_told_with_the_type_and_the_first_value_sorts() -> None:
    dots = pages._dots(FULL, "ucerf")
    assert [(kind, estimate) for kind, estimate, _ in dots] == list(
        zip(["ambiguous", "resolvable"], VALUES.values(), strict=True)
    )
    assert [str(drawn) for *_, drawn in dots] == [str(glyph(estimate, (0.0, 1.0))) for estimate in VALUES.values()]
    assert pages._dots(FULL, "flip_rate") == [] and pages._first_value(FULL, "flip_rate") == ""
    assert pages._first_value(FULL, "ucerf") == "0.250000" and pages._kind("") == ""


def test_a_search_looks_through_all_that_a_row_says_in_any_case() -> None:
    entry = replace(PLAIN, model="GPT", place="Runs/One", note="A Note")
    assert pages._search_text(entry, None) == "gpt runs/one a note"
    assert pages._search_text(entry, FULL) == "gpt runs/one a note data task a sentence."


def test_a_page_without_a_bar_gets_one_after_the_start_of_its_body() -> None:
    shown = pages.with_bar("<html><body>É</body></html>", [("All runs", "index.html")]).decode()
    assert shown.startswith("<html><body><style>") and shown.endswith("</nav>É</body></html>")
    assert '<a href="index.html">All runs</a>' in shown


def test_the_viewer_s_own_pages_are_as_they_were_kept() -> None:
    going = replace(PLAIN, state=RUNNING, parts=[replace(FULL, status="", sentence="", sets=6, of=120)])
    entries = [replace(PLAIN, parts=[FULL]), going, replace(PLAIN, state=DAMAGED, note="No manifest.", parts=[])]
    drawn = {
        "list": pages.list_page(entries, here="index", kicker="runs", seen=3),
        "static list": pages.list_page(entries[:1], here="index", static=True, seen=0, comparisons=[("All", "c.html")]),
        "going": pages.going_page(going, 7),
        "rows": pages.rows_of(entries[0]),
        "message": pages.message_page("One moment", "It is being made.", refresh=1),
        "histories": pages.drawn_page("histories.html", "History", here="history", models={"m": ("h.html", entries)}),
    }
    assert_kept("view/pages", {name: readable(page) for name, page in drawn.items()}, hide=[__version__])


def test_the_style_and_the_script_are_those_of_all_pages_and_the_viewer_s_own() -> None:
    web = Path(pages.__file__).parent / "web"
    assert pages.style_file() == f"{style()}\n{(web / 'view.css').read_text().strip()}"
    whole = pages.script_file()
    assert whole.startswith(code_of(("page.js", *SORTING))) and whole.endswith((web / "ask.js").read_text().strip())
    assert (web / "view.js").read_text().strip() in whole


def test_a_page_that_begins_with_its_bar_gets_one_before_it() -> None:
    page = '<div class="bar">own</div><body>'
    shown = pages.with_bar(page, []).decode()
    assert shown.startswith("<style>") and shown.endswith(f"</nav>{page}")
