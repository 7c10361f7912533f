"""Tables of answers made elsewhere: the Gender-ECE paper's CSVs, and a general format with a row for each candidate.

The formats are described in docs/how-to/other-tools.md. Nothing is repaired silently: what cannot be read is an
error with file and line, what is left out is said in the notes.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...datasets.columns import as_flag, as_label, as_text, is_missing
from ...datasets.dataset import Dataset
from ...datasets.rows import Row, Rows, read_rows
from ...datasets.sentence_pairs import load_sentence_pairs
from ...records import DatasetError, Example, Floats, Outcomes, SentencePair
from ...tasks.outcomes import example_columns, strings
from ...uncertainty import renormalise

PUBLISHED = {"genderlex": "genderlex", "winobias": "gender-ece-winobias", "winogender": "gender-ece-winogender"}
"""What a Gender-ECE file or its folder is called -> the dataset it is about."""


@dataclass(frozen=True)
class Results:
    """What was read: a model's outcomes on one dataset as one task."""

    model: str
    task: str
    dataset: Dataset
    outcomes: Outcomes
    notes: tuple[str, ...] = ()


def read_gender_ece(path: Path, model: str, dataset: str) -> list[Results]:
    """Return the results of one of the Gender-ECE paper's per-item CSVs."""
    table = read_rows(path)
    pair = {side: (f"Pronoun_Probability_{side}", f"Normalized_Score_{side}") for side in ("more", "less")}
    table.need("Sentence_more", "Sentence_less", "True_Label", *pair["more"], *pair["less"])
    guessed_model, guessed_dataset = _names(path)
    examples = load_sentence_pairs(path, name=dataset or guessed_dataset)
    raw, shares, kept, lost = [], [], [], []
    for number, row in enumerate(table.rows):
        cells = [[_number(table.file, row, name, empty=math.nan) for name in pair[side]] for side in ("more", "less")]
        (more, share_more), (less, share_less) = cells
        if not (more + less > 0 and math.isfinite(share_more) and math.isfinite(share_less)):
            lost.append(row.line)
            continue
        raw.append((more, less))
        shares.append((share_more, share_less))
        kept.append(number)
    if not kept:
        raise DatasetError(f"{table.file}: no row has a probability")
    probabilities, normalised = np.array(raw), np.array(shares)
    with np.errstate(divide="ignore"):
        logprobs = np.log(probabilities)
    chosen = [examples.examples[number] for number in kept]
    outcomes = _outcomes(chosen, normalised / normalised.sum(axis=1, keepdims=True), logprobs)
    notes = _remarks(table, probabilities, normalised, lost)
    judged = replace(examples, examples=tuple(chosen))
    return [Results(model or guessed_model, "cloze", judged, outcomes, tuple(notes))]


def _remarks(table: Rows, probabilities: Floats, normalised: Floats, lost: Sequence[int]) -> list[str]:
    notes = []
    if lost:
        notes.append(f"{table.file}: {len(lost)} rows without a probability are left out, the first in line {lost[0]}")
    if over := int((probabilities > 1).sum()):
        notes.append(f"{table.file}: {over} probabilities are over 1, summed over several places of a pronoun")
    ratio = probabilities[:, 0] / probabilities.sum(axis=1)
    if apart := int((np.abs(ratio - normalised[:, 0]) > 1e-6).sum()):
        notes.append(
            f"{table.file}: {apart} normalised scores differ from the probabilities' ratio; the scores are used"
        )
    return notes


def _names(path: Path) -> tuple[str, str]:
    """Return model and dataset from `winobias/GPT-J-6B.results.csv` or `results_winobias_GPT-J-6B.csv`."""
    stem = re.sub(r"^results[_-]|\.results$", "", path.stem, flags=re.IGNORECASE)
    known = "|".join(PUBLISHED)
    inside = re.match(rf"({known})[_-](?=.)", stem, flags=re.IGNORECASE)
    model = stem[inside.end() :] if inside else stem
    folder = path.resolve().parent.name
    label = inside[1] if inside else folder
    return model, PUBLISHED.get(label.lower(), re.sub(r"[^\w.-]+", "-", label) or "imported")


def read_general(path: Path, model: str, dataset: str) -> list[Results]:
    """Return the results of a table with a row for each candidate of each item."""
    table = read_rows(path)
    table.need("item", "candidate")
    if not {"logprob", "prob"} & set(table.columns):
        raise DatasetError(f"{table.file}: needs a column logprob or prob; it has {', '.join(table.columns)}")
    parts: dict[tuple[str, str, str], dict[tuple[str, str], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in table.rows:
        at = f"{table.file}:{row.line}"
        named = (
            as_label("model", row.cells.get("model")) or model or path.stem,
            as_label("dataset", row.cells.get("dataset")) or dataset or path.stem,
            as_label("task", row.cells.get("task")) or "imported",
        )
        if is_missing(row.cells["item"]):
            raise DatasetError(f"{at}: item is empty")
        item = (str(row.cells["item"]).strip(), as_label("variant", row.cells.get("variant")))
        parts[named][item].append(row)
    return [_part(table, path, *named, items) for named, items in parts.items()]


def _part(
    table: Rows, path: Path, model: str, dataset: str, task: str, items: Mapping[tuple[str, str], list[Row]]
) -> Results:
    examples: list[Example] = []
    logprobs: list[list[float]] = []
    variants: list[str] = []
    for (id, variant), rows in items.items():
        try:
            examples.append(_item(table, id, rows))
        except DatasetError as error:
            raise DatasetError(f"{table.file}:{rows[0].line}: {error}") from None
        values = [_logprob(table, row) for row in rows]
        if len(values) != len(logprobs[0] if logprobs else values):
            raise DatasetError(
                f"{table.file}:{rows[0].line}: item {id!r} has {len(values)} candidates, others {len(logprobs[0])}"
            )
        if max(values) == -math.inf:
            raise DatasetError(f"{table.file}:{rows[0].line}: all candidates of item {id!r} have probability 0")
        logprobs.append(values)
        variants.append(variant)
    scores = np.array(logprobs, dtype=np.float64)
    outcomes = _outcomes(examples, renormalise(scores), scores, variants)
    unique = {example.id: example for example in examples}
    return Results(model, task, Dataset(dataset, tuple(unique.values()), (), str(path)), outcomes)


def _item(table: Rows, id: str, rows: Sequence[Row]) -> Example:
    """Return the example that the rows of an item describe; what is said of the whole item is in its first row."""
    first = rows[0].cells
    groups = {
        name.removeprefix("group:"): as_label(name, first.get(name))
        for name in table.columns
        if name.startswith("group:")
    }
    standing = [as_label("stands_for", row.cells.get("stands_for")) for row in rows]
    if any(standing) and (not all(standing) or len(set(standing)) < len(standing)):
        raise DatasetError(f"item {id!r}: stands_for must name another side for each candidate")
    gold, stereotype = (_marked(name, rows) for name in ("gold", "stereotype"))
    answerable = as_flag("answerable", first.get("answerable"))
    candidates = tuple(as_text("candidate", row.cells["candidate"]) for row in rows)
    together = as_label("pair", first.get("pair")) or id
    cluster = as_label("cluster", first.get("cluster")) or together
    return Example(
        id=id,
        text=as_text("text", first["text"]) if not is_missing(first.get("text")) else id,
        candidates=candidates,
        gold=gold,
        answerable=gold is not None and not any(standing) if answerable is None else answerable,
        stereotype=stereotype,
        groups={name: value for name, value in groups.items() if value},
        # A sentence pair holds its contrast itself: items with the same `pair` are only resampled together.
        set_id=id if any(standing) else together,
        cluster_id=cluster,
        pair=SentencePair("", candidates, tuple(standing)) if any(standing) else None,
    )


def _marked(name: str, rows: Sequence[Row]) -> int | None:
    """Return which row of an item is marked with 1 or true in that column, None if none is."""
    marked = [index for index, row in enumerate(rows) if as_flag(name, row.cells.get(name))]
    if len(marked) > 1:
        raise DatasetError(f"{name} marks {len(marked)} candidates of one item")
    return marked[0] if marked else None


def _logprob(table: Rows, row: Row) -> float:
    if "logprob" in table.columns and not is_missing(row.cells.get("logprob")):
        value = _number(table.file, row, "logprob")
        if math.isnan(value) or value > 1e-4:
            raise DatasetError(f"{table.file}:{row.line}: logprob {value} is not the logarithm of a probability")
        return min(value, 0.0)
    value = _number(table.file, row, "prob") if "prob" in table.columns else math.nan
    if not 0 <= value <= 1 + 1e-6:
        raise DatasetError(f"{table.file}:{row.line}: has no logprob, and no prob in [0, 1]")
    return math.log(value) if value else -math.inf


def _number(file: str, row: Row, name: str, *, empty: float | None = None) -> float:
    value = row.cells.get(name)
    if is_missing(value) and empty is not None:
        return empty
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DatasetError(f"{file}:{row.line}: {name} {value!r} is not a number") from None


def _outcomes(examples: Sequence[Example], probs: Floats, logprobs: Floats, variants: Sequence[str] = ()) -> Outcomes:
    none = [""] * len(examples)
    texts = {"variant": strings(variants or none), "flags": strings(none)}
    return Outcomes(**example_columns(examples), **texts, probs=probs, logprobs=logprobs)
