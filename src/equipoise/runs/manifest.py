"""`manifest.json`: what a run is about, which files are its own, and a checksum over all of that."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ..records import RunError, RunManifest
from .files import sha256, write_file

NAME = "manifest.json"
SEAL = "sha256"
"""Field of the file that holds the hash of all other fields."""


def write_manifest(folder: Path, manifest: RunManifest) -> None:
    """Replace the manifest of a run folder in one step."""
    content = asdict(manifest)
    text = json.dumps({**content, SEAL: _seal(content)}, indent=2, ensure_ascii=False) + "\n"
    # A path that is not UTF-8 has lone surrogates: they are written as the escapes that JSON has for them.
    write_file(folder / NAME, text.encode("utf-8", "backslashreplace"))


def read_manifest(folder: Path) -> RunManifest:
    """Return what the run is about; RunError where it is missing, changed or not a manifest."""
    path = folder / NAME
    try:
        text = path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(f"{folder} is not a run folder: it has no {NAME}") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read ({str(error.strerror).lower()})") from None
    except (UnicodeDecodeError, ValueError):
        raise RunError(_damaged(folder, "it is not text")) from None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise RunError(_damaged(folder, "it is not JSON")) from None
    if not isinstance(content, dict):
        raise RunError(_damaged(folder, "it is not a JSON object"))
    return _checked(content, folder)


def _checked(content: dict[str, Any], folder: Path) -> RunManifest:
    command = content.get("command")
    for name in (field.name for field in fields(RunManifest)):
        if name not in content:
            raise RunError(_damaged(folder, f"{name} is missing", command))
        if not _VALID[name](content[name]):
            raise RunError(_damaged(folder, f"{name} has a value of another kind", command))
    seal = content.pop(SEAL, None)
    if seal is None:
        raise RunError(_damaged(folder, f"{SEAL} is missing; earlier versions did not write it", command))
    if set(content) != set(_VALID) or seal != _seal(content):
        raise RunError(_damaged(folder, "it was changed after the run wrote it", command))
    return RunManifest(**content)


def rebuild_advice(folder: Path, command: object = None) -> str:
    """Return how to make the files of a run again."""
    # What a damaged manifest calls the command may be anything; it is shown only where it can be one.
    is_shown = isinstance(command, str) and command.isprintable() and command
    shown = f": {command_into(folder, str(command))}" if is_shown else ""
    kept = ", and its scores are kept" if (folder / "scores.jsonl").is_file() else ""
    return f"run the command that made it again (it writes the files anew{kept}){shown}"


def command_into(folder: Path, command: str) -> str:
    """Return the command of a run with the folder as it was named now: it may have moved, or be seen from elsewhere."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    ours = words[:1] == ["equipoise"] or words[:3] == ["python", "-m", "equipoise"]
    if not ours:
        return command
    kept, skip = [], False
    for word in words:
        if not skip and word != "--out" and not word.startswith("--out="):
            kept.append(word)
        skip = word == "--out" and not skip
    return shlex.join([*kept, "--out", str(folder)])


def unfinished(folder: Path, manifest: RunManifest) -> str:
    """Return what to say of a run that was interrupted, and how to continue it."""
    command = command_into(folder, manifest.command)
    return f"the run in {folder} was not finished; run its command again to continue: {command}"


def _damaged(folder: Path, reason: str, command: object = None) -> str:
    return f"{folder / NAME} is damaged ({reason}); {rebuild_advice(folder, command)}"


def _seal(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, dict) for entry in value.values())


def _are_settings(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    level = value.get("level", 0.95)
    return isinstance(level, int | float) and not isinstance(level, bool) and math.isfinite(level) and 0 < level < 1


_VALID: Mapping[str, Callable[[Any], bool]] = {
    "model": _is_text,
    "engine": _is_mapping,
    "datasets": _is_nested,
    "tasks": _is_nested,
    "settings": _are_settings,
    "versions": _is_texts,
    "command": _is_text,
    "started": _is_text,
    "finished": lambda value: value is None or isinstance(value, str),
    "notes": lambda value: isinstance(value, list | tuple) and all(isinstance(note, str) for note in value),
    "files": _is_texts,
}
