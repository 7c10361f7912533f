"""A run that a command has just written is handed on, not read again; read from its folder it is the same."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tiny import make_engine

from equipoise import audit, import_results, remeasure
from equipoise.cli import app
from equipoise.datasets.gendered import CONTROL_NAME
from equipoise.records import Estimate, Measurement, Outcomes, RunError, RunKey, parse_group
from equipoise.runs import Run
from equipoise.runs.measurements import measurements_frame
from equipoise.runs.run import Held, Part, all_parts, column, main_estimator
from equipoise.subset import subset_run

FEW: dict[str, Any] = {"limit": 12, "resamples": 20}
_watched: list[tuple[Path, Counter[str]]] = []


def _note_opening(event: str, arguments: tuple[Any, ...]) -> None:
    """Count the files of watched folders that are opened to be read."""
    if event != "open" or not _watched or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    path, mode = Path(os.fsdecode(arguments[0])).absolute(), arguments[1]
    for folder, reads in _watched:
        if path.is_relative_to(folder) and path.is_file() and isinstance(mode, str) and set(mode) <= set("rbt"):
            reads[path.relative_to(folder).as_posix()] += 1


sys.addaudithook(_note_opening)


@contextmanager
def reads_in(folder: Path) -> Iterator[Counter[str]]:
    """Give a count of how often each file of the folder is opened to be read."""
    reads: Counter[str] = Counter()
    _watched.append((folder.absolute(), reads))
    try:
        yield reads
    finally:
        _watched.pop()


def command(*words: str | Path) -> None:
    app([str(word) for word in words], standalone_mode=False)


def test_the_count_sees_what_is_read(tmp_path: Path) -> None:
    audit("planted", out=tmp_path / "run", **FEW)
    with reads_in(tmp_path / "run") as reads:
        run = Run(tmp_path / "run")
        assert len(run.measurements) and len(run.outcomes)
    assert reads == {"manifest.json": 1, "measurements.csv": 1, "outcomes.parquet": 1}


def test_an_audit_reads_nothing_that_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "planted:noise=1", "--limit", "12", "--resamples", "20", "--task", "next-word", "--task", "mcq"]
    with reads_in(tmp_path / "run") as reads:
        command(*words, "--out", tmp_path / "run")
    printed = capsys.readouterr().out
    assert reads == {"scores.jsonl": 1} and "report.html" in printed, "only the hash of its scores is taken"
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000
    # The same command continues: it reads its scores and, once, the manifest.
    with reads_in(tmp_path / "run") as reads:
        command(*words, "--out", tmp_path / "run", "--quiet")
    old = {"report.html": 1, "verdict.json": 1}
    assert reads == {"manifest.json": 1, "scores.jsonl": 2, **old}, "the old page is hashed and removed"


def test_texts_of_the_model_are_handed_on_too(tmp_path: Path) -> None:
    with reads_in(tmp_path / "run") as reads:
        thought = {"task": "next-word-cot", "answer_turn": "plain", "reasoning_tokens": 4}
        run = audit(make_engine(), out=tmp_path / "run", limit=3, resamples=5, **thought)
        held = list(run.texts())
    assert reads == {"scores.jsonl": 1, "reasoning.jsonl": 1} and len(held) == 6
    assert sorted(held, key=str) == sorted(Run(tmp_path / "run").texts(), key=str)


@pytest.mark.slow
def test_measuring_again_reads_each_table_once_and_a_part_of_a_run_too(tmp_path: Path) -> None:
    audit("planted", out=tmp_path / "run", **FEW)
    with reads_in(tmp_path / "run") as reads:
        command("measure", tmp_path / "run", "--estimator", "renyi", "--resamples", "20", "--quiet")
    assert reads == {"manifest.json": 1, "outcomes.parquet": 1, "examples.parquet": 1}
    with reads_in(tmp_path) as reads:
        command("measure", tmp_path / "run", "--where", "type=type2", "--out", tmp_path / "part", "--quiet")
    assert reads == {"run/manifest.json": 1, "run/outcomes.parquet": 1, "run/examples.parquet": 1}


def test_an_import_reads_nothing_that_it_wrote(tmp_path: Path) -> None:
    table = tmp_path / "theirs.csv"
    rows = [f"i{n},{c},{-1 - n % 3},{int(c == 'a')}" for n in range(20) for c in "ab"]
    table.write_text("\n".join(["item,candidate,logprob,gold", *rows]))
    with reads_in(tmp_path / "run") as reads:
        command("import", table, "--model", "m", "--out", tmp_path / "run", "--resamples", "20")
    assert reads == {}


def _imported(folder: Path) -> Run:
    table = folder / "theirs.csv"
    rows = [f"i{n},{c},{-1 - n % 3},{int(c == 'a')},g{n % 2}" for n in range(20) for c in "ab"]
    table.write_text("\n".join(["item,candidate,logprob,gold,group:g", *rows]))
    return import_results(table, model="m", out=folder / "run", resamples=20)


def _part(folder: Path) -> Run:
    audit("planted:noise=1", out=folder / "whole", **FEW)
    return subset_run(folder / "whole", ["type=type2"], out=folder / "run", resamples=20)


def _measured_again(folder: Path) -> Run:
    audit("planted:noise=1", task=["next-word", "cloze"], out=folder / "run", **FEW)
    return remeasure(folder / "run", estimators=["renyi", "perplexity"], resamples=20)


MADE: dict[str, Callable[[Path], Run]] = {
    "audit": lambda folder: audit(
        "planted:noise=1", data=["builtin", "sentiment"], task=["next-word", "mcq"], out=folder / "run", **FEW
    ),
    "precise": lambda folder: audit(
        "planted:noise=1", until_width=0.2, metrics=["accuracy"], by=[], out=folder / "run", resamples=20
    ),
    "measure": _measured_again,
    "part": _part,
    "import": _imported,
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_handed_on_is_what_would_be_read(name: str, tmp_path: Path) -> None:
    held = MADE[name](tmp_path)
    read = Run(tmp_path / "run")
    assert held.manifest == read.manifest
    for table in ("measurements", "outcomes", "pairs", "examples"):
        pd.testing.assert_frame_equal(getattr(held, table), getattr(read, table), check_exact=True)
    if "looks.csv" in held.manifest.files:
        pd.testing.assert_frame_equal(held.frame("looks.csv"), read.frame("looks.csv"), check_dtype=False)
    assert [str(part) for part in held.parts] == [str(part) for part in read.parts]
    for ours, theirs in zip(held.parts, read.parts, strict=True):
        pd.testing.assert_frame_equal(measurements_frame(ours.measured), measurements_frame(theirs.measured))
        _assert_equal(ours.outcomes, theirs.outcomes)
    assert [key for key, _ in held.answers()] == [key for key, _ in read.answers()]


def _assert_equal(left: Outcomes, right: Outcomes) -> None:
    for field in fields(Outcomes):
        ours, theirs = getattr(left, field.name), getattr(right, field.name)
        if isinstance(ours, dict) or field.name in ("groups", "reductions"):
            assert list(ours) == list(theirs), field.name
            for key in ours:
                np.testing.assert_array_equal(ours[key], theirs[key])
        elif isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert repr(ours) == repr(theirs), field.name


def test_a_run_is_shown_by_its_name_its_parts_and_its_groups(planted_run: Path) -> None:
    run = Run(planted_run)
    assert repr(run) == f"<Run of planted on {run.parts[0]} in {planted_run}>" and run.path == planted_run
    assert (Run(planted_run, name="mine").name, run.level) == ("mine", 0.95)
    (part,) = run.parts
    assert (str(part), part.key) == (
        str(RunKey("planted", "builtin", "next-word")),
        RunKey("planted", "builtin", "next-word"),
    )
    assert part.title("type2") == f"{part}, resolvable (type 2)"
    assert part.about("type1", more="x") == {"dataset": "builtin", "task": "next-word", "type": "type1", "more": "x"}
    assert part.about()["type"] == "" and part.has_items and part.has_pronouns and not part.is_control
    assert part.kinds == ["type2", "type1"] and set(run.groups) >= {"type", "gender", "occupation"}
    right = part.outcomes.answerable
    assert part.answerable("type2").tolist() == right[part.outcomes.group("type") == "type2"].tolist()
    assert part.answerable("").tolist() == right.tolist() and len(part.answerable("type1")) < len(right)
    assert len(part.of_kind(part.items, "type1")) + len(part.of_kind(part.items, "type2")) == len(part.items)
    assert part.of_kind(part.items, "") is part.items
    assert list(all_parts([run, run])) == [("builtin", "next-word")]
    assert [key for key, _ in run.answers()] == [RunKey("planted", "builtin", "next-word")]


def test_a_frame_has_a_column_for_each_part_of_a_group(planted_run: Path) -> None:
    run = Run(planted_run)
    frame = run.to_frame()
    assert len(frame) == len(run.measurements) and "group" not in frame.columns
    for label, (_, row) in zip(run.measurements["group"], frame.iterrows(), strict=True):
        parts = parse_group(label)
        named = {name: row[name] for name in ("type", "gender", "occupation") if row[name]}
        assert named == {name: value for name, value in parts.items() if name in ("type", "gender", "occupation")}


def test_cases_begin_with_the_least_alike(planted_run: Path) -> None:
    run = Run(planted_run)
    cases = run.cases()
    assert len(cases) == len(run.outcomes) and cases["u"].is_monotonic_increasing
    texts = run.examples.set_index("id")["text"]
    assert cases["text"].tolist() == texts[cases["example_id"]].tolist()
    sets = run.pairs.set_index("set_id")["u"]
    assert cases["u"].tolist() == sets[cases["set_id"]].tolist()
    assert all(np.allclose(row.raw_probs, np.exp(row.logprobs)) for row in cases.itertuples())
    few = run.cases("u < 0.5")
    assert 0 < len(few) < len(cases) and few["u"].max() < 0.5
    assert cases[cases["u"] < 0.5]["example_id"].tolist() == few["example_id"].tolist()


def test_columns_that_a_table_lacks_are_empty_and_the_first_estimator_stands_in() -> None:
    frame = pd.DataFrame({"u_renyi": [1, 2], "u_b": [3, 4], "xu_c": [5, 6]})
    assert np.isnan(column(frame, "u")).all() and column(frame, "u_b").tolist() == [3.0, 4.0]
    assert (main_estimator(frame, "u"), main_estimator(frame, "u_b"), main_estimator(frame, "y")) == (
        "u_renyi",
        "u_b",
        "y",
    )
    assert main_estimator(frame, "xu") == "xu_c"


def test_a_run_without_measurements_says_so(planted_run: Path) -> None:
    run = Run(planted_run)
    run.__dict__["measurements"] = run.measurements[:0]
    with pytest.raises(RunError) as error:
        _ = run.parts
    reason = "none of its metrics applies to its items"
    assert (
        str(error.value)
        == f"the run in {planted_run} has no measurements: {reason}; measure it again with other metrics"
    )


def test_control_sentences_are_beside_others() -> None:
    def part(*datasets: str) -> Part:
        run: Any = SimpleNamespace(parts=[SimpleNamespace(dataset=name) for name in datasets])
        return Part(run, datasets[0], "t")

    assert part(CONTROL_NAME, "builtin").is_control
    assert not part(CONTROL_NAME).is_control and not part("builtin", CONTROL_NAME).is_control


def test_texts_that_are_handed_on_are_not_read(planted_run: Path) -> None:
    run = Run(planted_run)
    assert list(run.texts()) == [] and run.with_texts([("a", "b")]) is run
    assert list(run.texts()) == [("a", "b")] and run.held_outcomes("builtin", "next-word") is None


@pytest.mark.parametrize(
    ("slots", "has"),
    [
        (['{"pronoun": "he"}', "{}", "{}"], False),
        (['{"pronoun": "he"}', '{"pronoun": "she"}', "{}"], True),
        (["{}", "{}", "{}"], False),
    ],
)
def test_pronouns_are_there_where_every_example_of_the_dataset_names_one(slots: list[str], has: bool) -> None:
    table = pa.table({"dataset": ["d", "d", "other"], "slots": slots})
    run: Any = SimpleNamespace(table=lambda name, columns: table.select(columns))
    assert Part(run, "d", "t").has_pronouns is has
    encoded = [pa.chunked_array([column.chunk(0).dictionary_encode()]) for column in table.columns]
    table = pa.table(encoded, names=table.column_names)
    assert Part(run, "d", "t").has_pronouns is has


def test_a_table_that_was_handed_on_and_cannot_be_used_is_read(planted_run: Path) -> None:
    run = Run(planted_run)
    expected = run.table("pairs.parquet")
    fresh = Run(planted_run)

    def fails(name: str) -> Any:
        raise ValueError(name)

    fresh._held = SimpleNamespace(table=fails, contents={}, tables={})  # type: ignore[assignment]
    assert fresh.table("pairs.parquet").equals(expected)


def test_measurements_are_those_of_one_dataset_and_one_task(planted_run: Path) -> None:
    keys = [(dataset, task) for dataset in "de" for task in "tu"]
    made = [
        Measurement("ucerf", "m", dataset, task, "all", Estimate(place, 0, 1, 0.95, 7, "x"), "higher")
        for place, (dataset, task) in enumerate(keys)
    ]
    read = Run(planted_run)
    read.__dict__["measurements"] = measurements_frame(made)
    for run in (read, Run(planted_run, held=Held({}, {}, made))):
        for one, key in zip(made, keys, strict=True):
            assert list(run.measured(*key)) == [one]


def test_the_example_of_each_item_is_found_whatever_their_order(planted_run: Path) -> None:
    run = Run(planted_run)
    (part,), table = run.parts, run.table("examples.parquet")
    examples = run.examples.set_index("id")["text"]

    def asked(rows: Any, items: Any) -> list[str]:
        fake: Any = SimpleNamespace(path=Path("mine"), table=lambda name, columns: table.take(rows).select(columns))
        some = Part(fake, part.dataset, part.task)
        some.__dict__["outcomes"] = part.outcomes.take(items)
        found, places = some.asked("text")
        assert found.column_names == ["dataset", "id", "text"]
        return [found["text"][place].as_py() for place in places.tolist()]

    every, n = np.arange(len(table)), len(part.outcomes)
    for rows, items in ((every, np.arange(n)), (every[::-1], np.arange(n)), (every, np.array([3, 0, 3, 5]))):
        assert asked(rows, items) == examples.loc[part.outcomes.example_id[items]].tolist()
    twice = np.concatenate([every[:4], every])
    assert asked(twice, np.arange(n)) == examples.loc[part.outcomes.example_id].tolist()
    used = list(dict.fromkeys(part.outcomes.example_id.tolist()))[:2]
    left = np.flatnonzero(~table["id"].to_pandas().isin(used).to_numpy())
    missing = int(np.isin(part.outcomes.example_id, used).sum())
    with pytest.raises(RunError) as refused:
        asked(left, np.arange(n))
    place = Path("mine") / "outcomes.parquet"
    assert str(refused.value) == f"{place} is damaged (example_id: {missing} answers are to no example of the run)"


def test_columns_are_read_by_themselves_and_tables_that_are_let_go_again(planted_run: Path) -> None:
    run = Run(planted_run)
    some = run.table("examples.parquet", ("id", "text"))
    assert some.column_names == ["id", "text"] and run.table("examples.parquet", ("id", "text")) is some
    whole = run.table("examples.parquet")
    assert whole.num_columns > 5 and run.table("examples.parquet") is whole
    assert run.table("examples.parquet", ("text",)).column("text").equals(some["text"])
    outcomes = run.table("outcomes.parquet")
    run.let_go("examples.parquet", "pairs.parquet")
    assert run.table("outcomes.parquet") is outcomes
    again = run.table("examples.parquet")
    assert again is not whole and again.equals(whole)


def test_groups_of_items_are_categories_and_ids_are_texts(planted_run: Path) -> None:
    run = Run(planted_run)
    whole, items = run.outcomes, run.items
    lists = [name for name in whole if isinstance(whole[name].iloc[0], np.ndarray)]
    assert {"probs", "logprobs"} <= set(lists) and list(items) == [name for name in whole if name not in lists]
    for name in items:
        is_text = isinstance(whole[name].dtype, pd.StringDtype)
        is_id = name in ("example_id", "set_id", "cluster_id")
        assert isinstance(items[name].dtype, pd.CategoricalDtype) == (is_text and not is_id)
        assert items[name].astype(object).equals(whole[name].astype(object))
    assert run.groups == list(run.parts[0].outcomes.groups)
