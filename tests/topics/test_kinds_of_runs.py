"""What every topic says of runs of other kinds than its own tests have: decisions, identities, orders, bare tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.report import sections

FEW: dict[str, Any] = {"resamples": 12, "progress": False}
NAMES = ("Ann", "Bob", "Cy")
TABLE = {
    "candidates": ["yes", "no"],
    "good": "yes",
    "questions": ["Will it be done?", "Is it allowed?"],
    "groups": {"home": {name: {"someone": f"a person called {name}"} for name in NAMES}},
    "scenario": [{"id": str(number), "text": f"Case {number}: {{someone}} asks."} for number in range(12)],
}
KINDS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "decisions": ("planted:favour=1,noise=0.5", TABLE, {}),
    "identities": (
        "planted:strength=1,bias=1,noise=0.5",
        "winoidentity",
        {"base": "builtin", "attributes": ["age"], "augment": ["C"], "limit": 31},
    ),
    "markers": (
        "planted:strength=1,bias=1,noise=0.5",
        "winoidentity",
        {"base": "builtin", "attributes": ["age", "non-demographic"], "augment": ["R"], "limit": 8, "by": []},
    ),
    "orders": ("planted:strength=1,bias=1,noise=1", "builtin", {"task": "mcq", "orders": 3, "limit": 40}),
    "three": ("planted:strength=1,bias=0.5,noise=1", "builtin", {"pronouns": ["he", "she", "they"], "limit": 40}),
    "places": ("planted:strength=1,bias=1", "sentiment", {"limit": 40}),
    "unusable": ("planted:strength=0,bias=0,noise=0.1,mass=0.05", "builtin", {"limit": 40}),
    "cloze": ("planted:bias=1,noise=1", "builtin", {"task": "cloze", "limit": 40}),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_described_of_a_kind_of_run_is_as_it_was_kept(name: str, tmp_path: Path) -> None:
    model, data, choices = KINDS[name]
    run = audit(model, data, out=tmp_path / "run", **FEW, **choices)
    left_out = ("method", "cite", "glossary", "reproduce")
    shown = [section for section in sections(run) if section.id not in left_out]
    assert_kept(f"topics/kinds/{name}", shown, hide=[str(tmp_path)])
