"""Links open cases and selections; cases can be copied and saved; rows come as one scrolls. All in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pages import Opened, number_of_cases, values, walked
from playwright.sync_api import expect

from equipoise.datasets.pronouns import PRONOUNS
from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.topics.flips import set_fates
from equipoise.verdict.validity import checks


@pytest.fixture(scope="module")
def page(planted_run: Path) -> Path:
    return write_run_page(Run(planted_run))


def test_the_first_screen_counts_the_sets_and_draws_each(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, (part,) = opened(page), Run(planted_run).parts
    for kind in part.kinds:
        rate = part.measured.get("flip_rate", type=kind)
        toward, against = (part.measured.get(f"flip_{way}", type=kind) for way in ("toward", "against"))
        sets = int((part.pairs["type"] == kind).sum())
        counts = [round(row.value * sets) for row in (rate, toward, against)]
        named = "ambiguous" if kind == "type1" else "resolvable"
        lead = tab.locator("#findings p", has_text=f"changed the answer in {counts[0]} of {sets} {named} sets")
        assert f": {counts[1]} toward the stereotype, {counts[2]} against it" in lead.first.inner_text()
        (view,) = (view for view in set_fates(part) if view.kind == kind)
        assert [view.n - view.counts["same"], view.counts["toward"], view.counts["against"]] == counts
    strip = tab.locator(".checks").inner_text()
    assert all(check.name in strip and check.short in strip for check in checks(part))
    squares = {
        name: tab.locator(f".squares rect.t-{name}").count() for name in ("same", "toward", "against", "neither")
    }
    assert sum(squares.values()) == len(part.pairs) and squares["toward"] > squares["against"]
    signed = part.pairs[part.pairs["type"] == "type1"].sort_values("u_signed").iloc[0]
    assert f"{signed['u']:.3f}" == tab.locator(".worst .u b").inner_text()
    assert tab.locator(".worst .sentence").bounding_box()["y"] < 900, "on the first screen"


def test_a_cloze_shows_the_pronouns_that_it_asked_for_not_the_people(opened: Opened, tmp_path: Path) -> None:
    run = audit("planted:strength=1,bias=1,noise=1", task="cloze", limit=12, resamples=20, out=tmp_path / "run")
    (part,) = run.parts
    (row,) = part.items.head(1).itertuples()
    tab = opened(write_run_page(run), f"#case={row.set_id}")
    detail = tab.locator("#case-detail")
    names = [name.split()[0] for name in detail.locator(".bar-name").all_inner_texts()]
    assert names == [PRONOUNS[row.form][side] for side in ("male", "female")]
    assert detail.locator(".bar-value").all_inner_texts() == [f"{p:.1%}" for p in part.outcomes.probs[0]]


@pytest.mark.slow
def test_links_open_a_case_or_a_selection_and_can_be_sent(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, run = opened(page), Run(planted_run)
    fates = tab.locator(".key a", has_text="changed toward").first
    expected = int(fates.inner_text().split()[0])
    fates.click()
    assert number_of_cases(tab) == expected
    assert "#filter=" in tab.url and "flip:toward" in tab.url
    set_id = run.pairs["set_id"].iloc[3]
    tab = opened(page, f"#case={set_id}")
    assert tab.get_attribute("#case-detail", "data-set") == set_id
    assert number_of_cases(tab) == run.pairs["set_id"].nunique(), "the other cases stay in the list"
    assert tab.locator("#case-list [aria-selected=true]").is_visible()
    square = tab.locator(".squares rect.t-same").first
    wanted = square.get_attribute("data-case").split(",")[0]
    square.click()
    expect(tab.locator("#case-detail")).to_have_attribute("data-set", wanted, timeout=60_000)
    assert "#case=" in tab.url
    tab.locator("#occupations summary").first.click()
    tab.locator("#occupations svg a").first.focus()
    tab.keyboard.press("Enter")
    # The page answers a new address a moment later.
    expect(tab.locator("#case-count")).not_to_have_text(re.compile("^80 of"), timeout=60_000)
    assert 0 < number_of_cases(tab) < 80 and "occupation" in tab.url
    tab.evaluate("location.hash = '#filter=u:0.9~1,type:type1'")
    expect(tab.locator("#case-range")).to_contain_text("0.9", timeout=60_000)
    own = run.pairs[(run.pairs["type"] == "type1") & (run.pairs["u"].round(4) >= 0.9)]
    assert number_of_cases(tab) == len(own)
    tab.evaluate("location.hash = '#filter=%E0%A4%A,:'")  # cut off by a mail program


def test_the_selection_is_saved_as_tables(opened: Opened, page: Path, planted_run: Path, tmp_path: Path) -> None:
    tab, run = opened(page), Run(planted_run)
    tab.select_option("#case-flip", "changed")
    shown = number_of_cases(tab)
    frames = []
    for name, read in (("csv", pd.read_csv), ("json", pd.read_json)):
        with tab.expect_download() as saved:
            tab.click(f"#case-{name}")
        saved.value.save_as(tmp_path / name)
        frames.append(read(tmp_path / name))
    table, records = frames
    assert table["set_id"].nunique() == records["set_id"].nunique() == shown > 0
    expected = run.outcomes[run.outcomes["set_id"].isin(table["set_id"])]
    assert sorted(table["d"]) == pytest.approx(sorted(expected["desirability"]), abs=1e-4)
    assert set(table["fate"]) <= {"toward", "against", "neither"}
    raw = sorted(float(np.exp(values[0])) for values in expected["logprobs"])
    assert sorted(values[0] for values in records["raw_probabilities"]) == pytest.approx(raw, abs=1e-4)
    assert "raw probability" in tab.locator("#case-detail .numbers").first.inner_text()


@pytest.mark.slow
def test_a_list_of_any_length_takes_a_pane_and_one_stop_of_the_tab_key(opened: Opened, make_run: Any) -> None:
    tab, short = (opened(write_run_page(Run(make_run(f"long-{limit}", limit=limit)))) for limit in (400, 40))
    assert number_of_cases(tab) == 400
    heights = [one.evaluate("document.getElementById('cases').offsetHeight") for one in (tab, short)]
    assert heights[0] <= heights[1] < 2000, "as high for 400 cases as for 40"
    assert tab.evaluate("[...document.querySelectorAll('main > section')].at(-1).id") == "cases"
    most = 0
    tab.focus("#case-list")
    for _ in range(12):
        tab.keyboard.press("PageDown")
        most = max(most, tab.evaluate("document.querySelectorAll('#case-list *').length"))
    assert most < 600
    tab.keyboard.press("End")
    last = tab.locator("#case-list [aria-selected=true]")
    assert last.get_attribute("aria-posinset") == "400" and last.is_visible()
    assert tab.get_attribute("#case-list", "aria-activedescendant") == last.get_attribute("id")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('#case-detail') !== null"), "the list is one stop"


@pytest.mark.parametrize("width", [390, 1440])
def test_a_link_to_a_case_shows_the_case_itself(opened: Opened, page: Path, planted_run: Path, width: int) -> None:
    set_id = Run(planted_run).pairs["set_id"].iloc[3]
    tab = opened(page, f"#case={set_id}", viewport={"width": width, "height": 844})
    box = tab.locator("#case-detail .sentence").bounding_box()
    assert 0 <= box["y"] < 300, "not below the filters"


def test_a_case_is_copied_as_markdown(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, run = opened(page, permissions=["clipboard-read", "clipboard-write"]), Run(planted_run)
    case = tab.locator("#case-detail .case")
    case.locator("button", has_text="copy as Markdown").click()
    case.locator("button", has_text="copied").wait_for()
    copied = tab.evaluate("navigator.clipboard.readText()").splitlines()
    worst = run.pairs.sort_values("u").iloc[0]
    items = run.outcomes[run.outcomes["set_id"] == worst["set_id"]]
    texts = run.examples.set_index("id")["text"]
    assert copied[0] == f"**{worst['set_id']}** (builtin · next-word)"
    for line, item in zip(copied[2:4], items.itertuples(), strict=True):
        assert line.startswith(f"- {texts[item.example_id]}: ")
        assert all(f"{100 * p:.1f}%" in line for p in item.probs)
    assert copied[-1].startswith("file://") and f"#case={worst['set_id']}" in copied[-1]


@pytest.mark.slow
def test_signed_u_sorts_changed_answers_first(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, pairs = opened(page), Run(planted_run).pairs
    tab.select_option("#case-type", "type1")
    tab.select_option("#case-sort", "s-up")
    ordered = pairs[pairs["type"] == "type1"].sort_values("u_signed", kind="stable")["u"].head(8)
    assert values(tab, "#case-list .u b")[:8] == pytest.approx(ordered.tolist(), abs=6e-4)
    signed = pairs[pairs["type"] == "type1"].sort_values("u_signed", kind="stable")["u_signed"].head(8)
    assert values(tab, "#case-list .u strong")[:8] == pytest.approx(signed.tolist(), abs=6e-4)
    tab.select_option("#case-type", "type2")
    assert tab.locator("#case-list .u strong").count() == 0, "where an answer is right, U sees that it changed"


def test_a_case_shows_the_numbers_of_the_run(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, run = opened(page), Run(planted_run)
    pairs = run.pairs.sort_values("u")
    case = tab.locator("#case-detail .case")
    assert case.locator(".u b").text_content() == f"{pairs['u'].iloc[0]:.3f}"
    items = run.outcomes[run.outcomes["set_id"] == pairs["set_id"].iloc[0]]
    shown = case.locator(".numbers div:nth-child(3) dd").all_text_contents()
    assert [float(one) for one in shown] == pytest.approx(items["desirability"].tolist(), abs=6e-4)
    perplexities = case.locator(".numbers div:nth-child(2) dd").all_text_contents()
    assert [float(one) for one in perplexities] == pytest.approx(items["perplexity"].tolist(), abs=6e-4)
    bars = case.locator(".bar-value").all_text_contents()
    expected = [f"{100 * p:.1f}%" for probs in items["probs"] for p in probs]
    assert bars == expected
    text = run.examples.set_index("id").loc[items["example_id"].iloc[0], "text"]
    mark = case.locator("mark").text_content()
    assert mark in ("he / she", "him / her", "his / her")
    assert case.locator(".sentence").text_content().replace(mark, mark.split(" / ")[0]) == text


@pytest.mark.slow
def test_search_and_every_filter_find_what_the_tables_hold(opened: Opened, page: Path, planted_run: Path) -> None:
    tab, run = opened(page), Run(planted_run)
    items = run.outcomes.merge(run.examples[["id", "text", "slots"]], left_on="example_id", right_on="id")

    def sets(rows: pd.Series) -> int:
        return int(items[rows]["set_id"].nunique())

    assert number_of_cases(tab) == items["set_id"].nunique()
    tab.fill("#case-search", "NURSE")
    assert number_of_cases(tab) == sets(items["text"].str.lower().str.contains("nurse")) > 0
    tab.fill("#case-search", "")
    tab.select_option("#case-occupation", "nurse")
    named = items["text"].str.lower().str.contains(r"\bnurse\b")
    assert number_of_cases(tab) == sets(named) > 0
    tab.select_option("#case-occupation", "")
    tab.select_option("#case-type", label="ambiguous (type 1)")
    assert number_of_cases(tab) == sets(items["type"] == "type1") > 0
    tab.select_option("#case-type", "")
    tab.select_option("#case-pronoun", label="her")
    tab.select_option("#case-correct", "0")
    assert number_of_cases(tab) == sets(items["slots"].str.contains('"her"') & (items["correct"] == 0)) > 0
    tab.select_option("#case-pronoun", "")
    tab.select_option("#case-group", label="stereotype: pro")
    assert number_of_cases(tab) == sets((items["stereotype"] == "pro") & (items["correct"] == 0))
    tab.select_option("#case-group", "")
    tab.select_option("#case-correct", "both")
    differs = items.groupby("set_id")["correct"].nunique() == 2
    assert number_of_cases(tab) == int(differs.sum()) > 0
    tab.select_option("#case-correct", "none")
    assert number_of_cases(tab) == sets(items["correct"].isna())
    tab.fill("#case-search", "no such words at all")
    assert "No case fits" in tab.inner_text("#case-count")
    assert tab.locator("#case-list [role=option], #case-detail .case").count() == 0


@pytest.mark.slow
def test_cases_sort_by_u_and_by_d_and_come_as_one_scrolls(opened: Opened, page: Path, planted_run: Path) -> None:
    tab = opened(page)
    assert 0 < tab.locator("#case-list [role=option]").count() < number_of_cases(tab)
    tab.evaluate("document.getElementById('case-list').scrollTop = 1e6")
    tab.wait_for_selector(f"#case-list [aria-posinset='{number_of_cases(tab)}']")
    tab.select_option("#case-sort", "u-up")
    shown = values(tab, "#case-list .u b")
    assert shown == sorted(shown) and shown[0] < shown[-1]
    tab.select_option("#case-sort", "u-down")
    shown = values(tab, "#case-list .u b")
    assert shown == sorted(shown, reverse=True)
    tab.select_option("#case-sort", "d-down")
    largest = [
        max(abs(float(one)) for one in case.locator(".numbers div:nth-child(3) dd").all_text_contents())
        for case in walked(tab, 8)
    ]
    assert largest == sorted(largest, reverse=True)
