"""How a score store takes hold of its folder, reads what is there, and lets go."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from recorder import fill, questions

from equipoise.records import RunError
from equipoise.scoring import score_store
from equipoise.scoring.score_store import ScoreStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "scores.jsonl"


class Lock:
    """Stands for a lock that is held, and tells when it is let go of."""

    def __init__(self) -> None:
        self.released = 0

    def release(self) -> None:
        self.released += 1


def test_a_folder_is_let_go_of_at_the_end_and_where_its_file_cannot_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Any] = []
    lock = Lock()
    monkeypatch.setattr(score_store, "hold", lambda given: held.append(given) or lock)
    with ScoreStore(path) as store:
        assert lock.released == 0 and len(store) == 0
    assert lock.released == 1 and held == [path.parent / "scores.lock"]
    path.unlink()
    path.mkdir()
    with pytest.raises(RunError), ScoreStore(path):
        pass
    assert lock.released == 2
    store.__exit__(None, None, None)
    assert lock.released == 2, "once"


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError) as caught, ScoreStore(tmp_path / "file" / "run" / "scores.jsonl"):
        pass
    reason = "cannot be made (not a directory); choose another out"
    assert str(caught.value) == f"the run folder {tmp_path / 'file' / 'run'} {reason}"


def test_garbage_is_looked_for_again_after_reading_as_before(path: Path) -> None:
    seen: list[bool] = []

    class Watching(ScoreStore):
        def _accept(self, line: bytes) -> bool:
            seen.append(gc.isenabled())
            return super()._accept(line)

    fill(path, questions(2))
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with Watching(path):
                assert gc.isenabled() is enabled
        finally:
            gc.enable()
    assert seen and not any(seen)


def test_a_damaged_line_of_a_finished_run_is_named(path: Path) -> None:
    fill(path, questions(2))
    assert len(ScoreStore.kept(path)) > 0
    with path.open("ab") as file:
        file.write(b"odd\n")
    count = path.read_bytes().count(b"\n")
    with pytest.raises(RunError) as caught:
        ScoreStore.kept(path)
    assert str(caught.value) == f"{path}: line {count} is damaged"
