"""A GGUF file is dequantised once: the second start reads a folder, which gives the same scores under the same keys."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import pytest

from equipoise.options import EngineOptions
from equipoise.records import Prompt, Score
from equipoise.scoring import converted as module
from equipoise.scoring import default_model
from equipoise.scoring.converted import LARGER, converted, open_converted
from equipoise.scoring.huggingface import loading
from equipoise.scoring.weights import is_intact

PROMPT = Prompt("a", "next-word", "", "The nurse told the farmer that she was late. So the", (" nurse", " farmer"))


def scored(path: Path) -> Score:
    engine = open_converted(path, EngineOptions())
    assert engine.identity["weights"] == default_model.GGUF_SHA256
    ((score,),) = engine.score([[PROMPT]])
    return score


@pytest.mark.slow
def test_the_second_start_of_a_gguf_file_reads_a_folder_and_scores_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(default_model.gguf_file(), tmp_path / "mine.gguf"))
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    headers, read = [], gguf.GGUFReader.__init__
    monkeypatch.setattr(gguf.GGUFReader, "__init__", lambda *told: (headers.append(told[1]), read(*told))[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
        direct = scored(path)
        assert not list((tmp_path / "cache").glob("models/*"))
    assert len(headers) == 1
    first = scored(path)
    assert len(headers) == 2, "a header is read once for each time a file is"
    assert first.logprobs == pytest.approx(direct.logprobs, abs=1e-4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "dequantise", lambda *_: pytest.fail("dequantised again"))
        assert scored(path) == first
    (weights,) = (tmp_path / "cache" / "models").glob("mine-*/model.safetensors")
    content = weights.read_bytes()
    weights.write_bytes(content[:-4] + b"oops")
    assert scored(path) == first and weights.read_bytes() == content


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is dequantised and opened, in place of doing it."""
    told: list[Any] = []

    def dequantised(gguf: Path, folder: Path) -> None:
        told.append(("dequantise", gguf))
        folder.mkdir()
        (folder / "weights").write_text(f"of {gguf.name}")

    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(loading, "dequantise", dequantised)
    for kind in ("open_folder", "open_gguf"):
        monkeypatch.setattr(loading, kind, lambda *g, kind=kind, **named: told.append((kind, *g, named)) or kind)
    return told


def test_a_folder_is_made_once_and_again_when_it_is_damaged(opened: list[Any], tmp_path: Path) -> None:
    folder, gguf = tmp_path / "cache" / "models" / "made", tmp_path / "m.gguf"
    for content in ("of m.gguf", "damaged"):
        assert converted(folder, lambda: gguf) == folder and is_intact(folder)
        assert (folder / "weights").read_text() == "of m.gguf"
        converted(folder, lambda: pytest.fail("it is there"))
        (folder / "weights").write_text(content + "!")
    assert opened == [("dequantise", gguf)] * 2
    assert [path.name for path in folder.parent.iterdir()] == ["made"]


@pytest.mark.parametrize("verify", [False, True])
def test_a_gguf_file_is_opened_from_its_folder_where_there_is_room(
    verify: bool, opened: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"x" * 50)
    digest = module.file_sha256(path)
    options = EngineOptions(verify_weights=verify)
    folder = tmp_path / "cache" / "models" / f"m-{digest[:12]}"
    checked = "content" if verify else "size, times and inode since its content was read"
    weights = {"source": str(path), "sha256": digest, "quantisation": "dequantised GGUF", "weights_checked": checked}
    free, looked_at = 2 * LARGER * 50, []  # type: ignore[var-annotated]
    monkeypatch.setattr("shutil.disk_usage", lambda place: looked_at.append(place) or SimpleNamespace(free=free))
    assert open_converted(path, options) == "open_gguf"
    assert opened == [("open_gguf", path, options, weights, {})]
    assert looked_at == [tmp_path / "cache"], "the nearest folder that exists"
    free += 1
    assert open_converted(path, options) == "open_folder"
    assert opened[1:] == [("dequantise", path), ("open_folder", folder, options, {"name": "m", "weights": weights})]
    free = 0
    assert open_converted(path, options) == "open_folder", "what is there needs no room"
