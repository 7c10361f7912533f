"""Plain English: what people read has none of the phrases that the style of the project replaced."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "equipoise"
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = sorted(PACKAGE.rglob("*.py"))

PHRASES = {
    r"(?<!there )(?<!where )\b(?:is|are|was) no (?!longer|more|wider|other|better)\w": "is not a …",
    r"\bthere is no (?:metric|engine|task|dataset|column|such)\b": "unknown …, no …",
    r"\bstands? (?!for\b|in for\b)": "is, comes, occurs",
    r"\bso many\b": "at most N, this number of",
    r"\bwhat lacks\b|\bone that lacks\b": "what is missing",
    r"\bmend(?:s|ed)?\b": "fix",
    r"\breckon": "estimate",
    r"\bminding whom\b": "(signed)",
    r"\b(?:a|one) (?:row|column|value|number) an? (?!be\b)\w+(?<!few)": "one row for each item",
    r"\bso turned\b|\bwhat has no value\b|\bno value of these\b|\bmore groups? \(": "say what is missing where",
    r"\bThe same of an?\b|\bchose nobody\b|\bprocess of that number\b|\bHow far a suite\b": "a plain sentence",
    r"\bwith he - with she\b": "with he minus with she",
    r"\bupon\b|\bamid\b": "on, in one drawing, while",
    r"\bkeeps? the rules\b|\brequirements are kept\b": "passes",
}
"""Phrase -> what to write instead."""

VAGUE = {"one", "found", "told", "said", "here", "there", "each", "own"}
"""Names of variables that do not say what they hold."""


@cache
def texts(file: Path) -> tuple[tuple[int, str], ...]:
    """Return the comments and strings of a Python file, line by line, or all lines of another one."""
    return tuple(_texts(file))


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    if file.suffix != ".py":
        yield from enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        return
    with tokenize.open(file) as opened:
        for token in tokenize.generate_tokens(opened.readline):
            # Since Python 3.12 an f-string is several tokens.
            if tokenize.tok_name[token.type] in ("STRING", "COMMENT", "FSTRING_MIDDLE"):
                yield from enumerate(token.string.splitlines(), token.start[0])


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_has_a_phrase_that_was_replaced(phrase: str) -> None:
    pattern = re.compile(phrase, re.IGNORECASE)
    faults = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for file in (*GUIDES, *CODE)
        for number, line in texts(file)
        if pattern.search(line)
    ]
    assert not faults, f"write: {PHRASES[phrase]}"


def test_no_variable_has_a_name_that_says_nothing() -> None:
    faults = []
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""
            name = node.arg if isinstance(node, ast.arg) else name
            if name in VAGUE:
                faults.append(f"{file.relative_to(ROOT)}:{node.lineno}: {name}")  # type: ignore[attr-defined]
    assert not faults
