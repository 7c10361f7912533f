"""A run is read from its folder as it is needed, and so are its parts."""

from __future__ import annotations

import weakref
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from equipoise.datasets.gendered import CONTROL_NAME
from equipoise.records import Estimate, Measurement, RunError, RunKey, parse_group
from equipoise.runs import Run
from equipoise.runs.held import Held
from equipoise.runs.measurements import measurements_frame
from equipoise.runs.run import Part, all_parts, remembered
from equipoise.runs.tables import column, main_estimator


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


def test_texts_that_are_handed_on_are_not_read(planted_run: Path) -> None:
    run = Run(planted_run)
    assert list(run.texts()) == [] and run.with_texts([("a", "b")]) is run
    assert list(run.texts()) == [("a", "b")] and run.held_outcomes("builtin", "next-word") is None


def test_the_examples_of_a_dataset_are_those_of_its_name(planted_run: Path) -> None:
    run = Run(planted_run)
    whole, named = run.examples_of("builtin"), run.examples_of("builtin", "id", "text")
    assert whole.equals(run.table("examples.parquet")) and named.column_names == ["dataset", "id", "text"]
    assert named["text"].equals(whole["text"]) and not run.examples_of("other").num_rows


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


def test_columns_that_a_table_lacks_are_empty_and_the_first_estimator_stands_in() -> None:
    frame = pd.DataFrame({"u_renyi": [1, 2], "u_b": [3, 4], "xu_c": [5, 6]})
    assert np.isnan(column(frame, "u")).all() and column(frame, "u_b").tolist() == [3.0, 4.0]
    assert (main_estimator(frame, "u"), main_estimator(frame, "u_b"), main_estimator(frame, "y")) == (
        "u_renyi",
        "u_b",
        "y",
    )
    assert main_estimator(frame, "xu") == "xu_c"


def test_single_columns_are_those_of_the_whole_table(planted_run: Path) -> None:
    whole, run = Run(planted_run), Run(planted_run)
    for (part, single), (table, frame) in product(
        zip(whole.parts, run.parts, strict=True), (("outcomes.parquet", "items"), ("pairs.parquet", "pairs"))
    ):
        names = run.column_names(table)
        assert names == whole.table(table).column_names == whole.column_names(table)
        rows = getattr(part, frame)
        for kind, name in product(part.kinds, ("u", "certainty", "missing")):
            values = column(part.of_kind(rows, kind), main_estimator(rows, name))
            np.testing.assert_array_equal(single.numbers(table, name, kind), values)
    assert (("outcomes.parquet", ()) in run._arrow, ("outcomes.parquet", ()) in whole._arrow) == (False, True)


def test_parts_of_two_runs_hold_what_is_equal_once(planted_run: Path) -> None:
    (first, *_), (second, *_) = Run(planted_run).parts, Run(planted_run).parts
    before = second.outcomes
    second.share(first)
    assert second.outcomes.example_id is first.outcomes.example_id is not before.example_id
    assert second.outcomes.probs is before.probs


def test_control_sentences_are_beside_others() -> None:
    def part(*datasets: str) -> Part:
        run: Any = SimpleNamespace(parts=[SimpleNamespace(dataset=name) for name in datasets])
        return Part(run, datasets[0], "t")

    assert part(CONTROL_NAME, "builtin").is_control
    assert not part(CONTROL_NAME).is_control and not part("builtin", CONTROL_NAME).is_control


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
    run.examples_of = partial(Run.examples_of, run)
    assert Part(run, "d", "t").has_pronouns is has
    encoded = [pa.chunked_array([column.chunk(0).dictionary_encode()]) for column in table.columns]
    table = pa.table(encoded, names=table.column_names)
    assert Part(run, "d", "t").has_pronouns is has


def test_what_is_remembered_of_a_part_goes_with_it(planted_run: Path) -> None:
    asked: list[str] = []

    @remembered
    def rows(part: Part) -> list[str]:
        """Return the ids."""
        asked.append(part.dataset)
        return part.outcomes.example_id.tolist()

    run = Run(planted_run)
    (part,) = run.parts
    kept = weakref.ref(part.outcomes)
    assert rows(part) is rows(part) and asked == ["builtin"] and rows.__doc__ == "Return the ids."
    read = run.measurements, run.pairs, run.table("outcomes.parquet")
    run.forget()
    assert run.parts[0] is not part and run.parts[0] == part
    del part
    assert kept() is None, "nothing else holds the outcomes"
    assert rows(run.parts[0]) == rows(run.parts[0]) and asked == ["builtin"] * 2
    again = run.measurements, run.pairs, run.table("outcomes.parquet")
    assert all(one.equals(other) and one is not other for one, other in zip(read, again, strict=True))


def test_the_example_of_each_item_is_found_whatever_their_order(planted_run: Path) -> None:
    run = Run(planted_run)
    (part,), table = run.parts, run.table("examples.parquet")
    examples = run.examples.set_index("id")["text"]

    def asked(rows: Any, items: Any) -> list[str]:
        fake: Any = SimpleNamespace(path=Path("mine"), table=lambda name, columns: table.take(rows).select(columns))
        fake.examples_of = partial(Run.examples_of, fake)
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
