"""What travels to an actor: a model's files, packed and unpacked."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.options.table import EngineOptions
from equipoise.scoring.cluster.actor import Scorer, pack_files, unpack_files
from equipoise.scoring.opening import open_engine


def test_a_model_travels_to_a_node_that_does_not_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # an actor sets it for its process
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "deep" / "weights").write_bytes(b"\0\1")
    arrived = unpack_files(pack_files(folder), "model")
    assert arrived.name == "model" and (arrived / "deep" / "weights").read_bytes() == b"\0\1"
    single = unpack_files(pack_files(folder / "config.json"), "config.json")
    assert single.is_file() and single.read_text() == "{}"
    assert Scorer(open_engine, 1).open(str(tmp_path / "elsewhere"), EngineOptions()) == {"missing": True}
