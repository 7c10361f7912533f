"""A hash is of the bytes, read once, and never taken for another file's."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from equipoise.records import ModelError
from equipoise.scoring import weights
from equipoise.scoring.weights import file_sha256, is_intact, seal, weights_sha256


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_it_is_the_hash_of_the_content(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"weights" * 10000)
    assert file_sha256(path) == file_sha256(path) == sha256(b"weights" * 10000)


def test_a_file_that_is_as_it_was_is_not_read_again(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "a", b"weights")
    file_sha256(path)
    (note,) = (cache / "hashes").iterdir()
    assert note.read_text().split()[0] == sha256(b"weights")
    other = sha256(b"not read again")
    note.write_text(weights._note(other))
    weights._read_here.clear()  # as in the next process
    assert file_sha256(path) == other


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"weights")
    before = file_sha256(path)
    os.utime(path, ns=(0, 1))
    path.write_bytes(b"WEIGHTS")
    os.utime(path, ns=(0, 2))
    assert file_sha256(path) == sha256(b"WEIGHTS") != before
    replacement = write(tmp_path / "b", b"Weights")
    os.utime(replacement, ns=(0, 2))
    replacement.replace(path)
    assert file_sha256(path) == sha256(b"Weights")


def test_a_time_stamp_that_is_set_back_hides_no_change(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"weights")
    status = path.stat()
    assert file_sha256(path) == sha256(b"weights")
    with open(path, "rb+") as file:
        file.write(b"WEIGHTS")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (status.st_size, status.st_mtime_ns, status.st_ino)
    assert file_sha256(path) == sha256(b"WEIGHTS")


def test_the_content_is_read_once_in_a_process_where_that_is_asked_for(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "a", b"weights")
    file_sha256(path)
    (note,) = (cache / "hashes").iterdir()
    note.write_text(weights._note(sha256(b"what a note may claim")))
    weights._read_here.clear()
    assert file_sha256(path) == sha256(b"what a note may claim")
    assert file_sha256(path, content=True) == sha256(b"weights")
    assert weights_sha256([path], content=True) == sha256(b"weights")


def test_a_hubs_file_that_does_not_match_its_name_is_refused(tmp_path: Path) -> None:
    blob = write(tmp_path / "blobs" / sha256(b"x"), b"x")
    link = tmp_path / "snapshots" / "model.safetensors"
    link.parent.mkdir()
    link.symlink_to(blob)
    assert file_sha256(link) == sha256(b"x")
    blob.write_bytes(b"damaged")
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged: its content does not match its hash"):
        file_sha256(link)
    git = write(tmp_path / "blobs" / "0123456789abcdef0123456789abcdef01234567", b"y")  # not a SHA-256
    assert file_sha256(git) == sha256(b"y")


def test_a_sealed_folder_is_intact_until_a_byte_of_it_changes(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    files = [write(folder / name, name.encode() * 50) for name in ("config.json", "model.safetensors")]
    assert not is_intact(folder) and not is_intact(tmp_path / "missing")
    seal(folder)
    assert is_intact(folder)
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[:-1] + b"!")
        assert not is_intact(folder)
        file.write_bytes(content)
        assert is_intact(folder)
    files[0].unlink()
    assert not is_intact(folder)
    (folder / "sha256.json").write_text("[]")
    assert not is_intact(folder)


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(write(tmp_path / "file", b"")))
    assert file_sha256(write(tmp_path / "a", b"weights")) == sha256(b"weights")


def test_one_file_is_its_own_hash_and_several_have_one_together(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", b"first"), write(tmp_path / "2", b"second")
    assert weights_sha256([first]) == sha256(b"first")
    both = weights_sha256([first, second])
    assert both not in (sha256(b"first"), sha256(b"second"))
    assert both != weights_sha256([second, first])
    renamed = [first.rename(tmp_path / "x-1"), second.rename(tmp_path / "x-2")]
    assert weights_sha256(renamed) == both


def test_no_files_identify_nothing() -> None:
    with pytest.raises(ModelError, match="has no weight files"):
        weights_sha256([])


def test_a_sealed_folder_is_read_whatever_its_times_say(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "model"
    file = write(folder / "a", b"weights")
    seal(folder)
    weights._read_here.clear()
    for note in (cache / "hashes").iterdir():
        note.write_text(weights._note(sha256(b"what a note may claim")))
    assert is_intact(folder), "its content is read, not what is remembered of it"
    (folder / "sha256.json").write_text("{}")
    assert not is_intact(folder), "a seal of nothing seals nothing"
    assert file.is_file()


@pytest.mark.parametrize("content", ["", "x", f"{'0' * 64} 00000000", f"{'0' * 63} {{crc}}", f"{'0' * 64}"])
def test_a_damaged_note_is_not_believed(tmp_path: Path, cache: Path, content: str) -> None:
    path = write(tmp_path / "a", b"weights")
    file_sha256(path)
    (note,) = (cache / "hashes").iterdir()
    short = "0" * 63
    note.write_text(weights._note(short) if "{crc}" in content else content)
    weights._read_here.clear()
    assert file_sha256(path) == sha256(b"weights")
    note.write_bytes(b"\xff\xfe")
    weights._read_here.clear()
    assert file_sha256(path) == sha256(b"weights")


def test_only_a_hub_s_files_are_held_to_their_names(tmp_path: Path) -> None:
    name = sha256(b"x")
    assert file_sha256(write(tmp_path / "elsewhere" / name, b"y")) == sha256(b"y")
    with pytest.raises(ModelError, match=rf"is damaged: its content does not match its hash; delete .*{name} to fetch"):
        file_sha256(write(tmp_path / "blobs" / name, b"y"))
    assert file_sha256(write(tmp_path / "blobs" / f"{name}0", b"y")) == sha256(b"y")
