"""Histories: which runs belong together, and what the last one changed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.metrics.requirement import parse_requirement
from equipoise.records import EquipoiseError
from equipoise.records.showing import Finding, Section
from equipoise.topics.history import history
from equipoise.view import histories
from equipoise.view.histories import _last_two, _moment, _name, _when, history_page, models_with_histories
from equipoise.view.index import DAMAGED, LISTED, Entry, Index, ListedPart, values_of


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
    assert re.search("resolvable[^.]*UCerF is worse, -0", page)


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


def test_a_page_of_a_history_has_its_runs_oldest_first(some_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = entries_of(some_runs, [f"2026-11-0{day}T10:00:00" for day in range(1, 5)])
    given: list[Any] = []
    monkeypatch.setattr(histories, "page", lambda *parts: (given.append(parts), "page")[1])
    monkeypatch.setattr(histories, "_change", lambda several: Section("change", [], several[-1].place))
    limits = [parse_requirement("accuracy >= 0.5")]
    assert history_page("planted", entries[::-1], limits) == "page"
    ((head, sections),) = given
    facts = [("Runs", "4"), ("From", "2026-11-01"), ("To", "2026-11-04")]
    assert (head.title, head.kicker, list(head.facts)) == ("planted", "History of", facts)
    moments = [_moment(entry, (*LISTED, "accuracy"), entries) for entry in entries]
    assert sections == [Section("change", [], "suite/delta"), *history(moments, limits)] and len(sections) == 2


def test_a_moment_has_the_values_of_the_parts_that_are_listed(some_runs: Path) -> None:
    entries = entries_of(some_runs, ["2026-11-01T10:00:00", "2026-11-02T10:00:00"])
    moment = _moment(entries[0], LISTED, entries)
    values = values_of((entries[0].folder / "measurements.csv").read_bytes())
    assert (moment.name, moment.link, moment.unusable) == ("alpha 1 Nov", f"run-{entries[0].slug}.html", [])
    assert moment.values == values != {}
    (part,) = values
    worse = replace(entries[0], parts=[ListedPart(*part, status="not usable"), ListedPart("other", "mcq")])
    assert _moment(worse, LISTED, entries).unusable == [part]
    assert _moment(replace(worse, parts=[ListedPart("other", "mcq")]), LISTED, entries).values == {}


def test_runs_are_named_by_their_models_where_these_tell_them_apart(some_runs: Path) -> None:
    first, second, third, _ = entries_of(some_runs, ["2026-11-17T08:05:00"] * 4)
    apart = [replace(first, model="a"), replace(second, model="b")]
    assert [_name(entry, apart) for entry in apart] == ["a 08:05", "b 08:05"]
    alike = [*apart, replace(third, model="b")]
    assert [_name(entry, alike) for entry in alike] == ["alpha 08:05", "beta 08:05", "gamma 08:05"]


def test_a_model_needs_two_finished_runs_for_a_history(some_runs: Path) -> None:
    first, second, third, fourth = entries_of(some_runs, ["2026-11-02", "2026-11-01", "2026-11-01", "2026-11-03"])
    named = [replace(first, model="b"), replace(second, model="b"), replace(third, model="a"), fourth]
    assert models_with_histories(named) == {"b": [named[1], named[0]]}
    assert models_with_histories([named[0], replace(named[1], state=DAMAGED)]) == {}
    both = [*named, replace(fourth, model="a")]
    assert list(models_with_histories(both)) == ["a", "b"]
    same = [replace(entry, model="m", date="2026-11-01") for entry in (second, first)]
    assert [entry.place for entry in models_with_histories(same)["m"]] == ["suite/alpha", "suite/beta"]


def test_the_change_is_of_the_listed_metrics_or_a_reason(some_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = entries_of(some_runs, [f"2026-11-0{day}" for day in range(1, 5)])
    asked: list[Any] = []
    monkeypatch.setattr(histories, "compared", lambda *given, **named: (asked.append((given, named)), "compared")[1])
    monkeypatch.setattr(histories, "last_change", lambda comparison: comparison)
    assert histories._change(entries) == "compared"
    assert asked == [(([entries[2].folder, entries[3].folder],), {"metrics": LISTED})]

    def fail(*_: Any, **__: Any) -> None:
        raise EquipoiseError("they share no sentence")

    monkeypatch.setattr(histories, "compared", fail)
    reason = "The last two runs cannot be tested against each other: they share no sentence."
    section = Section("Has it become better or worse?", [Finding(reason, state="doubt")], "change", "Change")
    assert histories._change(entries) == section
