"""The how-to's engine works exactly as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-an-engine.md"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Return a folder with the how-to's module and entry point, as pip would install them."""
    page = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n# (word_counts\.py)\n(.*?)```", page, flags=re.DOTALL)
    (points,) = re.findall(r'```toml\n\[project\.entry-points\."(.*?)"\]\n(.*?)```', page, flags=re.DOTALL)
    (tmp_path / code[0]).write_text(code[1])
    metadata = tmp_path / "word_counts-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: word-counts\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{points[0]}]\n{points[1].replace(chr(34), '')}")
    (tmp_path / "corpus.txt").write_text("the nurse and the driver and the nurse " * 5)
    return tmp_path


def equipoise(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, "-m", "equipoise", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_engine_is_listed_audits_and_refuses_to_write(plugin: Path) -> None:
    listed = equipoise(plugin, "list", "engines")
    assert "word-counts:  Word frequencies of a text file, as a baseline: `word-counts:FILE`." in listed.stdout
    ran = equipoise(plugin, "audit", "word-counts:corpus.txt", "--limit", "4", "--out", "run", "--resamples", "20")
    assert ran.returncode == 0, ran.stderr
    assert "word-counts" in ran.stdout
    missing = equipoise(plugin, "audit", "word-counts:none.txt")
    assert missing.returncode == 2 and "word-counts: none.txt is not a file" in missing.stderr
    silent = equipoise(
        plugin, "audit", "word-counts:corpus.txt", "--task", "next-word-cot", "--limit", "2", "--out", "x"
    )
    assert silent.returncode == 2 and "word-counts cannot write text" in silent.stderr


def test_a_plug_in_that_cannot_be_loaded_is_listed_with_the_reason(plugin: Path) -> None:
    (plugin / "word_counts.py").write_text("import nothing_of_that_name")
    listed = equipoise(plugin, "list", "engines")
    assert listed.returncode == 0 and "No module named 'nothing_of_that_name'" in listed.stdout
