"""Which column of a user's table is what, and what its cells say."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from ..records import DatasetError, listed
from ..records.limits import Limits
from ..records.scripts import folded

ALIASES: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "sentence", "sample"),
    "pronoun": ("pronoun",),
    "candidates": ("candidates", "options", "choices", "occupations"),
    "gold": ("gold", "answer", "referent", "label", "correct"),
    "answerable": ("answerable",),
    "good": ("good", "favourable", "favorable"),
    "stereotype": ("stereotype", "is_stereotypical", "stereotyped"),
    "group": ("group", "gender"),
    "pair": ("pair", "pair_id", "set", "set_id"),
    "cluster": ("cluster", "cluster_id"),
    "type": ("type",),
    "id": ("id", "example_id"),
    "form": ("form", "pronoun_form"),
}
"""What we need -> what a column may be called so that it is found without a map (in any case)."""

_CANDIDATE = re.compile(r"(?:candidate|occ|occupation|option|choice)_?([1-9])")
_GROUP = re.compile(r"group:([A-Za-z][\w-]*)")
_OWN_GROUPS = ("type", "gender", "form", "occupation", "other", "position", "side", "stereotype", "split")
_TAKEN = (
    *("model", "dataset", "task", "example_id", "variant", "seed", "set_id", "cluster_id", "sides", "answerable"),
    *("gold", "stereotype_index", "predicted", "probs", "logprobs", "logprobs_with_marker", "correct", "perplexity"),
    *("good", "candidate_mass", "flags", "ensemble_agreement", "token_probability", "p_true", *Limits.COLUMNS.values()),
)
_TAKEN_BEGINNINGS = ("certainty", "desirability", "vocab_")
"""What a group cannot be called, because outcomes.parquet has a column of that name."""
_SYNTHBIAS = {"type", "sample", "occ_1", "occ_2", "pronoun"}
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_GERMAN_ARTICLE = re.compile(r"^(?:der|die|das|de[nms]|ein(?:e[nmrs]?)?)\s+", re.IGNORECASE)
_RESERVED_SLOTS = ("text", "neutral", "option_order")


@dataclass(frozen=True)
class Columns:
    """Our name -> the file's column; `candidate_N` and `group:NAME` are among our names."""

    by_name: Mapping[str, str]
    is_synthbias: bool

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def cells(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row's cells by our names; a cell that a JSON line lacks is None."""
        return {name: row.get(column) for name, column in self.by_name.items()}

    @property
    def is_classification(self) -> bool:
        """Whether the texts are not about a pronoun."""
        return "pronoun" not in self and "form" not in self

    @cached_property
    def known(self) -> frozenset[str]:
        """The file's columns that are something of ours, and those that no question may quote."""
        return frozenset((*self.by_name.values(), *_RESERVED_SLOTS))

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups that the user asked for."""
        return [name.removeprefix("group:") for name in self.by_name if name.startswith("group:")]


def map_columns(file: str, header: Sequence[str], given: Mapping[str, str]) -> Columns:
    """Return which column is what: as the user says, and by its own name for the rest."""
    columns_there = f"the columns are {', '.join(header)}"
    for name, column in given.items():
        _check_name(name)
        if column not in header:
            raise DatasetError(f"{file}: column {column!r}, named for {name!r}, does not exist; {columns_there}")
    column_of = dict(given)
    for name, column in _by_their_own_names([column for column in header if column not in given.values()]):
        column_of.setdefault(name, column)
    missing = list(_missing(column_of))
    if missing:
        words = [words for words, _ in missing]
        what = listed(words)
        named = ",".join(name for _, name in missing)
        slot = SLOTS if any(name.startswith("pronoun") for _, name in missing) else ""
        held = ", ".join(header)
        raise DatasetError(f"{file}: no column holds {what}; it has {held}; name with columns {named}{slot}", "columns")
    return Columns(column_of, set(header) >= _SYNTHBIAS and "gold" not in column_of)


SLOTS = " (form=COLUMN for sentences with a slot such as {pronoun}, group=COLUMN for texts without a pronoun)"
"""What may take the place of a column with pronouns."""


def _missing(column_of: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is needed and not there, in words, and how it is named."""
    if "text" not in column_of:
        yield "the sentence", "text=COLUMN"
    if not {"pronoun", "form", "group"} & set(column_of):
        yield "the pronoun", "pronoun=COLUMN"
    if "candidates" not in column_of and not {"candidate_1", "candidate_2"} <= set(column_of):
        yield "the candidates", "candidate_1=COLUMN,candidate_2=COLUMN"


def column_slots(row: Mapping[str, Any], used: Columns) -> dict[str, str]:
    """Return what a question may quote besides the groups: the columns that are nothing else, by their names."""
    known = used.known
    cells = [(name, cell) for name, cell in row.items() if name not in known]
    return {name: str(cell).strip() for name, cell in cells if isinstance(cell, str | int | float) and cell != ""}


def _by_their_own_names(header: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield our name and the column for each column called by one of the aliases, the better alias first."""
    plain = {re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_"): column for column in reversed(header)}
    for name, aliases in ALIASES.items():
        yield from ((name, plain[alias]) for alias in aliases if alias in plain)
    for short, column in plain.items():
        if candidate := _CANDIDATE.fullmatch(short):
            yield f"candidate_{candidate[1]}", column
    yield from ((column, column) for column in header if _is_own_group(column))


def _is_own_group(column: str) -> bool:
    """Return whether a column is called group:NAME, with a name that is free."""
    group = _GROUP.fullmatch(column)
    return group is not None and not _is_taken(group[1])


def _is_taken(group: str) -> bool:
    """Return whether outcomes.parquet has a column of that name already."""
    return group in (*_OWN_GROUPS, *_TAKEN) or group.startswith(_TAKEN_BEGINNINGS)


def _check_name(name: str) -> None:
    group = _GROUP.fullmatch(name)
    if group:
        if _is_taken(group[1]):
            raise DatasetError(f"group:{group[1]} is a name that Equipoise uses itself; choose another one")
    elif name not in ALIASES and not re.fullmatch(r"candidate_[1-9]", name):
        known = ", ".join([*ALIASES, "candidate_1, candidate_2, …", "group:NAME"])
        raise DatasetError(f"{name!r} is not a known column; known: {known}")


def is_missing(value: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, or blank text."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, str) and not value.strip())
    )


def as_text(name: str, value: Any) -> str:
    """Return a cell that must be text, without blanks around it."""
    if isinstance(value, str) and value.isascii() and "\0" not in value and (text := value.strip()):
        return text  # as nearly all of a million cells are
    if is_missing(value):
        raise DatasetError(f"{name} is empty")
    if not isinstance(value, str):
        raise DatasetError(f"{name} {value!r} is not text")
    if "\0" in value:
        raise DatasetError(f"{name} has a NUL character, which is not text")
    if not value.isascii() and not _is_unicode(value):
        raise DatasetError(f"{name} has half of a surrogate pair, which is not a character")
    return value.strip()


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def as_label(name: str, value: Any) -> str:
    """Return a cell that is a name or a number as text, "" if it is empty."""
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    label = as_text(name, str(value) if isinstance(value, bool | int | float) else value)
    if "," in label or "=" in label:
        # Groups are written as `key=value` joined by commas.
        raise DatasetError(f"{name} {label!r} may not contain , or =")
    return label


def as_candidates(cells: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the candidates as bare nouns, from the column `candidates` or from `candidate_1`, `candidate_2`, …"""
    if "candidates" in cells:
        listed = _as_list(cells["candidates"])
    else:
        listed = [cells[name] for name in sorted(name for name in cells if name.startswith("candidate_"))]
        while len(listed) > 2 and is_missing(listed[-1]):
            listed.pop()
    candidates = tuple(_as_candidate(value) for value in listed)
    # German articles only where all have one: "die" begins English words, too.
    if all(_GERMAN_ARTICLE.match(candidate) for candidate in candidates):
        candidates = tuple(_GERMAN_ARTICLE.sub("", candidate) for candidate in candidates)
    if len(candidates) < 2:
        raise DatasetError(f"needs at least two candidates, has {len(candidates)}")
    if len({folded(candidate) for candidate in candidates}) < len(candidates):
        raise DatasetError(f"the candidates {', '.join(candidates)} repeat")
    return candidates


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    text = as_text("candidates", value)
    if not text.startswith("["):
        if "|" not in text:
            raise DatasetError(f"needs at least two candidates, not only {text!r}; write them as a|b")
        return text.split("|")
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise DatasetError(f"candidates {text!r} is neither a JSON list nor a|b")
    return listed


def _as_candidate(value: Any) -> str:
    if is_missing(value) or not isinstance(value, str):
        raise DatasetError(f"candidate {value!r} is not text")
    return _candidate(value)


@lru_cache(maxsize=4096)
def _candidate(value: str) -> str:
    """Return a candidate as a bare noun; equal ones are one object, which a million rows share."""
    # Tasks write "the" before a candidate themselves.
    bare = _ARTICLE.sub("", as_label("candidate", value))
    if not any(map(str.isalpha, bare)) or bare.lower() == "nan":
        raise DatasetError(f"candidate {value!r} is not text")
    return bare


def as_choice(name: str, value: Any, candidates: Sequence[str]) -> int | None:
    """Return the index of the candidate that a cell names, by its text or by its number from 1; None if empty."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        bare = _ARTICLE.sub("", value.strip())
        for index, candidate in enumerate(candidates):
            if folded(candidate) in (folded(bare), folded(_GERMAN_ARTICLE.sub("", bare))):
                return index
    # As pandas writes whole numbers where other cells are empty: 1.0.
    number = as_label(name, value).removesuffix(".0")
    # isascii too: "²" is a digit to Python, but no int.
    if (
        not isinstance(value, bool)
        and number.isascii()
        and number.isdigit()
        and 1 <= int(number[:9]) <= len(candidates)
    ):
        return int(number) - 1
    raise DatasetError(f"{name} {value!r} is not one of the candidates {', '.join(candidates)}")


def as_stereotype(value: Any, candidates: Sequence[str], gold: int | None) -> int | None:
    """Return the candidate a stereotype would choose: named, or relative to the right answer (pro/anti, true/false)."""
    word = str(value).strip().lower()
    if is_missing(value) or word in ("ambiguous", "none", "unknown"):
        return None
    if word not in ("pro", "anti", "true", "false", "yes", "no"):
        return as_choice("stereotype", value, candidates)
    if gold is None or len(candidates) != 2:
        raise DatasetError(
            f"stereotype {value!r} needs a right answer and two candidates, which this row does not have"
        )
    return gold if word in ("pro", "true", "yes") else 1 - gold


def as_flag(name: str, value: Any) -> bool | None:
    """Return what a cell with yes or no says, None if it is empty."""
    word = as_label(name, value).lower()
    if word in ("true", "yes", "1"):
        return True
    if word in ("false", "no", "0"):
        return False
    if not word:
        return None
    raise DatasetError(f"{name} {value!r} is neither true nor false")


def as_kind(value: Any) -> str:
    """Return the type of a sentence, "type1" and "type2" however written, "" if it is empty."""
    return _kind(as_label("type", value).lower())


@lru_cache(maxsize=1024)
def _kind(label: str) -> str:
    short = re.fullmatch(r"(?:type[ _-]?)?([12])", label)
    return f"type{short[1]}" if short else label
