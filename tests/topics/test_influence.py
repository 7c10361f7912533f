"""Leaving a base sentence out moves UCerF by what measuring without it gives."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.records.showing import Chart, Table, every
from equipoise.report import run_page
from equipoise.runs.run import Run
from equipoise.topics.influence import MOST_INFLUENTIAL, influence_section, left_out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out: Path = tmp_path_factory.mktemp("run")
    return equipoise.audit(
        "planted:noise=1.5", "builtin", limit=60, out=out, resamples=20, metrics=["ucerf", "ucerf_signed"], by=()
    )


@pytest.mark.parametrize(("kind", "name"), [("type2", "u"), ("type1", "u_signed")])
def test_the_mean_without_a_sentence_is_the_mean_of_the_others(run: Run, kind: str, name: str) -> None:
    pairs = run.parts[0].of_kind(run.parts[0].pairs, kind)
    table = left_out(pairs, pairs[name].to_numpy(dtype=float))
    for row in table.head(5).itertuples():
        cluster = pairs.loc[pairs["set_id"] == row.set_id, "cluster_id"].iloc[0]
        others = pairs[pairs["cluster_id"] != cluster][name]
        assert row.without == pytest.approx(others.mean())
        assert row.moved == pytest.approx(others.mean() - pairs[name].mean())
    sizes = table["moved"].abs().tolist()
    assert sizes == sorted(sizes, reverse=True) and len(table) == pairs["cluster_id"].nunique()
    # A set that was asked in several wordings is listed once, and counts as its mean.
    twice = pd.concat([pairs.assign(variant="wording=a"), pairs.assign(variant="wording=b")], ignore_index=True)
    again = left_out(twice, twice[name].to_numpy(dtype=float))
    assert again["set_id"].tolist() == table["set_id"].tolist()
    assert again["moved"].tolist() == pytest.approx(table["moved"].tolist())


def test_the_page_lists_the_most_influential_sets_with_their_cases(run: Run) -> None:
    section = influence_section(run)
    assert section is not None
    for kind, metric in (("type2", "ucerf"), ("type1", "ucerf_signed")):
        (table,) = [shown for shown in every([section], Table) if shown.about["type"] == kind]
        assert table.about["metric"] == metric and len(table.rows) == MOST_INFLUENTIAL
        assert (table.shown, table.rest(15)) == (5, "15 more sentences"), "the others are folded"
        assert all(row.cells[0].link.startswith("#case=") for row in table.rows)
    assert not list(every([section], Chart)), "a chart, and its data table, would say the same again"
    assert 'id="influence"' in run_page(run)


def test_what_is_described_is_as_it_was_kept(run: Run) -> None:
    assert_kept("topics/influence", influence_section(run))


def test_a_column_of_people_is_there_where_some_are_named(run: Run) -> None:
    section = influence_section(run)
    assert section is not None
    titles = {shown.about["type"]: [column.title for column in shown.columns] for shown in every([section], Table)}
    assert "people" in titles["type2"] and "people" not in titles["type1"], "nobody is meant in an ambiguous sentence"
