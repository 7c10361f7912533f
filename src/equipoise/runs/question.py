"""The question that a run folder belongs to: model, data by content, tasks, and the settings that change answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ..options import RENAMED, DatasetOptions, QuestionOptions, StoppingOptions, options_of
from ..records import RunManifest

HOW = ("device", "reductions", "config", "head", "norms")
"""Fields of an engine's identity that only say how it computed: a run may continue with others."""

BY_CONTENT = ("shots", "wordings")
"""Options that name files: what is in these is part of the tasks."""


def differences(earlier: RunManifest, now: RunManifest) -> list[str]:
    """Return what differs between two questions, in words; nothing where one run continues the other."""
    # As it would be read back: lists for tuples, texts for keys.
    before, after = (json.loads(json.dumps(asdict(manifest))) for manifest in (earlier, now))
    before["settings"] = {RENAMED.get(name, name): value for name, value in before["settings"].items()}
    if before["model"] != after["model"]:
        return [f"the model is {before['model']}, not {after['model']}"]
    return [*_data(before, after), *_settings(before, after), *_tasks(before, after), *_engine(before, after)]


def _data(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    earlier, new = before["datasets"], after["datasets"]
    if set(earlier) != set(new):
        yield f"the data is {' and '.join(earlier)}, not {' and '.join(new)}"
        return
    changed = [name for name in new if earlier[name]["sha256"] != new[name]["sha256"]]
    chosen = list(_options(before, after, DatasetOptions)) if changed else []
    yield from chosen
    for name in () if chosen else changed:
        old, count = earlier[name]["examples"], new[name]["examples"]
        how = f"{count:,} other ones" if count == old else f"{old:,} sentences, not {count:,}"
        yield f"the data {name} has other sentences ({how})"


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    yield from _options(before, after, QuestionOptions, StoppingOptions)


def _options(before: Mapping[str, Any], after: Mapping[str, Any], *takers: Any) -> Iterator[str]:
    """Yield the options of these takers that change what is asked, and differ."""
    for name, option in options_of(*takers).items():
        usual = json.loads(json.dumps(option.default))
        earlier, new = (manifest["settings"].get(name, usual) for manifest in (before, after))
        if option.asked and name not in BY_CONTENT and earlier != new:
            yield f"{name} is {_shown(earlier)}, not {_shown(new)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not set" if value in (None, "", {}) else str(value)


def _tasks(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    earlier, new = (
        {name: _without_sample(task) for name, task in manifest["tasks"].items()} for manifest in (before, after)
    )
    if set(earlier) != set(new):
        yield f"the task is {' and '.join(earlier)}, not {' and '.join(new)}"
        return
    for name in new:
        fields = [key for key in {**earlier[name], **new[name]} if earlier[name].get(key) != new[name].get(key)]
        if fields and not any(_settings(before, after)):
            yield f"the task {name} asks with other {', '.join(fields)}"


def _without_sample(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a task asks, without what an audit that may stop early found out about how much it needs."""
    drawn = ("samples", "settled")
    return {key: value for key, value in task.items() if not (key in drawn and isinstance(value, dict))}


def _engine(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    earlier, new = before["engine"], after["engine"]
    names = [name for name in new.get("identity", new) if name not in HOW]
    if "identity" not in earlier:  # an earlier version wrote the path of the adapter in place of its hash
        names = [name for name in names if name != "adapter"]
    differing = [name for name in names if earlier.get(name) != new.get(name)]
    if differing:
        yield f"the model {after['model']} has other {', '.join(differing)}"
