"""The commands of README and docs, with the output that is shown below each.

A comment before a block, `<!-- not run: REASON -->` or `<!-- not run: REASON | WORDS, WORDS -->`, marks what is not
run: the whole block, or its lines with these words. In a `console` block, lines after `$ COMMAND` are its output.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.parent.name != "reference"]  # generated from the command line itself
BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^|>]+?)(?: \| (?P<lines>[^>]+?))? -->\n+)?"
    r"^ *```(?P<kind>[\w-]*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
SHELL = ("", "console", "bash", "sh")
PROGRAM = re.compile(r"(equipoise|make|pip|python|ls) ")


@dataclass(frozen=True)
class Command:
    """A line of a page; `reason` says why it is not run, `shown` is the output that the page shows."""

    page: str
    line: str
    reason: str = ""
    shown: str = ""

    def __str__(self) -> str:
        return f"{self.page}: {self.line}"

    @property
    def words(self) -> list[str]:
        """The words after `equipoise`."""
        return shlex.split(self.line, comments=True)[1:]


def blocks(page: str) -> Iterator[re.Match[str]]:
    """Yield the code blocks of a page."""
    return BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))


def commands() -> Iterator[Command]:
    """Yield every line of a shell block that calls a program."""
    for path in PAGES:
        page = path.relative_to(ROOT).as_posix()
        for block in blocks(page):
            if block["kind"] not in SHELL:
                continue
            marked = [words.strip() for words in (block["lines"] or "").split(",") if words.strip()]
            for line, shown in lines(re.sub(r"\\\n\s*", "", block["text"]), session=block["kind"] == "console"):
                if PROGRAM.match(line):
                    applies = block["reason"] and (not marked or any(words in line for words in marked))
                    yield Command(page, line, block["reason"] if applies else "", shown)


def lines(text: str, *, session: bool) -> Iterator[tuple[str, str]]:
    """Yield the lines of a block; of a session, the commands with their output."""
    if not session:
        yield from ((line.strip().removeprefix("$ "), "") for line in text.splitlines())
        return
    for part in re.split(r"^ *\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line.strip(), shown.strip()


def files_of(page: str) -> dict[str, str]:
    """Return the files that a page shows with their names."""
    return {block["title"]: block["text"] for block in blocks(page) if block["title"]}


def is_output(shown: str, output: str) -> bool:
    """Return whether the output is what is shown; "…" stands for anything, and lines may break elsewhere."""
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in shown.split("…"))
    return re.fullmatch(pattern, " ".join(output.split())) is not None
