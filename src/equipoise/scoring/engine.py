"""What an engine is, and how one is opened from what the user typed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..catalog import find
from ..records import ModelError, Prompt, Score

DEFAULT_MODEL = "smollm2"

FIRST_PROMPTS = 512


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
    reductions: bool = False


def neighbours(prompts: Sequence[Prompt], *, size: int) -> list[list[int]]:
    """Return batches of neighbours in the order of their texts, which share the longest prefixes."""
    order = sorted(range(len(prompts)), key=lambda i: (str(prompts[i].context), i))
    # The first batch is small, so that the device has work while the next ones are planned.
    first = min(size, FIRST_PROMPTS)
    rest = [order[start : start + size] for start in range(first, len(order), size)]
    return [order[:first]] * bool(order) + rest


def identity_key(engine: Engine) -> str:
    """Return the engine's identity as one string: the first part of every score's key."""
    content = json.dumps(dict(engine.identity), sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def open_engine(spec: str, options: EngineOptions | None = None) -> Engine:
    """Return the engine that `spec` names.

    `smollm2` (the default model), `hf:NAME` or NAME (a model of a hub), a folder, `gguf:FILE` or FILE.gguf,
    `planted:strength=2,bias=0.5` (an engine with a bias of known size). Several devices have a process each.
    """
    options = options or EngineOptions()
    if not spec.startswith("planted") and ("," in options.device or options.device == "all"):
        return _open_on_several(spec, options)
    scheme, separator, rest = spec.partition(":")
    if not separator or (scheme not in SCHEMES and ("/" in scheme or len(scheme) == 1)):
        scheme, rest = _scheme_of(spec), "" if spec == "planted" else spec
    return find(scheme, SCHEMES, kind="engine")(rest, options)


def _open_on_several(spec: str, options: EngineOptions) -> Engine:
    from .devices import SeveralDevices, named_devices

    names = named_devices(options.device)
    if len(names) == 1:
        return open_engine(spec, replace(options, device=names[0]))
    if not all(names):
        raise ModelError(f"there is an empty name among the devices {options.device!r}")
    return SeveralDevices(spec, options, names)


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
    from .huggingface.loading import open_huggingface

    if not name:
        raise ModelError("no model is named after 'hf:'")
    return open_huggingface(name, options)


def _open_gguf(path: str, options: EngineOptions) -> Engine:
    from .huggingface.loading import open_gguf

    if not Path(path).is_file():
        raise ModelError(f"there is no GGUF file {path}")
    return open_gguf(Path(path), options)


def _open_planted(settings: str, _: EngineOptions) -> Engine:
    from .planted.stereotype import open_planted

    return open_planted(settings)


SCHEMES = {"default": _open_default, "hf": _open_huggingface, "gguf": _open_gguf, "planted": _open_planted}
