"""`--where`: the sentences with certain groups, of a dataset, of a run and of a comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise import audit, compare, load
from equipoise.cli import app
from equipoise.datasets import DatasetOptions, open_dataset
from equipoise.subset import subset_run
from equipoise.verification import verify

NURSES = "occupation=nurse"
QUICK = {"resamples": 40, "metrics": ["ucerf", "accuracy", "flip_rate"], "progress": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs of two planted models on all built-in sentences, and of the first on nurses alone."""
    folder = tmp_path_factory.mktemp("runs")
    audit("planted:strength=2,bias=0.5", out=folder / "all", **QUICK)
    audit("planted:strength=1,bias=1.5", out=folder / "other", **QUICK)
    audit("planted:strength=2,bias=0.5", where=[NURSES], out=folder / "nurses", **QUICK)
    return folder


def test_a_part_of_a_run_is_the_run_on_that_part(runs: Path) -> None:
    part, asked = subset_run(runs / "all", [NURSES], out=runs / "part", **QUICK), load(runs / "nurses")
    assert set(asked.outcomes["occupation"]) == {"nurse"} and len(part.outcomes) == len(asked.outcomes) > 0
    columns = ["metric", "group", "value", "low", "high", "n"]
    assert part.measurements[columns].equals(asked.measurements[columns])
    assert part.manifest.datasets == asked.manifest.datasets
    assert all(finding.passed for finding in verify(part.path))
    assert len(load(runs / "all").outcomes) > len(part.outcomes)


def test_sentences_without_their_counterpart_can_be_left_out(tmp_path: Path) -> None:
    whole = open_dataset("builtin", DatasetOptions(limit=12))
    first = whole.examples[0]
    rest = replace(whole, examples=tuple(e for e in whole.examples if e.id != first.id))
    alone = [e.id for e in rest.examples if e.set_id == first.set_id]
    assert [e.id for e in open_dataset(rest, DatasetOptions(where=("paired=no",))).examples] == alone != []
    run = audit("planted", rest, out=tmp_path / "run", **QUICK)
    part = subset_run(run.path, ["paired=yes"], out=tmp_path / "part", **QUICK)
    assert set(run.outcomes["example_id"]) - set(part.outcomes["example_id"]) == set(alone)


def test_a_comparison_of_a_part_is_that_of_the_parts(runs: Path) -> None:
    chosen = {"metrics": ["ucerf"], "resamples": 40, "permutations": 40, "progress": False}
    part = compare([runs / "all", runs / "other"], where=[NURSES], **chosen)
    second = subset_run(runs / "other", [NURSES], out=runs / "second", **QUICK)
    apart = compare([runs / "nurses", second], **chosen)
    assert [test.difference for test in part.tests] == [test.difference for test in apart.tests] != []
    assert part.matches[0].dropped > 0 == apart.matches[0].dropped


def test_commands_take_conditions(runs: Path) -> None:
    def command(*words: str) -> str:
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    before = (runs / "all" / "measurements.csv").read_bytes()
    out = runs / "women"
    text = command("measure", runs / "all", "--where", "gender=female", "--out", out, "--resamples", "40", "--no-html")
    assert "a part of" in text and set(load(out).outcomes["gender"]) == {"female"}
    # Women alone have no pair, so UCerF has no row.
    assert "ucerf" not in set(load(out).measurements["metric"])
    assert (runs / "all" / "measurements.csv").read_bytes() == before
    assert "a part of" in command("report", runs / "all", "--where", NURSES, "--no-html")
    assert (runs / "all--where-occupation-nurse").is_dir()
