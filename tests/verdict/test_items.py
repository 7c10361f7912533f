"""The page of a run on sentence pairs: its own finding and picture, and nothing of the page on coreference."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import summary
from equipoise.datasets.sentence_pairs import load_sentence_pairs
from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine

Opened = Callable[..., Any]


@pytest.mark.parametrize("width", [390, 1440])
def test_sentence_pairs_have_a_page_of_their_own(
    opened: Opened, cloze_runs: tuple[Path, Path], tmp_path: Path, width: int
) -> None:
    far, _ = cloze_runs
    run = Run(far)
    tab = opened(write_run_page(run, out=tmp_path / "page.html"), viewport={"width": width, "height": 844})
    (part,) = run.parts
    p = np.array([probs[0] for probs in part.items["probs"]])
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
    wrong = max(max(probs) for probs in part.items[part.items["correct"] == 0]["probs"])
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
