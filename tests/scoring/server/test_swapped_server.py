"""A real llama.cpp server comes back with other weights under the same name: no score of theirs is kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf_floats import write_floats
from server_llama_cpp import LlamaCpp
from server_proxy import COMPLETIONS, Proxy
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.records import ModelError
from equipoise.scoring.default_model import gguf_file

pytestmark = pytest.mark.slow

PROMPTS = 40
WORDS = ["audit", "--data", "builtin", "--task", "next-word", "--limit", str(PROMPTS // 2), "--concurrency", "2"]


class Bench:
    """A server whose file of weights can be exchanged, behind a counting proxy."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.served = folder, folder / "model.gguf"
        write_floats(gguf_file(), folder / "first.gguf", layers=2)
        write_floats(gguf_file(), folder / "second.gguf", layers=3)
        shutil.copy(folder / "first.gguf", self.served)
        self.server = LlamaCpp(self.served)
        self.proxy = Proxy(self.server.port)

    def swap(self, name: str) -> None:
        """Let the same name stand for other weights, and start the server again."""
        shutil.copy(self.folder / name, self.served)
        self.server.restart()

    def audit(self, out: Path) -> Any:
        return CliRunner().invoke(app, [*WORDS, "--server", self.proxy.url, "--out", str(out)])

    def close(self) -> None:
        self.proxy.close()
        self.server.kill()


@pytest.fixture(scope="module")
def bench(default_model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp, of the dev extra")
    made = Bench(tmp_path_factory.mktemp("swap"))
    yield made
    made.close()


def kept(out: Path) -> dict[str, list[list[float]]]:
    lines = [json.loads(line.split(b" ", 1)[1]) for line in (out / "scores.jsonl").read_bytes().splitlines()]
    return {key: logprobs for line in lines for key, logprobs, *_ in line}


def test_a_swap_in_the_middle_is_found_and_what_followed_is_asked_again(bench: Bench, tmp_path: Path) -> None:
    calm = bench.audit(tmp_path / "calm")
    assert calm.exit_code == 0, calm.output
    true = kept(tmp_path / "calm")
    completions = sum(path == COMPLETIONS for path, _ in bench.proxy.bodies)
    assert len(true) == PROMPTS
    for share in (0.6, 0.9):
        out = tmp_path / f"run-{share}"
        bench.proxy.act(int(completions * share), lambda: bench.swap("second.gguf"))
        result = bench.audit(out)
        assert isinstance(result.exception, ModelError), result.output
        assert "the server's answers changed during the audit" in str(result.exception)
        before = kept(out)
        assert len(before) < PROMPTS
        assert_same(before, true)
        bench.swap("first.gguf")
        again = bench.audit(out)
        assert again.exit_code == 0, again.output
        assert set(kept(out)) == set(true)
        assert_same(kept(out), true)


def assert_same(scores: dict[str, list[list[float]]], true: dict[str, list[list[float]]]) -> None:
    for key, rows in scores.items():
        for tokens, values in zip(rows, true[key], strict=True):
            np.testing.assert_allclose(tokens, values, atol=0.02)
