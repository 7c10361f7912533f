"""In: nothing of ours.
Out: the types that flow through Equipoise, frozen and validated when made.

Dataset --Example--> Task --Prompt--> Engine --Score--> Task --Outcomes--> measure --Measurement--> Report
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import DatasetError as DatasetError
from .errors import EquipoiseError as EquipoiseError
from .errors import ModelError as ModelError
from .errors import RunError as RunError
from .errors import UndefinedMetric as UndefinedMetric
from .limits import Limits as Limits
from .limits import ScoreLimits as ScoreLimits

Better = Literal["higher", "lower", "neither"]
Strings = NDArray[np.object_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

ABSENT = -1  # in integer columns: this item has no such candidate (no gold answer, no stereotype, a tie)


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Both sentences of an example that is its own counterfactual: its candidates are the words in which they differ.

    `before` is what both sentences begin with, `rests` is how each goes on, and `sides` names whom each candidate
    stands for, such as "male" and "female".
    """

    before: str
    rests: tuple[str, ...]
    sides: tuple[str, ...]

    @property
    def label(self) -> str:
        """The names of the sides as a column of `outcomes.parquet` holds them."""
        return "|".join(self.sides)


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence with its candidates.

    `gold` is the right candidate and `stereotype` the one a stereotype would choose; both are indices or None.
    `answerable` says whether the text alone settles the question. Examples that differ only in the group word share
    a `set_id`; all that share a base sentence are resampled together and share a `cluster_id` (default: the set).
    `slots` are the words a task puts into its question, such as the pronoun. `pair` is given where the example holds
    both of its sentences itself.
    """

    id: str
    text: str
    candidates: tuple[str, ...]
    gold: int | None
    answerable: bool
    stereotype: int | None
    groups: Mapping[str, str]
    set_id: str
    cluster_id: str = ""
    slots: Mapping[str, str] = field(default_factory=dict)
    pair: SentencePair | None = None

    def __post_init__(self) -> None:
        if not self.id or not self.set_id:
            raise DatasetError(f"example {self.id or self.text!r}: id and set_id must not be empty")
        if not self.cluster_id:
            object.__setattr__(self, "cluster_id", self.set_id)
        if self.pair is not None and len(self.pair.sides) != len(self.candidates):
            raise DatasetError(f"example {self.id}: needs one side for each of {len(self.candidates)} candidates")
        if not isinstance(self.text, str) or not self.text.strip():
            raise DatasetError(f"example {self.id}: the text is empty")
        if len(self.candidates) < 2:
            raise DatasetError(f"example {self.id}: needs at least two candidates, has {len(self.candidates)}")
        for candidate in self.candidates:
            if not isinstance(candidate, str) or not candidate.strip():
                raise DatasetError(f"example {self.id}: candidate {candidate!r} is not text")
        if len({candidate.strip().lower() for candidate in self.candidates}) < len(self.candidates):
            raise DatasetError(f"example {self.id}: candidates {list(self.candidates)} repeat")
        for name, index in (("gold", self.gold), ("stereotype", self.stereotype)):
            if index is not None and not 0 <= index < len(self.candidates):
                raise DatasetError(f"example {self.id}: {name} {index} is not one of {len(self.candidates)} candidates")
        if self.answerable and self.gold is None:
            raise DatasetError(f"example {self.id}: answerable, but no right answer is given")


def marked_slot(index: int) -> str:
    """Return the slot that says how a candidate is named with the marker its sentence gives it, as "young nurse"."""
    return f"marked:{index}"


class Message(NamedTuple):
    """One turn of a conversation."""

    role: str
    content: str


Context = str | tuple[Message, ...]


class Sampling(NamedTuple):
    """How a text is drawn instead of taking the most probable one; the same seed draws the same text."""

    temperature: float
    seed: int


OPEN_ANSWER = "open-answer"  # the flag of a free answer: its last classes are both, neither, refused, unparsed
BOTH_OFFERED = "both-offered"  # the flag of a multiple choice whose last option is "Both of them"
BASELINE = "baseline"  # the variant of a prompt that asks for an example's words without its sentence


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an engine is asked: how likely is each continuation after the context?

    An empty text is a context too, that of a sentence's first word; it takes a model with a beginning-of-text token.
    """

    example_id: str
    task: str
    variant: str
    context: Context
    continuations: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.context == () or not self.continuations or not all(self.continuations):
            raise DatasetError(f"prompt of {self.example_id}: context and continuations must not be empty")

    def key(self, identity: str) -> str:
        """Return the content address of this question to the engine of that identity: the hash of both as JSON."""
        quoted, asked = encode_basestring, self.context
        context = quoted(asked) if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)
        content = f"[{quoted(identity)}, {context}, [{', '.join(map(quoted, self.continuations))}]]"
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Score:
    """An engine's answer: natural-log probabilities of every token of every continuation.

    `flags` name what had to be done differently for this prompt, such as "split-join" (see docs/engines.md). `limits`
    say what is known where the engine could not see a probability itself.
    """

    prompt_key: str
    token_logprobs: tuple[tuple[float, ...], ...]
    reductions: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    limits: ScoreLimits | None = None

    def __post_init__(self) -> None:
        for tokens in self.token_logprobs:
            for value in tokens:
                # 1e-4: rounding of a log-softmax in low precision; NaN fails both comparisons.
                if not -math.inf < value <= 1e-4:
                    raise ModelError(
                        f"the engine gave {value} as a log-probability; the model's weights or dtype may be broken"
                    )
            if not tokens:
                raise ModelError("the engine gave no log-probability for a candidate")
        if self.limits is not None:
            self.limits.check(len(self.token_logprobs))

    @property
    def logprobs(self) -> tuple[float, ...]:
        """The log-probability of each continuation: the sum over its tokens."""
        return tuple(math.fsum(tokens) for tokens in self.token_logprobs)


@dataclass(frozen=True)
class Outcomes:
    """What the model made of each item, as parallel columns; one row an example and variant.

    `logprobs` are as the engine gave them, `probs` renormalised over the k candidates. In `groups` an empty
    string means that the item belongs to no group of that name. `sides` names the candidates of a sentence pair
    ("male|female") and is empty for other items. `logprobs_with_marker` are the log-probabilities of naming each
    candidate with or without the marker that its sentence gives it; None where no sentence gives one. `reductions`
    are summaries over the whole vocabulary by name, where the engine was asked for them. `limits` say how far the
    probabilities are known, where they are bounds or come from sampled answers.
    """

    example_id: Strings
    variant: Strings
    set_id: Strings
    probs: Floats
    logprobs: Floats
    gold: Integers
    stereotype: Integers
    answerable: Booleans
    groups: Mapping[str, Strings]
    flags: Strings
    cluster_id: Strings = None  # type: ignore[assignment]  # filled in when made: the set
    sides: Strings = None  # type: ignore[assignment]  # filled in when made: empty
    logprobs_with_marker: Floats | None = None
    reductions: Mapping[str, Floats] = field(default_factory=dict)
    limits: Limits | None = None

    def __post_init__(self) -> None:
        n, k = self.probs.shape
        if self.cluster_id is None:
            object.__setattr__(self, "cluster_id", self.set_id)
        if self.sides is None:
            object.__setattr__(self, "sides", np.full(n, "", dtype=object))
        columns = [*(getattr(self, name) for name in self._columns()), *self.groups.values(), *self.reductions.values()]
        tables = [self.logprobs, *([] if self.logprobs_with_marker is None else [self.logprobs_with_marker])]
        if any(column.shape != (n,) for column in columns) or any(table.shape != (n, k) for table in tables):
            raise ValueError("the columns of Outcomes must have the same length")
        if n and not np.allclose(self.probs.sum(axis=1), 1.0, atol=1e-6):
            raise ValueError("the probabilities of an item must add up to 1")
        if self.limits is not None:
            self.limits.check(n, k)

    @classmethod
    def _columns(cls) -> list[str]:
        """Return the names of the columns with one value an item."""
        others = ("probs", "logprobs", "logprobs_with_marker", "groups", "reductions", "limits")
        return [f.name for f in fields(cls) if f.name not in others]

    def __len__(self) -> int:
        return len(self.example_id)

    @property
    def k(self) -> int:
        """The number of candidates."""
        return int(self.probs.shape[1])

    @property
    def predicted(self) -> Integers:
        """The most probable candidate, ABSENT where two are tied: a tie prefers nobody."""
        best = self.probs.argmax(axis=1)
        tied = (self.probs == self.probs.max(axis=1, keepdims=True)).sum(axis=1) > 1
        return np.where(tied, ABSENT, best)

    @property
    def labelled(self) -> Booleans:
        """Whether the item has a right answer on record."""
        return np.not_equal(self.gold, ABSENT)

    def group(self, name: str) -> Strings:
        """Return one group column, all empty where no item has that group."""
        return self.groups.get(name, np.full(len(self), "", dtype=object))

    def take(self, rows: NDArray[Any]) -> Outcomes:
        """Return the outcomes of some rows (a mask or indices)."""
        marked = self.logprobs_with_marker
        return Outcomes(
            **{name: getattr(self, name)[rows] for name in (*self._columns(), "probs", "logprobs")},
            groups={name: column[rows] for name, column in self.groups.items()},
            logprobs_with_marker=None if marked is None else marked[rows],
            reductions={name: column[rows] for name, column in self.reductions.items()},
            limits=None if self.limits is None else self.limits.take(rows),
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval; `n` is the number of units (items or sets) it was taken over.

    In a sentence `f"{estimate}"` is "0.917 [0.900, 0.930]", `f"{estimate:%}"` the same in percent,
    `f"{estimate:points}"` in percentage points, and `f"{estimate:+}"` with signs.
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def __format__(self, spec: str) -> str:
        scale, number, after = {"%": (1, ".1%", ""), "points": (100, ".1f", " points"), "+": (1, "+.3f", "")}.get(
            spec, (1, spec or ".3f", "")
        )
        value, low, high = (f"{scale * end:{number}}" for end in (self.value, self.low, self.high))
        return f"{value}{after} " + (f"[{low}, {high}]" if self.has_interval else "[no interval]")


@dataclass(frozen=True, slots=True)
class RunKey:
    """What a measurement is about, as `measurements.csv` names it."""

    model: str
    dataset: str
    task: str

    def __str__(self) -> str:
        return f"{self.dataset} · {self.task}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number about one model: the row of `measurements.csv`."""

    metric: str
    model: str
    dataset: str
    task: str
    group: str
    estimate: Estimate
    better: Better

    COLUMNS = ("metric", "model", "dataset", "task", "group", "value", "low", "high", "level", "n", "better", "method")

    @classmethod
    def of(cls, metric: str, key: RunKey, group: str, estimate: Estimate, better: Better) -> Measurement:
        """Return the measurement of a metric for one group of a run."""
        return cls(metric, key.model, key.dataset, key.task, group, estimate, better)

    def __format__(self, spec: str) -> str:
        return format(self.estimate, spec)

    @property
    def value(self) -> float:
        """The estimate's value."""
        return self.estimate.value

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.estimate.low

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.estimate.high

    @property
    def n(self) -> int:
        """The number of units."""
        return self.estimate.n

    @property
    def parts(self) -> dict[str, str]:
        """The parts of the group's name."""
        return parse_group(self.group)

    def row(self) -> dict[str, Any]:
        """Return the measurement as the columns of `measurements.csv`."""
        estimate = self.estimate
        return {name: getattr(estimate if hasattr(estimate, name) else self, name) for name in self.COLUMNS}


@dataclass(frozen=True)
class RunManifest:
    """All that is needed to get the same numbers again; `files` names every table of the run with its SHA-256."""

    model: str
    engine: Mapping[str, Any]
    datasets: Mapping[str, Mapping[str, Any]]
    tasks: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    command: str
    started: str
    finished: str | None = None
    notes: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def group_label(parts: Mapping[str, str]) -> str:
    """Return the group's name as in `measurements.csv`: `all`, or sorted `key=value` joined by commas.

    A comma within a key or value is written %2C, "=" within a key %3D and "%" %25, so that `parse_group` can undo it.
    """
    return ",".join(f"{_escape(key, ',=')}={_escape(parts[key], ',')}" for key in sorted(parts)) or "all"


def parse_group(label: str) -> dict[str, str]:
    """Return the parts of a group's name; the inverse of `group_label`."""
    return {} if label == "all" else dict(_split(label))


_ESCAPES = {"%": "%25", ",": "%2C", "=": "%3D"}


def _escape(text: str, marks: str) -> str:
    for mark in f"%{marks}":
        text = text.replace(mark, _ESCAPES[mark])
    return text


def _unescape(text: str) -> str:
    for mark, escape in reversed(_ESCAPES.items()):
        text = text.replace(escape, mark)
    return text


@lru_cache(maxsize=65536)
def _split(label: str) -> tuple[tuple[str, str], ...]:
    parts = [part.partition("=") for part in label.split(",")]
    if not all(key and separator for key, separator, _ in parts):
        raise EquipoiseError(f"group {label!r} is not `all` or key=value parts joined by commas")
    return tuple((_unescape(key), _unescape(value)) for key, _, value in parts)
