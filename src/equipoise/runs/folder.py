"""The run folder: everything a run asked, heard and measured, switched from one state to the next in one step.

`manifest.json` names every file with its SHA-256. New files are written beside the old ones; replacing the manifest
is what makes them count. A crash before that leaves the old run, a crash after it leaves the new one: readers take the
file that the manifest names, wherever it is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from ..files import (
    StrangeFile,
    end_interrupted,
    file_sha256,
    plain_file,
    read_plain,
    remove_abandoned,
    remove_unchanged,
    settle,
    sha256,
    waiting,
    write_waiting,
)
from ..progress import Progress
from ..records import EquipoiseError, MovedFolderError, OtherRunError, Outcomes, RunError, RunManifest
from .checked_tables import checked_table, frame_of, parquet_columns, read_parquet
from .csv_files import read_csv, to_csv
from .manifest import NAME, read_manifest, rebuild_advice, strange, unfinished, write_manifest
from .measurements import read_measurements
from .progress_file import ProgressNotes, forget_progress
from .question import differences
from .tables import Rows, outcomes_from_table

Content = pd.DataFrame | Rows | str | bytes
TABLES = ("examples.parquet", "outcomes.parquet", "pairs.parquet", "measurements.csv")
STORES = ("scores.jsonl", "reasoning.jsonl")
"""What a run continues from; a finished run names their hashes, too."""

CONTROLS = (NAME, ".run.lock", *STORES, "scores.lock")
"""Files that commands open by themselves, whatever the manifest names."""

MOST_BYTES = 2**33
"""The size of a table at most: a hundred times that of an audit of a million sentences."""

MADE_FROM_MEASUREMENTS = re.compile(r"report\.html|verdict\.json|(figures|tables)/.*")
"""Files that go out of date when the run is measured anew."""

UNREADABLE = (EquipoiseError, OSError, ValueError, TypeError, LookupError, ArithmeticError, NotImplementedError)
"""What reading a table raises that is not one of ours."""

Stamp = tuple[int, ...] | None

WAIT = 10.0
"""Seconds that a command waits for another one to add a file."""


@dataclass(frozen=True)
class RunFolder:
    """The files of a run, by name."""

    path: Path
    _known: dict[Stamp, RunManifest] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def scores(self) -> Path:
        """The score store, which a run continues from."""
        return self.path / "scores.jsonl"

    @property
    def reasoning(self) -> Path:
        """What the model wrote when it was asked to reason."""
        return self.path / "reasoning.jsonl"

    @contextmanager
    def held(self, *, wait: float = 0.0) -> Iterator[None]:
        """Hold the folder against other commands that write into it."""
        try:
            self.check_plain(CONTROLS)
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".run.lock", timeout=wait)
            lock.acquire()
        except Timeout:
            raise RunError(f"another command is writing into {self.path}; wait for it to end") from None
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "strerror", None) or error).lower()
            raise RunError(f"the run folder {self.path} cannot be written ({reason}); choose another folder") from None
        try:
            earlier = self._earlier()
            named = earlier.files if earlier else {}
            # Before anything is written or removed: no name may lead out of the folder.
            self.check_plain(named)
            remove_abandoned(self.path)
            end_interrupted(self.path, named)
            yield
        except StrangeFile as error:
            raise RunError(strange(error)) from None
        finally:
            lock.release()

    def check_plain(self, names: Iterable[str]) -> None:
        """Raise an error where one of these files is a link or a special file, or lies behind one."""
        try:
            for name in names:
                plain_file(self.path, name)
        except StrangeFile as error:
            raise RunError(strange(error)) from None

    def begin(self, manifest: RunManifest, *, replacing: bool = False) -> None:
        """Mark the folder as a run under way; one that holds another run is left alone, unless that is to be replaced.

        Call it before anything else is written into the folder, and while it is held.
        """
        earlier = self._earlier()
        differing = differences(earlier, manifest) if earlier else []
        if differing and not replacing:
            raise OtherRunError(f"{self.path} holds another run: {'; '.join(differing)}")
        if differing:
            for name in STORES:
                plain_file(self.path, name).unlink(missing_ok=True)
        # What was made from the earlier tables goes with them. It stays named until then, so that a run that is killed
        # here leaves no page that the next one does not know of.
        kept = () if differing else (*TABLES, *STORES)
        stale = {name: digest for name, digest in earlier.files.items() if name not in kept} if earlier else {}
        self._write_manifest(replace(manifest, files=stale))
        remove_unchanged(self.path, stale)

    def noting(self, report: Progress) -> ProgressNotes:
        """Return what the run's work reports to, which notes in the folder how far it is."""
        return ProgressNotes(self.path, report, check=self.check_there)

    def check_there(self) -> None:
        """Raise an error where the folder of a run under way is not there: nothing may be written in its place."""
        if not (self.path / NAME).is_file():
            raise MovedFolderError(self.path)

    @property
    def chat_time(self) -> str:
        """The time that chat templates printed in the run of this folder; "" where none did."""
        earlier = self._earlier()
        return printed_time(earlier.engine) if earlier else ""

    def time_to_keep(self, engine: Mapping[str, Any]) -> str:
        """Return the time that an engine of this identity has to print instead of its own, "" where it need not.

        A run that is continued keeps the time that its chat template printed, so it is the same conversation.
        """
        return "" if self.chat_time == printed_time(engine) else self.chat_time

    def stores(self) -> dict[str, str]:
        """Return the hashes of what the run continues from: its scores, and what the model wrote."""
        digests = {name: file_sha256(plain_file(self.path, name)) for name in STORES}
        return {name: digest for name, digest in digests.items() if digest is not None}

    def _earlier(self) -> RunManifest | None:
        """Return the manifest of the run in the folder; None without one, or where a damaged one says nothing."""
        try:
            return self.manifest()
        except RunError:
            return None

    def commit(self, contents: Mapping[str, Content], manifest: RunManifest) -> None:
        """Write the files beside the old ones, then switch to them and to the manifest in one step."""
        self.check_plain((*contents, *manifest.files))
        hashes = {name: self._write_next(name, content) for name, content in contents.items()}
        kept = {name: digest for name, digest in manifest.files.items() if name not in hashes}
        if "measurements.csv" in hashes:
            stale = {name: digest for name, digest in kept.items() if MADE_FROM_MEASUREMENTS.fullmatch(name)}
            # Before the switch: a page of the old measurements must not be beside the new ones, a missing page may.
            remove_unchanged(self.path, stale)
            kept = {name: digest for name, digest in kept.items() if name not in stale}
        self._write_manifest(replace(manifest, files={**kept, **hashes}))
        settle(self.path, hashes)
        if manifest.finished:
            forget_progress(self.path)

    def add(self, contents: Mapping[str, Content], made_from: RunManifest | None = None) -> None:
        """Add files to a finished run, or replace them, in one step; `made_from` is the run that was read for them."""
        with self.held(wait=WAIT):
            manifest = self.manifest()
            same = made_from is None or all(manifest.files.get(name) == made_from.files.get(name) for name in TABLES)
            if manifest.finished is None or not same:
                raise RunError(f"the run in {self.path} changed while this was made from it; run the command again")
            self.commit(contents, manifest)

    def manifest(self) -> RunManifest:
        """Return what the run is about; it is read only where it was written by others since."""
        stamp = self._stamp()
        if stamp not in self._known:
            self._remember(stamp, read_manifest(self.path))
        return self._known[stamp]

    def _write_manifest(self, manifest: RunManifest) -> None:
        as_read = write_manifest(self.path, manifest)
        self._remember(self._stamp(), as_read)

    def _remember(self, stamp: Stamp, manifest: RunManifest) -> None:
        self._known.clear()
        self._known[stamp] = manifest

    def _stamp(self) -> Stamp:
        """Return what tells one version of the manifest's file from another; None where there is no file."""
        try:
            status = (self.path / NAME).stat()
        except (OSError, ValueError):
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def frame(self, name: str, manifest: RunManifest | None = None) -> pd.DataFrame:
        """Return a table of the run, checked against the manifest."""
        if not name.endswith(".csv"):
            return self.frame_of(name, self.table(name, self.content(name, manifest)))
        content = io.BytesIO(self.content(name, manifest))
        with self._reading(name):
            return read_measurements(content) if name == "measurements.csv" else read_csv(content)

    def frame_of(self, name: str, table: Any, *, categories: bool = False) -> pd.DataFrame:
        """Return a Parquet table of the run, read already, as a frame."""
        with self._reading(name):
            return frame_of(name, table, categories=categories)

    def table(self, name: str, content: bytes, columns: Sequence[str] = ()) -> Any:
        """Return the content of a Parquet file of the run, or these columns of it, as an arrow table."""
        with self._reading(name):
            return checked_table(name, read_parquet(content, columns), columns)

    def columns(self, name: str, manifest: RunManifest) -> list[str]:
        """Return the names of the columns of a Parquet file of the run."""
        try:
            return parquet_columns(self.content(name, manifest))
        except UNREADABLE as error:
            raise RunError(self._damaged(name, _reason(error))) from None

    def content(self, name: str, manifest: RunManifest | None = None) -> bytes:
        """Return a file that the manifest names, read once; one with other content is refused."""
        manifest = manifest or self.manifest()
        expected = manifest.files.get(name)
        if expected is None:
            if manifest.finished is None:
                raise RunError(unfinished(self.path, manifest))
            raise RunError(f"the run in {self.path} has no {name}; it has: {', '.join(sorted(manifest.files))}")
        # The place itself twice: a commit may move the next file there after the first look.
        for place in (name, waiting(self.path, name).name, name):
            try:
                content = read_plain(self.path, place, most=MOST_BYTES)
            except StrangeFile as error:
                raise RunError(strange(error)) from None
            except OSError:
                continue
            if sha256(content) == expected:
                return content
        current = self._earlier()
        if current is None:
            gone = "the folder was moved or removed, or the current folder is another one"
            raise RunError(f"{self.path} has no {NAME} any more ({gone}); load the run again from where it is")
        if current.files.get(name) != expected:
            raise RunError(f"the run in {self.path} was measured again while it was read; run the command again")
        raise RunError(self._damaged(name, "it is not the file that the run wrote"))

    def outcomes_of(self, rows: Any, groups: Sequence[str]) -> Outcomes:
        """Return rows of `outcomes.parquet`, an arrow table, as outcomes."""
        with self._reading("outcomes.parquet"):
            return outcomes_from_table(rows, groups)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Say that a table is damaged where it cannot be read."""
        try:
            yield
        except UNREADABLE as error:
            raise RunError(self._damaged(name, _reason(error))) from None

    def _damaged(self, name: str, reason: str) -> str:
        earlier = self._earlier()
        advice = rebuild_advice(self.path, earlier.command if earlier else None)
        return f"{self.path / name} is damaged ({reason}); {advice}"

    def _write_next(self, name: str, content: Content) -> str:
        """Write a file beside its place, and return its hash."""
        return write_waiting(self.path, name, content.write if isinstance(content, Rows) else _encoded(name, content))


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else "it is not a table"


def printed_time(engine: Mapping[str, Any]) -> str:
    """Return the time that an engine's chat template prints, "" where it prints none; members of one share theirs."""
    members = engine.get("members") or ()
    return str(engine.get("chat_time") or next(filter(None, map(printed_time, members)), ""))


def _encoded(name: str, content: pd.DataFrame | str | bytes) -> bytes:
    if isinstance(content, pd.DataFrame):
        if name.endswith(".csv"):
            return to_csv(content)
        encoded: bytes = content.to_parquet(index=False)
        return encoded
    return content.encode() if isinstance(content, str) else content


def default_folder(
    model: str, datasets: Sequence[str], tasks: Sequence[str], asked: Mapping[str, Any] | None = None
) -> Path:
    """Return the folder for a run without a chosen place: the same for the same command, so that it continues.

    `asked` are the choices that decide what is asked, where they are not the usual ones.
    """
    names = ["+".join(several) for several in (datasets, tasks)]
    names += [f"{name}-{value}" for name, value in (asked or {}).items()]
    return Path("runs") / folder_name("--".join([model, *names]), longest=120)


def folder_name(text: str, *, longest: int) -> str:
    """Return a text as the name of a folder; one that is too long ends in a hash in place of the rest."""
    name = re.sub(r"[^\w.+-]+", "-", text).strip("-.")
    return name if len(name) <= longest else f"{name[: longest - 13]}-{sha256(name)[:12]}"
