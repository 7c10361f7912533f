"""The build folder: the records and files of each step, and a log of what came in, went out, and why.

`steps.json` names the files of each step with their SHA-256. A step switches to its new files in one go
(`files.py`): a crash leaves the step as it was, or done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from ..files import current, end_interrupted, remove_abandoned, remove_unchanged, settle, write_file, write_waiting
from ..records import EquipoiseError

Record = TypeVar("Record", bound="Draft | Sentence | Rejected")


class BuildError(EquipoiseError):
    """Raised when a step cannot run; names the file or argument that is wrong."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence written by a model: `raw` with brackets, `text` without; `source` is the key of its request."""

    id: str
    type: str
    target: str
    other: str
    text: str
    raw: str
    source: str
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """The sentence with other pronouns or another identity marker; `group` names the people of its pronoun."""

    text: str
    pronoun: str
    group: str
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A draft that passes the rules: its pronoun, the two words in order of mention, and its variants."""

    id: str
    type: str
    text: str
    pronoun: str
    form: str
    first: str
    second: str
    target: str
    group: str
    variants: tuple[Variant, ...]
    marker: str = ""

    @property
    def other(self) -> str:
        """The word that is not the target."""
        return self.second if self.target == self.first else self.first

    def versions(self) -> tuple[Variant, ...]:
        """Return the sentence itself, then its variants."""
        return Variant(self.text, self.pronoun, self.group, self.marker), *self.variants

    def label(self, name: str, marker: str) -> str:
        """Return the name with the marker, if it is the person who is marked."""
        return f"{marker} {name}" if marker and name == self.target else name


@dataclass(frozen=True, slots=True)
class Rejected:
    """A draft that breaks rules, with all reasons, or whose counterpart is undecided (in `aside.jsonl`)."""

    id: str
    type: str
    target: str
    other: str
    text: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """The log of a step: how many came in and went out, why the rest did not, the settings, and its files' hashes."""

    name: str
    came_in: int
    went_out: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    finished: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


DATASET = "dataset/"
"""Where the files of the built dataset are, in the build folder."""

WAIT = 10.0
"""Seconds that a step waits for another one to write its files."""


@dataclass(frozen=True, slots=True)
class BuildFolder:
    """The files of a build, by name."""

    path: Path

    @property
    def generations(self) -> Path:
        """All replies of the model with their requests; append-only."""
        return self.path / "generations.jsonl"

    @property
    def drafts(self) -> Path:
        """The sentences of the replies."""
        return self.path / "drafts.jsonl"

    @property
    def kept(self) -> Path:
        """The sentences that pass the rules."""
        return self.path / "kept.jsonl"

    @property
    def rejected(self) -> Path:
        """The drafts that break rules, with reasons."""
        return self.path / "rejected.jsonl"

    @property
    def aside(self) -> Path:
        """The drafts whose counterpart needs a decision by a person."""
        return self.path / "aside.jsonl"

    @property
    def database(self) -> str:
        """The address of the default survey database."""
        return f"sqlite:///{self.path / 'survey.sqlite'}"

    def made_database(self, database: str | None) -> str:
        """Return the address of a survey that was begun: the one given, else the default one, if it is there."""
        if database is None and not (self.path / "survey.sqlite").is_file():
            raise _not_made(self.path / "survey.sqlite", "survey")
        return database or self.database

    def steps(self) -> dict[str, Step]:
        """Return the log of the steps so far, by name, in order."""
        path = self.path / "steps.json"
        if not path.is_file():
            return {}
        try:
            return {row["name"]: Step(**row) for row in json.loads(path.read_text(encoding="utf-8"))}
        except (ValueError, TypeError, KeyError) as error:
            raise BuildError(f"{path} is damaged ({error}); delete it and run the steps again") from None

    def record(self, step: Step) -> None:
        """Log a step, replacing the earlier entry of the same step; its files stay as they are."""
        with self._held():
            steps = self.steps()
            files = steps[step.name].files if step.name in steps else {}
            self._log({**steps, step.name: replace(step, files=files)})

    def commit(self, step: Step, contents: Mapping[str, str]) -> None:
        """Write the files of a step and log it, in one go; files of the earlier entry that go with them are removed."""
        with self._held():
            steps = self.steps()
            earlier = steps[step.name].files if step.name in steps else {}
            hashes = {name: write_waiting(self.path, name, text.encode()) for name, text in contents.items()}
            # A dataset of another name stays. The old one goes before the switch: its files are read one by one, so old
            # ones must never be beside new ones, while missing ones may be.
            others = {name: digest for name, digest in earlier.items() if name not in hashes and name.endswith(".csv")}
            old = {name: digest for name, digest in earlier.items() if name.startswith(DATASET) and name not in others}
            remove_unchanged(self.path, old)
            self._log({**steps, step.name: replace(step, files={**others, **hashes})})
            settle(self.path, hashes)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep other steps out of the folder, and end what a killed one left."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / ".build.lock", timeout=WAIT):
                remove_abandoned(self.path)
                end_interrupted(self.path, self.named())
                yield
        except Timeout:
            raise BuildError(f"another step is writing into {self.path}; wait for it to end") from None

    def named(self) -> dict[str, str]:
        """Return the SHA-256 of every file that the steps name."""
        return {name: digest for step in self.steps().values() for name, digest in step.files.items()}

    def _log(self, steps: Mapping[str, Step]) -> None:
        rows = [
            {**asdict(step), **{name: dict(getattr(step, name)) for name in ("reasons", "settings", "files")}}
            for step in steps.values()
        ]
        write_file(self.path / "steps.json", (json.dumps(rows, indent=2, ensure_ascii=False) + "\n").encode())


def as_lines(records: Iterable[Draft | Sentence | Rejected]) -> str:
    """Return records as JSON lines."""
    return "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)


def _not_made(path: Path, step: str) -> BuildError:
    """Return the error that a file is missing, with the command that makes it."""
    needs = " --server URL --model NAME" if step == "generate" else ""
    return BuildError(f"{path} does not exist; run `equipoise build {step} {quote(str(path.parent))}{needs}` first")


def read_records(path: Path, kind: type[Record], *, made_by: str) -> list[Record]:
    """Return the records of a file; raise BuildError if it is missing or damaged, with step or line."""
    place = current(path.parent, path.name, BuildFolder(path.parent).named().get(path.name))
    if not place.is_file():
        raise _not_made(path, made_by)
    names = {item.name for item in fields(kind)}
    needed = {item.name for item in fields(kind) if item.default is MISSING}
    records = []
    for line, row in json_lines(place):
        if not needed <= set(row) <= names:
            missing = ", ".join(sorted(needed - set(row))) or "no other fields"
            raise BuildError(f"{path}:{line}: not a {kind.__name__.lower()}; it needs {missing}")
        try:
            records.append(kind(**{name: _value(value) for name, value in row.items()}))
        except TypeError as error:
            raise BuildError(f"{path}:{line}: not a {kind.__name__.lower()} ({error})") from None
    return records


def _value(value: Any) -> Any:
    """Return what a field holds: lists are tuples, objects are variants."""
    if isinstance(value, list):
        return tuple(Variant(**item) if isinstance(item, dict) else item for item in value)
    return value


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line numbers and objects; an unfinished last line (after a crash) is skipped."""
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BuildError(f"{path} is damaged: it is not UTF-8 text") from None
    lines = content.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):
                return
            raise BuildError(f"{path}:{number}: not JSON ({error.msg})") from None
        if not isinstance(row, dict):
            raise BuildError(f"{path}:{number}: not a JSON object")
        yield number, row
