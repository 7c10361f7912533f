"""Every command in the documentation is known to the command line, and runs unless its page says why it cannot here.

Planted engines and few sentences take the place of models and datasets; tests/docs/test_shown_output.py runs the
commands whose output is shown as they are.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
from documented import BLOCK, PAGES, ROOT, Command, commands
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.scoring.planted import open_planted

ELSEWHERE = {"plug-ins.md", "configure.md"}
"""Pages whose commands run in a test of their own, with the package that the page makes."""

ENGINE = "planted:strength=1,noise=1"
SMALL = {"audit": ["--limit", "4", "--resamples", "10", "--no-html"], "import": ["--resamples", "10"]}
SMALL |= {"measure": ["--resamples", "10"], "compare": ["--resamples", "10", "--permutations", "9"]}
SMALL |= {"study calibration": ["--splits", "2"], "export": ["--limit", "2"]}
MODELS = ("smollm2", "./my-model", "./model")
PLACES = {
    "RUN": "runs/a",
    "PATH": "mine.csv",
    "GPT-J-6B.results.csv": "outputs/winobias/GPT-J-6B.results.csv",
    "outputs/*/GPT-J-6B.results.csv": "outputs/winobias/GPT-J-6B.results.csv",
    "docs/calibration.md runs/…": "runs/cloze",
    "docs/identity.md runs/…": "runs/identities",
}
"""What a page leaves to the reader -> what it is here."""


COMMANDS = list(commands())
OURS = [command for command in COMMANDS if command.line.startswith("equipoise ")]
PROGRAM: Any = typer.main.get_command(app)


def find_command(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that the words call, and the words after it."""
    found = PROGRAM
    while words and hasattr(found, "commands") and words[0] in found.commands:
        found, words = found.commands[words[0]], words[1:]
    return found, words


def unknown_options(words: list[str]) -> list[str]:
    """Return the options that the command does not have."""
    found, rest = find_command(words)
    known = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    return sorted(given - known - {"--help", "--version", "--install-completion", "--show-completion"})


def test_every_command_and_option_in_a_block_is_known() -> None:
    assert len(OURS) > 60
    faults = {str(command): unknown for command in OURS if (unknown := unknown_options(command.words))}
    assert not faults
    groups = [str(c) for c in OURS if hasattr(find_command(c.words)[0], "commands") and not c.words[0].startswith("-")]
    assert not groups, "a command that does not exist"


def test_every_command_and_option_in_the_text_is_known() -> None:
    faults = []
    for path in PAGES:
        text = BLOCK.sub("", path.read_text(encoding="utf-8"))
        yaml = re.findall(r"^ *- run: (?:>\n)?\s*(equipoise [^\n]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for line in [*re.findall(r"`(equipoise [^`]+)`", text), *yaml]:
            words = line.replace("…", "").replace("|", " ").split()[1:]
            if unknown := unknown_options(words):
                faults.append(f"{path.name}: {line}: {unknown}")
            called, rest = find_command(words)
            if hasattr(called, "commands") and rest and not rest[0].startswith("-") and rest[0].islower():
                faults.append(f"{path.name}: {line}: there is no command {rest[0]}")
    assert not faults


def test_targets_extras_and_scripts_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for command in COMMANDS:
        words = shlex.split(command.line, comments=True)
        if words[0] == "make":
            assert words[1] in targets, command
        elif words[0] == "python":
            assert (ROOT / words[1]).is_file(), command
        elif words[0] == "pip":
            named = [
                name for word in words for part in re.findall(r"equipoise\[(.*?)\]", word) for name in part.split(",")
            ]
            assert set(named) <= set(extras), command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, real_data: Callable[[str], Path]) -> Path:
    """Return a folder with the runs and files that the pages speak of."""
    for name in ("winobias", "bbq", "gender-ece"):
        real_data(name)
    folder = tmp_path_factory.mktemp("commands")
    first, second = folder / "runs" / "a", folder / "runs" / "b"
    for path, engine in ((first, ENGINE), (second, "planted:strength=2,noise=1")):
        equipoise.audit(engine, limit=12, resamples=10, out=path)
    for name, source in (("c", None), ("new", first), ("released", second)):
        if source:
            shutil.copytree(source, folder / "runs" / name)
        else:
            equipoise.audit("planted:strength=3,noise=1", limit=12, resamples=10, out=folder / "runs" / name)
    equipoise.audit(ENGINE, "genderlex", task="cloze", limit=30, resamples=10, out=folder / "runs" / "cloze")
    identities = open_planted("lead=0.4,sentence=0.04,noise=0.02")
    marks = {"base": "builtin", "limit": 4, "attributes": ["age"], "augment": ["R"], "metrics": ["confidence"]}
    equipoise.audit(identities, "winoidentity", resamples=10, out=folder / "runs" / "identities", **marks)
    shutil.copytree(ROOT / "docs" / "tables", folder / "docs" / "tables")
    shutil.copytree(real_data("gender-ece") / "outputs" / "winobias", folder / "outputs" / "winobias")
    (folder / "news.csv").write_text(
        "text,candidates,gold,group,set\nAnna won.,good|bad,good,female,1\nPeter won.,good|bad,good,male,1\n"
    )
    (folder / "shown.csv").write_text("text,candidates,gold,group,set\nKim lost.,good|bad,bad,female,9\n")
    general = re.search(r"```csv\n(item,.*?)```", (ROOT / "docs/how-to/other-tools.md").read_text(), re.DOTALL)
    assert general
    (folder / "theirs.csv").write_text(general[1])
    groups = re.search(
        r"```toml\n(candidates.*?)```", (ROOT / "docs/how-to/your-own-documents.md").read_text(), re.DOTALL
    )
    assert groups
    (folder / "groups.toml").write_text(groups[1])
    shutil.copytree(ROOT / "tests" / "builder" / "documents", folder / "documents")
    return folder


def own_table(words: list[str]) -> str:
    """Return a table of one set whose columns have the names that the command says."""
    given = ",".join(value for option, value in pairwise(words) if option == "--columns")
    names = dict(item.split("=") for item in given.split(",") if item)
    columns = {"text": "The pilot paid the waiter because {} had eaten.", "pronoun": "{}"}
    columns |= {"candidate_1": "pilot", "candidate_2": "waiter", "gold": "pilot"}
    columns |= {name: "north" for name in names if name.startswith("group:")}
    rows = [",".join(names.get(name, name) for name in columns)]
    return "\n".join([*rows, *(",".join(columns.values()).format(word, word) for word in ("he", "she"))]) + "\n"


def executable(command: Command, number: int) -> list[str]:
    """Return the command's words with a planted engine, few sentences and what this folder has."""
    words = [PLACES.get(f"{command.page} {word}", PLACES.get(word, word)) for word in command.words]
    if words[0] == "compare" and words.count("runs/a") == 2:
        words[words.index("runs/a")] = "runs/b"
    if words[0] == "audit":
        words = [
            "audit",
            ENGINE,
            *(word for word in words[1:] if word not in MODELS and not word.startswith("planted:")),
        ]
        words = [*words, *(["--base", "builtin"] if "winoidentity" in words else [])]
    if words[0] == "audit" and "--out" not in words:
        words += ["--out", f"run-{number}"]
    return [*words, *SMALL.get(words[0], []), *SMALL.get(" ".join(words[:2]), [])]


RUNNABLE = [c for c in OURS if not c.reason and not c.shown and Path(c.page).name not in ELSEWHERE]


def test_most_commands_are_run() -> None:
    assert len(RUNNABLE) > 35
    assert all(len(command.reason.split()) > 2 for command in OURS if command.reason), "a reason is a sentence"


@pytest.mark.slow
def test_the_commands_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    faults, seen = [], set()
    for number, command in enumerate(RUNNABLE):
        words = executable(command, number)
        if (key := " ".join(words).replace(f"run-{number}", "")) in seen:
            continue
        seen.add(key)
        (folder / "mine.csv").write_text(own_table(words))
        result = CliRunner().invoke(app, words)
        decides = words[0] == "gate" or any(word in ("--until", "--until-better") for word in words)
        allowed = (0, 1, 3, 4) if decides else (0,)
        if result.exit_code not in allowed or (result.exception and not isinstance(result.exception, SystemExit)):
            faults.append(f"{command}\n  run as: {shlex.join(words)}\n  {result.exception!r} {result.output[-300:]}")
    assert not faults, "\n".join(faults)
