"""Findings, tables and charts as Markdown: for cards, issues and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..records.scripts import printable
from ..records.showing import Chart, Finding, Section, Shown
from .cells import PlainTable, StrongText, plain


def draw(shown: Shown | Section) -> str:
    """Return a finding as a line of a list, a table in pipes, a chart as its table, or a section with its heading."""
    if isinstance(shown, Finding):
        return f"**{escaped(shown.text)}**\n" if shown.topic == "verdict" else f"- {escaped(shown.text)}\n"
    if isinstance(shown, Section):
        return sections([shown])
    return table(plain(shown.table() if isinstance(shown, Chart) else shown))


def sections(several: Iterable[Section], level: int = 2) -> str:
    """Return sections one under another, each with its heading."""
    blocks = []
    for section in several:
        blocks += [f"{'#' * level} {escaped(section.title)}\n"] if section.title else []
        blocks += [f"{escaped(section.intro)}\n"] if section.intro else []
        for entry in section.shown:
            blocks.append(sections([entry], level + 1) if isinstance(entry, Section) else draw(entry))
    return "\n".join(blocks)


def table(plain_table: PlainTable) -> str:
    """Return a table in Markdown's pipes, with its title under it."""
    rule = ["---" if column.words else "---:" for column in plain_table.columns]
    lines = [[escaped(column.title) for column in plain_table.columns], rule]
    for row in plain_table.rows:
        filled = [*row, *[""] * (len(plain_table.columns) - len(row))]
        lines.append([f"**{escaped(cell)}**" if isinstance(cell, StrongText) else escaped(cell) for cell in filled])
    notes = " ".join([*([f"{plain_table.title}."] if plain_table.title else []), *plain_table.notes])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + f"\n\n{escaped(notes)}\n"


def one_line(text: str) -> str:
    """Return the text on one line, without what is not a character of a text."""
    return printable(" ".join(text.split()))


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    # Angle brackets too: Markdown passes HTML through.
    marked = re.sub(r"([\\`*_{}\[\]|#~])", r"\\\1", one_line(text))
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
