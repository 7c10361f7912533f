"""What a reader needs to judge and repeat a run: data, method, words and papers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.records.showing import Finding, Table
from equipoise.runs.run import Run
from equipoise.topics import background
from equipoise.topics.background import citations, data, facts, glossary, method, papers


def texts(table: Table) -> dict[str, str]:
    return {str(row.cells[0]): str(getattr(row.cells[1], "content", row.cells[1])) for row in table.rows}


def test_facts_say_what_was_asked_of_what(planted_run: Path) -> None:
    run = Run(planted_run)
    said = dict(facts(run))
    sets = run.pairs["set_id"].nunique()
    assert said["Datasets"] == "builtin" and said["Asked as"] == "next-word"
    assert said["Prompts"] == f"{len(run.outcomes):,}, {sets:,} sets" and said["Audited"].endswith(" UTC")


def test_option_orders_are_counted(tmp_path: Path) -> None:
    run = audit("planted", task="mcq", orders=2, limit=6, resamples=5, out=tmp_path / "run")
    assert dict(facts(run))["Prompts"] == "24, 6 sets in 2 option orders"


def test_data_say_licence_hash_and_faults(planted_run: Path) -> None:
    run = Run(planted_run)
    (table,) = data(run).every(Table)
    said, recorded = texts(table), run.manifest.datasets["builtin"]
    assert said["SHA-256"] == recorded["sha256"] and said["Licence"] == recorded["licence"] and table.facts


def test_a_licence_that_forbids_changes_is_warned_of(planted_run: Path) -> None:
    run = Run(planted_run)
    recorded = {**run.manifest.datasets["builtin"], "licence": "CC BY-NC-ND 4.0", "faults": 3}
    run.manifest = replace(run.manifest, datasets={"builtin": recorded})
    section = data(run)
    (table,) = section.every(Table)
    assert "--no-sentences" in table.notes[-1]
    assert texts(table)["Faults found"] == "3 (`equipoise data check builtin` lists them)"
    assert any("3 faulty rows" in finding.text for finding in section.every(Finding))


def test_method_has_the_command_all_settings_and_versions(planted_run: Path) -> None:
    run = Run(planted_run)
    again, *folded = method(run).every(Table)
    assert texts(again)["Command"] == run.manifest.command
    every = {key: value for table in folded for key, value in texts(table).items()}
    assert every["Name"] == run.name and every["resamples"] == "60" and every["finished"] == run.manifest.finished
    assert "by bootstrap have 60 resamples" in method(run).intro


def test_the_glossary_has_every_metric_of_the_run_once(planted_run: Path) -> None:
    general, every = glossary(Run(planted_run)).every(Table)
    assert "asked with each pronoun" in texts(general)["set"] and "UCerF (ucerf)" in texts(every)
    assert len(texts(every)) == len(every.rows)


def test_every_paper_is_cited_once(planted_run: Path) -> None:
    run = Run(planted_run)
    entries = list(papers(run))
    keys = [entry.split(",")[0] for entry in entries]
    assert len(set(keys)) == len(keys) and any("wang2025ucerf" in key for key in keys)
    section = citations(run)
    assert section is not None and len(next(section.every(Table)).rows) == len(entries)


@pytest.mark.parametrize("metric", ["ucerf", "eo_max", "accuracy"])
def test_a_paper_is_cited_where_one_of_its_metrics_was_measured_and_nowhere_else(tmp_path: Path, metric: str) -> None:
    run = audit("planted:noise=1", limit=10, resamples=5, by=[], metrics=[metric], out=tmp_path / "run")
    text, measured = "".join(papers(run)), set(run.measurements["metric"])
    known = {"wang2025ucerf": "ucerf", "hardt2016": "eo_", "sabir-confidence-trap": "ece"}
    assert any(name.startswith(metric) for name in measured)
    for key, beginning in known.items():
        assert (f"{{{key}," in text) == any(name.startswith(beginning) for name in measured), key


def test_what_is_described_is_as_it_was_kept(planted_run: Path) -> None:
    run = Run(planted_run)
    described = [facts(run)[:2], data(run), glossary(run), citations(run)]
    assert_kept("topics/background", *described, hide=[str(planted_run)])


@pytest.mark.parametrize(
    ("variants", "text"),
    [
        (["", None], "1,200, 2 sets"),
        (["seed=0", ""], "1,200, 2 sets"),
        (["seed=0", "seed=1"], "1,200, 2 sets in 2 option orders"),
        ([], "1,200 sentence pairs"),
    ],
)
def test_prompts_are_counted_with_their_sets_and_ways_where_there_are_several(
    variants: list[str | None], text: str
) -> None:
    pairs = pd.DataFrame({"dataset": "d", "set_id": [f"{at}" for at, _ in enumerate(variants)], "variant": variants})
    run: Any = SimpleNamespace(items=range(1200), pairs=pd.concat([pairs, pairs], ignore_index=True))
    assert background._asked(run) == text


def test_a_part_of_a_named_dataset_has_its_card_without_the_counts_of_the_whole(planted_run: Path) -> None:
    run = Run(planted_run)
    control = {**run.manifest.datasets["builtin"], "examples": 80, "sets": 40}
    recorded = {"gendered-control": control, "builtin-mine": {**control, "licence": ""}}
    manifest = replace(run.manifest, datasets=recorded)
    shown = data(SimpleNamespace(manifest=manifest, parts=[])).every(Table)  # type: ignore[arg-type]
    part, mine = shown
    assert part.title.startswith("Sentences in which the group word decides") and part.title.endswith(
        ": gendered-control"
    )
    assert texts(part)["Home"] == "part of this package" and not part.notes
    assert mine.title == "builtin-mine", "a table of a user may begin with any name"
