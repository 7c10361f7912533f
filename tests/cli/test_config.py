"""`audit --config`, `--print-config` and `equipoise init`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise.cli import app
from equipoise.cli.config import config_text, init_text, read_config, required
from equipoise.records import EquipoiseError


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a command in an empty folder and gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        app(list(words), standalone_mode=False)
        return capsys.readouterr().out

    return run


def config(text: str) -> str:
    Path("audit.toml").write_text(text, encoding="utf-8")
    return "audit.toml"


def test_a_file_sets_options_and_the_command_line_wins(printed: Callable[..., str]) -> None:
    path = config(
        'model = "planted:bias=1"\ndata = "winobias"\norders = 3\nlevel = 0.9\ncrossed = true\n'
        'attributes = ["age", "race"]\ncolumns = {text = "a", gold = "b"}\nreasoning_tokens = 7\n'
    )
    values = tomllib.loads(printed("audit", "--config", path, "--orders", "4", "--data", "builtin", "--print-config"))
    assert values["model"] == "planted:bias=1" and values["data"] == ["builtin"] and values["orders"] == 4
    assert values["level"] == 0.9 and values["crossed"] is True and values["reasoning-tokens"] == 7
    assert values["attributes"] == ["age", "race"] and values["columns"] == ["text=a", "gold=b"]
    assert tomllib.loads(printed("audit", "planted", "--config", path, "--print-config"))["model"] == "planted"


def test_what_is_printed_is_a_file_that_says_the_same(printed: Callable[..., str]) -> None:
    before = printed("audit", "planted", "--task", "mcq", "--limit", "3", "--quiet", "--print-config")
    assert printed("audit", "--config", config(before), "--print-config") == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('taks = "mcq"', "audit.toml: unknown option 'taks'; did you mean 'task'?"),
        ('orders = "many"', "audit.toml: orders must be a whole number, not 'many'"),
        ("orders = true", "audit.toml: orders must be a whole number, not True"),
        ("task = [1]", "audit.toml: task must be text, not 1"),
        ('bos = "sometimes"', "audit.toml: bos must be one of auto, always, never, not 'sometimes'"),
        ("bos = 3", "audit.toml: bos must be one of auto, always, never, not 3"),
        ('log = ["paper"]', "audit.toml: log must be one of mlflow, wandb, tensorboard, not 'paper'"),
        ("crossed = 1", "audit.toml: crossed must be true or false, not 1"),
        ("orders = ?", "audit.toml: is not a TOML file: Invalid value (at line 1, column 10)"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(printed: Callable[..., str], text: str, sentence: str) -> None:
    with pytest.raises(EquipoiseError, match=f"^{re.escape(sentence)}$"):
        printed("audit", "--config", config(text), "--print-config")


def test_a_missing_file_is_one_sentence(printed: Callable[..., str]) -> None:
    with pytest.raises(EquipoiseError, match=r"^none.toml: cannot be read \(No such file or directory\)$"):
        printed("audit", "--config", "none.toml")


def test_init_writes_what_most_people_change_and_a_gate(printed: Callable[..., str]) -> None:
    printed("init")
    text = Path("audit.toml").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 30
    values = tomllib.loads(text)
    assert set(values) == {"model", "data", "task", "gate"} and len(values["gate"]["require"]) == 1
    app(["audit", "planted", "--config", "audit.toml", "--limit", "4", "-q", "--out", "run"], standalone_mode=False)
    printed("gate", "run", "--config", config('[gate]\nrequire = ["flip_rate[type=type1] <= 2"]'))
    with pytest.raises(EquipoiseError, match=r"\[gate\] has 'requires'; it can have require"):
        printed("audit", "--config", config("[gate]\nrequires = []"), "--print-config")
    with pytest.raises(EquipoiseError, match=r"\[gate\] needs require, a list of texts"):
        printed("gate", "run", "--config", config("[gate]\nrequire = 1"))


def test_init_writes_every_option_and_all_of_them_can_be_set(printed: Callable[..., str]) -> None:
    assert printed("init", "--all") == "audit.toml is written; edit it, then run: equipoise audit --config audit.toml\n"
    text = Path("audit.toml").read_text(encoding="utf-8")
    assert printed("audit", "--config", "audit.toml", "--print-config") == printed(
        "audit", "--data", "builtin", "--data", "gendered:control", "--task", "next-word", "--print-config"
    )
    # Every option is there, and every commented example is accepted once its # is taken away.
    everything = re.sub(r"^# ([a-z-]+ = )", r"\1", text, flags=re.MULTILINE)
    shown = printed("audit", "--config", config(everything), "--print-config")
    assert set(tomllib.loads(everything)) - {"gate"} == set(
        re.findall(r"^(?:# )?([a-z-]+)(?: = | is not set)", shown, re.M)
    )
    with pytest.raises(EquipoiseError, match=r"audit\.toml exists already; --force replaces it"):
        printed("init")
    printed("init", "--all", "--force")
    assert Path("audit.toml").read_text(encoding="utf-8") == text


def test_the_files_that_init_writes_are_as_they_were_kept() -> None:
    assert_kept("cli/config", init_text("audit.toml"), init_text("'my audit.toml'", every=True))
    assert_kept(
        "cli/config-of-values",
        config_text(
            {"model": 'a "b"', "data": ["x", "y"], "limit": 3, "level": 0.9, "crossed": True, "task": (), "out": None}
        ),
    )


@pytest.mark.parametrize(
    "text", ["[gate]\nrequire = [1]", "gate = 3", '[gate]\nrequire = "x"', "[gate]\nother = 1\nrequire = [1]"]
)
def test_a_gate_is_a_list_of_texts(printed: Callable[..., str], text: str) -> None:
    sentence = "audit.toml: [gate] needs require, a list of texts such as 'ucerf[type=type2] >= 0.80'"
    with pytest.raises(EquipoiseError, match=f"^{re.escape(sentence)}$"):
        required(Path(config(text)))


def test_requirements_are_read_and_a_file_without_a_gate_has_none(printed: Callable[..., str]) -> None:
    assert required(Path(config('[gate]\nrequire = ["a <= 1", "b >= 2"]'))) == ["a <= 1", "b >= 2"]
    assert required(Path(config("limit = 3"))) == [] == required(Path(config("[gate]")))
    with pytest.raises(EquipoiseError, match=r"^audit.toml: \[gate\] has 'also'; it can have require$"):
        required(Path(config("[gate]\nother = 1\nalso = 2")))


def test_values_of_a_file_are_taken_as_the_command_line_gives_them(printed: Callable[..., str]) -> None:
    text = 'data = "one"\ncolumns = {text = "a", gold = "b"}\nlimit = 3\nlog = "wandb"\npronouns = ["he"]\n[gate]\n'
    expected = {"data": ["one"], "columns": ["text=a", "gold=b"], "limit": 3, "log": ["wandb"], "pronouns": ["he"]}
    assert read_config(Path(config(text))) == expected
    with pytest.raises(EquipoiseError, match="`equipoise init --all` writes a file with all options"):
        read_config(Path(config("zzzzzzzz = 1")))
    Path("audit.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(EquipoiseError, match=r"^audit.toml: is not a TOML file: "):
        read_config(Path("audit.toml"))
