"""How long a cell takes before its model was seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise.costs.forecast import forecast, parameters
from equipoise.costs.rehearsal import Rehearsal


def test_the_time_is_estimated_before_a_model_is_seen(tmp_path: Path) -> None:
    asked = Rehearsal(prompts=1000, texts=0, characters=160_000)
    assert forecast("planted", asked, device="auto") == pytest.approx(5.2)
    small = forecast("smollm2", asked, device="cpu")
    (tmp_path / "config.json").write_text('{"torch_dtype": "float32"}')
    (tmp_path / "model.safetensors").write_bytes(bytes(4 * 1000))
    assert parameters(str(tmp_path)) == 1000
    # 40,000 tokens x 135 million parameters x 2 on the cores of this machine.
    assert small == pytest.approx(5 + 2 * 135e6 * 40_000 / (1.3e11 * (os.cpu_count() or 1)))
    assert forecast("hf:owner/name", asked, device="cpu") is None
    assert forecast("smollm2", Rehearsal(prompts=0, texts=3), device="cpu") is None
