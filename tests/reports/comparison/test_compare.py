"""Comparing runs: the same sentences or none, differences that are those of the runs, and the page of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equipoise.reports.comparison.compare import Choices, Comparison, compare
from equipoise.reports.comparison.matching import ranks
from equipoise.reports.comparison.page import comparison_page, leaderboard, places
from equipoise.reports.page.html import write_page

import equipoise
from equipoise.records import EquipoiseError
from equipoise.runs.run import Run

QUICK = Choices(permutations=400, resamples=100)


@pytest.fixture(scope="module")
def compared(planted_run: Path, mild_run: Path) -> Comparison:
    return compare([planted_run, mild_run], QUICK)


def test_differences_are_those_of_the_runs(compared: Comparison, planted_run: Path, mild_run: Path) -> None:
    first, second = (Run(path).parts[0].measured for path in (planted_run, mild_run))
    assert compared.names == ["planted (strong)", "planted (mild)"]
    kinds = {"resolvable (type 2)": "type2", "ambiguous (type 1)": "type1"}
    assert len(compared.tests) == 13
    for test in compared.tests:
        rows = [measured.get(test.metric, type=kinds[test.kind]) for measured in (first, second)]
        assert test.difference.value == pytest.approx(rows[0].value - rows[1].value, abs=1e-9)
        assert test.difference.low <= test.difference.value <= test.difference.high
        assert test.corrected >= test.difference.p
    worse = {(test.metric, test.kind): test for test in compared.tests}
    assert worse["ucerf", "resolvable (type 2)"].difference.high < 0
    assert worse["ucerf", "resolvable (type 2)"].corrected < 0.05


def differences_in(metric: str, *runs: Path) -> dict[str, Any]:
    """Return the differences in one metric by where they were taken; each must be that of the runs."""
    comparison = compare(list(runs), Choices(metrics=(metric,), permutations=200, resamples=100))
    assert {test.metric for test in comparison.tests} == {metric}
    return {test.kind: test.difference for test in comparison.tests}


def test_calibration_is_compared(cloze_runs: tuple[Path, Path]) -> None:
    first, second = (Run(path).parts[0].measured.get("ece") for path in cloze_runs)
    differences = differences_in("ece", *cloze_runs)
    assert differences["all items"].value == pytest.approx(first.value - second.value)
    assert differences["all items"].n == first.n
    assert differences["all items"].low < differences["all items"].value < differences["all items"].high
    assert 0 < differences["all items"].p < 0.05


def test_confidence_with_markers_counted_is_compared(tmp_path: Path) -> None:
    choices = {"base": "builtin", "limit": 12, "attributes": ["age"], "augment": ["R"], "resamples": 30}
    metrics = ["confidence_marked", "confidence_marked_drop"]
    runs = []
    for strength in (0.4, 2.0):
        model = f"planted:strength={strength},bias=0.4,noise=0.5"
        runs.append(equipoise.audit(model, "winoidentity", out=tmp_path / str(strength), metrics=metrics, **choices))
    for metric in metrics:
        differences = differences_in(metric, *(run.path for run in runs))
        assert differences
        for where, difference in differences.items():
            assert difference.n > 0 and difference.low <= difference.value <= difference.high, where
    first, second = (run.parts[0].measured.get("confidence_marked", type="type2") for run in runs)
    difference = differences_in("confidence_marked", *(run.path for run in runs))["resolvable (type 2)"]
    assert difference.value == pytest.approx(first.value - second.value) and difference.value != 0


def test_vocabulary_entropy_is_compared(tiny_llama: Callable[..., Path], tmp_path: Path) -> None:
    choices = {"limit": 8, "resamples": 20, "device": "cpu", "reductions": True}
    runs = [equipoise.audit(str(tiny_llama(seed=seed)), out=tmp_path / str(seed), **choices) for seed in (1, 2)]
    first, second = (run.parts[0].measured.get("vocab_bits", type="type2") for run in runs)
    differences = differences_in("vocab_bits", *(run.path for run in runs))
    assert set(differences) == {"resolvable (type 2)", "ambiguous (type 1)"}
    assert differences["resolvable (type 2)"].value == pytest.approx(first.value - second.value) != 0


def test_corrections_are_over_all_comparisons(planted_run: Path, mild_run: Path, compared: Comparison) -> None:
    other = compare([planted_run, mild_run], Choices(permutations=400, resamples=100, correction="bh"))
    assert [test.difference for test in other.tests] == [test.difference for test in compared.tests]
    assert all(a.corrected <= b.corrected for a, b in zip(other.tests, compared.tests, strict=True))
    with pytest.raises(EquipoiseError, match="unknown correction 'bonferoni'"):
        Choices(correction="bonferoni")


def test_runs_on_other_sentences_are_refused_unless_intersected(make_run: Callable[..., Path], mild_run: Path) -> None:
    fewer = make_run("fewer", limit=40, strength=1.0, bias=1.2)
    with pytest.raises(EquipoiseError, match=r"80 of up to 160 are the same sentences.*--intersect"):
        compare([fewer, mild_run], QUICK)
    both = compare([fewer, mild_run], Choices(permutations=50, resamples=50, intersect=True))
    (matched,) = both.matches
    assert len(matched.outcomes[0]) == len(matched.outcomes[1]) == 80 and matched.dropped == 80
    sets = Run(mild_run).pairs
    common = sets[sets["set_id"].isin(set(matched.outcomes[0].set_id)) & (sets["type"] == "type2")]
    assert matched.measured[1].get("ucerf", type="type2").value == pytest.approx(common["u"].mean())
    assert "80 items of builtin" in comparison_page(both)


def test_the_same_id_with_another_text_is_another_item(make_run: Callable[..., Path], mild_run: Path) -> None:
    changed = make_run("changed", strength=1.6, bias=0.3)
    examples = Run(changed).examples
    examples.loc[0, "text"] = "Quite another sentence."
    Run(changed).folder.add({"examples.parquet": examples})
    with pytest.raises(EquipoiseError, match="159 of up to 160"):
        compare([changed, mild_run], QUICK)
    matched = compare([changed, mild_run], Choices(permutations=20, resamples=20, intersect=True)).matches[0]
    assert len(matched.outcomes[0]) == 158  # half a pair compares nobody


def test_one_run_or_the_same_twice_is_no_comparison(planted_run: Path) -> None:
    with pytest.raises(EquipoiseError, match="at least two"):
        compare([planted_run])
    with pytest.raises(EquipoiseError, match="named twice"):
        compare([planted_run, planted_run / "."])


def test_ranks_follow_each_metric_and_ties_share_one(compared: Comparison) -> None:
    (matched,) = compared.matches
    assert ranks(matched, "ucerf", "type2") == [2, 1]
    assert ranks(matched, "eo_sum", "type2") == [2, 1]
    assert ranks(matched, "perplexity", "type2") == [None, None]
    twice = type(matched)(matched.dataset, matched.task, matched.items, [matched.measured[0]] * 2, 0)
    assert ranks(twice, "ucerf", "type2") == [1, 1]
    rows = leaderboard(matched, compared.names, "type2")
    assert [row["name"] for row in rows] == ["planted (mild)", "planted (strong)"]
    several = places(matched, compared.names, "type1")
    assert several[0].performance.value == pytest.approx(1 - matched.measured[0].get("certainty", type="type1").value)


def test_overlaps_count_what_a_loop_counts(compared: Comparison) -> None:
    first, second = (run.outcomes for run in compared.runs)
    labelled = first["type"] == "type2"
    a, b = (frame[labelled]["correct"].to_numpy() == 1 for frame in (first, second))
    overlaps = {overlap.kind: overlap for overlap in compared.overlaps}
    table = (int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum()), int((~a & ~b).sum()))
    assert overlaps["resolvable (type 2)"].right == table
    turned = [
        {pair for pair, rows in frame[~labelled].groupby("set_id") if rows["predicted"].nunique() > 1}
        for frame in (first, second)
    ]
    assert overlaps["ambiguous (type 1)"].flips == (len(turned[0]), len(turned[1]), len(turned[0] & turned[1]))
    union = len(turned[0] | turned[1])
    assert overlaps["ambiguous (type 1)"].jaccard == pytest.approx(len(turned[0] & turned[1]) / union)
    assert overlaps["ambiguous (type 1)"].sets == int((~labelled).sum()) // 2


def test_the_page_opens_quietly_and_holds_no_sentence(
    browser: Any, compared: Comparison, tmp_path: Path, charts_without_values: str
) -> None:
    content = comparison_page(compared)
    assert not [text for text in compared.runs[0].examples["text"] if text in content]
    assert not re.search(r"\b(un)?fair\b", content, re.IGNORECASE)
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.goto(write_page(tmp_path / "compare.html", content).as_uri())
    assert tab.locator("main > section").count() == 9
    assert tab.locator("svg.chart").count() == 9
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    drawn = tab.locator("svg.chart").evaluate_all("(all) => all.map((one) => one.getBBox().width)")
    assert np.all(np.array(drawn) <= 440)
    assert tab.evaluate(charts_without_values) == []
    assert troubles == []
    tab.close()


def test_a_hostile_name_stays_text_in_the_page(hostile_run: Path, make_run: Callable[..., Path], browser: Any) -> None:
    content = comparison_page(compare([hostile_run, _copy(hostile_run)], Choices(permutations=20, resamples=20)))
    tab = browser.new_page()
    tab.set_content(content)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img").count() == 0
    assert "<script>window.hacked" in tab.inner_text("h1")
    tab.close()


def _copy(run: Path) -> Path:
    import shutil

    return Path(shutil.copytree(run, run.with_name("hostile-copy"), dirs_exist_ok=True))


def test_too_few_exchanges_for_so_many_comparisons_are_named(planted_run: Path, mild_run: Path) -> None:
    page = comparison_page(compare([planted_run, mild_run], Choices(permutations=50, resamples=20)))
    assert "exchanges cannot give a corrected p below 0.05" in page
    assert "cannot give" not in comparison_page(compare([planted_run, mild_run], QUICK))
