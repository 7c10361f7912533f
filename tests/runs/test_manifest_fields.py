"""Every field of a manifest holds what it may, and a fault is named with its place."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.runs.manifest_fields import DEEPEST, FIELDS, faults

GOOD: dict[str, Any] = {
    "model": "m",
    "command": "c",
    "started": "s",
    "engine": {"engine": "planted", "identity": ["bias"], "bias": 1.5, "thinks": False},
    "datasets": {"d": {"sha256": "", "source": "", "licence": "", "examples": 0, "sets": 3, "faults": 1}},
    "tasks": {"t": {"samples": 3}, "u": {"samples": {"a": {}}}, "v": {}},
    "settings": {"level": 0.5, "resamples": 2, "seed": 0, "limit": None, "unknown": [1]},
    "versions": {"a": "1"},
    "finished": None,
    "notes": ["n"],
    "files": {"a/b.csv": "0" * 64},
}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_good_manifest_has_no_fault_and_every_field_is_checked() -> None:
    assert list(faults(GOOD)) == [] and set(FIELDS) == set(GOOD)
    assert [list(faults({k: v for k, v in GOOD.items() if k != name})) for name in FIELDS] == [
        [f"{name} is missing"] for name in FIELDS
    ]


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        *((name, 3, [f"{name} is not text"]) for name in ("model", "command", "started")),
        *((name, [], [f"{name} is not an object"]) for name in ("engine", "settings")),
        *((name, {"x": 3}, [f"{name} is not objects by name"]) for name in ("datasets", "tasks")),
        *((name, {"x": 3}, [f"{name} is not texts by name"]) for name in ("versions", "files")),
        *((name, "x", [f"{name} is not texts by name"]) for name in ("versions", "files")),
        ("versions", {"a": "1", "x": 3}, ["versions is not texts by name"]),
        ("datasets", {**GOOD["datasets"], "x": 3}, ["datasets is not objects by name"]),
        ("tasks", {"t": {"samples": {"a": {}, "b": 1}}}, ["tasks.t.samples is neither a count nor objects by name"]),
        ("engine", {"bias": 1, "identity": ["bias", "x"]}, ["engine.identity is not a list of the engine's fields"]),
        ("engine", {"bias": 1, "identity": ["bias", 3]}, ["engine.identity is not a list of the engine's fields"]),
        ("finished", "now", []),
        ("finished", 3, ["finished is not text or null"]),
        ("notes", ("a",), []),
        ("notes", {}, ["notes is not a list of texts"]),
        ("notes", ["a", 3], ["notes is not a list of texts"]),
        (
            "files",
            {"../x": "0" * 64, "/v": "0", "y": "0" * 63, "z": "0" * 65, "w": "G" * 64},
            [
                "files.../x is not a name within the folder",
                "files./v is not a name within the folder",
                "files.y is not a SHA-256",
                "files.z is not a SHA-256",
                "files.w is not a SHA-256",
            ],
        ),
        (
            "datasets",
            {"d": {}},
            [f"datasets.d.{name} is missing" for name in ("sha256", "source", "licence", "examples", "sets", "faults")],
        ),
        (
            "datasets",
            {
                "d": {
                    "sha256": 1,
                    "source": 1,
                    "licence": 1,
                    "examples": "1",
                    "sets": True,
                    "faults": -1,
                    "population": "x",
                }
            },
            [
                *(f"datasets.d.{name} is not text" for name in ("sha256", "source", "licence")),
                *(f"datasets.d.{name} is not a count" for name in ("examples", "sets", "faults", "population")),
            ],
        ),
        ("tasks", {"t": {"samples": -1}}, ["tasks.t.samples is neither a count nor objects by name"]),
        ("tasks", {"t": {"samples": {"a": 1}}}, ["tasks.t.samples is neither a count nor objects by name"]),
        ("tasks", {"t": {"x": float("inf")}}, ["tasks.t.x is nested too deeply, or holds a number that is not finite"]),
        ("engine", {"engine": 3}, ["engine.engine is not text"]),
        ("engine", {"identity": "x"}, ["engine.identity is not a list of the engine's fields"]),
        ("engine", {"identity": [3]}, ["engine.identity is not a list of the engine's fields"]),
        ("engine", {"identity": ["x"]}, ["engine.identity is not a list of the engine's fields"]),
        ("engine", {"thinks": 1}, ["engine.thinks is not true or false"]),
        ("engine", {}, []),
        ("engine", {"x": nested(DEEPEST - 1)}, []),
        ("engine", {"x": nested(DEEPEST)}, ["engine.x is nested too deeply, or holds a number that is not finite"]),
        (
            "engine",
            {"x": {"y": (1, [float("nan")])}},
            ["engine.x is nested too deeply, or holds a number that is not finite"],
        ),
        ("settings", {}, [f"settings.{name} is missing" for name in ("level", "resamples", "seed")]),
        ("settings", {**GOOD["settings"], "metrics": None}, ["settings.metrics is not a list of texts"]),
        ("settings", {**GOOD["settings"], "by": None}, []),
        ("settings", {**GOOD["settings"], "seed": 1.5}, ["settings.seed is not a whole number"]),
        (
            "settings",
            {**GOOD["settings"], "until_width": float("inf")},
            ["settings.until_width is not a finite number"],
        ),
        ("settings", {**GOOD["settings"], "seed": float("inf")}, ["settings.seed is not a whole number"]),
        ("settings", {**GOOD["settings"], "level": 0}, ["settings.level is not between 0 and 1"]),
        ("settings", {**GOOD["settings"], "level": 1.0}, ["settings.level is not between 0 and 1"]),
        ("settings", {**GOOD["settings"], "level": 0.001}, []),
        ("settings", {**GOOD["settings"], "level": "x"}, ["settings.level is not a number"]),
    ],
)
def test_a_field_of_another_kind_is_named(place: str, value: Any, expected: list[str]) -> None:
    assert list(faults({**GOOD, place: value})) == expected
