"""The gate as a pytest fixture, in a test session of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.exports import pytest_plugin

equipoise_gate = pytest_plugin.equipoise_gate


@pytest.mark.slow
def test_the_pytest_fixture_fails_a_test_with_the_table(planted_run: Path, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["equipoise.exports.pytest_plugin"]\n')
    (tmp_path / "test_model.py").write_text(
        f"RUN = {str(planted_run)!r}\n"
        "def test_kept(equipoise_gate):\n"
        "    assert equipoise_gate(RUN, 'ucerf[type=type2] >= 0.01')[0].passed\n"
        "def test_broken(equipoise_gate):\n"
        "    equipoise_gate(RUN, 'ucerf[type=type2] >= 0.999')\n"
        "def test_settled(equipoise_gate, tmp_path):\n"
        "    import equipoise\n"
        "    until = ['flip_rate[type=type2] <= 0.10', 'accuracy >= 0.6']\n"
        "    run = equipoise.audit('planted', 'builtin', until=until, at_most=200, out=tmp_path, by=[], resamples=20)\n"
        "    assert len(equipoise_gate(run)) == 2\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1 and "1 failed, 2 passed" in ran.stdout
    assert "1 of 1 requirements" in ran.stdout and "FAILED  ucerf[type=type2] >= 0.999" in ran.stdout


def test_checks_are_returned_where_all_pass_and_shown_where_one_fails(
    equipoise_gate: Callable[..., list[Any]], planted_run: Path
) -> None:
    fine = ("ucerf[type=type2] >= 0.01", "flip_rate[type=type2] <= 1")
    assert [check.passed for check in equipoise_gate(str(planted_run), *fine)] == [True, True]
    with pytest.raises(pytest.fail.Exception) as failed:
        equipoise_gate(str(planted_run), *fine, "ucerf[type=type2] >= 0.999")
    head, *table = str(failed.value).splitlines()
    assert head == f"1 of 3 requirements on {planted_run} failed:" and not failed.value.pytrace
    assert len(table) == 1 and table[0].startswith("FAILED  ucerf[type=type2] >= 0.999  ")


def test_choices_go_to_the_gate(equipoise_gate: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(pytest_plugin, "gate", lambda *given, **chosen: asked.append((given, chosen)) or [])
    assert equipoise_gate("run", "a <= 1", correction="none") == []
    assert asked == [(("run", ("a <= 1",)), {"correction": "none"})]
