"""What this machine has and what it is missing for an audit, each with a sentence that says what to do."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from . import cores
from .cache import cache_folder
from .datasets import CARDS
from .datasets.downloads import find_dataset_folder
from .files import at_home, nearest
from .records import DatasetError, EquipoiseError
from .scoring.opening import locate_model

Status = Literal["ok", "note", "problem"]

ROOM_GB = 2.0
"""Free space that the default model and a few runs need."""

MEMORY_GB = 3.0
"""Memory that the default model and the measuring need."""

INTERNAL = ("dev", "docs", "all")
"""Extras that are not for users, or only join others."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: a `problem` stops an audit, a `note` only a part of what Equipoise can do."""

    name: str
    status: Status
    finding: str
    advice: str = ""


def examine(model: str, *, out: Path | None = None) -> list[Check]:
    """Return what was found: versions, devices, memory, cache, free space, the model and the datasets."""
    parts: list[Callable[[], Iterator[Check]]] = [
        _python,
        _packages,
        _extras,
        _devices,
        _memory,
        lambda: _folder("cache", cache_folder(), "set EQUIPOISE_CACHE to a folder with room"),
        lambda: _folder("runs", out or Path.cwd(), "change to a folder with room, or use --out"),
        lambda: _model(model),
        _datasets,
    ]
    return [check for part in parts for check in part()]


def _python() -> Iterator[Check]:
    yield Check("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _requirements(extra: str = "") -> list[Requirement]:
    """Return what the installed Equipoise requires, or what one of its extras adds."""
    listed = [Requirement(line) for line in metadata.requires("equipoise") or ()]
    if not extra:
        return [item for item in listed if item.marker is None or item.marker.evaluate({"extra": ""})]
    return [item for item in listed if item.marker and item.marker.evaluate({"extra": extra})]


def _unmet(requirement: Requirement) -> str:
    """Return what is wrong with a required package, or nothing."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement.name} {version} is installed, {requirement.specifier} is needed"
    return ""


def _packages() -> Iterator[Check]:
    faults = [fault for fault in map(_unmet, _requirements()) if fault]
    if faults:
        yield Check("packages", "problem", "; ".join(faults), "pip install --upgrade equipoise")
        return
    shown = ("equipoise", "torch", "transformers", "numpy")
    yield Check("packages", "ok", ", ".join(f"{name} {metadata.version(name)}" for name in shown))


def _extras() -> Iterator[Check]:
    for extra in metadata.metadata("equipoise").get_all("Provides-Extra") or ():
        if extra in INTERNAL:
            continue
        faults = [fault for fault in map(_unmet, _requirements(extra)) if fault]
        if faults:
            yield Check(f"[{extra}]", "note", "; ".join(faults), f"to use it: pip install 'equipoise[{extra}]'")
        else:
            yield Check(f"[{extra}]", "ok", "installed")


def _devices() -> Iterator[Check]:
    try:
        from .scoring.huggingface.model import describe_gpus
    except ImportError as error:
        yield Check("devices", "problem", f"torch cannot be imported: {error}", "pip install --upgrade equipoise")
        return
    gpus = describe_gpus()
    devices = ", ".join([*gpus, f"{cores.there()} CPU cores"])
    if not gpus and shutil.which("nvidia-smi"):
        advice = "torch cannot use the GPU: install the build of torch for your CUDA version (pytorch.org)"
        yield Check("devices", "note", devices, advice)
    else:
        yield Check("devices", "ok", devices if gpus else f"{devices}, no GPU that torch can use")


def _memory() -> Iterator[Check]:
    if not hasattr(os, "sysconf"):
        return
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    if total < MEMORY_GB:
        yield Check("memory", "note", f"{total:.1f} GB", f"the default model needs {MEMORY_GB:g} GB: close programs")
    else:
        yield Check("memory", "ok", f"{total:.1f} GB")


def _folder(name: str, folder: Path, advice: str) -> Iterator[Check]:
    """Check that a folder, or the nearest that exists above it, can be written and has room."""
    existing = nearest(folder)
    if not os.access(existing, os.W_OK) or not existing.is_dir():
        yield Check(name, "problem", f"{folder} cannot be written", advice)
        return
    free = shutil.disk_usage(existing).free / 1e9
    status: Status = "ok" if free >= ROOM_GB else "problem"
    yield Check(name, status, f"{folder}, {free:.1f} GB free", "" if status == "ok" else advice)


def _model(spec: str) -> Iterator[Check]:
    try:
        yield Check("model", "ok", locate_model(spec))
    except EquipoiseError as error:
        yield Check("model", "problem", str(error), "name another model, or check the network")


def _datasets() -> Iterator[Check]:
    folder = os.environ.get("EQUIPOISE_DATA")
    if folder and not at_home(folder).is_dir():
        yield Check("EQUIPOISE_DATA", "problem", f"{folder} is not a folder", "set it to the folder with the datasets")
    missing = []
    for card in CARDS.values():
        try:
            if card.files:
                find_dataset_folder(card.name)
        except DatasetError:
            missing.append(card.name)
    state = f"{len(CARDS) - len(missing)} of {len(CARDS)} are on this machine"
    if missing:
        yield Check("datasets", "note", state, f"to get one: equipoise data fetch {missing[0]}")
    else:
        yield Check("datasets", "ok", state)
