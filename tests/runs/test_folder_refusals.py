"""Run folders that cannot be written, have links in them, or hold tables that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from equipoise import load
from equipoise.files import plain_file
from equipoise.records import RunError, RunManifest
from equipoise.runs.folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    with made.held():
        return made


def test_a_folder_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError) as caught, RunFolder(tmp_path / "file" / "run").held():
        raise AssertionError("it is not held")
    where = f"the run folder {tmp_path / 'file' / 'run'} cannot be written (not a directory)"
    assert str(caught.value) == f"{where}; choose another folder"
    with pytest.raises(RunError, match=r"cannot be written \(embedded null"), RunFolder(Path("a\0b")).held():
        raise AssertionError("it is not held")


def test_a_link_in_a_folder_is_refused_before_and_while_it_is_held(folder: RunFolder, tmp_path: Path) -> None:
    link = folder.path / "scores.jsonl"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError) as caught:
        folder.check_plain(["scores.jsonl"])
    said = str(caught.value)
    assert str(link) in said and "link" in said
    with pytest.raises(RunError) as caught, folder.held():
        plain_file(folder.path, "scores.jsonl")
    assert str(caught.value) == said
    link.unlink()
    with folder.held():
        pass  # it was let go


def test_a_table_that_cannot_be_used_is_named(folder: RunFolder) -> None:
    table = pa.table({"gold": ["x"], "groups": [1]})
    for name, use in {
        "examples.parquet": lambda: folder.frame_of("examples.parquet", table),
        "outcomes.parquet": lambda: folder.outcomes_of(table, []),
    }.items():
        with pytest.raises(RunError, match=rf"{name} is damaged \("):
            use()


@pytest.mark.parametrize("place", ["missing", "file"])
def test_what_is_no_run_folder_is_said_to_be_none(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"is not a run folder: it has no manifest\.json$"):
        load(tmp_path / place)


def test_a_folder_of_runs_names_one_of_them(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
    with pytest.raises(RunError, match=rf"it has no manifest\.json, but folders in it do, such as {tmp_path}/a$"):
        load(tmp_path)


def test_a_run_under_way_says_how_to_continue(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "a" / "b" / "run")
    with folder.held():
        folder.begin(RunManifest("m", {}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00"))
    with pytest.raises(
        RunError, match=r"was not finished; run its command again to continue: equipoise audit m --out "
    ):
        folder.content("pairs.parquet")
    with pytest.raises(RunError) as error:
        folder.add({"x.csv": "a"})
    assert str(error.value) == f"the run in {folder.path} changed while this was made from it; run the command again"
