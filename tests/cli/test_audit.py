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
from noted import noted, said
from test_errors import HE, HEADER, SHE

from equipoise import load
from equipoise.cli import app
from equipoise.options import RunOptions
from equipoise.suites.costs import Cost, Expectation
from equipoise.suites.status import duration

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


@pytest.fixture
def audited_with(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the notes of what an audit does; the run is only a word."""
    notes = {}
    for name in ("write_page", "show_run", "log_run", "check_trackers", "end_gate"):
        notes[name] = noted(monkeypatch, f"equipoise.cli.audit.{name}")
    notes["audit"] = noted(monkeypatch, "equipoise.run.audit", "run", hide=())
    notes["remember"] = noted(monkeypatch, "equipoise.suites.rates.remember")
    notes["gate"] = noted(monkeypatch, "equipoise.verdict.gate.gate", ["check"])
    return notes


def test_every_option_of_an_audit_is_handed_on(audited_with: dict[str, Any]) -> None:
    words = ("--data", "fresh", "--task", "mcq", "--limit", "4", "--level", "0.9", "--log", "wandb", "--out", "there")
    said("audit", "planted", *words, "--replace", "--no-html", "--json")
    ((given, named),) = audited_with["audit"]
    assert given[0] == "planted" and list(given[1]) == ["fresh"] and list(given[2]) == ["mcq"]
    assert (named["limit"], named["level"], str(named["out"]), named["replace"]) == (4, 0.9, "there", True)
    (((model, engine, meter), _),) = audited_with["remember"]
    assert model == "planted" and meter is named["progress"] and engine.device == "auto"
    assert audited_with["write_page"] == [(("run",), {"no_html": True})]
    assert audited_with["show_run"] == [(("run",), {"quiet": False, "as_json": True})]
    assert audited_with["check_trackers"] == [((["wandb"],), {})]
    assert audited_with["log_run"] == [(("run", ["wandb"]), {"quiet": False})]
    assert audited_with["gate"] == [] == audited_with["end_gate"]


def test_an_audit_until_something_is_settled_ends_as_a_gate(audited_with: dict[str, Any]) -> None:
    for words, quiet in (((), False), (("--json",), True), (("--quiet",), True)):
        said("audit", "planted", "--until", "flip_rate <= 0.5", *words)
        assert audited_with["end_gate"].pop() == ((["check"],), {"quiet": quiet})
    assert audited_with["gate"] == [(("run",), {})] * 3
    task = audited_with["audit"][0][0][2]
    assert task == RunOptions.task and audited_with["write_page"][0] == (("run",), {"no_html": False})


def test_a_dry_run_tells_costs_and_plans_and_asks_nothing(
    audited_with: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = [
        Cost("builtin", "mcq", 1266, 5064, 0, 3700.0, True, (100, 2000, 9)),
        Cost("fresh", "mcq", 5, 6, 7, None, False, (1, 2, 3)),
        Cost("mine", "mcq", 5, 6, 7, 0.2, False, (1, 2, 3)),
    ]
    noted(monkeypatch, "equipoise.suites.costs.expect", Expectation(costs, None))
    planned = noted(monkeypatch, "equipoise.suites.sizes.planned", ["plan"])
    wishes = noted(monkeypatch, "equipoise.suites.sizes.wishes_of", ["wish"])
    plans = noted(monkeypatch, "equipoise.cli.audit.show_plans")
    out, _ = said("audit", "planted", "--dry-run", "--until", "flip_rate <= 0.5")
    assert audited_with["audit"] == [] and plans == [((["plan"],), {})] and len(wishes) == 1
    assert planned[0][0][2] == ["wish"]
    lines = out.splitlines()
    assert [re.split(r" {2,}", line.strip()) for line in lines[1:4]] == [
        ["builtin · mcq", "1,266", "5,064", "0", f"{duration(3700.0)} (measured)", "100", "2,000", "9"],
        ["fresh · mcq", "5", "6", "7", "not known", "1", "2", "3"],
        ["mine · mcq", "5", "6", "7", f"{duration(1.0)} (rough)", "1", "2", "3"],
    ]
    assert "prompts at width" in lines[0] and lines[4].startswith("Whether the model thinks")
    assert lines[5].startswith("A rough time is within a factor of about three; after one audit it is measured. The")
    noted(monkeypatch, "equipoise.suites.costs.expect", Expectation(costs[:1], False))
    out, _ = said("audit", "planted", "--dry-run")
    assert len(out.splitlines()) == 3 and out.splitlines()[2].startswith("The prompts at a width") and len(plans) == 1
