"""A trial that a model has passed is not held again: for the same model, code and machine, and for no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from tiny import LLAMA, make_engine, make_model

from equipoise.options import EngineOptions
from equipoise.records import Prompt
from equipoise.scoring.huggingface import engine as engine_module
from equipoise.scoring.huggingface import known_trials
from equipoise.scoring.huggingface.cpu import lay_out
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.known_trials import circumstances, has_passed, remember
from equipoise.scoring.huggingface.loading import open_huggingface
from equipoise.scoring.huggingface.prefixes import Prefixes
from equipoise.scoring.huggingface.trial import Trial

PROMPTS = [Prompt(f"e{n}", "t", "", f"The nurse told the driver {n} times that she", (" was", " is")) for n in range(3)]
IDENTITY = {"weights": "ab" * 32, "dtype": "float32"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache of a test."""
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def llama() -> Any:
    return make_model("LlamaConfig", 300, **LLAMA)


def test_what_decides_a_trial_is_all_in_its_circumstances(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    facts = circumstances(model, IDENTITY, row_tokens=7)
    assert facts is not None and set(facts) == {"identity", "code", "versions", "machine", "row_tokens"}
    assert facts["identity"] == IDENTITY and facts["row_tokens"] == 7
    assert facts["versions"] == [torch.__version__, transformers.__version__]
    assert len(facts["code"]) == 64
    kind, instructions = facts["machine"].split(maxsplit=1)
    assert kind and instructions == torch.backends.cpu.get_cpu_capability()
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"a GPU of {device}")
    monkeypatch.setattr(model, "parameters", lambda: iter([SimpleNamespace(device=torch.device("cuda:1"))]))
    there = circumstances(model, IDENTITY)
    assert there is not None and there["machine"] == "a GPU of cuda:1"


def test_other_code_is_another_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scoring = tmp_path / "scoring"
    for name in ("huggingface/a.py", "huggingface/b.py", "packing/c.py"):
        (scoring / name).parent.mkdir(parents=True, exist_ok=True)
        (scoring / name).write_text(f"# {name}")
    monkeypatch.setattr(known_trials, "HERE", scoring / "huggingface")
    hashes = {known_trials._code_sha256()}
    for name in ("huggingface/a.py", "huggingface/b.py", "packing/c.py"):
        (scoring / name).write_text("changed")
        hashes.add(known_trials._code_sha256())
    (scoring / "packing" / "notes.txt").write_text("no code")
    assert len(hashes | {known_trials._code_sha256()}) == 4


@pytest.mark.parametrize("weights", [None, "0", "ab" * 31, "AB" * 32, "ab" * 32 + "0"])
def test_weights_without_a_hash_are_tried_every_time(weights: str | None) -> None:
    assert circumstances(llama(), {"weights": weights} if weights else {}) is None


def test_code_that_is_not_of_transformers_is_tried_every_time() -> None:
    model = llama()
    model.__class__ = type("Own", (type(model),), {})
    assert circumstances(model, IDENTITY) is None


def test_only_the_same_circumstances_count(cache: Path) -> None:
    facts = {"identity": {"b": 1, "a": "ä"}, "recalls": True}
    assert not has_passed(facts)
    remember(facts)
    (file,) = (cache / "trials").iterdir()
    assert has_passed({"recalls": True, "identity": {"a": "ä", "b": 1}}), "the order does not matter"
    assert not has_passed({**facts, "recalls": False}) and not has_passed({"identity": facts["identity"]})
    whole = file.read_bytes()
    for cut in (b"", whole[:-1], whole + b" ", b"\xff"):
        file.write_bytes(cut)
        assert not has_passed(facts), "a file that is not whole says nothing"


def test_what_is_not_known_is_never_remembered(cache: Path) -> None:
    remember(None)
    assert not has_passed(None) and not cache.exists()


def test_a_cache_that_cannot_be_written_only_takes_time(cache: Path) -> None:
    cache.write_text("a file where a folder should be")
    remember({"a": 1})
    assert not has_passed({"a": 1})


Opened = Callable[[], HuggingFaceEngine]


@pytest.fixture
def opened(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Return what opens a model that is saved in a folder, each time with the tests' cache."""
    monkeypatch.setenv("EQUIPOISE_CACHE", str(cache))
    return lambda: open_huggingface(str(folder), EngineOptions(device="cpu"))


def asked(engine: HuggingFaceEngine, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[str]]:
    """Return the scores of an engine, and which parts of the trial were held."""
    held: list[str] = []

    class Watched(Trial):
        def check_causal(self) -> None:
            held.append("causal")
            super().check_causal()

        def fault(self, mode: Any) -> str:
            held.append(mode)
            return super().fault(mode)

    def watched_lay_out(model: Any, sequence: Any) -> bool:
        held.append("laid out" if sequence is None else "laid out and compared")
        return lay_out(model, sequence)

    with monkeypatch.context() as patched:
        patched.setattr(engine_module, "Trial", Watched)
        patched.setattr(engine_module, "lay_out", watched_lay_out)
        return [score for batch in engine.score([PROMPTS]) for score in batch], held


def test_the_second_start_scores_at_once_and_alike(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    first, held = asked(opened(), monkeypatch)
    assert held == ["causal", "laid out and compared", "packed"]
    engine = opened()
    assert asked(engine, monkeypatch) == (first, ["laid out"])
    assert engine._passes.prefixes is None and engine.description["scoring"] == "packed prefix trees"


def test_prefixes_that_are_recalled_are_tried_and_remembered_by_themselves(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(opened(), monkeypatch)
    engine = opened()
    engine.remember()
    first, held = asked(engine, monkeypatch)
    assert held == ["causal", "laid out and compared", "packed", "packed", "packed"]
    engine = opened()
    engine.remember()
    assert asked(engine, monkeypatch) == (first, ["laid out"]) and isinstance(engine._passes.prefixes, Prefixes)


@pytest.mark.parametrize("faults", [["no", ""], ["", "no", ""], ["", "", "no"]])
def test_a_trial_with_any_fault_is_held_again(
    faults: list[str], opened: Opened, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = iter([*faults, *[""] * 9])
    monkeypatch.setattr(Trial, "fault", lambda self, mode: next(told))
    engine = opened()
    engine.remember()
    list(engine.score([PROMPTS]))
    assert not (cache / "trials").exists() and engine._mode == "packed" and engine._passes.prefixes is None


def test_a_layout_that_changes_answers_is_tried_again(
    opened: Opened, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "lay_out", lambda model, sequence: False)
    list(opened().score([PROMPTS]))
    assert not (cache / "trials").exists()


def test_borrowed_models_and_those_with_a_window_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "circumstances", lambda model, identity, **chosen: chosen)
    engine = make_engine()
    shape = engine.shape
    assert engine._circumstances() == {"row_tokens": shape.row_tokens, "segmented": True, "recalls": False}
    engine.remember()
    assert engine._circumstances() == {"row_tokens": shape.row_tokens, "segmented": True, "recalls": True}
    engine._passes.segmented = False
    assert engine._circumstances() == {"row_tokens": shape.row_tokens, "segmented": False, "recalls": False}
    engine._window = 9
    assert engine._circumstances() is None
    engine._window, engine._borrowed = None, True
    assert engine._circumstances() is None


def test_facts_are_kept_as_people_read_them() -> None:
    assert known_trials._text({"b": 1, "a": [2]}) == '{\n "a": [\n  2\n ],\n "b": 1\n}'
