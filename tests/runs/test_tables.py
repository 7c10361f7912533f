"""Examples and outcomes survive the disk to the bit."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_tables import examples_frame, outcomes_frame

from equipoise.datasets import open_dataset
from equipoise.records import (
    ABSENT,
    DatasetError,
    Limits,
    Outcomes,
    Prompt,
    RunManifest,
    Score,
    SentencePair,
)
from equipoise.runs.checked_tables import read_parquet
from equipoise.runs.folder import RunFolder
from equipoise.runs.tables import (
    SUMMARIES,
    _column,
    column_rows,
    example_rows,
    examples_from_frame,
    examples_from_table,
    outcomes_from_table,
    part_rows,
    selected,
    texts_of,
)
from equipoise.scoring.engine import Engine
from equipoise.tasks import open_task

MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def scores_of(engine: Engine, prompts: Sequence[Prompt]) -> list[Score]:
    (scores,) = engine.score([prompts])
    return list(scores)


def outcomes() -> Iterator[Outcomes]:
    """Yield real outcomes of both tasks, and some that are hard to keep."""
    from equipoise.scoring.planted import PlantedEngine

    examples = open_dataset("builtin").limited(9).examples
    for name in ("next-word", "mcq"):
        engine = PlantedEngine(noise=0.3)
        engine.prepare(examples)
        scorer = partial(scores_of, engine)
        yield open_task(name).run(examples, scorer=scorer, writer=lambda contexts, limit: {})
    text = np.array(["", "a\nb"], dtype=object)
    yield Outcomes(
        example_id=np.array(["1", "NaN"], dtype=object),
        variant=text,
        set_id=np.array(["01", "None"], dtype=object),
        cluster_id=np.array(["null", "1e5"], dtype=object),
        sides=np.array(["male|female", ""], dtype=object),
        probs=np.array([[1.0, 0.0], [1 / 3, 2 / 3]]),
        logprobs=np.array([[-1e-17, -745.1332191019412], [-0.1, -1e300]]),
        gold=np.array([ABSENT, 1]),
        stereotype=np.array([0, ABSENT]),
        answerable=np.array([False, True]),
        groups={"side": np.array(["", "naïve"], dtype=object), "stereotype": np.array(["pro", ""], dtype=object)},
        flags=np.array(["split-join", ""], dtype=object),
        reductions={name: np.array([1e-300, number / 3]) for number, name in enumerate(SUMMARIES)},
    )


@pytest.mark.parametrize("kept", list(outcomes()), ids=["next-word", "mcq", "hard"])
def test_outcomes_survive_the_disk_to_the_bit(kept: Outcomes, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    key = {"model": "m", "dataset": "d", "task": "t"}
    derived = {name: np.zeros(len(kept)) for name in ("correct", "perplexity", "candidate_mass")}
    table = outcomes_frame(key, kept, derived)
    folder.commit({"outcomes.parquet": table}, MANIFEST)
    back = outcomes_from_table(folder.table("outcomes.parquet", folder.content("outcomes.parquet")), list(kept.groups))
    for name in ("example_id", "variant", "set_id", "cluster_id", "sides", "gold", "stereotype", "answerable", "flags"):
        assert getattr(back, name).tolist() == getattr(kept, name).tolist(), name
    for name in ("probs", "logprobs"):
        assert getattr(back, name).tobytes() == getattr(kept, name).tobytes(), name
    assert {name: column.tobytes() for name, column in back.reductions.items()} == {
        name: column.tobytes() for name, column in kept.reductions.items()
    }
    assert {name: column.tolist() for name, column in back.groups.items()} == {
        name: column.tolist() for name, column in kept.groups.items()
    }


def test_examples_keep_their_groups(tmp_path: Path) -> None:
    examples = open_dataset("builtin").limited(5).examples
    folder = RunFolder(tmp_path)
    folder.commit({"examples.parquet": examples_frame("builtin", examples)}, MANIFEST)
    back = folder.frame("examples.parquet")
    assert [json.loads(groups) for groups in back["groups"]] == [dict(example.groups) for example in examples]
    assert [None if pd.isna(gold) else int(gold) for gold in back["gold"]] == [example.gold for example in examples]


def test_a_sentence_pair_is_kept_with_its_example() -> None:
    pair = SentencePair("The nurse left and", ("he slept.", "she slept."), ("male", "female"))
    (example,) = open_dataset("builtin").examples[:1]
    frame = examples_frame("mine", [example, replace(example, id="other", pair=pair)])
    assert frame["pair"].isna().tolist() == [True, False]
    assert json.loads(frame["pair"].tolist()[1]) == {
        "before": "The nurse left and",
        "rests": ["he slept.", "she slept."],
        "sides": ["male", "female"],
    }


KEY = {"model": "m", "dataset": "d", "task": "t"}


def kept() -> tuple[Outcomes, pd.DataFrame]:
    """Return outcomes that are hard to keep, and their table."""
    *_, hard = outcomes()
    derived = {name: np.zeros(len(hard)) for name in ("correct", "perplexity", "candidate_mass")}
    return hard, outcomes_frame(KEY, hard, derived)


def back(frame: pd.DataFrame, groups: Sequence[str] = ("side", "stereotype")) -> Outcomes:
    return outcomes_from_table(pa.Table.from_pandas(frame, preserve_index=False), groups)


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("gold", [-2, 1], "an answer is not one of the candidates"),
        ("gold", [0, 2], "an answer is not one of the candidates"),
        ("stereotype_index", [2, 0], "an answer is not one of the candidates"),
        ("good", [2, 0], "an answer is not one of the candidates"),
        ("gold", [None, 1], "a number is missing"),
        ("answerable", [None, True], "a number is missing"),
        ("sides", ["male", ""], "the sides of a sentence pair are not two names"),
        ("probs", [[-0.1, 1.1], [0.5, 0.5]], "a probability is not one"),
        ("logprobs", [[-1.0, -2.0], [-1.0, float("nan")]], "a probability is not one"),
        ("probs", [[1.0], [0.5, 0.5]], "its lists have different lengths"),
        ("probs", [None, [0.5, 0.5]], "its lists have different lengths"),
    ],
)
def test_outcomes_that_cannot_be_right_are_refused(column: str, values: list[object], reason: str) -> None:
    _, frame = kept()
    with pytest.raises(ValueError, match=f"^{reason}$"):
        back(frame.assign(**{column: values}))


def test_of_several_faults_of_outcomes_the_first_is_told() -> None:
    _, frame = kept()
    faults: dict[str, Any] = {"gold": [-2, 1], "sides": ["male", ""], "probs": [[-0.1, 1.1], [0.5, 0.5]]}
    told = []
    while faults:
        with pytest.raises(ValueError) as refused:
            back(frame.assign(**faults))
        told.append(str(refused.value))
        del faults[next(iter(faults))]
    assert told == [
        "an answer is not one of the candidates",
        "the sides of a sentence pair are not two names",
        "a probability is not one",
    ]


def test_what_rows_do_not_have_is_left_out() -> None:
    _, frame = kept()
    assert back(frame).groups.keys() == {"side", "stereotype"} and back(
        frame, ["stereotype", "none"]
    ).groups.keys() == {"stereotype"}
    assert back(frame.assign(side=["", ""])).groups.keys() == {"stereotype"}
    first = SUMMARIES[0]
    assert back(frame).reductions.keys() == set(SUMMARIES)
    assert first not in back(frame.assign(**{first: [1.0, float("nan")]})).reductions
    assert first not in back(frame.drop(columns=first)).reductions
    assert back(frame).limits is None and back(frame).logprobs_with_marker is None
    marked = back(frame.assign(logprobs_with_marker=[[-1.0, -2.0], [-3.0, -4.0]]))
    assert marked.logprobs_with_marker is not None and marked.logprobs_with_marker.tolist() == [[-1, -2], [-3, -4]]
    placed = back(frame.assign(first_named=[1, 0], good=[0, 1], letters=["A|B", ""]))
    assert (placed.first.tolist(), placed.good.tolist(), placed.letters.tolist()) == ([1, 0], [0, 1], ["A|B", ""])


def test_limits_come_back_with_their_kinds() -> None:
    hard, _ = kept()
    low = np.array([[0.1, 0.2], [0.3, 0.4]])
    limits = Limits(low, low + 0.1, low + 0.2, low + 0.3, np.array([[1, 2, 3], [4, 5, 6]]))
    derived = {name: np.zeros(2) for name in ("correct", "perplexity", "candidate_mass")}
    read = back(outcomes_frame(KEY, replace(hard, limits=limits), derived)).limits
    assert read is not None
    for name in Limits.COLUMNS:
        assert np.array_equal(getattr(read, name), getattr(limits, name))
        assert getattr(read, name).dtype == getattr(limits, name).dtype


def test_a_table_of_several_parts_has_gaps_where_a_part_lacks_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.runs.tables.ROWS", 2)
    parts = [
        {"name": "a", "x": np.array([1, 2, 3]), "t": np.array(["p", "\ud800", "q"], dtype=object)},
        {"name": "b", "y": np.array([[1.0, 2.0]]), "x": np.array([0.5])},
        {"name": "none", "x": np.array([], dtype=np.int64)},
    ]
    rows = column_rows(parts)
    groups = list(rows.groups())
    assert [group.num_rows for group in groups] == [2, 1, 1]
    table = rows.table()
    assert table.column_names == ["name", "x", "t", "y"]
    assert table.to_pylist() == [
        {"name": "a", "x": 1.0, "t": "p", "y": None},
        {"name": "a", "x": 2.0, "t": "?", "y": None},
        {"name": "a", "x": 3.0, "t": "q", "y": None},
        {"name": "b", "x": 0.5, "t": None, "y": [1.0, 2.0]},
    ]
    file = io.BytesIO()
    rows.write(file)
    file.seek(0)
    assert pq.read_table(file).equals(table) and pq.ParquetFile(file).num_row_groups == 3


def test_examples_come_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.runs.tables.ROWS", 3)
    (one,) = open_dataset("builtin").examples[:1]
    pair = SentencePair("ä", ("b c", "d c"), ("male", "female"))
    examples = [
        replace(one, id="a", good=1, slots={"pronoun": 'h"e'}),
        replace(one, id="b", gold=None, answerable=False, stereotype=None, groups={}),
        replace(one, id="c", pair=pair),
        replace(one, id="d"),
    ]
    rows = example_rows({"x": examples, "y": examples[:1]})
    assert [group.num_rows for group in rows.groups()] == [3, 1, 1]
    frame = rows.table().to_pandas()
    assert frame["dataset"].tolist() == ["x"] * 4 + ["y"] and examples_from_frame(frame[:4]) == examples
    assert examples_from_frame(frame[:4].drop(columns="good"))[1:] == examples[1:]
    read = list(examples_from_table(read_parquet(rows.content()).slice(0, 4)))
    assert read == examples and read[0].groups is read[3].groups and read[2].candidates is read[3].candidates
    assert all(example.cluster_id is example.set_id for example in read if example.cluster_id == example.set_id)
    assert frame["pair"][2] == '{"before": "ä", "rests": ["b c", "d c"], "sides": ["male", "female"]}'
    odd = example_rows({"x": [replace(one, text="\ud800", candidates=("\ud800", "b"))]}).table().to_pylist()
    assert (odd[0]["text"], odd[0]["candidates"]) == ("?", ["?", "b"])


def test_ids_are_chosen_by_conditions_and_parts_by_their_names() -> None:
    examples = list(open_dataset("builtin").examples[:4])
    several = [*examples, replace(examples[0], id="alone", set_id="alone"), replace(examples[1], candidates=("a", "b"))]
    asked = example_rows({"builtin": several}).table()
    assert selected(asked, ["paired=no"], "x").tolist() == [example.id == "alone" for example in several]
    female = [example.groups["gender"] == "female" for example in several]
    assert selected(asked, ["gender=female"], "x").tolist() == female and len(set(female)) == 2
    assert selected(asked, ["candidate=b", "paired=no"], "x").tolist() == [False] * 4 + [True] * 2
    with pytest.raises(DatasetError, match=r"^x has nothing with candidate=c; known: "):
        selected(asked, ["candidate=c"], "x")
    table = pa.table({"dataset": ["a", "a", "b"], "task": ["t", "u", "t"], "n": [1, 2, 3]})
    assert part_rows(table, "a", "t")["n"].to_pylist() == [1] and part_rows(table, "b", "t")["n"].to_pylist() == [3]
    same = table.slice(0, 1)
    assert part_rows(same, "a", "t") is same and part_rows(table, "b", "u").num_rows == 0


def test_a_column_with_a_lone_surrogate_keeps_its_type_and_its_gaps() -> None:
    mark = "\ud800"
    for kind in (pa.string(), pa.large_string()):
        column = _column([f"a{mark}", None, "b"], kind)
        assert (column.type, column.to_pylist()) == (kind, ["a?", None, "b"])
    several = pa.list_(pa.large_string())
    column = _column([("a", mark), (), None], several)
    assert (column.type, column.to_pylist()) == (several, [["a", "?"], [], None])
    plain = _column([1, None, float("nan")], pa.int16())
    assert (plain.type, plain.to_pylist()) == (pa.int16(), [1, None, None])


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.null()])
def test_texts_of_any_kind_of_column_are_read_with_missing_ones_empty(kind: Any) -> None:
    texts = [None] * 4 if kind == pa.null() else ["b", None, "a", "b"]
    column = pa.chunked_array([pa.array(texts[:2], kind), pa.array(texts[2:], kind)], kind)
    read = texts_of(column)
    assert read.dtype == object and read.tolist() == [text or "" for text in texts]
    assert texts_of(pa.chunked_array([], kind)).tolist() == []
