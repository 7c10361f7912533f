"""The how-to's estimator works exactly as printed."""

from __future__ import annotations

import json
import shlex

import pandas as pd
import pytest


@pytest.mark.slow
def test_the_commands_of_the_page_work(guide) -> None:
    page = guide("plug-ins.md", "An estimator")
    audit, study, gate = [shlex.split(command)[1:] for command in page.commands]
    # The planted engine stands in for the page's model: the answers are not the point here.
    ran = page.run("audit", "planted:strength=1,noise=2", *audit[2:], "--limit", "120", "--resamples", "50")
    assert ran.returncode == 0, ran.stderr
    studied = page.run(*study, "--out", "study", "--resamples", "50")
    assert studied.returncode == 0, studied.stderr
    standings = pd.read_csv(page.folder / "study" / "estimators.csv").query("type == 'type2' and metric == 'ucerf'")
    table = pd.read_csv(page.folder / "runs" / "gini" / "measurements.csv").query("group == 'type=type2'")
    measured = table.set_index("metric")["value"]
    values = standings.set_index("estimator")["value"]
    assert values["gini"] == pytest.approx(measured["ucerf_gini"])
    assert values["perplexity"] == pytest.approx(measured["ucerf"]) and values["gini"] != values["perplexity"]
    assert page.run(*gate, "--insist").returncode in (0, 1)
    shown = (page.folder / "runs" / "gini" / "report.html").read_text(encoding="utf-8")
    assert shown.count(">gini<") >= 2, "the page draws UCerF by estimator"
    assert json.loads(page.run("report", "runs/gini", "--json", "--no-html").stdout)
