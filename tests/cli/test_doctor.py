"""`equipoise doctor`: what it prints, and with which code it ends."""

from __future__ import annotations

import json

import pytest
from noted import noted, said

from equipoise.doctor import Check

FINE = Check("python", "fine", "3.12")
WRONG = Check("memory", "problem", "too little", "free some")


def test_what_is_found_is_a_table_or_json_and_a_problem_is_an_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, "equipoise.doctor.examine", [FINE, FINE])
    out, err = said("doctor", "gpt2")
    assert [line.split() for line in out.splitlines()] == [
        ["what", "found", "what", "to", "do"],
        ["fine", "python", "3.12"],
        ["fine", "python", "3.12"],
    ]
    assert err == "" and asked == [(("gpt2",), {})]
    noted(monkeypatch, "equipoise.doctor.examine", [FINE, WRONG, WRONG])
    out, err = said("doctor", code=1)
    assert out.splitlines()[2].split("  ") == ["problem", "memory", "too little", "free some"]
    assert err == "2 of 3 checks found a problem that stops an audit\n"
    out, err = said("doctor", "--json", code=1)
    fields = ("name", "status", "finding", "advice")
    rows = [{name: getattr(check, name) for name in fields} for check in (FINE, WRONG, WRONG)]
    assert json.loads(out) == rows and out.startswith('[\n  {\n    "') and err.startswith("2 of 3")


def test_the_model_of_an_audit_is_looked_at_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, "equipoise.doctor.examine", [FINE])
    said("doctor")
    assert asked == [(("smollm2",), {})]
