"""The run folder: everything a run asked, heard and measured, switched from one state to the next in one step.

`manifest.json` names every table with its SHA-256. New tables are written beside the old ones; replacing the manifest
is what makes them count. A crash before that leaves the old run, a crash after it leaves the new one: readers take the
table that the manifest names, wherever it is.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from ..records import Outcomes, RunError, RunManifest
from .files import remove_abandoned, sha256, sync_folder, write_file
from .measurements import read_measurements
from .tables import group_names, outcomes_from_frame

Content = pd.DataFrame | str | bytes
KEEPS_SCORES = "run the audit again: its scores are kept"


@dataclass(frozen=True)
class RunFolder:
    """The files of a run, by name."""

    path: Path

    @property
    def scores(self) -> Path:
        """The score store, which a run continues from."""
        return self.path / "scores.jsonl"

    @property
    def reasoning(self) -> Path:
        """What the model wrote when it was asked to reason."""
        return self.path / "reasoning.jsonl"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder against other commands that write into it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".run.lock", timeout=0)
            lock.acquire()
        except Timeout:
            raise RunError(f"another command is writing into {self.path}; wait for it to end") from None
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "strerror", None) or error).lower()
            raise RunError(f"the run folder {self.path} cannot be written ({reason}); choose another folder") from None
        try:
            remove_abandoned(self.path)
            self._end_interrupted_commit()
            yield
        finally:
            lock.release()

    def begin(self, manifest: RunManifest) -> None:
        """Mark the folder as a run under way; one that holds another model's run is left alone."""
        earlier = self._earlier()
        if earlier is not None:
            # What may differ is what only says how it was computed; a planted engine is all its numbers.
            kinds = ("engine", "weights", "dtype", "tokenizer", "bos")
            same = manifest.engine if str(manifest.engine.get("engine", "")).startswith("planted") else kinds
            if earlier.model != manifest.model or any(earlier.engine.get(k) != manifest.engine.get(k) for k in same):
                raise RunError(f"{self.path} holds a run of {earlier.model} with other settings; choose another folder")
        self._write_manifest(manifest)

    def _earlier(self) -> RunManifest | None:
        """Return the manifest of the run in the folder; None without one, or where a damaged one says nothing."""
        try:
            return self.manifest()
        except RunError:
            return None

    def commit(self, contents: Mapping[str, Content], manifest: RunManifest) -> None:
        """Write the files beside the old ones, then switch to them and to the manifest in one step."""
        encoded = {name: _encoded(name, content) for name, content in contents.items()}
        for name, content in encoded.items():
            write_file(self._next(name), content)
        hashes = {name: sha256(content) for name, content in encoded.items()}
        kept = {name: digest for name, digest in manifest.files.items() if name not in hashes}
        self._write_manifest(replace(manifest, files={**kept, **hashes}))
        self._settle(hashes)

    def add(self, contents: Mapping[str, Content]) -> None:
        """Add files to a finished run, or replace them, in one step."""
        with self.held():
            self.commit(contents, self.manifest())

    def manifest(self) -> RunManifest:
        """Return what the run is about."""
        path = self.path / "manifest.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            manifest = RunManifest(**{field.name: content[field.name] for field in fields(RunManifest)})
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(f"{self.path} is not a run folder: it has no manifest.json") from None
        except KeyError as error:
            raise RunError(f"{path} is damaged (it has no {error.args[0]!r}); {KEEPS_SCORES}") from None
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"{path} is damaged ({str(error).splitlines()[0]}); {KEEPS_SCORES}") from None
        _check_types(manifest, path)
        return manifest

    def frame(self, name: str) -> pd.DataFrame:
        """Return a table of the run, checked against the manifest."""
        content = self.content(name)
        try:
            if name == "measurements.csv":
                return read_measurements(content)
            return pd.read_csv(io.BytesIO(content)) if name.endswith(".csv") else pd.read_parquet(io.BytesIO(content))
        except (OSError, ValueError, TypeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise RunError(f"{self.path / name} is damaged ({reason}); {KEEPS_SCORES}") from None

    def content(self, name: str) -> bytes:
        """Return a file that the manifest names; one with other content is refused."""
        manifest = self.manifest()
        expected = manifest.files.get(name)
        if expected is None:
            state = "was not finished" if manifest.finished is None else f"has no {name}"
            raise RunError(f"the run in {self.path} {state}; run its command again to continue: {manifest.command}")
        for path in (self.path / name, self._next(name)):
            try:
                content = path.read_bytes()
            except OSError:
                continue
            if sha256(content) == expected:
                return content
        raise RunError(f"{self.path / name} is damaged or not the file that the run wrote; {KEEPS_SCORES}")

    def outcomes(self) -> Iterator[tuple[str, str, Outcomes]]:
        """Yield the outcomes of every dataset and task of the run."""
        table = self.frame("outcomes.parquet")
        groups = group_names(self.frame("examples.parquet"))
        for (dataset, task), part in table.groupby(["dataset", "task"], sort=False):
            yield str(dataset), str(task), outcomes_from_frame(part, groups)

    def _next(self, name: str) -> Path:
        return self.path / f".{name}.next"

    def _end_interrupted_commit(self) -> None:
        """Put the files of a commit that a crash cut off into their places, and remove those that never counted."""
        earlier = self._earlier()
        for path in self.path.glob(".*.next"):
            name = path.name.removeprefix(".").removesuffix(".next")
            if earlier is not None and earlier.files.get(name) == sha256(path.read_bytes()):
                path.replace(self.path / name)
            else:
                path.unlink()

    def _settle(self, names: Mapping[str, str]) -> None:
        """Put the files that the manifest now names into their places."""
        for name in names:
            self._next(name).replace(self.path / name)
        sync_folder(self.path)

    def _write_manifest(self, manifest: RunManifest) -> None:
        content = json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n"
        write_file(self.path / "manifest.json", content.encode("utf-8", "surrogatepass"))


def _encoded(name: str, content: Content) -> bytes:
    if isinstance(content, pd.DataFrame):
        if name.endswith(".csv"):
            return content.to_csv(index=False, lineterminator="\n").encode()
        encoded: bytes = content.to_parquet(index=False)
        return encoded
    return content.encode() if isinstance(content, str) else content


def _check_types(manifest: RunManifest, path: Path) -> None:
    """Refuse a manifest whose values are of another type than they should be."""
    mappings = ("engine", "datasets", "tasks", "settings", "versions", "files")
    texts = ("model", "command", "started")
    wrong = [name for name in mappings if not isinstance(getattr(manifest, name), dict)]
    wrong += [name for name in texts if not isinstance(getattr(manifest, name), str)]
    wrong += [name for name in ("finished",) if not isinstance(getattr(manifest, name), str | None)]
    notes: Any = manifest.notes
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        wrong.append("notes")
    if not wrong and not all(
        isinstance(task, dict) for task in (*manifest.tasks.values(), *manifest.datasets.values())
    ):
        wrong.append("tasks")
    level = manifest.settings.get("level", 0.95) if not wrong else 0.95
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        wrong.append("settings")
    if wrong:
        raise RunError(f"{path} is damaged ({wrong[0]!r} is not what it should be); {KEEPS_SCORES}")


def default_folder(model: str, datasets: Sequence[str], tasks: Sequence[str]) -> Path:
    """Return the folder for a run without a chosen place: the same for the same command, so that it continues."""
    names = ["+".join(several) for several in (datasets, tasks)]
    return Path("runs") / re.sub(r"[^\w.+-]+", "-", "--".join([model, *names])).strip("-")
