"""The table of options: who takes what, what is refused, and that adding one touches one place."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.options import (
    PANELS,
    AnswerOptions,
    AuditOptions,
    DatasetOptions,
    EngineOptions,
    MeasuringOptions,
    OptionError,
    Options,
    OutputOptions,
    QuestionOptions,
    RunOptions,
    TuningOptions,
    options_of,
)
from equipoise.records import EquipoiseError
from equipoise.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = options_of(RunOptions, AuditOptions, OutputOptions)


def test_every_option_is_explained_in_one_sentence_or_more() -> None:
    panels = {option.panel for option in (*OPTIONS.values(), *options_of(TuningOptions).values())}
    assert panels == set(PANELS)
    assert not [option.name for option in OPTIONS.values() if not option.help.endswith((".", ")."))]
    assert len({option.key for option in OPTIONS.values()}) == len(OPTIONS)


def test_numbers_of_what_is_asked_are_different_and_never_change() -> None:
    asked = sorted(option.asked for option in OPTIONS.values() if option.asked)
    assert asked == list(range(1, len(asked) + 1)), f"a new option takes the number {len(asked)}"
    first = {option.asked: option.name for option in OPTIONS.values()}
    assert [first[number] for number in (1, 4, 9, 27, 37)] == ["limit", "seed", "questions", "dtype", "passes"]


def test_an_option_that_changes_only_the_speed_is_not_asked() -> None:
    assert not [option.name for option in OPTIONS.values() if option.speed and option.asked]


def test_only_a_class_that_both_inherit_gives_two_takers_one_option() -> None:
    shared = set(options_of(QuestionOptions)) & set(options_of(EngineOptions))
    assert shared == {"seed", "samples", "reasoning_tokens"}
    others = set(options_of(QuestionOptions, EngineOptions, MeasuringOptions))
    assert set(options_of(DatasetOptions)) & others == {"seed"}


@pytest.mark.parametrize(
    ("taker", "chosen", "sentence"),
    [
        (EngineOptions, {"dropout": 1.0}, "dropout must be at least 0 and below 1, not 1.0"),
        (EngineOptions, {"dropout": 0.1, "server": "http://s"}, "a server cannot put dropout into its model; load the"),
        (EngineOptions, {"quantize": "int3"}, "quantize must be int8 or int4, not 'int3'"),
        (EngineOptions, {"dtype": "float7"}, "dtype must be auto, float32, bfloat16 or float16, not 'float7'"),
        (EngineOptions, {"bos": "sometimes"}, "bos must be auto, always or never, not 'sometimes'"),
        (EngineOptions, {"workers": 2}, "workers and worker_cores need cluster"),
        (EngineOptions, {"worker_cores": 2}, "workers and worker_cores need cluster"),
        (EngineOptions, {"cluster": "auto", "server": "http://s"}, "a server needs no cluster"),
        (EngineOptions, {"concurrency": 0}, "concurrency must be at least 1, not 0"),
        (EngineOptions, {"timeout": 0.0}, "timeout must be above 0, not 0.0"),
        (EngineOptions, {"passes": 0}, "passes must be at least 1, not 0"),
        (AnswerOptions, {"system": "Be brief."}, "chat must be set, too: system is its system prompt"),
        (AnswerOptions, {"samples": -1}, "samples must be at least 0, not -1"),
        (QuestionOptions, {"questions": ["{text}"], "wordings": "built-in"}, "questions and wordings both word"),
        (DatasetOptions, {"neutral": "human"}, "neutral must be person or someone, not 'human'"),
        (DatasetOptions, {"augment": ["X"]}, "augment must be R, NR or C, not 'X'"),
        (EngineOptions, {"chat_time": "noon"}, "chat_time must be a time such as 2026-11-16T09:00:00, not 'noon'$"),
        (EngineOptions, {"chat_time": "noon", "dropout": 0.1, "server": "s"}, "chat_time must be a time"),
        (EngineOptions, {"dropout": 0.1, "server": "s", "cluster": "c"}, "a server cannot put dropout"),
        (EngineOptions, {"server": "s", "cluster": "c", "workers": 2}, "a server needs no cluster: it answers many"),
        (AnswerOptions, {"second_reader": True, "samples": 1}, "second_reader reads one answer for each question"),
        (AnswerOptions, {"second_reader": True, "samples": 1, "system": "x"}, "chat must be set, too"),
        (AnswerOptions, {"chat": True, "answer_turn": "plain"}, "answer_turn plain has no turns, and chat asks"),
        (AnswerOptions, {"second_reader": True, "samples": 1, "chat": True, "answer_turn": "plain"}, "second_reader"),
    ],
)
def test_what_does_not_fit_is_refused(taker: type[Options], chosen: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError, match=f"^{sentence}"):
        taker(**chosen)


NEW = """    strides: int = option(4, "Strides of the --new option.", MODEL, least=1)
"""
SCRIPT = """
import inspect, json, sys
from pathlib import Path
from typer.testing import CliRunner
sys.path.insert(0, sys.argv[1])
import generate
import equipoise
from equipoise.cli import app
from equipoise.settings import Settings

def said(*words):
    return CliRunner().invoke(app, words, catch_exceptions=False).output

said("init", "--all", "new.toml")
said("audit", "planted", "--limit", "2", "--resamples", "5", "--strides", "6", "--quiet", "--no-html", "--out", "run")
print(json.dumps({
    "file": equipoise.__file__,
    "help": said("audit", "--help-all"),
    "init": Path("new.toml").read_text(),
    "printed": said("audit", "--strides", "5", "--print-config"),
    "default": Settings().strides,
    "engine": Settings(strides=7).engine.strides,
    "others": hasattr(Settings().dataset, "strides"),
    "signature": inspect.signature(equipoise.audit).parameters["strides"].default,
    "docstring": equipoise.audit.__doc__,
    "manifest": json.loads(Path("run/manifest.json").read_text())["settings"]["strides"],
    "cli.md": generate.cli_page(),
    "api.md": generate.api_page(),
}))
"""


def test_adding_an_option_touches_one_place(tmp_path: Path) -> None:
    package = Path(equipoise.__file__).parent
    shutil.copytree(package, tmp_path / "src" / "equipoise", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("images", "*.ipynb", "__pycache__"))
    table = tmp_path / "src" / "equipoise" / "options" / "table.py"
    text = table.read_text(encoding="utf-8")
    after = "    revision: str | None = option("
    assert text.count(after) == 1
    table.write_text(text.replace(after, NEW + after), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "EQUIPOISE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "docs")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)
    assert shown["file"].startswith(str(tmp_path))
    model_panel = shown["help"].partition("\nModel:\n")[2].partition("\n\n")[0]
    assert (
        "--strides" in model_panel and "Strides of the --new option." in model_panel and "[default: 4]" in model_panel
    )
    assert "# Strides of the new option.\n# strides = 4\n" in shown["init"]
    assert "strides = 5\n" in shown["printed"]
    assert (shown["default"], shown["engine"], shown["others"], shown["signature"]) == (4, 7, False, 4)
    assert "    strides: Strides of the new option.\n" in shown["docstring"]
    assert shown["manifest"] == 6
    assert "| `--strides` | number | `4` | Strides of the --new option. |" in shown["cli.md"]
    assert "| `strides` | a whole number | `4` | Strides of the new option. |" in shown["api.md"]


ODD: list[Any] = [True, 3, -1, 2.5, float("nan"), 10**400, 10**5000, "word", "", b"x", Path("x"), object(), range(3)]
ODD += [["a"], ("a",), [1], [["a"]], [Path("x")], [10**5000], {"a": "b"}, {"a": 1}, {1: "a"}, {"a"}, None, print]
ODD += [np.int64(3), np.float64(0.5), np.array(["a"]), np.array([1, 2]), pd.Series([1]), pd.NA, pd.DataFrame()]


@pytest.mark.parametrize("name", options_of(Settings, TuningOptions))
def test_a_value_of_another_type_is_refused_by_its_name_or_made_the_right_one(name: str) -> None:
    known = options_of(Settings, TuningOptions)[name]
    taker = Settings if name in options_of(Settings) else TuningOptions
    refused = 0
    for value in ODD:
        try:
            made = getattr(taker(**{name: value}), name)
        except EquipoiseError as error:
            refused += bool(re.match(rf"{name} must be \w", str(error)))
            continue
        assert made is None or known.accepts(made)
    assert refused > len(ODD) / 3


@pytest.mark.parametrize(
    ("taker", "chosen"),
    [
        (EngineOptions, {"chat_time": "2026-11-16T09:00:00"}),
        (EngineOptions, {"dropout": 0.0, "server": "http://s"}),
        (EngineOptions, {"dropout": 0.1, "cluster": "auto"}),
        (EngineOptions, {"cluster": "auto", "workers": 2, "worker_cores": 3}),
        (EngineOptions, {"workers": 0, "worker_cores": 1}),
        (AnswerOptions, {"system": "Be brief.", "chat": True}),
        (AnswerOptions, {"chat": True, "answer_turn": "user"}),
        (AnswerOptions, {"chat": False, "answer_turn": "plain"}),
        (AnswerOptions, {"second_reader": True, "samples": 0}),
        (AnswerOptions, {"second_reader": False, "samples": 3}),
        (QuestionOptions, {"questions": ["{text}"]}),
        (QuestionOptions, {"wordings": "built-in"}),
    ],
)
def test_what_fits_together_is_taken(taker: type[Options], chosen: dict[str, Any]) -> None:
    made = taker(**chosen)
    assert {name: getattr(made, name) for name in chosen} == chosen


NAMED = [
    (EngineOptions, {"chat_time": "noon"}, ("chat_time",)),
    (EngineOptions, {"dropout": 0.1, "server": "s"}, ()),
    (EngineOptions, {"server": "s", "cluster": "c"}, ("concurrency",)),
    (EngineOptions, {"workers": 2}, ("workers", "worker_cores", "cluster")),
    (AnswerOptions, {"system": "x"}, ("chat", "system")),
    (AnswerOptions, {"second_reader": True, "samples": 1}, ("second_reader", "samples")),
    (AnswerOptions, {"chat": True, "answer_turn": "plain"}, ("chat", "answer_turn")),
    (QuestionOptions, {"questions": ["{text}"], "wordings": "w"}, ("questions", "wordings")),
]


@pytest.mark.parametrize(("taker", "chosen", "names"), NAMED)
def test_a_refusal_names_the_options_that_it_speaks_of(
    taker: type[Options], chosen: dict[str, Any], names: tuple[str, ...]
) -> None:
    with pytest.raises(OptionError) as error:
        taker(**chosen)
    assert error.value.names == names


def test_every_option_is_as_it_was_kept() -> None:
    assert_kept("tables/options", options_of(AuditOptions, RunOptions, OutputOptions))


def bounded() -> dict[str, Any]:
    return {name: known for name, known in options_of(Settings).items() if known.least or known.above or known.below}


@pytest.mark.parametrize("name", bounded())
def test_a_number_may_be_its_least_and_must_be_within_its_bounds(name: str) -> None:
    known = OPTIONS[name]
    step = 1 if known.kind is int else 1e-9
    inside = [known.least] if known.least is not None else [known.above + step]
    inside += [known.below - step] if known.below is not None else []
    outside = [known.least - step] if known.least is not None else [known.above]
    outside += [known.below] if known.below is not None else []
    for value in inside:
        known.check(value)
    for value in outside:
        with pytest.raises(OptionError, match=rf"^{name} must (be|lie) .*, not {re.escape(repr(value))}$"):
            known.check(value)
