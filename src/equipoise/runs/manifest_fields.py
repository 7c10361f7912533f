"""What the fields of `manifest.json` may hold: checked once, when the file is read, so that readers can rely on it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..files import is_inside
from ..options import RENAMED, AuditOptions, options_of

Check = Callable[[Any], bool]
"""Returns whether a value is of the right kind."""

_HASH = re.compile("[0-9a-f]{64}")
DEEPEST = 24
"""How deeply values may be nested; what Equipoise writes has at most eight levels."""


def faults(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the fields of a manifest: the name of the field, and what it should be."""
    for name, (fits, words) in FIELDS.items():
        if name not in content:
            yield f"{name} is missing"
        elif not fits(content[name]):
            yield f"{name} is not {words}"
        elif name in INSIDE:
            yield from (f"{name}.{fault}" for fault in INSIDE[name](content[name]))


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())


def _objects(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, dict) for entry in value.values())


def _kind(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


FIELDS: Mapping[str, tuple[Check, str]] = {
    **dict.fromkeys(("model", "command", "started"), (_kind(str), "text")),
    "engine": (_kind(dict), "an object"),
    **dict.fromkeys(("datasets", "tasks"), (_objects, "objects by name")),
    "settings": (_kind(dict), "an object"),
    "versions": (_texts, "texts by name"),
    "finished": (_kind(str, type(None)), "text or null"),
    "notes": (lambda value: isinstance(value, list | tuple) and all(map(_kind(str), value)), "a list of texts"),
    "files": (_texts, "texts by name"),
}
"""Field -> what it holds, as a check and in words."""


def _files(files: Mapping[str, str]) -> Iterator[str]:
    for name, digest in files.items():
        if not is_inside(name):
            yield f"{name} is not a name within the folder"
        elif not _HASH.fullmatch(digest):
            yield f"{name} is not a SHA-256"


DATASET: Mapping[str, tuple[Check, str]] = {
    **dict.fromkeys(("sha256", "source", "licence"), (_kind(str), "text")),
    **dict.fromkeys(("examples", "sets", "faults"), (_count, "a count")),
}


OPTIONAL: Mapping[str, tuple[Check, str]] = {"population": (_count, "a count")}
"""What the manifest says of a dataset where there is something to say."""


def _datasets(datasets: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, facts in datasets.items():
        for fact in DATASET:
            if fact not in facts:
                yield f"{name}.{fact} is missing"
        for fact, (fits, words) in {**DATASET, **OPTIONAL}.items():
            if fact in facts and not fits(facts[fact]):
                yield f"{name}.{fact} is not {words}"


def _tasks(tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, task in tasks.items():
        yield from (f"{name}.{fault}" for fault in _plain_values(task))
        samples = task.get("samples", 0)
        if not _count(samples) and not _objects(samples):
            yield f"{name}.samples is neither a count nor objects by name"


def _settings(settings: Mapping[str, Any]) -> Iterator[str]:
    known = options_of(AuditOptions)
    for name in ("level", "resamples", "seed"):
        if name not in settings:
            yield f"{name} is missing"
    for name, value in settings.items():
        option = known.get(RENAMED.get(name, name))
        if option is None:
            continue  # of a later version: whoever measures the run again says so
        unset = value is None and option.default is None and name != "metrics"  # which are always written out
        if not unset and not option.accepts(value):
            yield f"{name} is not {option.words}"
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"{name} is not a finite number"
    level = settings.get("level", 0.95)
    if isinstance(level, int | float) and not 0 < level < 1:
        yield "level is not between 0 and 1"


def _engine(engine: Mapping[str, Any]) -> Iterator[str]:
    yield from _plain_values(engine)
    if not isinstance(engine.get("engine", ""), str):
        yield "engine is not text"
    names = engine.get("identity", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name in engine for name in names):
        yield "identity is not a list of the engine's fields"
    if not isinstance(engine.get("thinks", False), bool):
        yield "thinks is not true or false"


def _plain_values(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields whose values are nested too deeply, or hold a number that JSON does not have."""
    for name, value in values.items():
        if not _is_plain(value, DEEPEST):
            yield f"{name} is nested too deeply, or holds a number that is not finite"


def _is_plain(value: Any, depth: int) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return depth > 0 and all(_is_plain(entry, depth - 1) for entry in inside)


INSIDE: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "files": _files,
    "datasets": _datasets,
    "tasks": _tasks,
    "settings": _settings,
    "engine": _engine,
}
"""Field -> what is checked within it."""
