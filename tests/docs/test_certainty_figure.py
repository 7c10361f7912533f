"""The figure in which readers drag two certainties shows the numbers that Equipoise computes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.metrics import fairness
from equipoise.uncertainty import PERPLEXITY

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the page of the built site in a browser."""
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("needs Chromium: apt-get install chromium")
        pytest.skip("needs Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto((site / "explanations" / "certainty" / "index.html").as_uri())
        yield tab
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize("answerable", [True, False])
@pytest.mark.parametrize(("she", "he"), [(95, 60), (51, 49), (95, 5), (50, 80), (0, 100)])
def test_the_figure_computes_what_the_metrics_compute(figure: Any, she: int, he: int, answerable: bool) -> None:
    figure.set_checked("[name=answerable]", answerable)
    for name, value in (("she", she), ("he", he)):
        figure.locator(f"[name={name}]").fill(str(value))
    shown = {item.get_attribute("data-value"): item.text_content() for item in figure.locator("[data-value]").all()}
    probs = np.array([[she, 100 - she], [he, 100 - he]]) / 100
    certainty = PERPLEXITY.certainty(probs)
    predicted = np.where(probs[:, 0] == 0.5, -1, probs.argmax(axis=1))
    correct = (predicted == 0).astype(float) if answerable else np.full(2, np.nan)
    desirability = fairness.desirability(correct, certainty)
    compare = fairness.pair_ucerf if answerable else fairness.pair_ucerf_unanswerable
    assert [float(shown["c-she"]), float(shown["c-he"])] == pytest.approx(certainty.tolist(), abs=6e-4)
    assert [float(shown["d-she"]), float(shown["d-he"])] == pytest.approx(desirability.tolist(), abs=6e-4)
    assert float(shown["u"]) == pytest.approx(compare(desirability[None, :])[0], abs=6e-4)
    if not answerable:
        signed = np.choose(predicted + 1, [0.0, 1.0, -1.0]) * certainty  # a tie, the first person, the second
        assert float(shown["signed"]) == pytest.approx(fairness.pair_ucerf(signed[None, :])[0], abs=6e-4)
    assert (shown["flips"] == "yes") == (-1 not in predicted and predicted[0] != predicted[1])
