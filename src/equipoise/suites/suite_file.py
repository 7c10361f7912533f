"""`suite.toml`: what a suite asks of which models. Every mistake in the file is one sentence that names the place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..options import hint
from ..records import EquipoiseError
from ..settings import SETTINGS

PLACES = ("model", "data", "task")
"""What an override may be limited to."""


class SuiteError(EquipoiseError):
    """A suite file that cannot be used; the message names the place in it."""


@dataclass(frozen=True)
class Model:
    """A model of the suite: what `equipoise audit` calls it, its name in the suite, and settings of its own."""

    spec: str
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Override:
    """Settings for the cells that match all the patterns given; `skip` is why they are left out instead."""

    patterns: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    skip: str = ""

    def matches(self, model: Model, data: str, task: str) -> bool:
        """Return whether a cell is meant; a model is known by its name or by what it is."""
        values = {"model": (model.name, model.spec), "data": (data,), "task": (task,)}
        return all(any(fnmatchcase(v, pattern) for v in values[place]) for place, pattern in self.patterns.items())


@dataclass(frozen=True)
class Budget:
    """The most that a suite may use: `hours` of one command, and `prompts` and `disk_gb` of all cells together."""

    hours: float | None = None
    prompts: int | None = None
    disk_gb: float | None = None


@dataclass(frozen=True)
class Gates:
    """Requirements on every cell that has what they name; `undecided` is pass or fail."""

    require: Sequence[str] = ()
    undecided: str = "fail"


@dataclass(frozen=True)
class Suite:
    """A suite as its file gives it."""

    path: Path
    out: Path
    title: str
    models: Sequence[Model]
    data: Sequence[str]
    tasks: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[Override] = ()
    budget: Budget = field(default_factory=Budget)
    gates: Gates = field(default_factory=Gates)
    metric: str = "ucerf"


KEYS = ("out", "title", "models", "data", "task", "settings", "override", "budget", "gate", "metric")


def read_suite(path: Path) -> Suite:
    """Return the suite in a TOML file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SuiteError(f"{path}: cannot be read ({str(error.strerror).lower()})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path}: is not a TOML file: {error}") from None
    try:
        return _suite(path, content)
    except SuiteError as error:
        raise SuiteError(f"{path}: {error}") from None


def _suite(path: Path, content: Mapping[str, Any]) -> Suite:
    _known(content, KEYS, "")
    models = [_model(entry, number) for number, entry in enumerate(_several(content, "models"), 1)]
    _apart([model.name for model in models], "models")
    data, tasks = (_texts(content, key) for key in ("data", "task"))
    for names, key in ((data, "data"), (tasks, "task")):
        _apart(names, key)
    overrides = [_override(entry, number) for number, entry in enumerate(_several(content, "override", []), 1)]
    return Suite(
        path=path,
        out=Path(_text(content, "out", f"runs/{path.stem}")),
        title=_text(content, "title", path.stem),
        models=models,
        data=data,
        tasks=tasks,
        settings=checked_settings(_table(content, "settings"), "settings"),
        overrides=overrides,
        budget=_budget(_table(content, "budget")),
        gates=_gates(_table(content, "gate")),
        metric=_text(content, "metric", "ucerf"),
    )


def _model(entry: Any, number: int) -> Model:
    where = f"models, entry {number}"
    if isinstance(entry, str):
        return Model(entry, entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("model"), str):
        raise SuiteError(f"{where} must be a name or a table with a `model`")
    rest = {key: value for key, value in entry.items() if key not in ("model", "name")}
    return Model(entry["model"], _text(entry, "name", entry["model"]), checked_settings(rest, where))


def _override(entry: Any, number: int) -> Override:
    where = f"override {number}"
    if not isinstance(entry, dict):
        raise SuiteError(f"{where} must be a table: [[override]]")
    patterns = {place: _text(entry, place, "") for place in PLACES if place in entry}
    if not patterns:
        raise SuiteError(f"{where} names no model, data or task; settings of all cells belong in [settings]")
    rest = {key: value for key, value in entry.items() if key not in (*PLACES, "skip")}
    skip = _text(entry, "skip", "")
    if skip and rest:
        raise SuiteError(f"{where} leaves cells out and sets {', '.join(rest)} for them; it can do only one")
    if not skip and not rest:
        raise SuiteError(f"{where} sets nothing; give it settings, or `skip` with a reason")
    return Override(patterns, checked_settings(rest, where), skip)


def _budget(table: Mapping[str, Any]) -> Budget:
    _known(table, [f.name for f in fields(Budget)], "budget: ")
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise SuiteError(f"budget: {name} must be a number above 0, not {value!r}")
    return Budget(**table)


def _gates(table: Mapping[str, Any]) -> Gates:
    _known(table, ("require", "undecided"), "gate: ")
    undecided = table.get("undecided", "fail")
    if undecided not in ("pass", "fail"):
        raise SuiteError(f"gate: undecided must be pass or fail, not {undecided!r}")
    return Gates(tuple(_texts(table, "require")) if table else (), undecided)


def checked_settings(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return settings of an audit whose names are known and whose values are of the right kind."""
    renamed = {key.replace("-", "_"): value for key, value in table.items()}
    _known(renamed, tuple(SETTINGS), f"{where}: ")
    for name, value in renamed.items():
        if not SETTINGS[name].accepts(value):
            raise SuiteError(f"{where}: {name} must be {SETTINGS[name].words}, not {value!r}")
    return renamed


def _known(table: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    for key in table:
        if key not in names:
            known = hint(key, names) or f"; known: {', '.join(names)}"
            raise SuiteError(f"{where}unknown key {key!r}{known}")


def _several(table: Mapping[str, Any], key: str, default: Any = MISSING) -> list[Any]:
    value = table.get(key, default)
    if not isinstance(value, list) or (not value and default is MISSING):
        raise SuiteError(f"{key} must be a list with at least one entry")
    return value


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    values = _several(table, key)
    if not all(isinstance(value, str) and value for value in values):
        raise SuiteError(f"{key} must be a list of names")
    return values


def _text(table: Mapping[str, Any], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or (key in table and not value):
        raise SuiteError(f"{key} must be text, not {value!r}")
    return value


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise SuiteError(f"{key} must be a table: [{key}]")
    return value


def _apart(names: Sequence[str], key: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SuiteError(f"{key} names {repeated[0]!r} twice; give the entries different names")
