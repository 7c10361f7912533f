"""Histories: which runs belong together, and what the last one changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.metrics.requirement import parse_requirement
from equipoise.view.histories import history_page, models_with_histories
from equipoise.view.index import Index


def test_only_models_with_several_finished_runs_have_a_history(some_runs: Path) -> None:
    models = models_with_histories(Index(some_runs).entries())
    (several,) = models.values()
    assert [entry.place for entry in several] == [f"suite/{name}" for name in ("alpha", "beta", "gamma", "delta")]


@pytest.mark.slow
def test_a_history_has_every_run_the_limit_of_a_gate_and_the_last_change(some_runs: Path) -> None:
    (several,) = models_with_histories(Index(some_runs).entries()).values()
    page = history_page("planted", several[::-1], [parse_requirement("ucerf[type=type2] >= 0.80")])
    places = [page.index(f">{name}<") for name in ("alpha", "beta", "gamma", "delta")]
    assert places == sorted(places), "oldest first"
    assert "gate &gt;= 0.8" in page
    # delta has more bias than gamma.
    assert re.search("resolvable[^.]*UCerF: worse, by -0", page)
