"""Markdown: findings, tables, charts and sections, and no name that could break one."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from sample_charts import EVERY, estimate
from sample_sections import SECTIONS

from equipoise.media import markdown
from equipoise.records.showing import Column, Finding, Row, Section, Table

TABLE = Table(
    "Numbers", (Column("a", words=True), Column("b", "higher")), [Row(("x|y", estimate(0.5)))], notes=["A note."]
)


def test_a_table_has_pipes_alignment_and_its_title_under_it() -> None:
    lines = markdown.draw(TABLE).splitlines()
    assert lines[:2] == ["| a | b ↑ | n |", "| --- | ---: | ---: |"]
    assert lines[2] == r"| x\|y | 0.500 \[0.400, 0.600\] | 40 |" and lines[-1] == "Numbers. A note."


def test_sections_findings_and_charts() -> None:
    section = Section("What *was* found", [Finding("It <changed>."), Section("Inside", [TABLE])], intro="Before.")
    text = markdown.draw(section)
    assert text.startswith("## What \\*was\\* found\n\nBefore.\n\n- It &lt;changed&gt;.\n")
    assert "### Inside\n" in text
    assert markdown.draw(EVERY["rows"]).count("| nurse |") == 2, "a chart is its table"


@given(st.text(max_size=40))
def test_any_text_is_one_cell(text: str) -> None:
    made = markdown.draw(Table("", (Column("a", words=True), Column("b", words=True)), [Row((text, text))]))
    row = made.splitlines()[2]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3 and "<" not in row


def test_sections_are_written_as_they_were_kept() -> None:
    assert_kept("media/markdown", markdown.sections(SECTIONS), markdown.sections(SECTIONS[:1], 4))


@given(st.text())
def test_a_line_keeps_every_letter_that_can_be_printed(text: str) -> None:
    line = markdown.one_line(text)
    assert line.isprintable() and line == line.strip() and "  " not in line
    words = "".join(one if one.isprintable() or one.isspace() else "\N{REPLACEMENT CHARACTER}" for one in text)
    assert line.split() == words.split()


@given(st.text(st.sampled_from("\\`*_{}[]|#~&<>ab ")))
def test_every_mark_is_escaped_once(text: str) -> None:
    plain = re.sub(r"\\([\\`*_{}\[\]|#~])", r"\1", markdown.escaped(text))
    assert plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == markdown.one_line(text)
    assert "<" not in markdown.escaped(text) and ">" not in markdown.escaped(text)


def test_an_entity_is_shown_as_it_is() -> None:
    assert markdown.escaped("a & b <i>") == "a &amp; b &lt;i&gt;"
    assert markdown.escaped("&amp; &lt;") == "&amp;amp; &amp;lt;"
