"""A mistake in a suite file is one sentence that names the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.suites.suite_file import SuiteError, read_suite

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
