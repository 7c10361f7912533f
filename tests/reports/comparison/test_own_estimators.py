"""Runs measured by another estimator than perplexity are compared by its own UCerF, under its name."""

from __future__ import annotations

from pathlib import Path

from equipoise.reports.behaviour.views import occupations
from equipoise.reports.comparison.compare import compare
from equipoise.reports.comparison.page import comparison_page

import equipoise


def test_the_estimator_s_own_ucerf_is_tested_shown_and_drawn_by_its_name(tmp_path: Path) -> None:
    quick = {"resamples": 40, "limit": 30, "progress": False, "estimators": ["renyi"], "metrics": ["ucerf", "eo_sum"]}
    runs = [equipoise.audit(f"planted:strength=1,bias={b}", out=tmp_path / str(b), **quick) for b in (0.3, 2)]
    comparison = compare(runs, metrics=("ucerf",), resamples=40, permutations=40, progress=False)
    assert {test.metric for test in comparison.tests} == {"ucerf_renyi"}
    values = [run.parts[0].measured.get("ucerf_renyi", type="type2") for run in runs]
    (test,) = [t for t in comparison.tests if "type2" in t.group]
    assert values[0] is not None and values[1] is not None
    assert abs(test.difference.value - (values[0].value - values[1].value)) < 1e-9
    assert "ucerf_renyi" in comparison_page(comparison)
    titles = [view.kind for view in occupations(runs[0].parts[0])]
    assert titles and all("UCerF by renyi" in title for title in titles)
