"""A GGUF file is dequantised once: the second start reads a folder, which gives the same scores under the same keys."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from equipoise.options import EngineOptions
from equipoise.records import Prompt, Score
from equipoise.scoring import default_model
from equipoise.scoring.converted import open_converted
from equipoise.scoring.huggingface import loading

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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
        direct = scored(path)
        assert not list((tmp_path / "cache").glob("models/*"))
    first = scored(path)
    assert first.logprobs == pytest.approx(direct.logprobs, abs=1e-4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "dequantise", lambda *_: pytest.fail("dequantised again"))
        assert scored(path) == first
    (weights,) = (tmp_path / "cache" / "models").glob("mine-*/model.safetensors")
    content = weights.read_bytes()
    weights.write_bytes(content[:-4] + b"oops")
    assert scored(path) == first and weights.read_bytes() == content
