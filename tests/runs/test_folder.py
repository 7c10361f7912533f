"""The run folder: no half file, no silent damage, nothing lost between memory and disk."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from equipoise import audit, load, remeasure
from equipoise.records import (
    OtherRunError,
    RunError,
    RunManifest,
)
from equipoise.runs import progress_file
from equipoise.runs.folder import RunFolder, default_folder, folder_name, printed_time
from equipoise.runs.manifest import command_line
from equipoise.settings import Settings

SETTINGS = {"level": 0.95, "resamples": 2, "seed": 0}
MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, SETTINGS, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")
FILES = ("manifest.json", "measurements.csv", "outcomes.parquet", "pairs.parquet", "examples.parquet")


def one_sentence(error: RunError) -> str:
    text = str(error)
    own = text.replace(tempfile.gettempdir(), "").replace(command_line(), "")  # the one that these tests run by
    assert "\n" not in text and len(own) < 600
    return text


def test_a_run_leaves_its_files_and_no_others(finished: Path) -> None:
    locks = {".run.lock", "scores.lock"}
    assert {file.name for file in finished.iterdir()} - locks == {*FILES, "scores.jsonl"}


def test_the_manifest_names_every_table_with_its_hash(finished: Path) -> None:
    names = (*FILES[1:], "scores.jsonl")
    hashes = {name: hashlib.sha256((finished / name).read_bytes()).hexdigest() for name in names}
    assert RunFolder(finished).manifest().files == hashes


@pytest.mark.parametrize("name", ["outcomes.parquet", "pairs.parquet", "examples.parquet", "measurements.csv"])
@pytest.mark.parametrize("damage", ["empty", "garbage", "half", "bit"])
def test_a_damaged_table_is_named(copy: Path, name: str, damage: str) -> None:
    whole = (copy / name).read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    contents = {"empty": b"", "garbage": b"\xff\x00" * 50, "half": whole[: len(whole) // 2], "bit": bytes(flipped)}
    (copy / name).write_bytes(contents[damage])
    with pytest.raises(RunError) as caught:
        RunFolder(copy).frame(name)
    assert f"{name} is damaged" in one_sentence(caught.value)


def test_measuring_anew_names_the_damaged_table(copy: Path) -> None:
    (copy / "outcomes.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        RunError, match=r"run the command that made it again \(it writes the files anew, and its scores are kept"
    ):
        remeasure(copy)


def test_a_missing_table_says_how_to_get_it_back(copy: Path) -> None:
    (copy / "pairs.parquet").unlink()
    with pytest.raises(
        RunError, match=r"pairs\.parquet is damaged \(it is not the file that the run wrote\); run the command"
    ):
        _ = load(copy).pairs
    with pytest.raises(RunError, match=r"has no calibration\.csv; it has: examples\.parquet, measurements\.csv, out"):
        load(copy).frame("calibration.csv")


def test_an_audit_run_again_repairs_a_damaged_folder_from_its_scores(copy: Path) -> None:
    before = load(copy).measurements
    for name in FILES:
        (copy / name).write_bytes(b"{")
    with pytest.raises(
        RunError, match=r"run the command that made it again \(it writes the files anew, and its scores are kept"
    ):
        load(copy)
    again = audit("planted", out=copy, limit=6, resamples=20).measurements
    pd.testing.assert_frame_equal(before, again, check_exact=True)


def test_a_folder_in_use_is_refused_by_name(copy: Path) -> None:
    with RunFolder(copy).held(), pytest.raises(RunError) as caught:
        remeasure(copy)
    assert one_sentence(caught.value) == f"another command is writing into {copy}; wait for it to end"
    assert len(remeasure(copy).measurements)


def test_a_run_of_other_weights_is_left_alone(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.begin(MANIFEST)
    folder.begin(MANIFEST)
    with pytest.raises(OtherRunError, match="holds another run: the model m has other weights; choose another out, or"):
        folder.begin(replace(MANIFEST, engine={"weights": "others"}))
    assert folder.manifest().engine == {"weights": "w"}


def test_the_default_folder_is_the_same_for_the_same_command() -> None:
    name = default_folder("owner/model: 7B", ["builtin"], ["next-word", "next-word"], Settings().asked)
    assert name == Path("runs/owner-model-7B--builtin--next-word+next-word")


def test_the_default_folder_tells_apart_what_is_asked_but_not_how_it_is_measured() -> None:
    def folder(**choices: object) -> Path:
        return default_folder("m", ["builtin"], ["mcq"], Settings(**choices).asked)  # type: ignore[arg-type]

    several = [{"limit": 4}, {"limit": 8}, {"orders": 2}, {"pronouns": ["he", "she", "they"]}, {"columns": {"a": "b"}}]
    assert len({folder(), *(folder(**choices) for choices in several)}) == 6
    assert folder(limit=4) == Path("runs/m--builtin--mcq--limit-4")
    assert folder(level=0.9, resamples=10, by=["gender"], pronouns=["he", "she"]) == folder()
    assert len(folder(attributes=[f"attribute{i}" for i in range(99)]).name) <= 120


OLD = RunManifest("m", {}, {}, {}, SETTINGS, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00", "then", ["old"])
NEW = replace(OLD, notes=["new"])
TABLES = ("measurements.csv", "pairs.parquet", "outcomes.parquet")


class Killed(BaseException):
    """The process ends here."""


def contents(state: str) -> dict[str, str]:
    return {name: f"{state} {name}" for name in TABLES}


def state_of(folder: RunFolder) -> str:
    """Return which state a reader sees; that all tables are of the state the manifest names is part of the contract."""
    (state,) = folder.manifest().notes
    assert {name: folder.content(name).decode() for name in TABLES} == contents(state)
    return state


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> Callable[[], int]:
    """End the process at the given call of os.replace or os.fsync, before it or after it; return a counter of calls."""
    calls = 0

    def guarded(name: str) -> Callable[..., None]:
        original = getattr(os, name)

        def call(*arguments: object) -> None:
            nonlocal calls
            calls += 1
            if calls == 2 * step + 1:
                raise Killed
            original(*arguments)
            calls += 1
            if calls == 2 * step + 2:
                raise Killed

        return call

    for name in ("replace", "fsync"):
        monkeypatch.setattr(os, name, guarded(name))
    return lambda: calls // 2


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: a process that ends loses nothing that it wrote."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    with made.held():
        made.commit(contents("old"), OLD)
    return made


def commit(folder: RunFolder, tables: Mapping[str, str], manifest: RunManifest) -> None:
    with folder.held():
        folder.commit(tables, manifest)


def steps_of_a_commit(folder: RunFolder) -> int:
    with pytest.MonkeyPatch.context() as patch:
        count = kill_at(patch, 10**6)
        commit(folder, contents("old"), OLD)
    return count()


def interrupted(folder: RunFolder, step: int, state: str, manifest: RunManifest) -> None:
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, step)
        with pytest.raises(Killed):
            commit(folder, contents(state), manifest)


def test_a_commit_killed_at_any_step_leaves_the_old_or_the_new_run(folder: RunFolder) -> None:
    steps = steps_of_a_commit(folder)
    # Three tables and the manifest are written, synced and renamed, and the folder synced; then three are moved.
    assert steps == 4 * 3 + 3 + 1
    states = []
    for step in range(steps):
        interrupted(folder, step, "new", NEW)
        states.append(state_of(folder))
        commit(folder, contents("old"), OLD)
        assert state_of(folder) == "old"
    assert states == sorted(states, reverse=True), "once the new run counts, it stays"
    assert set(states) == {"old", "new"}


def test_a_second_crash_does_not_lose_what_the_first_left(folder: RunFolder) -> None:
    steps = steps_of_a_commit(folder)
    for first in range(steps):
        for second in range(0, steps, 3):
            interrupted(folder, first, "new", NEW)
            before = state_of(folder)
            interrupted(folder, second, "third", replace(NEW, notes=["third"]))
            assert state_of(folder) in (before, "third")
            commit(folder, contents("old"), OLD)


def test_the_next_command_clears_up_after_a_crash(folder: RunFolder) -> None:
    for step in range(steps_of_a_commit(folder)):
        interrupted(folder, step, "new", NEW)
        state = state_of(folder)
        # What a process that no longer runs was writing; its number is beyond those of the system.
        (folder.path / ".pairs.parquet.99999999.part").write_text("half a")
        with folder.held():
            pass
        assert {file.name for file in folder.path.iterdir()} - {".run.lock"} == {"manifest.json", *TABLES}
        assert {name: (folder.path / name).read_text() for name in TABLES} == contents(state)


def test_adding_a_file_keeps_the_others_and_replaces_it_in_one_step(folder: RunFolder) -> None:
    folder.add({"calibration.csv": "first"})
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, 0)
        with pytest.raises(Killed):
            folder.add({"calibration.csv": "second"})
    assert (folder.content("calibration.csv"), state_of(folder)) == (b"first", "old")
    folder.add({"calibration.csv": "second"})
    assert (folder.content("calibration.csv"), state_of(folder)) == (b"second", "old")


def test_a_file_of_a_commit_that_never_counted_is_not_read(folder: RunFolder) -> None:
    (folder.path / ".measurements.csv.next").write_text("new measurements.csv")
    (folder.path / "measurements.csv").unlink()
    with pytest.raises(RunError, match=r"measurements\.csv is damaged \(it is not the file that the run wrote\)"):
        folder.content("measurements.csv")


def test_a_folder_that_was_moved_is_not_called_damaged(folder: RunFolder) -> None:
    manifest = folder.manifest()
    folder.path.rename(folder.path.with_name("elsewhere"))
    with pytest.raises(RunError, match=r"has no manifest\.json any more \(the folder was moved or removed"):
        folder.content("measurements.csv", manifest)


@pytest.mark.parametrize("every", [0.0, 1000.0], ids=["noticed at a note", "noticed at the end"])
def test_a_folder_that_is_moved_during_an_audit_is_not_made_again_and_the_audit_goes_on_where_it_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: float
) -> None:
    monkeypatch.setattr(progress_file, "EVERY", every)
    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    asked: list[str] = []

    def move(what: str, done: int, total: int) -> None:
        asked.append(what)
        if "next-word" in what and done and not elsewhere.exists():
            out.rename(elsewhere)

    choices: dict[str, Any] = {"limit": 4, "resamples": 2, "metrics": ["flip_rate"], "out": out}
    with pytest.raises(RunError, match=r"^the run folder .*run was moved or removed while this"):
        audit("planted:noise=1", "builtin", progress=move, **choices)
    assert not out.exists() and ("measuring" in asked) == bool(every)
    elsewhere.rename(out)
    answers = (out / "scores.jsonl").read_bytes()
    run = audit("planted:noise=1", "builtin", **choices)
    assert run.manifest.finished and (out / "scores.jsonl").read_bytes() == answers != b""


@pytest.mark.parametrize("name", TABLES)
def test_any_changed_byte_is_refused(folder: RunFolder, name: str) -> None:
    path = folder.path / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(RunError, match="is damaged"):
            folder.content(name)
    for other in (whole[:-1], whole + b"\n", b""):
        path.write_bytes(other)
        with pytest.raises(RunError, match="is damaged"):
            folder.frame(name)


def test_a_table_is_asked_for_by_its_name(folder: RunFolder) -> None:
    with pytest.raises(RunError) as error:
        folder.content("none.csv")
    assert (
        str(error.value)
        == f"the run in {folder.path} has no none.csv; it has: measurements.csv, outcomes.parquet, pairs.parquet"
    )
    assert folder.content("pairs.parquet") == b"old pairs.parquet" == folder.content("pairs.parquet", folder.manifest())
    other = replace(folder.manifest(), files={"pairs.parquet": "0" * 64})
    with pytest.raises(RunError) as error:
        folder.content("pairs.parquet", other)
    assert str(error.value) == f"the run in {folder.path} was measured again while it was read; run the command again"
    (folder.path / "pairs.parquet").write_text("changed")
    with pytest.raises(
        RunError, match=r"pairs\.parquet is damaged \(it is not the file that the run wrote\); run the command"
    ):
        folder.content("pairs.parquet")


def test_what_was_made_from_measurements_goes_with_them(folder: RunFolder) -> None:
    made = {"report.html": "a", "figures/x.svg": "b", "tables/y.csv": "c", "verdict.json": "d", "kept.csv": "e"}
    folder.add(made)
    assert set(folder.manifest().files) == {*TABLES, *made}
    commit(folder, {"pairs.parquet": "new"}, folder.manifest())
    assert set(folder.manifest().files) == {*TABLES, *made}
    commit(folder, {"measurements.csv": "new"}, folder.manifest())
    assert set(folder.manifest().files) == {*TABLES, "kept.csv"}
    left = {file.relative_to(folder.path).as_posix() for file in folder.path.rglob("*") if file.is_file()}
    assert left & set(made) == {"kept.csv"}


def test_a_file_is_added_only_to_the_run_it_was_made_from(folder: RunFolder) -> None:
    before = folder.manifest()
    folder.add({"x.csv": "a"}, made_from=before)
    assert folder.content("x.csv") == b"a"
    commit(folder, {"pairs.parquet": "new"}, folder.manifest())
    with pytest.raises(RunError, match="changed while this was made from it"):
        folder.add({"y.csv": "a"}, made_from=before)
    folder.add({"y.csv": "b"})


@pytest.mark.parametrize(
    ("engine", "time"),
    [
        ({}, ""),
        ({"chat_time": "a"}, "a"),
        ({"members": [{}, {"chat_time": "b"}, {"chat_time": "c"}]}, "b"),
        ({"chat_time": "a", "members": [{"chat_time": "b"}]}, "a"),
        ({"members": None, "chat_time": None}, ""),
    ],
)
def test_the_time_of_a_chat_is_kept(tmp_path: Path, engine: dict[str, Any], time: str) -> None:
    assert printed_time(engine) == time
    folder = RunFolder(tmp_path / "run")
    assert folder.chat_time == "" and folder.time_to_keep(engine) == ""
    with folder.held():
        folder.begin(replace(OLD, engine=engine, finished=None))
    assert folder.chat_time == time and folder.time_to_keep(engine) == ""
    assert folder.time_to_keep({"chat_time": "other"}) == time


def test_another_run_goes_with_its_scores_only_where_it_is_replaced(folder: RunFolder) -> None:
    for store in (folder.scores, folder.reasoning):
        store.write_text("x")
    assert folder.stores() == dict.fromkeys(("scores.jsonl", "reasoning.jsonl"), hashlib.sha256(b"x").hexdigest())
    folder.add({"page.html": "p"})
    with folder.held():
        with pytest.raises(
            OtherRunError, match=rf"^{re.escape(str(folder.path))} holds another run: the model is m, not n; "
        ):
            folder.begin(replace(NEW, model="n"))
        assert (folder.path / "page.html").exists()
        folder.begin(replace(NEW, finished=None))
        assert (
            folder.scores.exists()
            and not (folder.path / "page.html").exists()
            and (folder.path / "pairs.parquet").exists()
        )
        folder.begin(replace(NEW, model="n"), replacing=True)
    assert not folder.scores.exists() and not folder.reasoning.exists() and folder.stores() == {}


def test_a_folder_is_its_path_whatever_was_read_of_it(folder: RunFolder) -> None:
    folder.manifest()
    assert folder == RunFolder(folder.path) and repr(folder) == f"RunFolder(path={folder.path!r})"
    with pytest.raises(TypeError):
        RunFolder(folder.path, {})  # type: ignore[call-arg]


def test_names_of_folders_are_plain_and_of_a_length() -> None:
    assert folder_name(" a/b:c--d. ", longest=20) == "a-b-c--d" and folder_name("x" * 20, longest=20) == "x" * 20
    long = folder_name("y" * 21, longest=20)
    assert long == f"{'y' * 7}-{hashlib.sha256(b'y' * 21).hexdigest()[:12]}" and len(long) == 20
    assert default_folder("m/n", ["a", "b"], ["t"], {"limit": 3}) == Path("runs/m-n--a+b--t--limit-3")


def test_any_content_is_written_as_what_it_is(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    frame = pd.DataFrame({"a": ["=x", "y"]})
    with folder.held():
        folder.commit({"t.csv": frame, "t.parquet": frame, "t.txt": "ü", "t.bin": b"\xff"}, OLD)
    assert folder.content("t.csv") == b"a\n'=x\ny\n" and folder.content("t.txt") == "ü".encode()
    assert folder.content("t.bin") == b"\xff" and folder.frame("t.csv").equals(frame)
    assert pd.read_parquet(folder.path / "t.parquet").equals(frame)
    with pytest.raises(RunError, match=r"t\.bin is damaged \("):
        folder.frame("t.bin")
