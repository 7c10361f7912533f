"""What commands print and write, compared with kept texts: paths, times and speeds are left out."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from kept_texts import KEPT, assert_kept, rounded
from typer.testing import CliRunner

from equipoise.cli import app

LATE = "The nurse told the farmer that she was late."
SUITE = """
out = "{out}"
models = ["planted:bias=1", "planted:bias=0"]
data = ["builtin"]
task = ["next-word", "mcq"]

[settings]
limit = 6
resamples = 10
"""
GATED = """
out = "{out}"
models = ["planted:bias=1", "planted:bias=0"]
data = ["builtin"]
task = ["next-word"]

[settings]
limit = 70
resamples = 10

[gate]
require = ["ucerf[type=type2] >= 0.99", "ucerf[type=type1] >= 0.95", "flip_rate[type=type2] <= 0.5"]
"""

SHOWN = (".yaml", ".jsonl", ".txt", ".csv", ".md", ".tex", ".toml", ".xml")
"""Files whose beginning is kept."""

ONE = {
    "report-all": "report {strong} --all",
    "report-worded": "report {worded}",
    "report-pairs": "report {pairs}",
    "compare-pairs": "compare {pairs} {close} --permutations 400 --resamples 20",
    "audit-decisions": "audit planted:bias=1 --data decisions --limit 40 --resamples 10 --out {out}/run",
    "audit-identities": "audit planted:bias=1 --data winoidentity --base builtin --attributes age --limit 31"
    " --resamples 10 --out {out}/run",
    "audit-mcq": "audit planted:bias=1 --task mcq --orders 2 --limit 40 --resamples 10 --out {out}/run",
    "compare": "compare {strong} {mild} --permutations 40 --resamples 20",
    "gate": "gate {strong} --require flip_rate[type=type1]<=0.1 --require ucerf[type=type2]>=0.2",
    "gate-passed": "gate {strong} --require flip_rate[type=type1]>=0.5",
    "gate-unknown": "gate {strong} --require nothing<=0.1",
    "gate-undecided": "gate {strong} --require flip_rate[type=type2]<=0.06 --undecided fail --junit {out}/gate.xml",
    "gate-drop": "gate {strong} --baseline {mild} --max-drop ucerf[type=type2]=0.01 --max-drop accuracy=0.9",
    "verify": "verify {strong} {mild}",
    "card": "report {strong} --as card --out {out}/card.md",
    "latex": "report {mild} --as tables --format latex --out {out}",
    "markdown": "report {mild} {strong} --as tables --format markdown --out {out}",
    "report-where": "report {strong} --where gender=female",
    "leaderboard": "leaderboard {strong} {mild} --out {out}",
    "estimators": "study estimators {worded} --resamples 20 --estimator perplexity --estimator margin --out {out}",
    "plan": "plan {strong} --detect flip_bias[type=type1]=0.2",
    "temperature": "study temperature {strong} --draws 10",
    "wording": "study wording {worded} --resamples 20 --out {out}",
    "calibration": "study calibration {pairs} --splits 3 --method beta --no-figures",
    "measure": "measure {copy} --metric ucerf --metric flip_rate --resamples 20 --by gender",
    "show": "data show builtin",
    "check": "data check builtin",
    "metrics": "list metrics",
    "tasks": "list tasks",
    "engines": "list engines",
    "export-data": "data export builtin --limit 4 --out {out}",
    "lm-eval": "export lm-eval --data builtin --task next-word --limit 3 --out {out}",
    "inspect": "export inspect --data builtin --task mcq --limit 3 --orders 2 --out {out}",
    "dry-run": "audit planted:bias=1 --data builtin --limit 4 --task mcq --orders 2 --dry-run",
    "audit": "audit planted:bias=1 --data builtin --limit 6 --resamples 10 --out {out}",
    "suite": "suite {suite} --dry-run",
    "suite-run": "suite {gated}",
    "ask": "ask '{late}' --model planted:bias=2 --pronouns he,she",
    "ask-json": "ask '{late}' --model planted:bias=2 --task mcq --json",
    "init": "init {out}/audit.toml",
    "no-such-option": "audit planted --frobnicate 3",
    "no-such-data": "audit planted --data nowhere",
    "no-such-metric": "audit planted --metrics ucref",
    "no-run": "report {out}",
}


QUIET = (
    *("report-all", "compare", "gate", "gate-passed", "measure", "estimators", "wording", "calibration"),
    *("export-data", "lm-eval", "inspect", "audit", "leaderboard", "verify", "card", "latex"),
)
"""Commands that take --quiet; a dry run prints what it is asked for."""


@pytest.fixture
def places(
    planted_run: Path,
    mild_run: Path,
    cloze_runs: tuple[Path, Path],
    worded_runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Path]:
    """Return where the runs and files of the commands are, from an empty folder."""
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.toml").write_text(SUITE.format(out=tmp_path / "cells"))
    (tmp_path / "gated.toml").write_text(GATED.format(out=tmp_path / "cells"))
    places = {"strong": planted_run, "mild": mild_run, "worded": worded_runs[0]}
    for copied, folder in (("copy", mild_run), ("pairs", cloze_runs[0]), ("close", cloze_runs[1])):
        shutil.copytree(folder, tmp_path / copied)
    return places | {
        "copy": tmp_path / "copy",
        "pairs": tmp_path / "pairs",
        "close": tmp_path / "close",
        "out": tmp_path / "out",
        "suite": tmp_path / "suite.toml",
        "gated": tmp_path / "gated.toml",
    }


@pytest.mark.parametrize("name", ONE)
def test_a_command_prints_as_it_was_kept(name: str, places: dict[str, Path], tmp_path: Path) -> None:
    words = [word.format(late=LATE, **places) for word in shlex.split(ONE[name])]
    result = CliRunner().invoke(app, words)
    text = "\n".join([f"$ equipoise {ONE[name]}", result.output, f"exit code {result.exit_code}"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        text += f"\n{type(result.exception).__name__}: {result.exception}"
    made = sorted(file for file in (tmp_path / "out").rglob("*") if file.is_file())
    text += "".join(f"\n==== {file.relative_to(tmp_path / 'out').as_posix()}" for file in made)
    small = [file for file in made if file.suffix in SHOWN and not name.startswith("audit")]
    text += "".join(f"\n==== {file.name}\n{rounded(file.read_text(encoding='utf-8'))[:4000]}" for file in small)
    # A terminal folds long lines where the path of a temporary folder says so; the folder's name may have spaces.
    inside = text.replace(str(tmp_path.parent), "/pytest-here")
    hidden = re.sub(r"\S*/(pytest-|[\w-]*runs?\d+|mine)\S*", "…", inside)
    hidden = re.sub(r"(?m)^(.*\d of \d+, .* left|measuring: done)$\n?", "", hidden)
    hidden = re.sub(r", about [^)\n]* left\)", ")", hidden)
    hidden = re.sub(r"\b(\d+ min )?\d+(\.\d+)? (s|ms|min|seconds|prompts/s|a second)\b", "TIME", hidden)
    hidden = re.sub(r"\d+ files have", "N files have", hidden)  # other tests write a report into the run
    assert_kept(f"cli/{name}", hidden, hide=[str(tmp_path), *map(str, places.values())])


@pytest.mark.parametrize("name", QUIET)
def test_quiet_prints_errors_alone(name: str, places: dict[str, Path]) -> None:
    result = CliRunner().invoke(
        app, [word.format(late=LATE, **places) for word in shlex.split(ONE[name])] + ["--quiet"]
    )
    kept = (KEPT / "cli" / f"{name}.txt").read_text(encoding="utf-8")
    assert (result.stdout, f"exit code {result.exit_code}") == ("", re.findall(r"(?m)^exit code \d", kept)[0])


ODD = "od\x07\rd"
"""A name that would ring a bell and go back to the start of the line."""


@pytest.mark.parametrize(
    "words",
    [
        "report {run}",
        "report {run} --as card --out {odd}/card.md",
        "report {run} --as tables --format csv --out {odd}",
        "measure {run} --metric flip_rate --resamples 5 --no-html",
        "verify {run}",
        "gate {run} --require flip_rate>=0",
        "compare {run} {run2} --out {odd}.html --metric flip_rate --permutations 10 --resamples 5",
        "study estimators {run} --estimator margin --resamples 5 --no-figures --out {odd}",
        "data export builtin --limit 2 --out {odd}",
        "export lm-eval --limit 2 --out {odd}",
        "export inspect --limit 2 --out {odd}",
        "init {odd}.toml",
        "view {odd}",
    ],
)
def test_no_name_moves_the_cursor(words: str, mild_run: Path, tmp_path: Path) -> None:
    run, other = (Path(shutil.copytree(mild_run, tmp_path / f"{ODD} {name}")) for name in "ab")
    places = {"run": run, "run2": other, "odd": tmp_path / ODD}
    result = CliRunner().invoke(app, [word.format(**places) for word in shlex.split(words)])
    assert not {"\x07", "\r"} & set(result.output)
