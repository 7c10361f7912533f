"""The time of a cell before its model is seen."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions
from equipoise.records import Prompt, Score
from equipoise.scoring.engine import DEFAULT_MODEL
from equipoise.suites.forecast import SMALL, Workload, forecast, parameters, workload
from equipoise.tasks import TaskOptions, open_task


def test_the_time_is_estimated_before_a_model_is_seen(tmp_path: Path) -> None:
    asked = Workload(prompts=1000, texts=0, characters=160_000)
    assert forecast("planted", asked, device="auto") == pytest.approx(5.2)
    small = forecast("smollm2", asked, device="cpu")
    (tmp_path / "config.json").write_text('{"torch_dtype": "float32"}')
    (tmp_path / "model.safetensors").write_bytes(bytes(4 * 1000))
    assert parameters(str(tmp_path)) == 1000
    # 40,000 tokens x 135 million parameters x 2 on the cores of this machine.
    assert small == pytest.approx(5 + 2 * 135e6 * 40_000 / (1.3e11 * (os.cpu_count() or 1)))
    assert forecast("hf:owner/name", asked, device="cpu") is None
    assert forecast("smollm2", Workload(prompts=0, texts=3), device="cpu") is None


def test_the_weights_of_a_model_are_counted_by_its_files(tmp_path: Path) -> None:
    assert [parameters(spec) for spec in ("", DEFAULT_MODEL, "default:")] == [SMALL] * 3
    assert parameters("hf:no/where") is None and parameters(str(tmp_path)) is None
    for number, (config, size) in enumerate(
        [
            ('{"dtype": "float32"}', 4),
            ('{"torch_dtype": "bfloat16"}', 2),
            ('{"dtype": "float16"}', 2),
            ('{"dtype": "int8"}', 2),
            ("[", 2),
            ("[1]", 2),
            ("", 2),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        if config:
            (folder / "config.json").write_text(config)
        for name, count in (("a.safetensors", 300), ("b.safetensors", 100), ("c.bin", 999)):
            (folder / name).write_bytes(bytes(count))
        assert parameters(str(folder)) == parameters(f"hf:{folder}") == 400 / size
    (tmp_path / "m.GGUF").write_bytes(bytes(650))
    assert parameters(f"gguf:{tmp_path / 'm.GGUF'}") == pytest.approx(1000)
    (tmp_path / "m.bin").write_bytes(bytes(650))
    assert parameters(str(tmp_path / "m.bin")) is None and parameters(str(tmp_path / "none.gguf")) is None


def test_a_card_is_faster_than_cores_unless_the_processor_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Workload(prompts=10, texts=0, characters=4_000_000)
    flops = 2 * SMALL * 1_000_000
    monkeypatch.setattr("equipoise.suites.forecast.os.cpu_count", lambda: 3)
    monkeypatch.setattr("equipoise.suites.forecast.shutil.which", lambda name: f"/bin/{name}")
    assert forecast("", asked, device="cpu") == pytest.approx(5 + flops / (3 * 1.3e11))
    assert forecast("", asked, device="auto") == forecast("", asked, device="cuda") == pytest.approx(5 + flops / 1.2e15)
    monkeypatch.setattr("equipoise.suites.forecast.shutil.which", lambda name: None)
    assert forecast("", asked, device="auto") == forecast("", asked, device="cpu")
    monkeypatch.setattr("equipoise.suites.forecast.os.cpu_count", lambda: None)
    assert forecast("", asked, device="cpu") == pytest.approx(5 + flops / 1.3e11)
    assert forecast("planted:bias=1", Workload(10_000, 5), device="cpu") == pytest.approx(7.0)


def test_what_a_task_asks_is_counted_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset("builtin", DatasetOptions(limit=10))
    plain = workload(open_task("next-word"), dataset)
    prompts: list[Prompt] = []
    open_task("next-word").run(
        dataset.examples, scorer=lambda several: prompts.extend(several) or [even(p) for p in several], writer=None
    )
    different = {(prompt.context, prompt.continuations) for prompt in prompts}
    characters = sum(len(str(context)) + sum(map(len, answers)) for context, answers in different)
    assert plain == Workload(len(different), 0, characters) and plain.prompts == 20
    for drawn, texts in ((0, 20), (3, 60)):
        reasoned = workload(open_task("next-word-cot", TaskOptions(seeds=(1,), drawn_reasonings=drawn)), dataset)
        assert (reasoned.prompts, reasoned.texts) == (texts, texts), "each drawn text is another"
    for thinks, texts in ((False, 20), (True, 40)):
        assert workload(open_task("open"), dataset, thinks=thinks) == Workload(0, texts, 0)
    # Of a larger dataset a part is asked, and counted up.
    monkeypatch.setattr("equipoise.suites.forecast.MOST_EXAMPLES", 10)
    part = workload(open_task("next-word"), dataset)
    monkeypatch.setattr("equipoise.suites.forecast.MOST_EXAMPLES", 2000)
    half = workload(open_task("next-word"), dataset.limited(5))
    assert part == Workload(20, 0, 2 * half.characters) and part.characters != plain.characters
    monkeypatch.setattr("equipoise.suites.forecast.MOST_EXAMPLES", 1)
    assert workload(open_task("next-word"), dataset).prompts == 20, "at least one base sentence is asked"


def even(prompt: Prompt) -> Score:
    return Score("", tuple((-math.log(len(prompt.continuations)),) for _ in prompt.continuations))
