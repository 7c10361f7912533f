"""Histories: which runs belong together, and what the last one changed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.metrics.requirement import parse_requirement
from equipoise.view.histories import _last_two, _when, history_page, models_with_histories
from equipoise.view.index import Entry, Index


def test_only_models_with_several_finished_runs_have_a_history(some_runs: Path) -> None:
    models = models_with_histories(Index(some_runs).entries())
    (several,) = models.values()
    assert [entry.place for entry in several] == [f"suite/{name}" for name in ("alpha", "beta", "gamma", "delta")]


@pytest.mark.slow
def test_a_history_has_every_run_the_limit_of_a_gate_and_the_last_change(some_runs: Path) -> None:
    (several,) = models_with_histories(Index(some_runs).entries()).values()
    page = history_page("planted", several[::-1], [parse_requirement("ucerf[type=type2] >= 0.80")])
    places = [page.index(f">{name} ") for name in ("alpha", "beta", "gamma", "delta")]
    assert places == sorted(places), "oldest first"
    assert "gate &gt;= 0.8" in page
    # delta has more bias than gamma.
    assert re.search("resolvable[^.]*UCerF: worse, by -0", page)


def entries_of(folder: Path, dates: list[str]) -> list[Entry]:
    (several,) = models_with_histories(Index(folder).entries()).values()
    return [replace(entry, date=date) for entry, date in zip(several, dates, strict=False)]


@pytest.mark.parametrize(
    ("dates", "shown"),
    [
        (["2026-11-17T08:05:00", "2026-11-17T14:27:00"], ["08:05", "14:27"]),
        (["2026-03-02T08:05:00", "2026-11-17T14:27:00"], ["2 Mar", "17 Nov"]),
        (["2025-03-02T08:05:00", "2026-11-17T14:27:00"], ["2025-03-02", "2026-11-17"]),
    ],
)
def test_runs_are_told_apart_by_what_differs_in_time(some_runs: Path, dates: list[str], shown: list[str]) -> None:
    entries = entries_of(some_runs, dates)
    assert [_when(entry, entries) for entry in entries] == shown


def test_the_last_change_is_between_runs_on_the_same_data(some_runs: Path) -> None:
    (alpha, beta, gamma, delta) = entries_of(some_runs, [f"2026-11-0{day}" for day in range(1, 5)])
    other = [replace(part, dataset="other") for part in delta.parts]
    assert _last_two([alpha, beta, gamma, replace(delta, parts=other)]) == [beta.folder, gamma.folder]
    assert _last_two([alpha, beta, replace(gamma, parts=other), delta]) == [beta.folder, delta.folder]
    assert _last_two([alpha, replace(delta, parts=other)]) == [alpha.folder, delta.folder], "the reason is shown"
