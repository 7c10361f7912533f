"""Datasets side by side: one table, and maps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import equipoise
from equipoise.builder.compare.statistics import StatsOptions, compare
from equipoise.cli import app


def test_a_comparison_and_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "type,text,pronoun,candidate_1,candidate_2,gold\n"
    for end in ("work", "care", "long and patient wait at the door"):
        for pronoun in ("his", "her"):
            lines += f"type2,The cook thanked the nurse for {pronoun} {end}.,{pronoun},cook,nurse,nurse\n"
    (tmp_path / "mine.csv").write_text(lines)
    (told,) = compare(["mine.csv"], tmp_path / "out", StatsOptions(embeddings=False), lambda what, done, total: None)
    assert (told.size, told.near_pairs, told.silhouette) == (6, 1, None)
    assert (tmp_path / "out" / "statistics.csv").read_text().startswith("dataset,size,words_paper")
    equipoise.audit("planted:strength=2,bias=0.5", data=["mine.csv"], out=tmp_path / "run", resamples=10)
    command = ["build", "stats", "mine.csv", "--embeddings", "none", "--run", "run", "--quiet"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert re.search(r"mine · next-word, \S.*  3 +1 +1 +0\.\d{3} \[", result.output), result.output
