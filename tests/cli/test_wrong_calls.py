"""A wrong call is told in the words of the command line, and a process without memory ends in a sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.cli import app, errors
from equipoise.cli.errors import NO_MEMORY


@pytest.mark.parametrize("where", ["equipoise audit", ""])
def test_a_wrong_call_is_told_in_the_words_of_the_command(where: str) -> None:
    context = SimpleNamespace(command_path=where, command=SimpleNamespace(params=[])) if where else None
    error = SimpleNamespace(format_message=lambda: "Invalid value: Value error, no such thing.", ctx=context)
    told = "Invalid value: no such thing" + (f" (see {where} --help)" if where else "")
    assert errors._usage(error) == told
    old, new = next(iter(errors.RENAMED.items()))
    error.option_name = f"--{old.replace('_', '-')}"
    assert errors._usage(error) == f"{error.option_name} is now --{new.replace('_', '-')}"
    error.option_name = "--none-of-them"
    assert errors._usage(error) == told


def test_what_ends_a_process_whose_memory_runs_out_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    done: list[Any] = []
    monkeypatch.setattr(errors, "_keep", kept)
    monkeypatch.setattr(errors.ctypes, "CFUNCTYPE", lambda gives: lambda function: (gives, function))
    library = SimpleNamespace(_ZSt13set_terminatePFvvE=done.append)
    monkeypatch.setattr(errors.ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(errors.sys, "platform", "linux")
    errors.end_in_a_sentence(7)
    ((gives, ended),) = kept
    assert gives is None and done == kept, "the library calls it, so it must not be forgotten"
    monkeypatch.setattr(errors.os, "write", lambda *given: done.append(given))
    monkeypatch.setattr(errors.os, "_exit", lambda *given: done.append(given))
    ended()
    assert done[1:] == [(2, f"equipoise: {NO_MEMORY}\n".encode()), (7,)]

    def fails(error: Exception) -> Any:
        raise error

    monkeypatch.setattr(errors.ctypes, "CDLL", lambda name: fails(OSError()))
    errors.end_in_a_sentence(7)
    monkeypatch.setattr(errors.ctypes, "CDLL", lambda name: SimpleNamespace())
    errors.end_in_a_sentence(7)
    monkeypatch.setattr(errors.ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(errors.sys, "platform", "win32")
    errors.end_in_a_sentence(7)
    assert len(kept) == 1 and len(done) == 3


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        (("audit", "--model", "planted"), "--model is not an option of audit: write equipoise audit MODEL"),
        (("gate", "--run", "runs/a"), "--run is not an option of gate: write equipoise gate RUN"),
        (("audit", "planted", "mine.csv"), "extra argument(s) (mine.csv); data are named with --data (see equipoise"),
        (("gate", "runs/a", "runs/b"), "extra argument(s) (runs/b) (see equipoise gate --help)"),
        (("audit", "--modle", "x"), "No such option: --modle (Possible options:"),
    ],
)
def test_a_wrong_way_to_call_a_command_names_the_right_one(words: tuple[str, ...], way_out: str) -> None:
    with pytest.raises(errors.UsageError) as refused:
        app(list(words), standalone_mode=False, prog_name="equipoise")
    assert way_out in errors._usage(refused.value)
