"""What an engine is, and how one is opened from what the user typed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..catalog import find
from ..records import ModelError, Prompt, Score

DEFAULT_MODEL = "smollm2"


class Engine(Protocol):
    """Something that says how likely a continuation is."""

    @property
    def name(self) -> str:
        """The model's name in tables and files."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that could change an answer; it enters the key under which a score is kept."""
        ...

    @property
    def description(self) -> Mapping[str, Any]:
        """What the manifest says about the engine beyond its identity."""
        ...

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return groups of prompts to score together; the same prompts always give the same groups."""
        ...

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        """Yield the scores of each batch, in order."""
        ...


@dataclass(frozen=True)
class EngineOptions:
    """How to load a model."""

    device: str = "auto"
    dtype: str = "auto"
    bos: str = "auto"
    trust_remote_code: bool = False
    allow_pickle: bool = False
    revision: str | None = None


def identity_key(engine: Engine) -> str:
    """Return the engine's identity as one string: the first part of every score's key."""
    content = json.dumps(dict(engine.identity), sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def open_engine(spec: str, options: EngineOptions | None = None) -> Engine:
    """Return the engine that `spec` names.

    `smollm2` (the default model), `hf:NAME` or NAME (a model of a hub), a folder, `gguf:FILE` or FILE.gguf,
    `planted:strength=2,bias=0.5` (an engine with a bias of known size).
    """
    options = options or EngineOptions()
    scheme, separator, rest = spec.partition(":")
    if not separator or (scheme not in SCHEMES and ("/" in scheme or len(scheme) == 1)):
        scheme, rest = _scheme_of(spec), "" if spec == "planted" else spec
    return find(scheme, SCHEMES, kind="engine")(rest, options)


def _scheme_of(spec: str) -> str:
    if spec in ("", DEFAULT_MODEL):
        return "default"
    if spec == "planted":
        return "planted"
    return "gguf" if spec.lower().endswith(".gguf") else "hf"


def _open_default(_: str, options: EngineOptions) -> Engine:
    from .default_model import open_default_model

    return open_default_model(options)


def _open_huggingface(name: str, options: EngineOptions) -> Engine:
    from .huggingface_loading import open_huggingface

    if not name:
        raise ModelError("no model is named after 'hf:'")
    return open_huggingface(name, options)


def _open_gguf(path: str, options: EngineOptions) -> Engine:
    from .huggingface_loading import open_gguf

    if not Path(path).is_file():
        raise ModelError(f"there is no GGUF file {path}")
    return open_gguf(Path(path), options)


def _open_planted(settings: str, _: EngineOptions) -> Engine:
    from .planted import open_planted

    return open_planted(settings)


SCHEMES = {"default": _open_default, "hf": _open_huggingface, "gguf": _open_gguf, "planted": _open_planted}
