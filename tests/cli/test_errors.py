"""Every mistake is one sentence and exit code 2, in the words of the command line; running out of memory, too."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.cli import errors
from equipoise.cli.errors import NO_MEMORY, in_options, is_out_of_memory
from equipoise.options import OptionError
from equipoise.records import EquipoiseError, ModelError, OtherRunError

Result = subprocess.CompletedProcess[str]
Command = Callable[..., Result]
HEADER = "text,pronoun,candidate_1,candidate_2,gold"
HE = "The baker thanked the judge because he had helped.,he,baker,judge,judge"
SHE = "The baker thanked the judge because she had helped.,she,baker,judge,judge"

ENDED = """
import ctypes
from equipoise.cli.errors import clear_errors
with clear_errors():
    {body}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C++ runtime is found by its name on Linux")
@pytest.mark.parametrize(
    "body",
    [
        'ctypes.CDLL("libstdc++.so.6")._ZSt9terminatev()',  # what an exception that nothing catches ends in
        "raise MemoryError",
        "bytearray(1 << 62)",
        "raise ImportError('x.so: failed to map segment from shared object')",
        """raise RuntimeError("can't start new thread")""",
        "raise OSError(12, 'Cannot allocate memory')",
    ],
)
def test_running_out_of_memory_ends_in_one_sentence(body: str) -> None:
    command = [sys.executable, "-c", ENDED.format(body=body)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"equipoise: {NO_MEMORY}\n")


def test_other_errors_are_not_taken_for_it() -> None:
    assert not any(map(is_out_of_memory, (RuntimeError("a bug"), ImportError("no such name"), OSError(2, "No file"))))


@pytest.mark.parametrize(
    ("sentence", "printed"),
    [
        ("it runs only if trust_remote_code is set", "it runs only if --trust-remote-code is set"),
        ("the column 'answer_space' of answer_space.csv; see my_answer_space", None),
        ("the level of the model", None),
    ],
)
def test_an_argument_becomes_its_option(sentence: str, printed: str | None) -> None:
    assert in_options(ModelError(sentence)) == (printed or sentence)


def test_an_option_that_cannot_be_used_so_is_named_as_on_the_command_line() -> None:
    error = OptionError("metrics and worker_cores need cluster, not metrics", "metrics", "worker_cores", "cluster")
    assert in_options(error) == "--metric and --worker-cores need --cluster, not metrics"


def refused(result: Result) -> str:
    """Return the one sentence of a command that could not be done."""
    assert result.returncode == 2, (result.returncode, result.stderr)
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("equipoise: ") and len(line) < 700
    return line.removeprefix("equipoise: ")


BAD_TABLES = {
    "missing-column.csv": (
        "text,pronoun\nHe ran.,he\n",
        "missing-column.csv: no column holds the candidates; it has text, pronoun; name with --columns",
    ),
    "pronoun.csv": (f"{HEADER}\n{HE}\n{SHE.replace(',she,', ',hers,')}\n", "pronoun.csv:3: pronoun 'hers' is not in"),
    "empty.csv": ("", "empty.csv: is empty"),
    "header.csv": (f"{HEADER}\n", "header.csv: holds no row"),
    "candidate.csv": (f"{HEADER}\n{HE.replace(',baker,', ',12,')}\n", "candidate.csv:2: candidate '12' is not text"),
    "candidate.jsonl": (
        '{"text": "He ran.", "pronoun": "he", "candidates": ["a", null]}',
        "candidate.jsonl:1: candidate None is not text",
    ),
    "cells.csv": (f"{HEADER}\n{HE},more\n", "cells.csv:2: has 6 cells"),
    "cut.jsonl": ('{"text": "He ran."', "cut.jsonl:1: is not JSON"),
    "long.csv": (
        f"{HEADER}\n{'x' * 10_000_000}{HE}\n",
        "long.csv:2: has a cell of more than 131,072 characters; is a quote missing?",
    ),
    "long.jsonl": (
        json.dumps({"text": "He ran", "pronoun": "x" * 10**7, "candidates": "a|b"}),
        "long.jsonl:1: pronoun",
    ),
    "nul.csv": (f"{HEADER}\n{HE.replace('helped', 'hel' + chr(0))}\n", "nul.csv:2: text has a NUL character"),
    "no.parquet": ("PAR1 and no more", "no.parquet: cannot be read as Parquet"),
    "escape.csv": (f"{HEADER}\n{HE.replace(',he,', ',' + chr(27) + '[31mhe,')}\n", "escape.csv:2: pronoun"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_one_sentence_with_file_and_line(forked: Command, name: str, tmp_path: Path) -> None:
    content, sentence = BAD_TABLES[name]
    (tmp_path / name).write_text(content)
    said = refused(forked("audit", "planted", "--data", name, "--out", "run", cwd=tmp_path))
    assert said.startswith(sentence) and said.isprintable()


BAD_OPTIONS = {
    "--data nowhere": "unknown dataset 'nowhere'",
    "--data nowhere.csv": "nowhere.csv: no such file or folder",
    "--task guess": "unknown task 'guess'",
    "--metric ucref": "unknown metric 'ucref'; did you mean 'ucerf'?",
    "--estimator guess": "unknown estimator 'guess'",
    "--by shoes": "no item has a group 'shoes'",
    "--limit 0": "--limit must be at least 1, not 0",
    "--limit some": "Invalid value for '--limit'",
    "--orders 0": "--orders must be at least 1, not 0",
    "--orders 1.5": "Invalid value for '--orders'",
    "--seed -1": "--seed must be at least 0, not -1",
    "--level 95": "--level must lie between 0 and 1, not 95",
    "--level nan": "--level must lie between 0 and 1",
    "--resamples 0": "--resamples must be at least 1",
    "--disparity mode": "Invalid value for '--disparity': 'mode' is not one of 'auto', 'range', 'pairwise', "
    "'deviation'",
    "--dtype int3": "Invalid value for '--dtype': 'int3' is not one of 'auto', 'float32', 'bfloat16', 'float16'",
    "--bos perhaps": "Invalid value for '--bos': 'perhaps' is not one of 'auto', 'always', 'never'",
    "--log paper": "Invalid value for '--log': 'paper' is not one of 'mlflow', 'wandb', 'tensorboard'",
    "--pronouns he": "at least two different pronouns",
    "--columns text": "--columns takes name=column parts, not 'text'",
    "--columns =text": "--columns takes name=column parts, not '=text'",
    "--columns text=": "--columns takes name=column parts, not 'text='",
    "--columns text=a,text=b": "--columns names 'text' twice",
    "--columns text=a": "builtin is not a table",
    "--nonsense": "No such option: --nonsense",
    "--out taken": "the run folder taken cannot be written (file exists)",
    "--out taken/below": "the run folder taken/below cannot be written (not a directory)",
    "--out /proc/below": "the run folder /proc/below cannot be written",
}


@pytest.mark.slow
@pytest.mark.parametrize("words", BAD_OPTIONS)
def test_a_bad_option_is_one_sentence(forked: Command, words: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    said = refused(forked("audit", "planted", "--limit", "4", "--resamples", "9", *words.split(), cwd=tmp_path))
    assert said.startswith(BAD_OPTIONS[words])


BAD_MODELS = {
    "owner/nowhere": "the model hub cannot be reached",
    "./nowhere": "./nowhere is not a folder with a model",
    "nowhere.gguf": "GGUF file nowhere.gguf does not exist",
    "gpu:x": "unknown engine 'gpu'",
    "planted:bias=big": "planted: bias must be a number, not 'big'",
    "planted:bios=1": "planted: unknown setting 'bios'",
}


@pytest.mark.slow
@pytest.mark.parametrize("model", BAD_MODELS)
def test_an_unknown_model_is_one_sentence(forked: Command, model: str, tmp_path: Path) -> None:
    assert BAD_MODELS[model] in refused(forked("audit", model, "--limit", "4", "--out", "run", cwd=tmp_path))


@pytest.fixture(scope="module")
def model(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama(seed=2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--device toaster", "unknown device 'toaster'; use auto, cpu, cuda, cuda:N or spread"),
    ],
)
def test_a_bad_way_to_load_a_model_is_one_sentence(
    forked: Command, words: str, sentence: str, model: Path, tmp_path: Path
) -> None:
    said = refused(forked("audit", model, "--limit", "4", "--out", "run", *words.split(), cwd=tmp_path))
    assert said.startswith(sentence)


def test_nan_log_probabilities_are_refused(forked: Command, tiny_llama: Callable[..., Path], tmp_path: Path) -> None:
    spoilt = tiny_llama(seed=3, spoil=True)
    said = refused(forked("audit", spoilt, "--limit", "4", "--device", "cpu", "--out", "run", cwd=tmp_path))
    assert "gave nan as a log-probability" in said
    assert (tmp_path / "run" / "scores.jsonl").read_bytes() == b""


def test_a_full_disk_is_one_sentence() -> None:
    body = 'open("/dev/full", "wb", buffering=0).write(b"scores")'
    result = subprocess.run(
        [sys.executable, "-c", ENDED.format(body=body)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2 and result.stderr.startswith("equipoise: the disk is full")
    assert "run the command again" in result.stderr and result.stderr.count("\n") == 1


def test_a_folder_of_another_model_is_refused(forked: Command, run_copy: Path, model: Path) -> None:
    said = refused(forked("audit", model, "--limit", "4", "--out", run_copy, cwd=run_copy.parent))
    assert "choose another folder with --out, or delete that run with --replace" in said


@pytest.mark.slow
@pytest.mark.parametrize("words", [("report",), ("measure",), ("report", "--json")], ids=" ".join)
def test_what_is_no_run_is_one_sentence(forked: Command, words: tuple[str, ...], tmp_path: Path) -> None:
    assert refused(forked(*words, tmp_path, cwd=tmp_path)).endswith("it has no manifest.json")


def test_a_damaged_run_is_one_sentence(forked: Command, run_copy: Path) -> None:
    table = (run_copy / "measurements.csv").read_bytes()
    (run_copy / "measurements.csv").write_bytes(table[: len(table) // 2])
    assert "measurements.csv is damaged" in refused(forked("report", run_copy, cwd=run_copy.parent))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("nonsense",), ("report",), ("data", "fetch"), ("data", "show", "nowhere")], ids=" ".join
)
def test_a_wrong_command_is_one_sentence(forked: Command, words: tuple[str, ...], tmp_path: Path) -> None:
    refused(forked(*words, cwd=tmp_path))


SLOW = ("--limit", "128", "--metric", "accuracy", "--by", "gender", "--resamples", "9")


def slow_audit(model: Path) -> tuple[str, ...]:
    return ("audit", str(model), *SLOW, "--device", "cpu", "--quiet", "--out", "run")


@pytest.fixture(scope="module")
def uninterrupted(forked: Command, model: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    cwd = tmp_path_factory.mktemp("whole")
    assert forked(*slow_audit(model), cwd=cwd).returncode == 0
    return (cwd / "run" / "measurements.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_run_says_so_and_continues(
    forked: Command,
    environ: dict[str, str],
    number: signal.Signals,
    model: Path,
    uninterrupted: bytes,
    tmp_path: Path,
) -> None:
    command, scores = [sys.executable, "-m", "equipoise", *slow_audit(model)], tmp_path / "run" / "scores.jsonl"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environ) as process:
        while not (scores.is_file() and scores.stat().st_size):
            assert process.poll() is None, "the run ended before it could be interrupted"
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate()
    assert "the same command continues from there" in refused(Result(command, process.returncode, "", said))
    kept = scores.read_bytes()
    assert kept.endswith(b"\n")
    assert "was not finished; run its command again" in refused(forked("report", "run", cwd=tmp_path))
    again = forked(*slow_audit(model), cwd=tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert scores.read_bytes().startswith(kept)
    assert (tmp_path / "run" / "measurements.csv").read_bytes() == uninterrupted


def ended(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    """Return the code with which a command ends that fails so, and what it says."""
    with pytest.raises(SystemExit) as left, errors._explained():
        raise error
    return left.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (EquipoiseError("level must lie between 0 and 1", "level"), "--level must lie between 0 and 1"),
        (
            OtherRunError("out has another run"),
            "out has another run; choose another folder with --out, or delete that run with --replace",
        ),
        (
            ModuleNotFoundError("no", name="matplotlib.figure"),
            "this needs the package matplotlib: pip install 'equipoise[figures]'",
        ),
        (
            OSError(errno.ENOSPC, "No space", "a.csv"),
            "the disk is full: a.csv; finished work is saved: free some space and run the command again",
        ),
        (
            OSError(errno.EDQUOT, "Quota"),
            "the disk is full; finished work is saved: free some space and run the command again",
        ),
        (OSError(errno.EACCES, "Permission denied", "a.csv"), "Permission denied: a.csv"),
        (OSError("only words"), "only words"),
        (OSError(12, "Cannot allocate memory"), NO_MEMORY),
        (SystemError("std::bad_alloc"), NO_MEMORY),
        (MemoryError(), NO_MEMORY),
    ],
)
def test_every_kind_of_error_has_its_sentence(
    error: BaseException, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(error, capsys) == (2, f"equipoise: {sentence}\n")


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("no", name="nothing"), RuntimeError("a bug"), KeyError("x"), SystemExit(3)]
)
def test_what_is_our_own_fault_is_not_hidden(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, errors._explained():
        raise error
    assert raised.value is error


@pytest.mark.parametrize("how", ["pipe", "exit"])
def test_a_reader_who_has_left_is_no_error(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[Any] = []
    monkeypatch.setattr(errors.os, "dup2", lambda *given: moved.append(given))
    monkeypatch.setattr(errors.os, "open", lambda *given: 99)
    monkeypatch.setattr(errors.sys, "stdout", SimpleNamespace(fileno=lambda: 1))

    def write() -> None:
        try:
            raise BrokenPipeError
        except BrokenPipeError:
            if how == "pipe":
                raise
            sys.exit(1)

    with pytest.raises(SystemExit) as left, errors._explained():
        write()
    assert left.value.code == 0 and moved == [(99, 1)]


@pytest.mark.parametrize(("letters", "is_cut"), [(600, False), (601, True)])
def test_a_long_sentence_is_cut_in_the_middle(letters: int, is_cut: bool, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(chr(97 + at % 26) for at in range(letters))
    _, said = ended(EquipoiseError(f"  {text[:5]} \n {text[6:]}\x07"[: letters + 6]), capsys)
    with pytest.raises(SystemExit):
        errors.fail(text)
    whole = capsys.readouterr().err
    assert whole == f"equipoise: {text[:300]} … {text[-300:]}\n" if is_cut else whole == f"equipoise: {text}\n"
    assert said.count("\n") == 1 and "\x07" not in said and "  " not in said


def test_an_extra_is_that_of_the_survey_where_a_survey_needs_it() -> None:
    plain = ModuleNotFoundError("no", name="fastapi")
    assert errors._extra("fastapi", plain) == "view"
    scope: dict[str, Any] = {"__name__": "equipoise.builder.survey.web.app"}
    exec("def fail(error): raise error", scope)
    try:
        scope["fail"](plain)
    except ModuleNotFoundError as error:
        assert errors._extra("fastapi", error) == "builder"


def test_names_of_an_error_are_told_once_as_options() -> None:
    error = EquipoiseError("limit and limits; the limit is 3, out_limit too", "limit")
    assert in_options(error) == "--limit and limits; the limit is 3, out_limit too"
    assert in_options(EquipoiseError("my_name is wrong", "my_name")) == "--my-name is wrong"


def test_an_interruption_ends_with_its_own_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    monkeypatch.setattr(errors, "say", lambda: said.append("interrupted"))
    monkeypatch.setattr(errors, "end_in_a_sentence", lambda code: said.append(f"end {code}"))
    for error, is_interrupted, code in (
        (KeyboardInterrupt(), False, 2),
        (OSError("x"), True, 2),
        (OSError("x"), False, 2),
    ):
        monkeypatch.setattr(errors, "interrupted", lambda is_interrupted=is_interrupted: is_interrupted)
        with pytest.raises(SystemExit) as left, errors.clear_errors():
            raise error
        assert left.value.code == code
    assert said == ["end 2", "interrupted", "end 2", "interrupted", "end 2"]
    assert capsys.readouterr().err == "equipoise: x\n"
