"""What was measured: values with intervals, what they are about, and the names of groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, Self

from .errors import EquipoiseError

Better = Literal["higher", "lower", "neither"]

MOST_DIGITS = 12


_FIELDS = attrgetter("value", "low", "high", "level", "n", "method", "p", "p_corrected")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, and what a test says of it: the only type of a value with an interval.

    `n` is the number of units (items, sets or base sentences) it was taken over, `method` says how the interval was
    made. `low` and `high` are NaN where there is no interval, `value` where only the interval is known. `p` is NaN
    where nothing was tested, `p_corrected` is `p` corrected over its family of tests. In a sentence
    `f"{estimate}"` is "0.917 [0.900, 0.930]", `f"{estimate:%}"` the same in percent, `f"{estimate:points}"` in
    percentage points, and `f"{estimate:+}"` with signs.
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str
    p: float = math.nan
    p_corrected: float = math.nan

    def __eq__(self, other: object) -> bool:
        return _compared(self) == _compared(other) if isinstance(other, Estimate) else NotImplemented

    def __hash__(self) -> int:
        return hash(_compared(self))

    @classmethod
    def alone(cls, value: float, *, level: float, n: int, method: str) -> Self:
        """Return a value without an interval; the method says why."""
        return cls(float(value), math.nan, math.nan, level, n, method)

    @classmethod
    def around(
        cls, value: float, radius: float, bounds: tuple[float, float], *, level: float, n: int, method: str
    ) -> Self:
        """Return value - radius to value + radius, within the bounds; without an interval where the radius is NaN."""
        if math.isnan(radius):
            return cls.alone(value, level=level, n=n, method=method)
        low, high = max(bounds[0], value - radius), min(bounds[1], value + radius)
        return cls(float(value), float(low), float(high), level, n, method)

    @property
    def has_interval(self) -> bool:
        """Whether the interval has two ends."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def __format__(self, spec: str) -> str:
        scale, number, after = {"%": (1, ".1%", ""), "points": (100, ".1f", " points"), "+": (1, "+.3f", "")}.get(
            spec, (1, spec or ".3f", "")
        )
        sign = "+" if number.startswith("+") else ""
        number = f"{sign}z{number.removeprefix('+')}"  # z: never "-0.000"
        value, low, high = (f"{scale * end:{number}}" for end in (self.value, self.low, self.high))
        while value == low == high and self.width > 0 and (finer := _finer(number)):
            # An interval that looks like a point says nothing: show as many digits as tell its ends apart.
            number = finer
            value, low, high = (f"{scale * end:{number}}" for end in (self.value, self.low, self.high))
        interval = f"[{low}, {high}]" if self.has_interval else "[no interval]"
        return f"{value}{after} {interval}" if self.value == self.value else interval

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends of the interval."""
        return self.low, self.high

    @property
    def width(self) -> float:
        """The width of the interval; NaN without one."""
        return self.high - self.low

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval leaves 0 out; with few clusters it may hold 0 although p is small."""
        return self.low > 0 or self.high < 0

    def widened(self, low: float, high: float, reason: str) -> Self:
        """Return the estimate with a wider interval; where it holds 0 only for that, p says nothing: it is 1."""
        wider = replace(self, low=low, high=high, method=f"{self.method}, {reason}")
        if not self.excludes_zero or wider.excludes_zero or math.isnan(self.p):
            return wider
        return replace(wider, p=1.0, p_corrected=self.p_corrected if math.isnan(self.p_corrected) else 1.0)

    def scaled(self, factor: float) -> Self:
        """Return the estimate of a multiple of the value; a negative factor exchanges the ends."""
        low, high = sorted((factor * self.low, factor * self.high))
        return replace(self, value=factor * self.value, low=low, high=high)

    def __neg__(self) -> Self:
        return self.scaled(-1.0)

    def __abs__(self) -> Self:
        """Return the estimate of the size of the value; the ends keep their distance from it."""
        return -self if self.value < 0 else self


def _finer(number: str) -> str:
    """Return the format with one more digit after the point; "" where it has none, or has many already."""
    before, point, digits = number.partition(".")
    count = int(digits[:-1]) if point and digits[:-1].isdigit() else MOST_DIGITS
    return f"{before}.{count + 1}{digits[-1]}" if count < MOST_DIGITS else ""


def _compared(estimate: Estimate) -> tuple[Any, ...]:
    """Return what makes two estimates equal: an unknown number, which is not equal to itself, is None."""
    return tuple([None if field != field else field for field in _FIELDS(estimate)])


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

    COLUMNS = (
        *("metric", "model", "dataset", "task", "group", "value", "low", "high", "level", "n", "better", "method"),
        *("p", "p_corrected"),
    )

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
class FirstResults:
    """What a dataset and task say while they are still being scored: `sets` whole sets of `of` are.

    `metrics` are a value and its number of sets, by metric and type. They have no interval: what is scored first is
    not a random part of the dataset.
    """

    dataset: str
    task: str
    sets: int
    of: int
    metrics: Mapping[str, Mapping[str, tuple[float, int]]]


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
    return _joined(tuple(sorted(parts.items())))


def parse_group(label: str) -> dict[str, str]:
    """Return the parts of a group's name; the inverse of `group_label`."""
    return {} if label == "all" else dict(_split(label))


_ESCAPES = {"%": "%25", ",": "%2C", "=": "%3D"}


@lru_cache(maxsize=65536)
def _joined(parts: tuple[tuple[str, str], ...]) -> str:
    return ",".join(f"{_escape(key, ',=')}={_escape(value, ',')}" for key, value in parts) or "all"


def _escape(text: str, marks: str) -> str:
    for mark in f"%{marks}":
        text = text.replace(mark, _ESCAPES[mark])
    return text


def _unescape(text: str) -> str:
    if "%" not in text:
        return text
    for mark, escape in reversed(_ESCAPES.items()):
        text = text.replace(escape, mark)
    return text


@lru_cache(maxsize=65536)
def _split(label: str) -> tuple[tuple[str, str], ...]:
    parts = [part.partition("=") for part in label.split(",")]
    if not all(key and separator for key, separator, _ in parts):
        raise EquipoiseError(f"group {label!r} is not `all` or key=value parts joined by commas")
    return tuple((_unescape(key), _unescape(value)) for key, _, value in parts)
