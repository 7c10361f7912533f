"""`equipoise audit`: what it prints, writes and keeps."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_errors import HE, HEADER, SHE

from equipoise import load
from equipoise.cli import app

Result = subprocess.CompletedProcess[str]
Command = Callable[..., Result]


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


def test_quiet_says_nothing(equipoise: Command, tmp_path: Path) -> None:
    result = equipoise("audit", "planted", "--limit", "4", "--resamples", "10", "--quiet", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "runs" / "planted--builtin--next-word--limit-4" / "measurements.csv").is_file()


@pytest.mark.slow
def test_the_same_command_twice_gives_the_same_bytes(
    equipoise: Command, audited: tuple[Path, Result], audit_words: tuple[str, ...], tmp_path: Path
) -> None:
    equipoise(*audit_words, "-q", cwd=tmp_path, PYTHONHASHSEED="7")
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
    rows = {(row["metric"], row["group"]): row for row in json.loads(result.stdout)["measurements"]}
    assert rows["accuracy", "type=type2"]["value"] == 1.0 and rows["ucerf", "type=type2"]["n"] == 1
    assert ("accuracy", "land=de") in rows and rows["accuracy", "all"]["dataset"] == "mine"


@pytest.mark.slow
def test_several_datasets_and_tasks_are_asked(forked: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"{HEADER}\n{HE}\n{SHE}\n")
    words = ("--data", "builtin", "--data", "mine.csv", "--task", "mcq", "--task", "next-word")
    result = forked("audit", "planted", *words, "--limit", "2", "--resamples", "5", "--no-html", cwd=tmp_path)
    titles = [line for line in result.stdout.splitlines() if line.startswith("planted on ")]
    assert titles == [f"planted on {d} · {t}" for d in ("builtin", "mine") for t in ("mcq", "next-word")]


QUICK = ("--no-html", "--quiet", "--resamples", "10")


def test_two_augmentations_are_both_kept_and_measure_adds_a_metric(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ("--data", "winoidentity", "--base", "builtin", "--attributes", "age", "--limit", "2", "--metric", "ucerf")
    ways = ("--augment", "R", "--augment", "C")
    app(["audit", "planted", *words, *ways, "--out", str(folder), *QUICK], standalone_mode=False)
    run = load(folder)
    assert set(run.outcomes["augmentation"]) == {"none", "R", "C"}
    before = set(run.measurements["metric"])
    assert "ucerf" in before and "flip_rate" not in before
    app(["measure", str(folder), "--metric", "flip_rate", *QUICK], standalone_mode=False)
    assert set(load(folder).measurements["metric"]) == {*before, "flip_rate"}
