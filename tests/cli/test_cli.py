"""The command line as a person meets it: real processes, their output, their exit codes, and every mistake."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from equipoise import __version__
from equipoise.datasets import CARDS

Result = subprocess.CompletedProcess[str]
Command = Callable[..., Result]
COMMANDS = {
    ("audit",): ("--data", "--task", "--seeds", "--limit", "--out", "--estimator", "--quiet", "--json", "--columns"),
    ("report",): ("--json",),
    ("measure",): ("--estimator", "--level", "--by", "--resamples", "--metric"),
    ("metrics",): (),
    ("data",): ("list", "show", "check", "fetch"),
    ("data", "list"): (),
    ("data", "show"): ("--columns",),
    ("data", "check"): ("--columns", "--all"),
    ("data", "fetch"): ("--to", "--quiet"),
}
AUDIT = (
    *("audit", "planted:noise=0.7", "--task", "next-word", "--task", "mcq", "--seeds", "2", "--limit", "60"),
    *("--by", "gender", "--resamples", "20", "--out", "run"),
)
HEADER = "text,pronoun,candidate_1,candidate_2,gold"
HE = "The baker thanked the judge because he had helped.,he,baker,judge,judge"
SHE = "The baker thanked the judge because she had helped.,she,baker,judge,judge"


def refused(result: Result) -> str:
    """Return the one sentence of a command that could not be done."""
    assert result.returncode == 2, (result.returncode, result.stderr)
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("equipoise: ") and len(line) < 700
    return line.removeprefix("equipoise: ")


def words_of(text: str) -> list[str]:
    return text.split()


@pytest.fixture(scope="module")
def audited(equipoise: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """Return a run folder made by the command line, and what the command said."""
    cwd = tmp_path_factory.mktemp("cli")
    return cwd / "run", equipoise(*AUDIT, cwd=cwd)


@pytest.fixture
def run_copy(audited: tuple[Path, Result], tmp_path: Path) -> Path:
    return Path(shutil.copytree(audited[0], tmp_path / "copy"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(equipoise: Command, command: tuple[str, ...], tmp_path: Path) -> None:
    result = equipoise(*command, "--help", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Usage: " in result.stdout
    for option in COMMANDS[command]:
        assert option in result.stdout


def test_without_a_command_the_help_is_shown(equipoise: Command, tmp_path: Path) -> None:
    result = equipoise(cwd=tmp_path)
    assert result.returncode == 0 and "Start with `equipoise audit`" in result.stdout
    assert equipoise("data", cwd=tmp_path).stdout.startswith("Usage: ")


def test_the_version_is_printed(equipoise: Command, tmp_path: Path) -> None:
    assert equipoise("--version", cwd=tmp_path).stdout == f"{__version__}\n"


def test_an_audit_prints_its_table_and_where_the_folder_is(audited: tuple[Path, Result]) -> None:
    folder, result = audited
    # On a slow machine there are lines of progress, nothing else.
    others = [line for line in result.stderr.splitlines() if not re.search(r" [\d,]+ of [\d,]+, .* left$", line)]
    assert result.returncode == 0 and not others
    assert "planted on builtin · next-word" in result.stdout and "planted on builtin · mcq" in result.stdout
    assert "against the stereotype" in result.stdout and "Everything is in run/" in result.stdout
    assert "95% intervals" in result.stdout and "A set is one sentence, asked with each pronoun." in result.stdout
    table = pd.read_csv(folder / "measurements.csv")
    row = table.query("metric == 'ucerf' and group == 'type=type2' and task == 'next-word'").iloc[0]
    line = next(line for line in result.stdout.splitlines() if line.startswith("ucerf "))
    assert f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" in line


def test_the_seeds_are_averaged_with_their_spread(audited: tuple[Path, Result]) -> None:
    _, result = audited
    mcq = result.stdout.partition("builtin · mcq")[2]
    assert "±" in next(line for line in mcq.splitlines() if line.startswith("ucerf "))
    assert "±" not in result.stdout.partition("builtin · mcq")[0]


def test_the_command_of_the_manifest_runs_again(audited: tuple[Path, Result]) -> None:
    command = json.loads((audited[0] / "manifest.json").read_text())["command"]
    assert command.startswith("python -m equipoise audit planted:noise=0.7 --task next-word")


def test_a_report_prints_the_same_without_the_model(equipoise: Command, audited: tuple[Path, Result]) -> None:
    folder, result = audited
    again = equipoise("report", folder.name, cwd=folder.parent)
    assert (again.returncode, again.stderr, again.stdout) == (0, "", result.stdout)


@pytest.mark.slow
def test_a_report_fits_a_narrow_terminal(forked: Command, audited: tuple[Path, Result]) -> None:
    result = forked("report", audited[0], cwd=audited[0], COLUMNS="80")
    tables = [line for line in result.stdout.splitlines() if not line.startswith(("note: ", "Brackets"))]
    assert max(map(len, tables)) <= 80 and "…" not in "".join(tables)


def test_an_old_terminal_is_no_reason_to_fail(equipoise: Command, audited: tuple[Path, Result]) -> None:
    result = equipoise("report", audited[0], cwd=audited[0], PYTHONIOENCODING="ascii")
    assert (result.returncode, result.stderr) == (0, "") and "ucerf" in result.stdout


@pytest.mark.slow
def test_json_is_all_that_stands_on_standard_output(forked: Command, audited: tuple[Path, Result]) -> None:
    folder, _ = audited
    result = forked("report", folder, "--json", cwd=folder)
    rows = json.loads(result.stdout)
    table = pd.read_csv(folder / "measurements.csv")
    assert list(rows[0]) == list(table.columns) and len(rows) == len(table)
    assert [row["value"] for row in rows] == pytest.approx(list(table["value"]), abs=1e-14)
    assert all(row["low"] is None or isinstance(row["low"], float) for row in rows)


def test_quiet_says_nothing(equipoise: Command, tmp_path: Path) -> None:
    result = equipoise("audit", "planted", "--limit", "4", "--resamples", "10", "--quiet", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "runs" / "planted--builtin--next-word--limit-4" / "measurements.csv").is_file()


@pytest.mark.slow
def test_other_estimators_need_no_model(forked: Command, run_copy: Path) -> None:
    words = ("--estimator", "renyi", "--estimator", "margin", "--by", "form", "--level", "0.8", "--resamples", "50")
    result = forked("measure", run_copy, *words, "--json", cwd=run_copy.parent)
    rows = json.loads(result.stdout)
    assert {"ucerf_renyi", "ucerf_margin"} <= {row["metric"] for row in rows}
    assert {row["level"] for row in rows} == {0.8}
    assert "form=object,type=type2" in {row["group"] for row in rows}
    shown = forked("report", run_copy, cwd=run_copy.parent).stdout
    assert "ucerf_renyi" in shown and "80% intervals" in shown and "possessive" in shown


@pytest.mark.slow
def test_measuring_loads_no_torch(run_copy: Path) -> None:
    code = (
        "import sys\nfrom equipoise.cli import main\n"
        f"sys.argv = ['equipoise', 'measure', {str(run_copy)!r}, '--metric', 'ucerf', '--resamples', '10', '-q']\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


@pytest.mark.slow
def test_the_same_command_twice_gives_the_same_bytes(
    equipoise: Command, audited: tuple[Path, Result], tmp_path: Path
) -> None:
    equipoise(*AUDIT, "-q", cwd=tmp_path, PYTHONHASHSEED="7")
    for name in ("measurements.csv", "outcomes.parquet", "pairs.parquet", "scores.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (audited[0] / name).read_bytes(), name


def write_table(path: Path, columns: dict[str, list[Any]]) -> None:
    frame = pd.DataFrame(columns)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_table_of_ones_own_is_audited(forked: Command, ending: str, tmp_path: Path) -> None:
    table = {
        "Satz": [row.split(",")[0] for row in (HE, SHE)],
        "wer": ["he", "she"],
        "a": ["baker"] * 2,
        "b": ["judge"] * 2,
        "richtig": ["judge"] * 2,
        "land": ["de", "de"],
    }
    write_table(tmp_path / f"mine.{ending}", table)
    columns = ("--columns", "text=Satz,pronoun=wer", "--columns", "candidate_1=a, candidate_2=b")
    more = ("--columns", "gold=richtig", "--columns", "group:land=land", "--resamples", "20", "--json")
    result = forked("audit", "planted", "--data", f"mine.{ending}", *columns, *more, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    rows = {(row["metric"], row["group"]): row for row in json.loads(result.stdout)}
    assert rows["accuracy", "type=type2"]["value"] == 1.0 and rows["ucerf", "type=type2"]["n"] == 1
    assert ("accuracy", "land=de") in rows and rows["accuracy", "all"]["dataset"] == "mine"


@pytest.mark.slow
def test_several_datasets_and_tasks_are_asked(forked: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"{HEADER}\n{HE}\n{SHE}\n")
    words = ("--data", "builtin", "--data", "mine.csv", "--task", "mcq", "--task", "next-word")
    result = forked("audit", "planted", *words, "--limit", "2", "--resamples", "5", "--no-html", cwd=tmp_path)
    titles = [line for line in result.stdout.splitlines() if line.startswith("planted on ")]
    assert titles == [f"planted on {d} · {t}" for d in ("builtin", "mine") for t in ("mcq", "next-word")]


def test_the_metrics_are_listed(forked: Command, tmp_path: Path) -> None:
    lines = forked("metrics", cwd=tmp_path).stdout.splitlines()
    assert words_of(lines[0])[:2] == ["metric", "better"]
    assert {"ucerf", "eo_sum", "accuracy_gap"} <= {words_of(line)[0] for line in lines[1:]}


def test_no_metric_is_broken_in_a_narrow_terminal(forked: Command, tmp_path: Path) -> None:
    wide = forked("metrics", cwd=tmp_path).stdout.splitlines()[1:]
    lines = forked("metrics", cwd=tmp_path, COLUMNS="80").stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [words_of(line)[0] for line in wide]
    assert max(map(len, lines)) <= 80


def test_the_datasets_are_listed_with_licence_and_place(forked: Command, tmp_path: Path) -> None:
    place = {"EQUIPOISE_DATA": str(tmp_path), "EQUIPOISE_CACHE": str(tmp_path / "cache")}
    lines = forked("data", "list", cwd=tmp_path, **place).stdout.splitlines()
    assert [words_of(line)[0] for line in lines[1:]] == list(CARDS)
    assert "CC0-1.0" in lines[1] and "in the package" in lines[1]
    (winobias,) = [line for line in lines if words_of(line)[0] == "winobias"]
    assert "equipoise data fetch winobias" in winobias


def test_a_dataset_is_shown(forked: Command, tmp_path: Path) -> None:
    shown = forked("data", "show", "builtin", cwd=tmp_path).stdout
    assert "1,020 in 510 sets" in shown and "CC0-1.0" in shown and "female 510, male 510" in shown
    assert shown.count("  e.g. ") == 4


def test_the_built_in_sentences_have_no_faults(forked: Command, tmp_path: Path) -> None:
    assert forked("data", "check", "builtin", cwd=tmp_path).stdout.endswith("no faults found\n")


def test_a_check_tells_what_is_wrong_and_where(forked: Command, tmp_path: Path) -> None:
    rows = "\n".join(HE.replace("baker", name) for name in ("baker", "tailor", "cook", "clerk", "guard", "farmer"))
    (tmp_path / "mine.csv").write_text(f"{HEADER}\n{rows}\n")
    short = forked("data", "check", "mine.csv", cwd=tmp_path)
    assert short.returncode == 0 and "mine: 6 examples, 0 sets can be compared" in short.stdout
    assert "mine.csv:2: no row differs from it only in the pronoun" in short.stdout
    assert "and 1 more (--all lists them)" in short.stdout and "mine.csv:7" not in short.stdout
    assert "mine.csv:7" in forked("data", "check", "mine.csv", "--all", cwd=tmp_path).stdout


def test_fetching_what_is_here_names_the_licence_first(
    forked: Command, real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(real_data("winobias"), tmp_path / "winobias"))
    result = forked("data", "fetch", "winobias", "--to", folder, cwd=tmp_path, EQUIPOISE_MIRROR="http://127.0.0.1:9")
    assert (result.returncode, result.stderr) == (0, "")
    assert "licence: MIT" in result.stdout.splitlines()[1] and result.stdout.endswith(f"winobias is in {folder}\n")


def test_fetching_without_a_network_is_one_sentence(forked: Command, tmp_path: Path) -> None:
    mirror = {"EQUIPOISE_MIRROR": "http://127.0.0.1:9", "EQUIPOISE_CACHE": str(tmp_path)}
    result = forked("data", "fetch", "winobias", cwd=tmp_path, **mirror)
    assert "127.0.0.1:9" in refused(result) and "licence: MIT" in result.stdout
    assert "nothing to fetch" in forked("data", "fetch", "builtin", cwd=tmp_path).stdout


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


def test_a_full_disk_is_one_sentence(forked: Command, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "scores.jsonl").symlink_to("/dev/full")
    said = refused(forked("audit", "planted", "--limit", "4", "--out", "run", cwd=tmp_path))
    assert said.startswith("the disk is full") and "run the command again" in said


def test_a_folder_of_another_model_is_refused(forked: Command, run_copy: Path, model: Path) -> None:
    said = refused(forked("audit", model, "--limit", "4", "--out", run_copy, cwd=run_copy.parent))
    assert "holds a run of planted with other settings; choose another folder" in said


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


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(environ: dict[str, str], audited: tuple[Path, Result]) -> None:
    for words in (f"report {audited[0]}", "--help", f"report {audited[0]} --json"):
        line = f"set -o pipefail; {sys.executable} -m equipoise {words} | head -c 1"
        result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environ, check=False)
        assert (result.returncode, result.stderr) == (0, ""), words


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
