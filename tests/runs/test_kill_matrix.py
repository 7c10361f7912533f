"""Every command that writes into a run folder is killed at every step of its writing: no folder is ever a mixture.

Steps of a build and of tuning: tests/builder/test_killed_builds.py and tests/training/test_killed_tuning.py.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from kills import Killed, killed_at, killed_everywhere

from equipoise.cli import app
from equipoise.records import RunError, RunManifest
from equipoise.runs import Run, RunFolder

SMALL = ("--resamples", "2", "--metric", "accuracy", "--metric", "ucerf", "--quiet", "--no-html")
State = tuple[Any, ...]


def run(*words: str | Path) -> None:
    app([str(word) for word in words], standalone_mode=False)


PAGES = ("report.html", "verdict.json")


def state(folder: Path) -> State:
    """Return what a reader sees, without times; that every file is the one the manifest names is checked on the way."""
    try:
        manifest = RunFolder(folder).manifest()
    except RunError:
        assert not (folder / "manifest.json").exists(), "a damaged manifest"
        return ("nothing",)
    if manifest.finished is None:
        with pytest.raises(RunError, match="was not finished"):
            Run(folder)
        return ("unfinished",)
    # A page may be missing: it is removed before the measurements change, and can be made again.
    named = {name for name in manifest.files if name not in PAGES}
    files = {name: hashlib.sha256(RunFolder(folder).content(name)).hexdigest() for name in named}
    assert all(manifest.files[name] == digest for name, digest in files.items())
    levels = set(Run(folder).measurements["level"])
    assert levels == {manifest.settings["level"]}, "measurements of other settings than the manifest's"
    for page in (folder / name for name in PAGES):
        if page.exists():
            digest = hashlib.sha256(page.read_bytes()).hexdigest()
            assert digest == manifest.files[page.name], "a page of other measurements"
    return tuple(sorted(files.items()))


def kill(folder: Path, command: Callable[[], None], scratch: Path) -> tuple[int, set[State]]:
    """Kill the command at every step; every folder that is left must be as before, as after, or called unfinished."""
    before = state(folder)
    steps, seen = killed_everywhere(folder, command, state, scratch)
    # The last kill was not followed by an undisturbed run.
    command()
    assert seen <= {before, state(folder), ("unfinished",), ("nothing",)}
    return steps, seen


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    run("audit", "planted:noise=1", "--limit", "4", "--out", folder, *SMALL)
    run("report", folder, "--json")
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on sentence pairs with labels, which can be calibrated."""
    folder = tmp_path_factory.mktemp("pairs")
    jobs = ("nurse", "driver", "teacher", "lawyer", "cook", "clerk")
    starts = [f"On day {number} the {jobs[number % 6]} came and" for number in range(24)]
    rows = [f"{start} he slept.,{start} she slept.,{number * 7 % 10 < 6:d}" for number, start in enumerate(starts)]
    (folder / "pairs.csv").write_text("\n".join(["sent_more,sent_less,y", *rows]), encoding="utf-8")
    words = ("--data", folder / "pairs.csv", "--task", "cloze", "--resamples", "2", "--quiet", "--no-html")
    run("audit", "planted:bias=0,noise=3", *words, "--out", folder / "run")
    return folder / "run"


@pytest.mark.slow
def test_a_killed_audit_leaves_an_unfinished_run_and_continues(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ("audit", "planted:noise=1", "--limit", "3", "--out", folder, *SMALL)
    steps, seen = kill(folder, lambda: run(*words), tmp_path)
    assert steps > 15 and {("nothing",), ("unfinished",)} < seen


@pytest.mark.slow
def test_an_audit_that_asks_until_it_is_settled_stops_where_it_would_have_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    asked = ("--until", "flip_rate[type=type2] <= 0.6", "--metric", "flip_rate")
    words = ("audit", "planted:strength=3", *asked, "--at-most", "40", "--out", folder, *SMALL)
    steps, _ = kill(folder, lambda: run(*words), tmp_path)
    settled = Run(folder).manifest.tasks["next-word"]["settled"]["builtin"]
    assert steps > 15 and {decision["outcome"] for decision in settled} == {"passed"}


@pytest.mark.slow
def test_a_killed_measure_leaves_the_old_or_the_new_measurements(finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    steps, seen = kill(folder, lambda: run("measure", folder, "--level", "0.2", *SMALL), tmp_path)
    assert steps > 15 and len(seen) == 2, "the old run and the new one, and nothing else"


@pytest.mark.slow
def test_a_killed_audit_over_a_finished_run_is_unfinished_or_new(finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    words = ("audit", "planted:noise=1", "--limit", "4", "--level", "0.8", "--out", folder, *SMALL)
    steps, seen = kill(folder, lambda: run(*words), tmp_path)
    assert steps > 15 and len(seen) == 3


@pytest.mark.slow
def test_a_killed_import_leaves_no_mixture(tmp_path: Path) -> None:
    rows = [
        f"i{number},{word},{-1 - (number + place) % 3 / 4},{1 - place},m,d,type2,s{number // 2}"
        for number in range(4)
        for place, word in enumerate(("nurse", "driver"))
    ]
    table = tmp_path / "results.csv"
    table.write_text("\n".join(["item,candidate,logprob,gold,model,dataset,group:type,pair", *rows]))
    folder = tmp_path / "run"
    words = ("import", table, "--out", folder, "--resamples", "2", "--metric", "accuracy", "--quiet")
    steps, seen = kill(folder, lambda: run(*words), tmp_path)
    assert steps > 12 and ("unfinished",) in seen


ADDING = {
    "page": ("--json",),
    "tables": ("--format", "csv", "--quiet"),
    "figures": ("--format", "svg", "--quiet"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ADDING)
def test_a_report_that_adds_files_is_killed_without_harm(kind: str, finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    _replayed(folder, ("report", folder, "--as", kind, *ADDING[kind]), tmp_path)


@pytest.mark.parametrize("command", ["report", pytest.param("study", marks=pytest.mark.slow)])
def test_a_killed_calibration_leaves_the_old_or_the_new_tables(command: str, pairs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(pairs, tmp_path / "run"))
    study = ("study", "calibration", folder, "--splits", "2", "--method", "platt", "--quiet")
    report = ("report", folder, "--as", "reliability", "--quiet")
    _replayed(folder, study if command == "study" else report, tmp_path)


@pytest.mark.slow
def test_killed_identities_leave_all_drawings_or_none(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    marking = ("--data", "winoidentity", "--base", "builtin", "--augment", "R", "--attributes", "age")
    small = ("--limit", "2", "--resamples", "2", "--quiet", "--no-html")
    run("audit", "planted:noise=1", *marking, *small, "--out", folder)
    _replayed(folder, ("report", folder, "--as", "identities"), tmp_path)


def _replayed(folder: Path, words: Sequence[str | Path], scratch: Path) -> None:
    """Kill what a slow command writes at every step: its one call of `RunFolder.add`, recorded and made again."""
    calls: list[tuple[Any, RunManifest | None]] = []
    add = RunFolder.add
    calm = Path(shutil.copytree(folder, scratch / "calm"))

    def recorded(self: RunFolder, contents: Any, made_from: RunManifest | None = None) -> None:
        calls.append((contents, made_from))
        add(self, contents, made_from)

    with pytest.MonkeyPatch.context() as patch, killed_at(None) as real:
        patch.setattr(RunFolder, "add", recorded)
        run(*(calm if word == folder else word for word in words))
    ((contents, made_from),) = calls
    steps, seen = kill(folder, lambda: RunFolder(folder).add(contents, made_from), scratch)
    # The drawing itself may use scratch files of its own; into the run folder it writes by `add` alone.
    assert 5 < steps <= len(real)
    if words[0] != "report":  # whose page is left out of the state
        assert len(seen) == 2


@pytest.mark.slow
def test_a_killed_comparison_leaves_the_old_page_or_the_new_one(finished: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run("audit", "planted:bias=2", "--limit", "4", "--out", other, *SMALL)
    page = tmp_path / "compare.html"
    words = ("compare", finished, other, "--out", page, "--permutations", "9", "--resamples", "2", "--quiet")
    with killed_at(None) as steps:
        run(*words)
    new = page.read_bytes()
    for step in range(len(steps)):
        page.write_bytes(b"old")
        with killed_at(step), pytest.raises(Killed):
            run(*words)
        assert page.read_bytes() in (b"old", new)


def test_a_killed_gate_leaves_the_old_checks_or_the_new_ones(finished: Path, tmp_path: Path) -> None:
    checks = tmp_path / "gate" / "junit.xml"
    words = ("gate", finished, "--require", "accuracy >= 0", "--insist", "--junit", checks, "--quiet")
    checks.parent.mkdir()
    checks.write_bytes(b"old")
    steps, seen = killed_everywhere(checks.parent, lambda: run(*words), lambda _: checks.read_bytes(), tmp_path)
    assert steps >= 3 and seen == {b"old", checks.read_bytes()}
