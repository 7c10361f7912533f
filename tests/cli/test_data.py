"""`equipoise data`: list, show, check and fetch."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from test_errors import HE, HEADER, refused

from equipoise.datasets import CARDS

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_the_datasets_are_listed_with_licence_and_place(forked: Command, tmp_path: Path) -> None:
    place = {"EQUIPOISE_DATA": str(tmp_path), "EQUIPOISE_CACHE": str(tmp_path / "cache")}
    lines = forked("data", "list", cwd=tmp_path, **place).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(CARDS)
    assert "CC0-1.0" in lines[1] and "in the package" in lines[1]
    (winobias,) = [line for line in lines if line.split()[0] == "winobias"]
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
