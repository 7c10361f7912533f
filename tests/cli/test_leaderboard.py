"""`equipoise leaderboard` and `verify`: what they are given, print and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from noted import noted, refusal, said

from equipoise.papers.published import published_values
from equipoise.report import SiteOptions
from equipoise.verification import to_json
from equipoise.verification.finding import Finding

FINE, WRONG = Finding("hashes", True, "3 files"), Finding("numbers", False, "ucerf differs")
WORSE = Finding("examples", False, "2 are missing")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notes of the sites that are written: two models, a board, and two runs of which one is left out."""
    monkeypatch.setattr(
        "equipoise.topics.leaderboard.boards.run_folders",
        lambda folders: [folder / name for folder in folders for name in "ab"],
    )
    made = SimpleNamespace(
        models=["m", "n"], boards=["b"], submissions=SimpleNamespace(left_out=["c: damaged"], runs=["r"] * 2)
    )
    return noted(monkeypatch, "equipoise.report.write_site", made)


def test_every_option_of_a_leaderboard_is_handed_on(site: Any, tmp_path: Path) -> None:
    words = ("--out", tmp_path / "site", "--title", "Ours", "--metric", "flip_rate", "--level", "0.9")
    out, _ = said("leaderboard", "runs", *words, "--no-sentences", "--against", "ucerf-paper")
    options = SiteOptions("Ours", "flip_rate", 0.9, False, (), published_values("ucerf"))
    assert site == [(([Path("runs/a"), Path("runs/b")], tmp_path / "site", options), {})]
    assert out.splitlines() == [
        "left out: c: damaged",
        f"2 models, 1 board, 2 runs: open {tmp_path / 'site'}/index.html",
    ]
    assert said("leaderboard", "runs", "--quiet") == ("", "")
    assert site[1][0][1:] == (Path("leaderboard"), SiteOptions(published=[]))


def test_runs_that_are_not_what_they_claim_are_left_out(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "equipoise.verification.verify", lambda folder, **_: [FINE, WRONG, WORSE] if folder.name == "a" else [FINE]
    )
    _, err = said("leaderboard", "runs", "--verify")
    assert err == "not verified, left out: runs/a: numbers: ucerf differs\n"
    (folders, _, options), _ = site[0]
    assert folders == [Path("runs/b")] == list(options.verified) and options.sentences
    monkeypatch.setattr("equipoise.verification.verify", lambda folder, **_: [WRONG])
    none = "none of the 2 runs passed the verification, so there is nothing to rank"
    assert refusal("leaderboard", "runs", "--verify") == none


def test_the_progress_of_verifying_is_told(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import contextmanager

    from equipoise.cli import leaderboard

    told: list[Any] = []

    @contextmanager
    def bar(*, quiet: bool) -> Any:
        yield lambda *what: told.append((*what, quiet))

    monkeypatch.setattr(leaderboard, "progress_bar", bar)
    monkeypatch.setattr("equipoise.verification.verify", lambda folder: [FINE])
    said("leaderboard", "runs", "--verify", "--quiet")
    monkeypatch.setattr("equipoise.verification.verify", lambda folder, progress: (progress("v", 0, 0), [FINE])[1])
    for words, quiet in (((), False), (("--json",), True), (("--quiet",), True)):
        said("verify", "one", *words)
        assert told.pop() == ("v", 0, 0, quiet)
    assert told == [("verifying runs", 1, 2, True), ("verifying runs", 2, 2, True)]


def test_checks_are_a_table_or_json_and_failures_an_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    noted(monkeypatch, "equipoise.verification.verify", [FINE, FINE])
    out, err = said("verify", "one", "two")
    lines = ["        check   result", "passed  hashes  3 files", "passed  hashes  3 files"]
    assert out.splitlines() == ["one:", *lines, "two:", *lines] and err == ""
    monkeypatch.setattr(
        "equipoise.verification.verify", lambda folder, **_: [FINE, WRONG] if folder.name != "two" else [FINE]
    )
    out, err = said("verify", "one", "two", "three", code=1)
    assert out.splitlines()[3] == "FAILED  numbers  ucerf differs" and out.count("FAILED") == 2
    assert err == "2 of 3 runs failed the verification\n"
    out, err = said("verify", "one", "--json", code=1)
    assert out == to_json({"one": [FINE, WRONG]}) + "\n" and err == "1 of 1 runs failed the verification\n"
    out, _ = said("verify", "one", "two", "--json", code=1)
    assert [(row["run"], row["name"]) for row in json.loads(out)] == [
        ("one", "hashes"),
        ("one", "numbers"),
        ("two", "hashes"),
    ]
    assert said("verify", "two", "--quiet") == ("", "")
