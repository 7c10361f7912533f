"""Every command that a message, a page or a file recommends runs, in the situation in which it is recommended."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer
from advice import PACKAGE, commands_in, templates
from chat_faults import Act, misbehaving, reply
from local_parts import free_port
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.cli.help import OLD_COMMANDS

PROGRAM: Any = typer.main.get_command(app)
PLANTED = "planted:strength=1,bias=1,noise=1"
SMALL = ("--limit", "4", "--resamples", "10", "--no-html")
DUPLICATES = "Phrase,pronoun,candidate_1,candidate_2\n" + "".join(
    f"The pilot met the cook as {word} left.,{word},pilot,cook\n" for word in ("he", "he", "she", "she")
)

NAMED = {
    ("cli/help.py", "equipoise audit"): "a model, as that command takes it",
    ("cli/suite.py", "equipoise audit"): "a model, as that command takes it",
    ("exports/inspect_support.txt", "equipoise export inspect"): "what made the file",
    ("exports/task_folders.py", "equipoise export inspect"): "what made the file",
    ("exports/task_folders.py", "equipoise export lm-eval"): "what made the file",
    ("cli/plan.py", "equipoise audit"): "a model and data, as that command takes them",
    ("view/guard.py", "equipoise view"): "what printed the address",
}
"""A command that is named, not recommended -> what the text says of it; see also `is_name`."""

HARNESS = "tests/newcomer.py and tests/exports/test_task_folders.py run the other tool, and read its logs back"
ELSEWHERE = {
    ("cli/exports.py", "equipoise import --format lm-eval logs"): HARNESS,
    ("cli/exports.py", "equipoise import --format inspect logs"): HARNESS,
    ("exports/inspect_support.txt", "equipoise import --format inspect"): HARNESS,
    ("exports/task_folders.py", "equipoise import --format inspect"): HARNESS,
    ("exports/task_folders.py", "equipoise import --format lm-eval"): HARNESS,
    ("cli/measurement.py", "equipoise import --format gender-ece winobias/GPT-J-6B.results.csv"): (
        "tests/docs/test_documented_commands.py imports this file"
    ),
    ("view/export.py", "equipoise view --export"): "tests/view/test_export.py exports",
    ("view/web/ask.html", "equipoise audit --data kept.csv"): "tests/view/test_ask_box.py audits what was kept",
    ("view/web/ask.html", "equipoise view --model smollm2"): "tests/view/test_ask_box.py opens it with a model",
    ("cli/tune.py", "equipoise audit {}"): "tests/training/test_tuning.py audits what it tuned",
}
"""Advice that is followed in another test."""


def ran(*words: str, code: int = 0) -> str:
    """Return everything that a command says; its exit code must be this."""
    result = CliRunner().invoke(app, list(words))
    said = result.output + (str(result.exception) if result.exception else "")
    assert (result.exit_code == 0) is (code == 0), f"equipoise {shlex.join(words)}: {said}"
    return said


def follow(text: str, start: str, *more: str, **places: str) -> str:
    """Run the command of a text that starts so, with names such as RUN replaced, and return what it says."""
    (command,) = {found for found in commands_in(" ".join(text.split())) if found.startswith(start)}
    words = shlex.split(command.rstrip("."))[1:]
    return ran(*(places.get(word, word) for word in words), *more)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current one; its name has a space."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "300")
    return folder


def lists_and_help(here: Path) -> None:
    help_of_all = " ".join(ran(*words) for words in (["--help"], ["audit", "--help-all"], ["ask", "--help"]))
    for start in ("equipoise data list", "equipoise list tasks", "equipoise list metrics"):
        follow(help_of_all, start)
    follow(help_of_all, "equipoise init")
    follow(ran("--help"), "equipoise ask", "--model", PLANTED)
    page = (PACKAGE / "view/web/list.html").read_text(encoding="utf-8")
    follow(page, "equipoise audit smollm2", *SMALL, "--out", "run")  # the default model, as `equipoise audit` alone
    for name in PROGRAM.commands:
        follow(ran("--help"), "equipoise COMMAND", COMMAND=name)


def a_file_of_options(here: Path) -> None:
    written = ran("init", "my audit.toml")
    text = Path("my audit.toml").read_text(encoding="utf-8")
    follow(written, "equipoise audit --config", "planted:strength=3,bias=0", *SMALL[2:], "--out", "run")
    follow(text, "equipoise gate", "--undecided", "pass", "--insist", RUN="run")
    follow(text, "equipoise list metrics")
    Path("wrong.toml").write_text("zzz = 1\n")
    follow(ran("audit", "--config", "wrong.toml", code=2), "equipoise init --all", "all.toml")


GROUPS = """
candidates = ["yes", "no"]
good = "yes"
questions = ["Should the applicant be invited?"]
[groups.gender]
woman = { name = ["Anna", "Laura"], title = "Ms", pronoun = "she" }
man = { name = ["Paul", "David"], title = "Mr", pronoun = "he" }
"""


def faulty_tables(here: Path) -> None:
    Path("my table.csv").write_text(DUPLICATES)
    columns = ("--columns", "text=Phrase")
    assert "repeated sentence" in follow(ran("data", "show", "my table.csv", *columns), "equipoise data check")
    ran("audit", PLANTED, "--data", "my table.csv", *columns, "--resamples", "10", "--out", "run")
    page = Path("run/report.html").read_text(encoding="utf-8")
    in_page = re.findall(r"<code>(equipoise data check [^<]+)</code>", page)
    assert in_page and all("repeated sentence" in ran(*shlex.split(unescape(command))[1:]) for command in in_page)


def own_documents(here: Path) -> None:
    Path("letters").mkdir()
    Path("letters/one.txt").write_text("Dear team, Ms Anna Baker applies for the post. She has ten years of practice.")
    Path("groups.toml").write_text(GROUPS)
    printed = ran("data", "make", "letters", "--slots", "groups.toml", "--out", "my letters.toml")
    assert "Mr Paul Baker" in follow(printed, "equipoise data show")


def a_long_report(here: Path) -> None:
    printed = ran("audit", PLANTED, *SMALL[2:], "--limit", "40", "--out", "run")
    whole = follow(printed, "equipoise report", RUN="run")
    assert "more metrics" in printed and "more metrics" not in whole


def a_sentence_for_data(here: Path) -> None:
    for sentence in ('The nurse told the farmer: "she is late".', "The nurse told the farmer that she hadn't slept."):
        said = ran("audit", "--data", sentence, code=2)
        assert follow(said, "equipoise ask", "--model", PLANTED).count("nurse") > 1
    follow(ran("ask", code=2), "equipoise ask", "--model", PLANTED)
    unquoted = ["The", "nurse", "told", "the", "farmer", "that", "she", "hadn't", "slept."]
    follow(ran("ask", *unquoted, code=2), "equipoise ask", "--model", PLANTED)


def estimators_and_wordings(here: Path) -> None:
    ran(
        "audit",
        PLANTED,
        "--limit",
        "70",
        "--resamples",
        "10",
        "--estimator",
        "perplexity",
        "--estimator",
        "margin",
        "--out",
        "run",
    )
    page = Path("run/report.html").read_text(encoding="utf-8")
    follow(
        "`equipoise study estimators RUN`" if "equipoise study estimators RUN" in page else "", "equipoise", RUN="run"
    )
    ran(
        "audit", PLANTED, "--limit", "40", "--resamples", "10", "--wordings", "built-in", "--no-html", "--out", "worded"
    )
    follow(ran("audit", "--help-all"), "equipoise study wording", "worded")


def a_leaderboard(here: Path) -> None:
    text = " ".join(tomllib.loads((PACKAGE / "topics/leaderboard/about.toml").read_text(encoding="utf-8")).values())
    follow(text, "equipoise audit", *SMALL, "--out", "run", MODEL=PLANTED, DATA="builtin")
    assert "measurements" in follow(text, "equipoise verify", FOLDER="run")


def old_names(here: Path) -> None:
    if "EQUIPOISE_DATA" not in os.environ:
        pytest.skip("needs the real gender-ece: set EQUIPOISE_DATA to the folder that holds it")
    equipoise.audit(PLANTED, limit=70, resamples=10, wordings="built-in", out="run")
    equipoise.audit(PLANTED, "genderlex", task="cloze", limit=30, resamples=10, out="pairs")
    for old, new in OLD_COMMANDS.items():
        said = ran(old, code=2)
        if new == "export hub":  # uploads; tests/exports/test_hub.py pushes to a server
            continue
        run = "pairs" if old in ("calibrate", "reliability") else "run"
        if old == "identities":
            continue  # tests/docs/test_documented_commands.py runs it on a run with identities
        more = [run] if new.startswith("study") else []
        if old == "paper":
            more = ["ucerf", "--run", run, "--out", "tables"]
        follow(said, f"equipoise {new}", *more, RUN=run)


CASES: dict[Callable[[Path], None], tuple[tuple[str, str], ...]] = {
    lists_and_help: (
        ("cli/__init__.py", 'equipoise ask "The nurse told the farmer that she was late."'),
        ("cli/__init__.py", "equipoise audit"),
        ("cli/__init__.py", "equipoise COMMAND --help"),
        ("cli/config.py", "equipoise init"),
        ("cli/reports.py", "equipoise init"),
        ("cli/help.py", "equipoise data list"),
        ("cli/help.py", "equipoise init"),
        ("cli/help.py", "equipoise list tasks"),
        ("options/table.py", "equipoise data list"),
        ("options/table.py", "equipoise list metrics"),
        ("topics/asked.py", "equipoise audit"),
        ("view/web/list.html", "equipoise audit smollm2"),
    ),
    a_file_of_options: (
        ("cli/config.py", "equipoise audit --config {}"),
        ("cli/config.py", "equipoise gate RUN --config {name}"),
        ("cli/config.py", "equipoise init --all"),
        ("cli/config.py", "equipoise list metrics"),
    ),
    faulty_tables: (("cli/data.py", "equipoise data check {}{}"), ("verdict/validity.py", "equipoise data check {}{}")),
    own_documents: (("cli/data.py", "equipoise data show {}"),),
    a_long_report: (
        ("media/terminal.py", "equipoise report RUN --all"),
        ("topics/numbers.py", "equipoise report RUN --all"),
    ),
    a_sentence_for_data: (
        ("datasets/__init__.py", "equipoise ask {}"),
        ("cli/ask.py", 'equipoise ask "The nurse told the farmer that she was late."'),
        ("cli/ask.py", "equipoise ask {}"),
    ),
    estimators_and_wordings: (
        ("topics/estimators.py", "equipoise study estimators RUN"),
        ("options/table.py", "equipoise study wording"),
    ),
    a_leaderboard: (
        ("topics/leaderboard/about.toml", "equipoise audit MODEL --data DATA"),
        ("topics/leaderboard/about.toml", "equipoise verify FOLDER"),
    ),
    old_names: (("cli/help.py", "equipoise {}"),),
}
"""Situation -> the advice that is given and followed in it."""


@contextmanager
def mirror(files: Path) -> Iterator[str]:
    """Serve the files of a folder by their names, whatever folders the address has, and yield the address."""

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(next(files.rglob(Path(path).name)))

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(files)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_dataset_that_is_missing_is_fetched_by_the_command_that_is_printed(
    here: Path, real_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = real_data("winobias")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(here / "cache"))
    monkeypatch.delenv("EQUIPOISE_DATA")
    monkeypatch.setenv("no_proxy", "*")
    refused = ran("audit", PLANTED, "--data", "winobias", code=2)
    listed, looked = (
        next(line for line in ran(*words).splitlines() if "data fetch winobias" in line)
        for words in (["data", "list"], ["doctor", "planted"])
    )
    with mirror(files) as address:
        monkeypatch.setenv("EQUIPOISE_MIRROR", address)
        for said in (refused, listed, looked):
            shutil.rmtree(here / "cache", ignore_errors=True)
            follow(said, "equipoise data fetch")
            ran("audit", PLANTED, "--data", "winobias", *SMALL, "--replace", "--out", "run")


@pytest.mark.slow
def test_a_build_goes_on_with_the_commands_that_are_printed(here: Path) -> None:
    Path("words.csv").write_text("word,side,share\ncook,male,38\nnurse,female,90\n")
    words, text = ("--words", "words.csv"), "1. [The cook] met [the nurse] before [he] left town.\n"
    with misbehaving(*[Act(body=reply(text))] * 20) as server:
        said = ran("build", "filter", "my build", *words, code=2)
        more = (*words, "--samples", "1", "--yes")
        follow(said, "equipoise build generate", *more, URL=server.address, NAME="m")
    follow(ran("build", "survey", "my build", code=2), "equipoise build filter", *words)
    (command,) = commands_in(ran("build", "clean", "my build", *words, code=2))
    survey = [sys.executable, "-m", *shlex.split(command), "--port", str(free_port())]
    process = subprocess.Popen(survey, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
    try:
        began = time.monotonic()
        while not Path("my build/survey.sqlite").is_file() and time.monotonic() - began < 120:
            assert process.poll() is None
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(30)
    ran("build", "backup", "my build")
    ran("build", "simulate", "my build", "--raters", "6", "--accuracy", "1", "--incoherent", "0")
    cleaned = ran("build", "clean", "my build", *words, "--database", "sqlite:///my build/simulation.sqlite")
    follow(cleaned, "equipoise audit --data", PLANTED, *SMALL, "--out", "run")
    table = {"FOLDER/dataset/NAME.csv": str(next(Path("my build/dataset").glob("*.csv")))}
    follow(ran("build", "--help"), "equipoise audit --data", PLANTED, *SMALL, "--out", "again", **table)


@pytest.mark.slow
@pytest.mark.parametrize("situation", CASES, ids=lambda situation: situation.__name__)
def test_the_advice_of_a_situation_is_followed(situation: Callable[[Path], None], here: Path) -> None:
    situation(here)


OTHERS = {
    ("builder/steps.py", "equipoise build {} {}{}"),
    ("cli/build.py", "equipoise audit --data FOLDER/dataset/NAME.csv"),
    ("cli/build.py", "equipoise audit --data {}{}"),
    ("cli/data.py", "equipoise data fetch {}"),
    ("datasets/downloads.py", "equipoise data fetch {}"),
    ("doctor.py", "equipoise data fetch {}"),
    ("options/table.py", "equipoise data show winoidentity"),
}
"""Advice that is followed in a test of its own, above; `data show winoidentity` in tests/datasets/test_identity.py."""


def is_name(command: str) -> bool:
    """Return whether these words name a command without what it needs, as in "the exit codes of `equipoise gate`"."""
    found = PROGRAM
    for word in command.split()[1:]:
        found = getattr(found, "commands", {}).get(word)
        if found is None:
            return False
    return hasattr(found, "commands") or any(item.required for item in found.params)


def test_every_advice_has_a_case() -> None:
    known = {*NAMED, *ELSEWHERE, *OTHERS, *(advice for several in CASES.values() for advice in several)}
    assert not {advice for advice in templates() - known if not is_name(advice[1])}, (
        "advice without a case: add its situation to CASES"
    )
    assert not known - templates(), "a case without advice"


def test_every_command_that_is_named_exists() -> None:
    for _, command in {*NAMED, *ELSEWHERE}:
        found = PROGRAM
        for word in command.replace("{}", "").split()[1:]:
            if hasattr(found, "commands") and not word.startswith("-"):
                assert word in found.commands, command
                found = found.commands[word]


def test_every_option_and_extra_in_a_message_exists() -> None:
    def options_of(command: Any) -> set[str]:
        below = (options_of(item) for item in getattr(command, "commands", {}).values())
        own = {name for item in command.params for name in (*item.opts, *item.secondary_opts)}
        return own.union(*below)

    known = options_of(PROGRAM)
    extras = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    names = set(extras["project"]["optional-dependencies"])
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert set(re.findall(r"equipoise\[([a-z]+)\]", text)) <= names, file
        if file.parent.name in ("verdict", "runs", "datasets", "tasks", "topics", "measuring", "comparing", "metrics"):
            wrong = set(re.findall(r"(?<![\w`-])--[a-z][a-z-]+[a-z](?![\w-]*=?[.{])", text)) - known
            assert not wrong, f"{file.name}: {wrong}"
