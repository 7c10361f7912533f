"""Examples and Outcomes as tables, written in pieces, and back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from operator import attrgetter
from typing import IO, Any

import numpy as np
import pandas as pd

from ..datasets.conditions import Described, chosen
from ..records import ABSENT, Booleans, Example, Floats, Limits, Outcomes, SentencePair
from ..records.json_texts import ObjectTexts
from ..records.prompts import SECOND_PROBABILITY, SECOND_READING
from ..scoring.reductions import REDUCTIONS
from ..stats.bootstrap import cluster_numbers, joint_numbers
from ..uncertainty import ENSEMBLE_AGREEMENT, P_TRUE, TOKEN_PROBABILITY

SUMMARIES = (*REDUCTIONS, ENSEMBLE_AGREEMENT, TOKEN_PROBABILITY, P_TRUE, SECOND_READING, SECOND_PROBABILITY)
"""Columns that hold a summary of each item beyond its candidates."""

ROWS = 65_536
"""Rows of a group: what is held in memory at once while a table is written."""

Columns = Mapping[str, Any]
"""Column name -> an array with a value (or a row of numbers) for each row, or one text for all rows."""


@dataclass(frozen=True)
class Rows:
    """A table that is written group by group: its arrow schema, and a function that yields its groups."""

    schema: Any
    groups: Callable[[], Iterator[Any]]

    def write(self, file: IO[bytes]) -> None:
        """Write the table as Parquet; probabilities hardly repeat, so looking for those that do only costs time."""
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, self.schema, use_dictionary=_repeating(self.schema)) as writer:
            for group in self.groups():
                writer.write_table(group)

    def content(self) -> bytes:
        """Return the table as the content of a Parquet file, which takes a fraction of the memory."""
        file = io.BytesIO()
        self.write(file)
        release_tables()
        return file.getvalue()

    def table(self) -> Any:
        """Return the whole as an arrow table."""
        import pyarrow as pa

        batches = [batch for group in self.groups() for batch in group.to_batches()]
        return pa.Table.from_batches(batches, self.schema)


def _repeating(schema: Any) -> list[str]:
    """Return the columns of a schema whose values repeat, as Parquet names them: all but fractions."""
    import pyarrow.types as kinds

    columns = {}
    for field in schema:
        is_list = kinds.is_list(field.type)
        columns[f"{field.name}.list.element" if is_list else field.name] = (
            field.type.value_type if is_list else field.type
        )
    return [name for name, kind in columns.items() if not kinds.is_floating(kind)]


def example_rows(datasets: Mapping[str, Sequence[Example]]) -> Rows:
    """Return the examples of every dataset as a table; groups, slots and sentence pairs are JSON."""
    import pyarrow as pa

    texts = [(name, pa.string()) for name in ("groups", "set_id", "cluster_id", "slots", "pair")]
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("dataset", "id", "text")),
            ("candidates", pa.list_(pa.string())),
            ("gold", pa.int64()),
            ("answerable", pa.bool_()),
            ("stereotype", pa.int64()),
            *texts,
            ("good", pa.int64()),
        ]
    )

    def groups() -> Iterator[Any]:
        text = ObjectTexts()
        for dataset, examples in datasets.items():
            for start in range(0, len(examples), ROWS):
                columns = _example_columns(dataset, examples[start : start + ROWS], text)
                arrays = [_column(columns[field.name], field.type) for field in schema]
                yield pa.Table.from_arrays(arrays, schema=schema)

    return Rows(schema, groups)


def _example_columns(dataset: str, examples: Sequence[Example], text: ObjectTexts) -> dict[str, list[Any]]:
    """Return the columns of examples."""
    columns = {field.name: list(map(attrgetter(field.name), examples)) for field in fields(Example)}
    pairs = [None if pair is None else json.dumps(asdict(pair), ensure_ascii=False) for pair in columns["pair"]]
    texts = {name: list(map(text, columns[name])) for name in ("groups", "slots")}
    return {"dataset": [dataset] * len(examples), **columns, **texts, "pair": pairs}


def _column(values: Sequence[Any], kind: Any) -> Any:
    """Return values as an arrow array; lone surrogates, which no file can hold, with a mark in their place."""
    import pyarrow as pa

    try:
        return pa.array(values, type=kind, from_pandas=True)
    except UnicodeEncodeError:
        return pa.array([_encodable(value) for value in values], type=kind, from_pandas=True)


def _encodable(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encodable(text) for text in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def examples_from_frame(frame: pd.DataFrame) -> list[Example]:
    """Return the examples of rows of `examples.parquet` as a frame."""
    import pyarrow as pa

    return list(examples_from_table(pa.Table.from_pandas(frame, preserve_index=False)))


def examples_from_table(table: Any) -> Iterator[Example]:
    """Yield the examples of rows of `examples.parquet`; those that say the same share it, as a million take much."""
    names = [field.name for field in fields(Example) if field.name in table.column_names]  # older runs have no `good`
    objects, candidates, pairs = cache(json.loads), cache(tuple), cache(_pair)
    for batch in table.select(names).to_batches():
        columns = {name: _values(batch[name]) for name in names}
        columns |= {name: list(map(objects, columns[name])) for name in ("groups", "slots")}
        columns["candidates"] = [candidates(tuple(several)) for several in columns["candidates"]]
        both = zip(columns["set_id"], columns["cluster_id"], strict=True)
        columns["cluster_id"] = [set_id if set_id == cluster else cluster for set_id, cluster in both]
        columns["pair"] = [pairs(text) if text else None for text in columns["pair"]]
        yield from map(Example, *columns.values())


def _values(column: Any) -> list[Any]:
    """Return a column of examples as Python's own values; equal texts are one object."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):
        texts: list[Any] = column_of_texts(column).tolist()
        return texts
    numbers: list[Any] = (column.cast("int64") if kinds.is_floating(column.type) else column).to_pylist()
    return numbers


def _pair(text: str) -> SentencePair:
    known = json.loads(text)
    return SentencePair(known["before"], tuple(known["rests"]), tuple(known["sides"]))


def selected(table: Any, where: Sequence[str], source: str) -> Booleans:
    """Return which examples of one dataset meet one of the conditions; those that say the same are looked at once."""
    import pyarrow.compute as pc

    sets = cluster_numbers(texts_of(table["set_id"]))
    paired = np.bincount(sets)[sets] > 1
    groups, people = texts_of(table["groups"]), texts_of(pc.binary_join(table["candidates"], "\0"))
    numbers = joint_numbers(*map(cluster_numbers, (groups, people, paired)))
    firsts = np.unique(numbers, return_index=True)[1]
    candidates = table["candidates"].take(firsts).to_pylist()
    facts = zip(map(json.loads, groups[firsts]), candidates, paired[firsts].tolist(), strict=True)
    described = [Described(*of_example) for of_example in facts]
    return np.array(chosen(described, where, source), dtype=bool)[numbers]


def outcome_columns(key: Mapping[str, str], outcomes: Outcomes, derived: Columns) -> Columns:
    """Return the columns of `outcomes.parquet`: identity, groups, probabilities, and what was derived from them."""
    with_marker = outcomes.logprobs_with_marker
    return {
        **key,
        "example_id": outcomes.example_id,
        "variant": outcomes.variant,
        "set_id": outcomes.set_id,
        "cluster_id": outcomes.cluster_id,
        "sides": outcomes.sides,
        "letters": outcomes.letters,
        **outcomes.groups,
        "answerable": outcomes.answerable,
        "gold": outcomes.gold,
        "stereotype_index": outcomes.stereotype,
        "first_named": outcomes.first,
        "good": outcomes.good,
        "predicted": outcomes.predicted,
        "probs": outcomes.probs,
        "logprobs": outcomes.logprobs,
        **({} if with_marker is None else {"logprobs_with_marker": with_marker}),
        **outcomes.reductions,
        **_limit_columns(outcomes.limits),
        **derived,
        "flags": outcomes.flags,
    }


def _limit_columns(limits: Limits | None) -> Columns:
    return {} if limits is None else {Limits.COLUMNS[name]: table for name, table in limits.tables.items()}


def column_rows(parts: Sequence[Columns]) -> Rows:
    """Return one table of several parts; a column that a part does not have is empty in its rows."""
    import pyarrow as pa

    schemas = [pa.schema([(name, _arrow_type(column)) for name, column in part.items()]) for part in parts]
    schema = pa.unify_schemas(schemas, promote_options="permissive")

    def groups() -> Iterator[Any]:
        for part in parts:
            length = next((len(column) for column in part.values() if not isinstance(column, str)), 0)
            for start in range(0, length, ROWS):
                stop = min(start + ROWS, length)
                arrays = [_array(part.get(field.name), field.type, slice(start, stop)) for field in schema]
                yield pa.Table.from_arrays(arrays, schema=schema)

    return Rows(schema, groups)


def _arrow_type(column: Any) -> Any:
    import pyarrow as pa

    if isinstance(column, str) or column.dtype == object:
        return pa.string()
    kind = pa.from_numpy_dtype(column.dtype)
    return pa.list_(kind) if column.ndim == 2 else kind


def _array(column: Any, kind: Any, rows: slice) -> Any:
    """Return these rows of a column as an arrow array."""
    import pyarrow as pa

    length = rows.stop - rows.start
    if column is None:
        return pa.nulls(length, kind)
    if isinstance(column, str):
        return pa.repeat(pa.scalar(_encodable(column), kind), length)
    values = column[rows]
    if values.ndim == 2:
        ends = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
        return pa.ListArray.from_arrays(ends, pa.array(values.reshape(-1))).cast(kind)
    return _column(values, kind)


def column(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column of numbers, all NaN where the table does not have it."""
    if name not in frame:
        return np.full(len(frame), np.nan)
    return frame[name].to_numpy(dtype=np.float64)


def main_estimator(columns: Iterable[Any], name: str) -> str:
    """Return the column of that name, or, where perplexity was not asked for, that of the first estimator.

    `columns` are names, or a table.
    """
    names = list(map(str, columns))
    return name if name in names else next((other for other in names if other.startswith(f"{name}_")), name)


def release_tables() -> None:
    """Give the memory of what is no longer used back to the machine; arrow and C would keep it for further tables."""
    import ctypes

    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # other systems than Linux
        ctypes.CDLL(None).malloc_trim(0)


def part_rows(table: Any, dataset: str, task: str) -> Any:
    """Return the rows of `outcomes.parquet` that are of one dataset and task."""
    import pyarrow.compute as pc

    inside = pc.and_(pc.equal(table["dataset"], dataset), pc.equal(table["task"], task))
    return table if pc.all(inside).as_py() else table.filter(inside)


def outcomes_from_table(table: Any, groups: Sequence[str]) -> Outcomes:
    """Return the outcomes of one dataset and task, read back from the table; ValueError where they cannot be right."""

    def text(name: str) -> Any:
        return texts_of(table[name])

    marker, names = "logprobs_with_marker", table.column_names
    places: dict[str, Any] = {"letters": text("letters")} if "letters" in names else {}
    for name, place in (("first", "first_named"), ("good", "good")):
        if _has_values(table, place):
            places[name] = _numbers(table[place], np.int64)
    probs = _lists(table["probs"])
    columns = {name: text(name) for name in groups if name in names}
    outcomes = Outcomes(
        example_id=text("example_id"),
        variant=text("variant"),
        set_id=text("set_id"),
        cluster_id=text("cluster_id"),
        sides=text("sides"),
        probs=probs,
        logprobs=_lists(table["logprobs"]),
        gold=_numbers(table["gold"], np.int64),
        stereotype=_numbers(table["stereotype_index"], np.int64),
        answerable=_numbers(table["answerable"], bool),
        groups={name: column for name, column in columns.items() if (column != "").any()},
        flags=text("flags"),
        logprobs_with_marker=_lists(table[marker]) if _has_values(table, marker) else None,
        reductions={name: _numbers(table[name], np.float64) for name in SUMMARIES if _has_values(table, name)},
        limits=_limits(table),
        **places,
    )
    for column in (outcomes.gold, outcomes.stereotype, outcomes.good):
        if len(column) and (column.min() < ABSENT or column.max() >= outcomes.k):
            raise ValueError("an answer is not one of the candidates")
    if any(label and "|" not in label for label in set(outcomes.sides.tolist())):
        raise ValueError("the sides of a sentence pair are not two names")
    if (probs < 0).any() or np.isnan(outcomes.logprobs).any():
        raise ValueError("a probability is not one")
    return outcomes


def texts_of(column: Any) -> Any:
    """Return a column of an arrow table as texts; equal ones of a group of rows are one object, missing ones empty."""
    import pyarrow as pa
    import pyarrow.types as kinds

    encoded = column if kinds.is_dictionary(column.type) else column.cast(pa.string()).dictionary_encode()
    return np.concatenate([np.empty(0, dtype=object), *map(column_of_texts, encoded.chunks)])


def column_of_texts(encoded: Any) -> Any:
    """Return an arrow array of texts that are encoded as a dictionary as a column; missing ones are empty."""
    texts = np.array([*encoded.dictionary.to_pylist(), ""], dtype=object)
    return texts[encoded.indices.fill_null(len(texts) - 1).to_numpy()]


def _numbers(column: Any, kind: Any) -> Any:
    """Return a column of numbers as an array of its own."""
    if column.null_count:
        raise ValueError("a number is missing")
    return np.array(column.to_numpy(), dtype=kind)


def _lists(column: Any) -> Any:
    """Return a column of lists of numbers as a table, a row for each list; ValueError where they differ in length."""
    sizes = column.combine_chunks().value_lengths().to_numpy(zero_copy_only=False)
    if not len(sizes) or np.isnan(sizes).any() or (sizes != sizes[0]).any():
        raise ValueError("its lists have different lengths")
    return np.array(column.combine_chunks().flatten().to_numpy(zero_copy_only=False)).reshape(len(sizes), -1)


def _limits(table: Any) -> Limits | None:
    """Return how far probabilities are known; None where these rows do not say, as in older runs."""
    columns = {name: column for name, column in Limits.COLUMNS.items() if _has_values(table, column)}
    kinds = {name: np.int64 if name == "counts" else np.float64 for name in columns}
    tables = {name: _lists(table[column]).astype(kinds[name]) for name, column in columns.items()}
    return Limits(**tables) if columns else None


def _has_values(table: Any, name: str) -> bool:
    """Return whether these rows have that column: another task's rows may have brought it into the table."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if name not in table.column_names or table[name].null_count:
        return False
    return not (kinds.is_floating(table[name].type) and pc.any(pc.is_nan(table[name])).as_py())
