"""The entrance test and the examples of the guidelines: questions whose right answers are known, from a file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ...datasets.columns import as_flag
from ...datasets.rows import read_rows
from ...records import DatasetError
from ..steps import BuildError
from ..verdict.votes import Vote

COLUMNS = ("text", "pronoun", "first", "second", "coherent", "first_can", "second_can")


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """A sentence, and the right answer to it; `why` is for the guidelines."""

    text: str
    pronoun: str
    first: str
    second: str
    answer: Vote
    why: str = ""

    @property
    def coherent(self) -> bool:
        """Whether the sentence is."""
        return self.answer.coherent


def read_test(path: Path | None) -> list[KnownQuestion]:
    """Return the questions of the entrance test, from a table or the package's own 20."""
    if path is None:
        return _own("entrance.csv")
    table = read_rows(path)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise BuildError(
            f"{table.file}: an entrance test needs the columns {', '.join(COLUMNS)}; {missing[0]} is missing"
        )
    return [
        _question(f"{table.file}:{row.line}", {k: str(v or "") for k, v in row.cells.items()}) for row in table.rows
    ]


def examples() -> list[KnownQuestion]:
    """Return the three examples of the guidelines."""
    return _own("examples.csv")


def _own(name: str) -> list[KnownQuestion]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [_question(name, row) for row in csv.DictReader(text.splitlines())]


def _question(where: str, cells: Mapping[str, str]) -> KnownQuestion:
    try:
        coherent = as_flag("coherent", cells["coherent"])
        first, second = as_flag("first_can", cells["first_can"]), as_flag("second_can", cells["second_can"])
    except DatasetError as error:
        raise BuildError(f"{where}: {error}") from None
    if coherent is None or (coherent and (first is None or second is None)):
        raise BuildError(f"{where}: the right answers are not all given")
    answer = Vote(True, first, second) if coherent else Vote(False, None, None)
    words = (cells["text"].strip(), cells["pronoun"].strip(), cells["first"].strip(), cells["second"].strip())
    if not all(words):
        raise BuildError(f"{where}: text, pronoun, first and second must all be there")
    return KnownQuestion(*words, answer, cells.get("why", ""))
