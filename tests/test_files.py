"""A file is written whole or not at all, and what a killed writer left is removed by the next."""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from left_behind import dead_process, made

from equipoise import files
from equipoise.files import (
    StrangeFile,
    at_home,
    current,
    end_interrupted,
    file_sha256,
    is_inside,
    is_running,
    plain_file,
    read_plain,
    remove_abandoned,
    remove_unchanged,
    replace_folder,
    settle,
    sha256,
    unlinked,
    waiting,
    write_file,
    write_together,
    write_waiting,
    written,
)
from equipoise.records import (
    RunManifest,
)
from equipoise.runs.folder import RunFolder

SETTINGS = {"level": 0.95, "resamples": 2, "seed": 0}
MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, SETTINGS, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def test_a_path_begins_at_the_home_of_a_user_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/mine")
    assert at_home("~/models") == Path("/mine/models") and at_home(Path("~")) == Path("/mine")
    for path in ("~nobody of that name/models", "a/~", "/data"):
        assert at_home(path) == Path(path)


def test_the_nearest_folder_is_the_path_itself_or_the_first_that_exists_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert files.nearest(tmp_path) == tmp_path == files.nearest(tmp_path / "a" / "b")
    monkeypatch.chdir(tmp_path)
    assert files.nearest(Path("a") / "b").resolve() == tmp_path.resolve()


def test_a_write_that_fails_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    folder.begin(MANIFEST)
    before = (tmp_path / "manifest.json").read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.begin(replace(MANIFEST, notes=["another"]))
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_an_unfinished_page_is_removed_by_the_next_one(tmp_path: Path) -> None:
    gone, other = (
        made(tmp_path / f".compare.html.{dead_process()}.part"),
        made(tmp_path / f".another.html.{dead_process()}.part"),
    )
    write_file(tmp_path / "compare.html", b"new")
    assert not gone.exists() and other.exists()


def test_a_place_behind_a_link_or_outside_is_refused(tmp_path: Path) -> None:
    folder, outside = tmp_path / "run", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "letter").write_text("mine")
    (folder / "linked").symlink_to(outside)
    (folder / "file").symlink_to(outside / "letter")
    (folder / "gone").symlink_to(outside / "nothing")
    (folder / "plain").write_text("ours")
    os.mkfifo(folder / "pipe")
    for name, reason in {
        "linked/letter": "is a link, not a plain folder",
        "file": "is a link, not a plain file",
        "gone": "is a link",
        "pipe": "is a named pipe",
        "../outside/letter": "is not a name within the folder",
        str(outside / "letter"): "is not a name within the folder",
        "": "is not a name within the folder",
    }.items():
        with pytest.raises(StrangeFile, match=reason):
            plain_file(folder, name)
        with pytest.raises(StrangeFile):
            read_plain(folder, name, most=100)
        with pytest.raises(StrangeFile):
            remove_unchanged(folder, {name: sha256(b"mine")})
    assert plain_file(folder, "new/file") == folder / "new/file"
    assert read_plain(folder, "plain", most=4) == b"ours"
    with pytest.raises(StrangeFile, match="is larger than"):
        read_plain(folder, "plain", most=3)
    assert file_sha256(folder / "pipe") is None, "which would never end"
    assert (outside / "letter").read_text() == "mine"


def test_a_half_written_file_is_never_a_link(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("mine")
    (tmp_path / f".table.{os.getpid()}.part").symlink_to(tmp_path / "letter")
    write_file(tmp_path / "table", b"ours")
    assert (tmp_path / "letter").read_text() == "mine" and (tmp_path / "table").read_bytes() == b"ours"


def test_a_file_with_two_names_is_given_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("mine")
    os.link(tmp_path / "letter", tmp_path / "scores.jsonl")
    unlinked(tmp_path / "scores.jsonl")
    with open(tmp_path / "scores.jsonl", "a") as file:
        file.write(" and ours")
    assert (tmp_path / "letter").read_text() == "mine"
    assert (tmp_path / "scores.jsonl").read_text() == "mine and ours"


def test_each_kind_of_place_is_called_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("x")
    with pytest.raises(StrangeFile, match="is a folder, not a plain file"):
        plain_file(tmp_path, "folder")
    with pytest.raises(StrangeFile, match="is a file, not a plain folder"):
        plain_file(tmp_path, "plain/below")
    with tempfile.TemporaryDirectory(prefix="s") as short, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{short}/door")
        with pytest.raises(StrangeFile, match="is a special file, not a plain file") as refused:
            plain_file(Path(short), "door")
        assert refused.value.filename == f"{short}/door"
    assert plain_file(tmp_path, "folder/new") == tmp_path / "folder" / "new"


@pytest.mark.parametrize("name", ["a", "a/b", "a b", "..a", "a/..b"])
def test_names_within_a_folder(name: str) -> None:
    assert is_inside(name)


@pytest.mark.parametrize("name", ["", "/a", "..", "a/../b", "../a", "a\0b", "."])
def test_names_that_may_lead_out_of_a_folder(name: str) -> None:
    assert not is_inside(name)


def test_a_file_may_be_as_large_as_it_may_and_not_a_byte_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x" * (3 * 2**20))
    assert len(read_plain(tmp_path, "a", most=3 * 2**20)) == 3 * 2**20
    with pytest.raises(StrangeFile, match="is larger than 2 MiB"):
        read_plain(tmp_path, "a", most=2 * 2**20)
    monkeypatch.setattr(files, "MOST_HASHED", 3 * 2**20)
    assert file_sha256(tmp_path / "a") == sha256(b"x" * (3 * 2**20))
    monkeypatch.setattr(files, "MOST_HASHED", 3 * 2**20 - 1)
    assert file_sha256(tmp_path / "a") is None and file_sha256(tmp_path / "none") is None


def test_a_file_with_one_name_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = (tmp_path / "a").stat().st_ino
    unlinked(tmp_path / "a")
    unlinked(tmp_path / "none")
    assert (tmp_path / "a").stat().st_ino == before and not (tmp_path / "none").exists()


def test_what_is_written_lasts_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    synced, replaced = os.fsync, os.replace

    def sync(handle: int) -> None:
        steps.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        synced(handle)

    def rename(source: Path, target: Path) -> None:
        steps.append(f"rename to {target.name}")
        replaced(source, target)

    monkeypatch.setattr("os.fsync", sync)
    monkeypatch.setattr("os.replace", rename)
    with written(tmp_path / "new" / "a") as part:
        assert part.parent == tmp_path / "new" and part.name == f".a.{os.getpid()}.part"
        part.write_text("x")
    assert steps == ["file", "rename to a", "folder"] and (tmp_path / "new" / "a").read_text() == "x"
    with pytest.raises(TypeError), written(tmp_path / "new" / "a") as part:
        part.write_text(b"half")  # type: ignore[arg-type]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a"]


def test_files_that_belong_together_are_never_old_beside_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_together(tmp_path, {"a": b"1", "b": b"2"})
    assert (tmp_path / "a").read_bytes() == b"1" and (tmp_path / "b").read_bytes() == b"2"
    seen: list[list[str]] = []
    replaced = os.replace

    def rename(source: Path, target: Path) -> None:
        seen.append(sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")))
        replaced(source, target)

    monkeypatch.setattr("os.replace", rename)
    write_together(tmp_path, {"a": b"3", "b": b"4"})
    assert seen == [[], ["b"]] and (tmp_path / "a").read_bytes() == b"3"
    seen.clear()
    write_together(tmp_path, {"a": b"5"})
    assert seen == [["a", "b"]], "a file alone is replaced in one step"


def test_only_files_of_processes_that_have_ended_are_abandoned(tmp_path: Path) -> None:
    dead = dead_process()
    gone = [made(tmp_path / f".a.{dead}.part"), made(tmp_path / f".[b].{dead}.part")]
    kept = [
        made(tmp_path / name)
        for name in (f".a.{os.getpid()}.part", f"a.{dead}.part", ".a.x.part", f".a.{dead}.part.txt", f".a.{dead}.parts")
    ]
    folder = tmp_path / f".c.{dead}.part"
    folder.mkdir()
    remove_abandoned(tmp_path, "[b]")
    assert [path.exists() for path in gone] == [True, False]
    remove_abandoned(tmp_path)
    assert not gone[0].exists() and all(path.exists() for path in (*kept, folder))
    remove_abandoned(tmp_path / "none")


def test_whether_a_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_running(os.getpid()) and not is_running(dead_process()) and not is_running(10**30)

    def denied(process: int, number: int) -> None:
        assert number == 0, "a signal would end it"
        raise PermissionError

    monkeypatch.setattr("os.kill", denied)
    assert is_running(1)


def by_hand(file: IO[bytes]) -> None:
    file.write(b"ab")
    assert file.tell() == 2 and file.writable()
    file.write(b"c")


def test_a_switch_is_whole_before_or_after_the_list_is_replaced(tmp_path: Path) -> None:
    digest = write_waiting(tmp_path, "sub/a b", b"abc")
    assert digest == sha256(b"abc") == write_waiting(tmp_path, "c", by_hand)
    assert waiting(tmp_path, "sub/a b").name == ".sub%2Fa%20b.next"
    assert current(tmp_path, "sub/a b", digest) == waiting(tmp_path, "sub/a b")
    assert current(tmp_path, "sub/a b", None) == current(tmp_path, "sub/a b", "other") == tmp_path / "sub/a b"
    settle(tmp_path, ["sub/a b", "c"])
    assert (tmp_path / "sub/a b").read_bytes() == (tmp_path / "c").read_bytes() == b"abc"
    assert current(tmp_path, "c", digest) == tmp_path / "c"
    assert list(tmp_path.glob(".*.next")) == []


def test_an_interrupted_switch_is_ended_and_what_never_counted_removed(tmp_path: Path) -> None:
    digest = write_waiting(tmp_path, "named", b"new")
    write_waiting(tmp_path, "changed", b"other")
    write_waiting(tmp_path, "unnamed", b"x")
    (tmp_path / ".folder.next").mkdir()
    (tmp_path / "letter").write_text("new")
    (tmp_path / ".linked.next").symlink_to(tmp_path / "letter")
    (tmp_path / ".to-folder.next").symlink_to(tmp_path / ".folder.next")
    made(tmp_path / ".%2Fetc%2Fx.next")
    named = dict.fromkeys(("named", "linked", "/etc/x", "to-folder"), digest) | {"changed": "0" * 64}
    end_interrupted(tmp_path, named)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".folder.next", "letter", "named"]
    assert (tmp_path / "named").read_bytes() == b"new"


def test_what_somebody_changed_is_not_removed(tmp_path: Path) -> None:
    for name in ("same", "changed"):
        (tmp_path / name).write_bytes(name.encode())
    remove_unchanged(tmp_path, {"same": sha256(b"same"), "changed": sha256(b"was"), "gone": sha256(b"")})
    assert [path.name for path in tmp_path.iterdir()] == ["changed"]


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    out, draft = tmp_path / "new" / "out", tmp_path / "draft"
    for text in ("first", "second"):
        made(draft / "a").write_text(text)
        made(tmp_path / "new" / ".out.old" / "left")
        replace_folder(out, draft)
        assert (out / "a").read_text() == text and not draft.exists()
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]


def test_a_name_that_may_lead_out_is_told_with_its_folder_as_text(tmp_path: Path) -> None:
    with pytest.raises(files.StrangeFile) as caught:
        files.plain_file(tmp_path, "../x")
    assert (caught.value.filename, caught.value.strerror) == (str(tmp_path), "'../x' is not a name within the folder")


def test_an_abandoned_file_that_another_process_removes_first_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".a.7.part").write_text("")

    def ended(process: int) -> bool:
        (tmp_path / ".a.7.part").unlink()  # by another process
        return False

    monkeypatch.setattr(files, "is_running", ended)
    files.remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_unfinished_by_its_whole_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "is_running", lambda process: False)
    kept = [".a.7.part.x.part", ".a.x.part", "a.7.part", ".a.7.part~"]
    for name in (*kept, ".a.7.part", ".b.8.part"):
        (tmp_path / name).write_text("")
    files.remove_abandoned(tmp_path, "a")
    assert not (tmp_path / ".a.7.part").exists() and (tmp_path / ".b.8.part").exists()
    files.remove_abandoned(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(kept)


def test_a_folder_is_synced_after_its_files_are_in_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Path, bool]] = []
    digest = files.write_waiting(tmp_path, "sub/a", b"content")
    monkeypatch.setattr(
        files, "sync_folder", lambda folder: synced.append((folder, (tmp_path / "sub" / "a").is_file()))
    )
    files.settle(tmp_path, ["sub/a"])
    assert synced == [(tmp_path, True)] and digest == files.sha256(b"content")
