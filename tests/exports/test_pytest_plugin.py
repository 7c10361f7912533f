"""The gate as a pytest fixture, in a test session of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_pytest_fixture_fails_a_test_with_the_table(planted_run: Path, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["equipoise.exports.pytest_plugin"]\n')
    (tmp_path / "test_model.py").write_text(
        f"RUN = {str(planted_run)!r}\n"
        "def test_kept(equipoise_gate):\n"
        "    assert equipoise_gate(RUN, 'ucerf[type=type2] >= 0.01')[0].passed\n"
        "def test_broken(equipoise_gate):\n"
        "    equipoise_gate(RUN, 'ucerf[type=type2] >= 0.999')\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1 and "1 failed, 1 passed" in ran.stdout
    assert "1 of 1 requirements" in ran.stdout and "FAILED  ucerf[type=type2] >= 0.999" in ran.stdout
