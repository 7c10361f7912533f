"""The build folder: the records and files of each step, and a log of what came in, went out, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

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
    """The log of a step: how many came in and went out, why the rest did not, and the settings."""

    name: str
    came_in: int
    went_out: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    finished: str = ""


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
        """Log a step, replacing the earlier entry of the same step."""
        steps = {**self.steps(), step.name: step}
        rows = [
            {**asdict(done), "reasons": dict(done.reasons), "settings": dict(done.settings)} for done in steps.values()
        ]
        write_whole(self.path / "steps.json", json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write the file atomically: a crash leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(part, path)


def write_records(path: Path, records: Iterable[Draft | Sentence | Rejected]) -> None:
    """Write records as JSON lines, atomically."""
    write_whole(path, "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records))


def read_records(path: Path, kind: type[Record], *, made_by: str) -> list[Record]:
    """Return the records of a file; raise BuildError if it is missing or damaged, with step or line."""
    if not path.is_file():
        raise BuildError(f"{path} does not exist; run `equipoise build {made_by}` first")
    names = {item.name for item in fields(kind)}
    needed = {item.name for item in fields(kind) if item.default is MISSING}
    records = []
    for line, row in json_lines(path):
        if not needed <= set(row) <= names:
            lacks = ", ".join(sorted(needed - set(row))) or "no other fields"
            raise BuildError(f"{path}:{line}: not a {kind.__name__.lower()}; it needs {lacks}")
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
    content = path.read_text(encoding="utf-8")
    lines = content.split("\n")
    whole, cut_off = lines[:-1], lines[-1]
    for number, line in enumerate([*whole, cut_off], start=1):
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
