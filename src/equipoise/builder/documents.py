"""Own documents (e-mails, CVs) in; a template file out, which `--data` reads: the same text about each group.

Nothing leaves the machine: names, titles and pronouns are found by lists and rules (`rules/people.py`).
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..datasets.pronouns import KNOWN
from ..datasets.rows import READERS, parse_toml, read_rows, read_text
from ..datasets.templates import FILE_KEYS, PRONOUN, load_templates
from ..files import write_file
from ..records import DatasetError
from .rules.people import NAME, Slotted, Wanted, slotted

ENDINGS = (".txt", ".md", ".eml", ".text")
"""Files that are documents."""

HEAD_KEYS = tuple(key for key in FILE_KEYS if key != "scenario")


@dataclass(frozen=True)
class Document:
    """A text, and the file and line where it begins; `rows`: of a table, so its lines are not those of the file."""

    id: str
    file: str
    line: int
    text: str
    rows: bool = False

    def place(self, start: int) -> str:
        """Return the file and line of a place in the text."""
        return f"{self.file}:{self.line + (0 if self.rows else self.text.count(chr(10), 0, start))}"


@dataclass(frozen=True)
class Made:
    """A document with its slots."""

    document: Document
    slotted: Slotted

    @property
    def doubts(self) -> list[str]:
        """What a person has to look at, each with its file and line."""
        return [f"{self.document.place(doubt.start)}: {doubt.what}" for doubt in self.slotted.doubts]

    @property
    def is_asked(self) -> bool:
        """Whether the document is ready to be asked; else a person has to decide something first."""
        return not self.slotted.is_open


def make(documents: Path, slots: Path, out: Path, *, column: str = "") -> list[Made]:
    """Write the template file of these documents, and return what was made of each."""
    if out.exists():
        raise DatasetError(f"{out} is there already, perhaps with your changes; name another file with --out")
    head, wanted = _head(slots)
    made = [Made(document, slotted(document.text, wanted)) for document in read_documents(documents, column)]
    text = "\n".join([head, *(_scenario(entry) for entry in made)])
    _check(text, slots)
    write_file(out, text.encode())
    return made


def read_documents(path: Path, column: str = "") -> list[Document]:
    """Return the documents of a text file, of all text files in a folder, or of a table's column."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS)
        if not files:
            raise DatasetError(f"{path}: has no text file ({', '.join(ENDINGS)})")
        documents = [Document(_name(file.relative_to(path)), file.name, 1, read_text(file)) for file in files]
    elif path.suffix.lower() in ENDINGS:
        documents = [Document(_name(Path(path.name)), path.name, 1, read_text(path))]
    elif path.suffix.lower() in READERS:
        table = read_rows(path)
        if not column:
            raise DatasetError(f"{table.file}: say which column has the texts: --column {' or '.join(table.columns)}")
        table.need(column)
        documents = [
            Document(
                f"{_name(Path(path.name))}-{row.line}", table.file, row.line, str(row.cells[column] or ""), rows=True
            )
            for row in table.rows
        ]
    elif not path.exists():
        raise DatasetError(f"{path}: does not exist")
    else:
        known = ", ".join((*ENDINGS, *READERS))
        raise DatasetError(f"{path.name}: is not a folder, a text or a table; known file endings: {known}")
    kept = [document for document in documents if document.text.strip()]
    if not kept:
        raise DatasetError(f"{path.name}: has no text")
    name, count = Counter(document.id for document in kept).most_common(1)[0]
    if count > 1:
        raise DatasetError(f"{path.name}: two documents have the name {name!r}; rename one")
    return kept


def _name(path: Path) -> str:
    return re.sub(r"[^\w-]+", "-", str(path.with_suffix("")))


def _head(path: Path) -> tuple[str, Wanted]:
    """Return the text of the slots file, and what its groups have words for; its own errors come from the loader."""
    text = read_text(path)
    content: Mapping[str, Any] = parse_toml(path.name, text)
    for key in content:
        if key not in HEAD_KEYS:
            raise DatasetError(f"{path.name}: unknown key {key!r}; the keys are: {', '.join(HEAD_KEYS)}")
    groups = content.get("groups")
    if not isinstance(groups, Mapping) or not groups:
        raise DatasetError(
            f'{path.name}: it has no groups: write [groups.gender] and woman = {{ name = "Anna", pronoun = "she" }}'
        )
    people = [(f"groups.{name}.{group}", words) for name, table in groups.items() for group, words in _tables(table)]
    for place, words in people:
        if PRONOUN not in words:
            raise DatasetError(
                f'{path.name}: {place} has no pronoun; write pronoun = "she", or another of {", ".join(KNOWN)}'
            )
    slots = frozenset.intersection(*(frozenset(words) - {PRONOUN} for _, words in people)) if people else frozenset()
    names = frozenset(name for _, words in people for name in _texts(words.get(NAME)))
    plural = any(KNOWN[word].plural for _, words in people for word in _texts(words[PRONOUN]) if word in KNOWN)
    return text.rstrip() + "\n", Wanted(slots, names, plural)


def _tables(table: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(table, Mapping):
        yield from ((str(group), words) for group, words in table.items() if isinstance(words, Mapping))


def _texts(value: Any) -> Sequence[str]:
    several = value if isinstance(value, list) else [value]
    return [word for word in several if isinstance(word, str) and word.strip()]


def _scenario(made: Made) -> str:
    """Return a document as a scenario, what is doubtful above it; one that cannot be asked yet is a comment."""
    escaped = made.slotted.text.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    escaped = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", escaped)
    lines = ["[[scenario]]", f'id = "{made.document.id}"', 'text = """', *f'{escaped}"""'.split("\n")]
    if not made.is_asked:
        lines = [f"# {line}".rstrip() for line in lines]
    heading = [f"# look: {doubt}" for doubt in made.doubts]
    if not made.is_asked:
        heading.append("# not asked: decide the above, write the slots, and take the # away")
    return "\n".join(["", *heading, *lines, ""])


def _check(text: str, slots: Path) -> None:
    """Raise the loader's error where the file that is made could not be read; it names the file of the slots."""
    content = tomllib.loads(text)
    # Where a person has to decide every document first, the groups and the question are checked with a text of ours.
    scenarios = content.get("scenario") or [{"id": "none yet", "text": "{They} came."}]
    try:
        load_templates({**content, "scenario": scenarios}, name=slots.stem)
    except DatasetError as error:
        raise DatasetError(f"{slots.name}: {str(error).removeprefix('data: ')}") from None
