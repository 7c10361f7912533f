"""What commands print and write, compared with kept texts: paths, times and speeds are left out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from kept_texts import assert_kept
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

ONE = {
    "report-all": "report {strong} --all",
    "report-worded": "report {worded}",
    "compare": "compare {strong} {mild} --permutations 40 --resamples 20",
    "gate": "gate {strong} --require flip_rate[type=type1]<=0.1 --require ucerf[type=type2]>=0.2",
    "gate-passed": "gate {strong} --require flip_rate[type=type1]>=0.5",
    "gate-unknown": "gate {strong} --require nothing<=0.1",
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
    "no-such-option": "audit planted --frobnicate 3",
    "no-such-data": "audit planted --data nowhere",
    "no-such-metric": "audit planted --metrics ucref",
    "no-run": "report {out}",
}


@pytest.mark.parametrize("name", ONE)
def test_a_command_prints_as_it_was_kept(
    name: str,
    planted_run: Path,
    mild_run: Path,
    cloze_runs: tuple[Path, Path],
    worded_runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.toml").write_text(SUITE.format(out=tmp_path / "cells"))
    places = {"strong": planted_run, "mild": mild_run, "worded": worded_runs[0]}
    for copied, folder in (("copy", mild_run), ("pairs", cloze_runs[0])):
        shutil.copytree(folder, tmp_path / copied)
    places |= {
        "copy": tmp_path / "copy",
        "pairs": tmp_path / "pairs",
        "out": tmp_path / "out",
        "suite": tmp_path / "suite.toml",
    }
    words = [word.format(**places) for word in ONE[name].split()]
    result = CliRunner().invoke(app, words)
    text = "\n".join([f"$ equipoise {ONE[name]}", result.output, f"exit code {result.exit_code}"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        text += f"\n{type(result.exception).__name__}: {result.exception}"
    made = sorted(file for file in (tmp_path / "out").rglob("*") if file.is_file())
    text += "".join(f"\n==== {file.relative_to(tmp_path / 'out').as_posix()}" for file in made)
    small = [file for file in made if file.suffix in (".yaml", ".jsonl", ".txt", ".csv") and name != "audit"]
    text += "".join(f"\n==== {file.name}\n{file.read_text(encoding='utf-8')[:4000]}" for file in small)
    # A terminal folds long lines where the path of a temporary folder says so.
    hidden = re.sub(r"\S*/(pytest-|[\w-]*runs?\d+|mine)\S*", "…", text)
    hidden = re.sub(r"(?m)^.*\d of \d+, .* left$\n?", "", hidden)
    hidden = re.sub(r"\b\d+(\.\d+)? (s|ms|min|seconds|prompts/s|a second)\b", "TIME", hidden)
    assert_kept(f"cli/{name}", hidden, hide=[str(tmp_path), *map(str, places.values())])
