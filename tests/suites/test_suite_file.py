"""A mistake in a suite file is one sentence that names the place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise.suites.suite_file import (
    Budget,
    Gates,
    Model,
    Override,
    SuiteError,
    checked_settings,
    read_suite,
)

BASIS = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word"]\n'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("models = [", "is not a TOML file"),
        ('data = ["builtin"]\ntask = ["mcq"]', "models must be a list with at least one entry"),
        ('models = ["planted"]\ndata = ["builtin"]\ntask = [""]', "task must be a list of names"),
        ('models = ["planted"]\ndata = ["builtin"]\ntask = [3]', "task must be a list of names"),
        (BASIS + 'modles = ["x"]', "unknown key 'modles'; did you mean 'models'?"),
        ('models = ["a", "a"]\ndata = ["builtin"]\ntask = ["mcq"]', "models names 'a' twice"),
        ('models = [{name = "a"}]\ndata = ["builtin"]\ntask = ["mcq"]', "entry 1 must be a name or a table"),
        (BASIS + "[settings]\nlimt = 5", "settings: unknown key 'limt'; did you mean 'limit'?"),
        (BASIS + '[settings]\nlimit = "5"', "settings: limit must be a whole number, not '5'"),
        (BASIS + "[settings]\nlimit = true", "settings: limit must be a whole number, not True"),
        (BASIS + '[settings]\nby = "gender"', "settings: by must be a list of texts"),
        (BASIS + "[[override]]\nlimit = 5", "override 1 names no model, data or task"),
        (BASIS + '[[override]]\nmodel = "*"', "override 1 sets nothing"),
        (BASIS + '[[override]]\nmodel = "*"\nskip = "no"\nlimit = 5', "it can do only one"),
        (BASIS + "[budget]\nhours = 0", "budget: hours must be a number above 0, not 0"),
        (BASIS + '[gate]\nrequire = ["ucerf >= 1"]\nundecided = "maybe"', "undecided must be pass or fail"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "suite.toml").write_text(text)
    with pytest.raises(SuiteError) as raised:
        read_suite(tmp_path / "suite.toml")
    assert str(raised.value).startswith(str(tmp_path / "suite.toml")) and fault in str(raised.value)


WHOLE = """
out = "there"
title = "Mine"
metric = "flip_rate"
models = ["planted", { model = "hf:a/b", name = "ab", dtype = "float32" }, { model = "c", "max-length" = 0 }]
data = ["builtin", "winobias"]
task = ["mcq", "next-word"]
[settings]
limit = 5
batch-tokens = 9
[[override]]
model = "a*"
task = "mcq"
limit = 3
[[override]]
data = "winobias"
skip = "too long"
[budget]
hours = 1
prompts = 20
disk_gb = 0.5
[gate]
require = ["ucerf >= 0.5"]
undecided = "pass"
"""


def test_a_whole_file_is_read_as_it_was_kept(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(
        WHOLE.replace(', "max-length" = 0', "").replace("batch-tokens = 9\n", "resamples = 9\n")
    )
    whole = read_suite(tmp_path / "suite.toml")
    (tmp_path / "plain.toml").write_text(BASIS)
    plain = read_suite(tmp_path / "plain.toml")
    assert_kept("suites/files", replace(whole, path=Path("suite.toml")), replace(plain, path=Path("plain.toml")))
    assert (plain.out, plain.title, plain.metric, plain.gates, plain.budget) == (
        Path("runs/plain"),
        "plain",
        "ucerf",
        Gates(),
        Budget(),
    )


def test_names_of_settings_may_have_hyphens() -> None:
    assert checked_settings({"until-width": 0.5}, "settings") == {"until_width": 0.5}


@pytest.mark.parametrize(
    ("patterns", "met"),
    [
        ({"model": "ab"}, True),
        ({"model": "hf:*"}, True),
        ({"model": "a"}, False),
        ({"model": "*", "data": "x?"}, True),
        ({"model": "*", "data": "x"}, False),
        ({"data": "x1", "task": "MCQ"}, False),
        ({"task": "m*"}, True),
    ],
)
def test_an_override_is_for_cells_that_meet_all_its_patterns(patterns: dict[str, str], met: bool) -> None:
    assert Override(patterns).matches(Model("hf:a/b", "ab"), "x1", "mcq") is met


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('models = []\ndata = ["a"]\ntask = ["b"]', "models must be a list with at least one entry"),
        ('models = "x"\ndata = ["a"]\ntask = ["b"]', "models must be a list with at least one entry"),
        ('models = [3]\ndata = ["a"]\ntask = ["b"]', "models, entry 1 must be a name or a table with a `model`"),
        (
            'models = ["x", {model = 3}]\ndata = ["a"]\ntask = ["b"]',
            "models, entry 2 must be a name or a table with a `model`",
        ),
        ('models = [{model = "x", name = ""}]\ndata = ["a"]\ntask = ["b"]', "name must be text, not ''"),
        ('models = [{model = "x", name = 3}]\ndata = ["a"]\ntask = ["b"]', "name must be text, not 3"),
        ('models = [{model = "x", zzz = 3}]\ndata = ["a"]\ntask = ["b"]', "models, entry 1: unknown key 'zzz'"),
        (
            'models = ["x"]\ndata = ["a", "b", "a"]\ntask = ["b"]',
            "data names 'a' twice; give the entries different names",
        ),
        ('models = ["x"]\ndata = ["a"]\ntask = ["b", "b"]', "task names 'b' twice; give the entries different names"),
        (
            'models = [{model = "x", name = "n"}, "n"]\ndata = ["a"]\ntask = ["b"]',
            "models names 'n' twice; give the entries different names",
        ),
        ('models = ["x"]\ndata = ["a", 3]\ntask = ["b"]', "data must be a list of names"),
        ('models = ["x"]\ndata = ["a", ""]\ntask = ["b"]', "data must be a list of names"),
        (
            'models = ["x"]\ndata = ["b", "a", "a", "b"]\ntask = ["b"]',
            "data names 'a' twice; give the entries different names",
        ),
        (BASIS + 'out = ""', "out must be text, not ''"),
        (BASIS + "title = 3", "title must be text, not 3"),
        (BASIS + "metric = []", "metric must be text, not []"),
        (BASIS + "settings = 3", "settings must be a table: [settings]"),
        (BASIS + "budget = 3", "budget must be a table: [budget]"),
        (BASIS + 'gate = ["x"]', "gate must be a table: [gate]"),
        (BASIS + "override = 3", "override must be a list with at least one entry"),
        (BASIS + 'override = ["x"]', "override 1 must be a table: [[override]]"),
        (BASIS + '[[override]]\nmodel = "a"\nskip = ""', "skip must be text, not ''"),
        (BASIS + '[[override]]\nmodel = ""\nlimit = 1', "model must be text, not ''"),
        (
            BASIS + '[[override]]\nmodel = "a"\nskip = "b"\nlimit = 1\nseed = 2',
            "override 1 leaves cells out and sets limit, seed for them; it can do only one",
        ),
        (
            BASIS + "[[override]]\nlimit = 1",
            "override 1 names no model, data or task; settings of all cells belong in [settings]",
        ),
        (BASIS + '[[override]]\nmodel = "a"', "override 1 sets nothing; give it settings, or `skip` with a reason"),
        (BASIS + "[budget]\nhours = true", "budget: hours must be a number above 0, not True"),
        (BASIS + "[budget]\nhours = -1.5", "budget: hours must be a number above 0, not -1.5"),
        (BASIS + '[budget]\nprompts = "3"', "budget: prompts must be a number above 0, not '3'"),
        (BASIS + "[budget]\nday = 3", "budget: unknown key 'day'; known: hours, prompts, disk_gb"),
        (BASIS + "[gate]\nundecided = 'pass'", "require must be a list with at least one entry"),
        (BASIS + "[gate]\nrequire = ['a']\nundecided = 3", "gate: undecided must be pass or fail, not 3"),
        (BASIS + "[gate]\nneed = ['a']", "gate: unknown key 'need'"),
        (
            BASIS + "zzz = 3",
            "unknown key 'zzz'; known: out, title, models, data, task, settings, override, budget, gate, metric",
        ),
    ],
)
def test_every_mistake_is_told_in_the_same_words(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(text)
    with pytest.raises(SuiteError) as raised:
        read_suite(path)
    assert str(raised.value).startswith(f"{path}: {fault}")
    assert "unknown key" in fault or str(raised.value) == f"{path}: {fault}"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"none\.toml: cannot be read \(no such file or directory\)$"):
        read_suite(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_bytes(b"\xff")
    with pytest.raises(SuiteError, match=r"a\.toml: is not a TOML file: 'utf-8' codec"):
        read_suite(tmp_path / "a.toml")
