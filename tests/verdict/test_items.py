"""The page of a run on sentence pairs: its own finding and picture, and nothing of the page on coreference."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stand_in_parts import StandIn, answers
from stand_in_parts import row as told

from equipoise import summary
from equipoise.datasets.sentence_pairs import load_sentence_pairs
from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.verdict.items import Labels, labels_of, left_out

Opened = Callable[..., Any]


@pytest.mark.parametrize("width", [390, 1440])
def test_sentence_pairs_have_a_page_of_their_own(
    opened: Opened, cloze_runs: tuple[Path, Path], tmp_path: Path, width: int
) -> None:
    far, _ = cloze_runs
    run = Run(far)
    tab = opened(write_run_page(run, out=tmp_path / "page.html"), viewport={"width": width, "height": 844})
    (part,) = run.parts
    p = part.outcomes.probs[:, 0]
    labelled = (part.items["gold"] == 0).mean()
    lead = tab.locator("#findings p", has_text="People label").first.inner_text()
    said = f"People label {labelled:.0%} of {len(p)} sentences male; the model gives male a probability"
    assert lead.startswith(said)
    stated = re.search(r"probability of ([\d.]+) \[([\d.]+), ([\d.]+)\] on average", lead)
    assert stated and float(stated[1]) == pytest.approx(p.mean(), abs=0.006)
    assert float(stated[2]) < p.mean() < float(stated[3])
    assert lead in str(summary(far)), "the terminal, the page and Python say the same"
    chart, shares = tab.locator("#findings .first svg.chart").all()
    assert chart.get_attribute("aria-label").startswith("Do the probabilities match the labels?")
    assert shares.get_attribute("aria-label").startswith("Share of male")
    assert chart.bounding_box()["y"] < 844, "on the first screen"
    surest = tab.locator("#findings .worst .bar-value").all_inner_texts()
    wrong = part.outcomes.probs[part.items["correct"] == 0].max()
    assert f"{100 * wrong:.1f}%" in surest and "✗ no" in tab.inner_text("#findings .worst")

    shown = {node.get_attribute("id") for node in tab.locator("main > section").all()}
    assert {"findings", "calibration", "cases"} <= shown
    assert not {"scale", "occupations", "histograms", "identities", "pairs"} & shown
    assert f"{len(p)} sentence pairs" in tab.inner_text("header") and " 0 sets" not in tab.inner_text("body")
    for hidden in ("#case-occupation-label", "#case-flip-label"):
        assert not tab.locator(hidden).is_visible()
    case = tab.locator("#case-detail .case")
    assert case.locator(".u").inner_text() == "" and "D" not in case.locator(".numbers dt").all_inner_texts()
    assert not tab.locator("#case-sort option", has_text="U,").count()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_no_direction_is_named_where_none_is_shown(cloze_runs: tuple[Path, Path]) -> None:
    far, close = (str(summary(run)) for run in cloze_runs)
    assert "understates" not in close and "overstates" not in close and "People label" in close
    assert "People label" in far


def test_labels_that_were_not_measured_are_not_called_matched(cloze_runs: tuple[Path, Path], tmp_path: Path) -> None:
    far, _ = cloze_runs
    assert "not compared with labels" not in str(summary(far))
    pairs = load_sentence_pairs(far.parent / "pairs.csv", {})
    run = audit(
        PlantedEngine(bias=0, noise=3), pairs, "cloze", out=tmp_path / "run", resamples=2, metrics=["p_first", "ece"]
    )
    verdict = str(summary(run))
    assert "its probabilities were not compared with labels" in verdict and "what people say" not in verdict


def test_sentences_that_do_not_enter_are_counted_by_metric() -> None:
    def said(*rows: Any) -> list[str]:
        return [finding.text for finding in left_out(StandIn(list(rows)), "type2")]  # type: ignore[arg-type]

    group = "type=type2"
    both = [
        told(f"{name}_gap{end}", group, n=n)
        for name in ("desirability", "certainty")
        for end, n in (("", 90), ("_pooled", 1300))
    ]
    sides = "their set does not have both sides."
    one = (
        f"1,210 of 1,300 resolvable sentences do not enter desirability_gap: {sides}"
        " desirability_gap_pooled takes all of them."
    )
    two = (
        f"1,210 of 1,300 resolvable sentences do not enter desirability_gap and certainty_gap: {sides}"
        " desirability_gap_pooled and certainty_gap_pooled take all of them."
    )
    assert said(*both[:2]) == [one] and said(*both) == [two]
    assert said(both[0]) == said(both[1]) == said(both[0], told("desirability_gap_pooled", group, n=90)) == []
    (finding,) = left_out(StandIn(both), "type2")  # type: ignore[arg-type]
    assert (finding.topic, finding.kind) == ("left out", "type2")


def test_labels_are_told_with_the_way_that_the_model_misses_them() -> None:
    stated = told("p_first", value=0.6, low=0.5, high=0.7)
    share = told("label_share", value=0.4, n=80)
    plain = Labels("male", "female", stated, None, None)
    gives = "the model gives male a probability of 0.60 [0.50, 0.70]"
    assert plain.finding.text == f"Over 1,200 sentences {gives} on average." and plain.finding.claim is None
    assert list(plain.finding.rests_on) == [stated] and plain.apart == ""
    for value, ends, p, way in (
        (0.2, (0.1, 0.3), 0.01, "overstates"),
        (-0.2, (-0.3, -0.1), 0.01, "understates"),
        (0.2, (0.1, 0.3), 0.2, ""),
    ):
        lean = told("label_lean", value=value, low=ends[0], high=ends[1], p=p)
        labels = replace(plain, labelled=share, lean=lean)
        said = f"People label 40% of 80 sentences male; {gives} on average{f': it {way} male' if way else ''}."
        assert (labels.apart, labels.finding.text) == (way, said)
        assert labels.finding.claim == bool(way) and labels.finding.topic == "labels"
        assert list(labels.finding.rests_on) == [stated, share, lean]
    assert replace(plain, labelled=share).finding.text == plain.finding.text


def test_labels_need_sentence_pairs_and_name_their_sides_where_all_have_the_same() -> None:
    stated = told("p_first", value=0.6, low=0.5, high=0.7)
    outcomes = answers({"": 2})
    pairs = replace(outcomes, sides=np.array(["male|female", "male|female", "male|female", ""], dtype=object))
    mixed = replace(outcomes, sides=np.array(["male|female", "old|young", "", ""], dtype=object))
    made = [labels_of(StandIn([stated], several)) for several in (pairs, mixed, outcomes)]  # type: ignore[arg-type]
    names = [(labels.side, labels.other) for labels in made if labels]
    assert names == [("male", "female"), ("the first side", "the second side"), ("the first side", "the second side")]
    assert labels_of(StandIn([], pairs)) is None and labels_of(StandIn([stated], pairs, has_items=False)) is None  # type: ignore[arg-type]
    three = replace(outcomes, sides=np.array(["male|female|neutral"] * 4, dtype=object))
    labels = labels_of(StandIn([stated, told("label_share"), told("label_lean")], three))  # type: ignore[arg-type]
    assert labels is not None and (labels.side, labels.other) == ("male", "female")
    assert labels.labelled == told("label_share") and labels.lean == told("label_lean")
