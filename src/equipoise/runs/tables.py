"""Examples and Outcomes as tables, written in pieces, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import IO, Any

import numpy as np
import pandas as pd

from ..datasets.conditions import Described, chosen
from ..records import ABSENT, Example, Limits, Outcomes, SentencePair
from ..records.prompts import SECOND_PROBABILITY, SECOND_READING
from ..scoring.reductions import REDUCTIONS
from ..uncertainty import ENSEMBLE_AGREEMENT, P_TRUE, TOKEN_PROBABILITY

SUMMARIES = (*REDUCTIONS, ENSEMBLE_AGREEMENT, TOKEN_PROBABILITY, P_TRUE, SECOND_READING, SECOND_PROBABILITY)
"""Columns that hold a summary of each item beyond its candidates."""

ROWS = 65_536
"""Rows of a group: what is held in memory at once while a table is written."""

MOST_VALUES, MOST_BYTES = 10**9, 2**34
"""What a table may unpack to: a small file can hold a billion equal values."""

Columns = Mapping[str, Any]
"""Column name -> an array with a value (or a row of numbers) for each row, or one text for all rows."""


@dataclass(frozen=True)
class Rows:
    """A table that is written group by group: its arrow schema, and a function that yields its groups."""

    schema: Any
    groups: Callable[[], Iterator[Any]]

    def write(self, file: IO[bytes]) -> None:
        """Write the table as Parquet."""
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, self.schema) as writer:
            for group in self.groups():
                writer.write_table(group)

    def table(self) -> Any:
        """Return the whole as an arrow table."""
        import pyarrow as pa

        batches = [batch for group in self.groups() for batch in group.to_batches()]
        return pa.Table.from_batches(batches, self.schema)


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
        for dataset, examples in datasets.items():
            for start in range(0, len(examples), ROWS):
                known: dict[int, str] = {}
                rows = [_example_row(dataset, example, known) for example in examples[start : start + ROWS]]
                yield pa.Table.from_pylist(rows, schema=schema)

    return Rows(schema, groups)


def _example_row(dataset: str, example: Example, known: dict[int, str]) -> dict[str, Any]:
    """Return the row of an example; `known` are texts of mappings that examples share, by the mapping's id."""

    def text(mapping: Mapping[str, str]) -> str:
        if id(mapping) not in known:
            known[id(mapping)] = _json(dict(mapping))
        return known[id(mapping)]

    return {
        "dataset": dataset,
        **{field.name: getattr(example, field.name) for field in fields(Example)},
        "text": _encodable(example.text),
        "candidates": [_encodable(candidate) for candidate in example.candidates],
        "groups": text(example.groups),
        "slots": text(example.slots),
        "pair": None if example.pair is None else _json(asdict(example.pair)),
    }


def _json(value: Mapping[str, Any]) -> str:
    return _encodable(json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Return the text; one with lone surrogates, which no file can hold, with a mark in their place."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def examples_from_frame(frame: pd.DataFrame) -> list[Example]:
    """Return the examples of rows of `examples.parquet`."""
    columns: Iterable[Any] = frame.itertuples(index=False)
    return [
        Example(
            id=row.id,
            text=row.text,
            candidates=tuple(map(str, row.candidates)),
            gold=None if pd.isna(row.gold) else int(row.gold),
            answerable=bool(row.answerable),
            stereotype=None if pd.isna(row.stereotype) else int(row.stereotype),
            groups=json.loads(row.groups),
            set_id=row.set_id,
            cluster_id=row.cluster_id,
            slots=json.loads(row.slots),
            pair=_pair(row.pair),
            good=None if pd.isna(getattr(row, "good", None)) else int(row.good),
        )
        for row in columns
    ]


def _pair(text: Any) -> SentencePair | None:
    if not isinstance(text, str):
        return None
    fields = json.loads(text)
    return SentencePair(fields["before"], tuple(fields["rests"]), tuple(fields["sides"]))


def selected_ids(examples: pd.DataFrame, where: Sequence[str], source: str) -> set[str]:
    """Return the ids of the examples of one dataset that meet one of the conditions."""
    groups = {text: json.loads(text) for text in examples["groups"].unique()}
    paired = examples["set_id"].duplicated(keep=False)
    rows = zip(examples["groups"], examples["candidates"], paired, strict=True)
    described = [
        Described(groups[text], [str(name) for name in candidates], bool(two)) for text, candidates, two in rows
    ]
    return set(examples["id"][chosen(described, where, source)])


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
    try:
        return pa.array(values, type=kind, from_pandas=True)
    except UnicodeEncodeError:
        return pa.array([_encodable(text) for text in values], type=kind)


TEXTS = {
    "examples.parquet": ("dataset", "id", "text", "groups", "set_id", "cluster_id", "slots"),
    "outcomes.parquet": (
        *("model", "dataset", "task", "example_id", "variant", "set_id", "cluster_id", "sides", "flags"),
    ),
    "pairs.parquet": ("model", "dataset", "task", "set_id", "cluster_id", "variant"),
}
NUMBERS = {
    "outcomes.parquet": ("gold", "stereotype_index", "predicted", "correct", "perplexity", "candidate_mass"),
    "examples.parquet": ("gold", "stereotype"),
}
FLAGS = {"outcomes.parquet": ("answerable",), "examples.parquet": ("answerable",)}
LISTS = {"outcomes.parquet": ("probs", "logprobs")}
DERIVED = {
    "outcomes.parquet": re.compile(
        "first_named|good|correct|perplexity|candidate_mass|(certainty|desirability)(_.*)?|y|p|" + "|".join(SUMMARIES)
    ),
    "pairs.parquet": re.compile("[dc]_.*|u(_.*)?"),
    "examples.parquet": re.compile("good"),
}
"""Names of columns that hold numbers, where a table has them."""

TEXT_LISTS = {"examples.parquet": ("candidates",)}
OPTIONAL_LISTS = ("logprobs_with_marker", *Limits.COLUMNS.values())
"""Columns that hold lists of numbers, where a table has them. All columns without a name here are texts, or empty."""


def typed_frame(name: str, table: Any) -> pd.DataFrame:
    """Return an arrow table as the frame of a run; ValueError names a column that is missing or of another kind."""
    import pyarrow.types as kinds

    def is_text(kind: Any) -> bool:
        return bool(kinds.is_string(kind) or kinds.is_large_string(kind))

    def is_number(kind: Any) -> bool:
        return bool(kinds.is_integer(kind) or kinds.is_floating(kind))

    def is_numbers(kind: Any) -> bool:
        return bool((kinds.is_list(kind) or kinds.is_large_list(kind)) and is_number(kind.value_type))

    def is_texts(kind: Any) -> bool:
        return bool((kinds.is_list(kind) or kinds.is_large_list(kind)) and is_text(kind.value_type))

    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError("two columns have one name")
    if name in ("examples.parquet", "outcomes.parquet") and not table.num_rows:
        raise ValueError("it has no rows")
    needed = (
        *((TEXTS, is_text), (NUMBERS, is_number), (FLAGS, kinds.is_boolean)),
        *((LISTS, is_numbers), (TEXT_LISTS, is_texts)),
    )
    for columns, fits in needed:
        for column in columns.get(name, ()):
            if column not in table.column_names:
                raise ValueError(f"it has no column {column}")
            if not fits(table.schema.field(column).type):
                raise ValueError(f"its column {column} has values of another kind")
            if columns is not NUMBERS and table.column(column).null_count:
                raise ValueError(f"its column {column} has gaps")
    checked = {column for columns, _ in needed for column in columns.get(name, ())}
    for field in table.schema:
        if name in DERIVED and DERIVED[name].fullmatch(field.name):
            fitting = is_number(field.type) or kinds.is_boolean(field.type)
        elif field.name in OPTIONAL_LISTS:
            fitting = is_numbers(field.type)
        else:
            fitting = field.name in checked or is_text(field.type) or kinds.is_null(field.type)
        if not fitting:
            raise ValueError(f"its column {field.name} has values of another kind")
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    if name == "examples.parquet":
        for column in ("groups", "slots"):
            _objects(frame[column], column)
        return frame.astype({"gold": "Int64", "stereotype": "Int64", "pair": object})
    return frame


def outcomes_from_frame(frame: pd.DataFrame, groups: Sequence[str]) -> Outcomes:
    """Return the outcomes of one dataset and task, read back from the table; ValueError where they cannot be right."""

    def text(name: str) -> Any:
        # Equal texts are one object: the groups of a million rows are a few hundred.
        codes, texts = pd.factorize(frame[name].fillna(""))
        return texts.to_numpy(dtype=object)[codes]

    marker = "logprobs_with_marker"
    places: dict[str, Any] = {"letters": text("letters")} if "letters" in frame else {}
    for name, place in (("first", "first_named"), ("good", "good")):
        if _has_values(frame, place):
            places[name] = frame[place].to_numpy(dtype=np.int64)
    probs = np.stack(frame["probs"].to_list())
    outcomes = Outcomes(
        example_id=text("example_id"),
        variant=text("variant"),
        set_id=text("set_id"),
        cluster_id=text("cluster_id"),
        sides=text("sides"),
        probs=probs,
        logprobs=np.stack(frame["logprobs"].to_list()),
        gold=frame["gold"].to_numpy(dtype=np.int64),
        stereotype=frame["stereotype_index"].to_numpy(dtype=np.int64),
        answerable=frame["answerable"].to_numpy(dtype=bool),
        groups={name: text(name) for name in groups if name in frame and frame[name].fillna("").ne("").any()},
        flags=text("flags"),
        logprobs_with_marker=np.stack(frame[marker].to_list()) if _has_values(frame, marker) else None,
        reductions={name: frame[name].to_numpy(dtype=np.float64) for name in SUMMARIES if _has_values(frame, name)},
        limits=_limits(frame),
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


def _limits(frame: pd.DataFrame) -> Limits | None:
    """Return how far probabilities are known; None where these rows do not say, as in older runs."""
    columns = {name: column for name, column in Limits.COLUMNS.items() if _has_values(frame, column)}
    kinds = {name: np.int64 if name == "counts" else np.float64 for name in columns}
    tables = {name: np.stack(frame[column].to_list()).astype(kinds[name]) for name, column in columns.items()}
    return Limits(**tables) if columns else None  # type: ignore[arg-type]


def _has_values(frame: pd.DataFrame, name: str) -> bool:
    """Return whether these rows have that column: another task's rows may have brought it into the table."""
    return name in frame and bool(frame[name].notna().all())


def group_names(examples: pd.DataFrame) -> list[str]:
    """Return the names of the groups that the examples have; ValueError where they are not JSON."""
    return list(dict.fromkeys(name for groups in _objects(examples["groups"], "groups") for name in groups))


def _objects(column: pd.Series[str], name: str) -> list[dict[str, str]]:
    """Return what the cells of a column hold, each once; ValueError where it is not texts by name, as JSON."""
    try:
        objects = [json.loads(text) for text in column.drop_duplicates()]
    except (ValueError, RecursionError):
        raise ValueError(f"its {name} are not JSON") from None
    for cell in objects:
        if not isinstance(cell, dict) or not all(isinstance(value, str) for value in cell.values()):
            raise ValueError(f"its {name} are not JSON objects of texts")
    return objects


def read_parquet(handle: IO[bytes]) -> Any:
    """Return the arrow table of a Parquet file; ValueError where it would unpack to more than any run has."""
    import pyarrow.parquet as pq

    facts = pq.read_metadata(handle)
    columns = [facts.row_group(i).column(j) for i in range(facts.num_row_groups) for j in range(facts.num_columns)]
    if sum(column.num_values for column in columns) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    if sum(column.total_uncompressed_size for column in columns) > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES / 2**30:.0f} GiB")
    handle.seek(0)
    return pq.read_table(handle, use_threads=False)
