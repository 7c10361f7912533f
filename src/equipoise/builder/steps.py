"""The build folder: one file a step, which the next step reads, and what came in, went out, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ..records import EquipoiseError

Record = TypeVar("Record", bound="Draft | Sentence | Rejected")


class BuildError(EquipoiseError):
    """A step of building a dataset that cannot be done; says which file or option is wrong."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence as a model wrote it: `raw` with its brackets, `text` without; `source` names the reply it is of."""

    id: str
    type: str
    target: str
    other: str
    text: str
    raw: str
    source: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A draft that kept the rules: its pronoun and form, the two words in order of mention, and its counterpart."""

    id: str
    type: str
    text: str
    pronoun: str
    form: str
    first: str
    second: str
    target: str
    twin: str
    twin_pronoun: str

    @property
    def other(self) -> str:
        """The word that is not the target."""
        return self.second if self.target == self.first else self.first


@dataclass(frozen=True, slots=True)
class Rejected:
    """A draft that broke rules, with every reason; `aside` ones broke none, but their "her" is left open."""

    id: str
    type: str
    target: str
    other: str
    text: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What a step did: how many came in and went out, why the others did not, and with which settings."""

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
        """Every reply of the model, with what was asked: append-only, so that nothing is paid for twice."""
        return self.path / "generations.jsonl"

    @property
    def drafts(self) -> Path:
        """The sentences found in the replies."""
        return self.path / "drafts.jsonl"

    @property
    def kept(self) -> Path:
        """The sentences that kept the rules."""
        return self.path / "kept.jsonl"

    @property
    def rejected(self) -> Path:
        """The drafts that broke rules, with their reasons."""
        return self.path / "rejected.jsonl"

    @property
    def aside(self) -> Path:
        """The drafts whose counterpart a person has to decide."""
        return self.path / "aside.jsonl"

    @property
    def database(self) -> str:
        """The address of the survey's own database."""
        return f"sqlite:///{self.path / 'survey.sqlite'}"

    def steps(self) -> dict[str, Step]:
        """Return what the steps before have done, by name, in order."""
        path = self.path / "steps.json"
        if not path.is_file():
            return {}
        try:
            return {row["name"]: Step(**row) for row in json.loads(path.read_text(encoding="utf-8"))}
        except (ValueError, TypeError, KeyError) as error:
            raise BuildError(f"{path} is damaged ({error}); delete it and run the steps again") from None

    def record(self, step: Step) -> None:
        """Write down what a step did, in place of what the same step did before."""
        steps = {**self.steps(), step.name: step}
        rows = [{**asdict(one), "reasons": dict(one.reasons), "settings": dict(one.settings)} for one in steps.values()]
        write_whole(self.path / "steps.json", json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write the file so that a crash leaves the old one or the new one, never a half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(part, path)


def write_records(path: Path, records: Iterable[Draft | Sentence | Rejected]) -> None:
    """Write records as JSON lines, the file whole or not at all."""
    write_whole(path, "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records))


def read_records(path: Path, kind: type[Record], *, made_by: str) -> list[Record]:
    """Return the records of a step's file; BuildError names the step that makes it, or the line that is damaged."""
    if not path.is_file():
        raise BuildError(f"{path} is not there: run `equipoise build {made_by}` first")
    names = {one.name for one in fields(kind)}
    records = []
    for line, row in json_lines(path):
        if set(row) != names:
            raise BuildError(f"{path}:{line}: is no {kind.__name__.lower()}: it needs {', '.join(sorted(names))}")
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
        }
        records.append(kind(**values))
    return records


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object with its line; a last line without an end was cut off by a crash, and is left out."""
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
            raise BuildError(f"{path}:{number}: is not JSON ({error.msg})") from None
        if not isinstance(row, dict):
            raise BuildError(f"{path}:{number}: is not a JSON object")
        yield number, row
