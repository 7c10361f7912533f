"""`manifest.json`: what a run is about, where its numbers come from, which files are its own, and a checksum."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import __version__
from ..datasets import Dataset
from ..files import StrangeFile, read_plain, sha256, write_file
from ..records import RunError, RunManifest
from ..scoring.engine import Engine, described
from ..tasks import Task
from .imported.per_item import Results
from .manifest_fields import FIELDS, faults

NAME = "manifest.json"
SEAL = "sha256"
"""Field of the file that holds the hash of all other fields."""

MOST_BYTES = 2**26
"""The size of the file at most; that of an audit of a hundred datasets is a thousandth of it."""


def write_manifest(folder: Path, manifest: RunManifest) -> RunManifest:
    """Replace the manifest of a run folder in one step, and return it as it would be read back."""
    content = asdict(manifest)
    text = json.dumps({**content, SEAL: _seal(content)}, indent=2, ensure_ascii=False) + "\n"
    # A path that is not UTF-8 has lone surrogates: they are written as the escapes that JSON has for them.
    write_file(folder / NAME, text.encode("utf-8", "backslashreplace"))
    return RunManifest(**json.loads(json.dumps(content)))


def read_manifest(folder: Path) -> RunManifest:
    """Return what the run is about; RunError where it is missing, changed or not a manifest."""
    path = folder / NAME
    try:
        text = read_plain(folder, NAME, most=MOST_BYTES).decode()
    except (FileNotFoundError, NotADirectoryError):
        inside = min(folder.glob(f"*/{NAME}"), default=None)
        instead = f", but folders in it do, such as {inside.parent}" if inside else ""
        raise RunError(f"{folder} is not a run folder: it has no {NAME}{instead}") from None
    except StrangeFile as error:
        raise RunError(strange(error)) from None
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
    for fault in faults(content):
        raise RunError(_damaged(folder, fault, command))
    seal = content.pop(SEAL, None)
    if seal is None:
        raise RunError(_damaged(folder, f"{SEAL} is missing; earlier versions did not write it", command))
    if set(content) != set(FIELDS) or seal != _seal(content):
        raise RunError(_damaged(folder, "it was changed after the run wrote it", command))
    return RunManifest(**content)


def strange(error: StrangeFile) -> str:
    """Return what to say of a run folder that holds something else than plain files."""
    return f"{error.filename} {error.strerror}; a run folder holds plain files only, so this one is not used"


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


def name_in_suite(command: str) -> str:
    """Return the model's name in the command that makes a cell of a suite again; "" where it is another command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    cell = words[4] if words[1:2] == ["suite"] and words[3:4] == ["--only"] and len(words) > 4 else ""
    return cell.split(" / ")[0]


def unfinished(folder: Path, manifest: RunManifest) -> str:
    """Return what to say of a run that was interrupted, and how to continue it."""
    command = command_into(folder, manifest.command)
    return f"the run in {folder} was not finished; run its command again to continue: {command}"


def _damaged(folder: Path, reason: str, command: object = None) -> str:
    return f"{folder / NAME} is damaged ({reason}); {rebuild_advice(folder, command)}"


def _seal(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True))


IMPORTED = "imported"
"""What the manifest says in place of an engine's name where the answers were made elsewhere."""

NO_SCORES = "none"
"""How the field `scores` of an engine begins where the run folder has no scores of its own; the reason follows."""

PACKAGES = ("torch", "transformers", "tokenizers", "gguf", "numpy", "pandas", "pyarrow")


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def command_line() -> str:
    """Return the command this program was started with, fit to be pasted into a shell."""
    program = Path(sys.argv[0]).name
    start = ["python", "-m", "equipoise"] if program == "__main__.py" else [program]
    return shlex.join([*start, *sys.argv[1:]])


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of all that could change a number."""
    by_package = {"equipoise": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            by_package[package] = version(package)
        except PackageNotFoundError:
            continue
    return by_package


def describe(
    engine: Engine, datasets: Sequence[Dataset], tasks: Sequence[Task], settings: Mapping[str, Any]
) -> RunManifest:
    """Return the manifest of a run that begins."""
    return RunManifest(
        model=engine.name,
        engine=described(engine),
        datasets=_datasets(datasets),
        tasks={task.name: dict(task.settings) for task in tasks},
        settings=dict(settings),
        versions=dict(versions()),
        command=command_line(),
        started=now(),
    )


def describe_imported(results: Sequence[Results], format: str, settings: Mapping[str, Any]) -> RunManifest:
    """Return the manifest of a run whose answers were made elsewhere: no engine, and so no score store."""
    return RunManifest(
        model=results[0].model,
        engine={
            "engine": IMPORTED,
            "format": format,
            "answers": _answers_sha256(results),
            "scores": f"{NO_SCORES}: imported results, no model was run",
        },
        datasets=_datasets([result.dataset for result in results]),
        tasks={result.task: {} for result in results},
        settings=dict(settings),
        versions=dict(versions()),
        command=command_line(),
        started=now(),
        notes=[note for result in results for note in result.notes],
    )


def _answers_sha256(results: Sequence[Results]) -> str:
    """Return the hash of the imported answers: with others, it is another run."""
    columns = [column for r in results for column in (r.outcomes.probs, r.outcomes.logprobs, r.outcomes.gold)]
    return sha256(b"".join(column.tobytes() for column in columns))


def _datasets(datasets: Sequence[Dataset]) -> dict[str, dict[str, Any]]:
    return {
        dataset.name: {
            "sha256": dataset.sha256,
            "source": dataset.source,
            "licence": dataset.licence,
            "examples": len(dataset.examples),
            "sets": dataset.sets,
            "faults": len(dataset.faults),
            **({"population": dataset.population} if dataset.population else {}),
        }
        for dataset in datasets
    }
