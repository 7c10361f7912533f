"""The commands that messages, pages and files of the package recommend, collected from its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import equipoise

PACKAGE = Path(equipoise.__file__).resolve().parent
DATA = (".toml", ".txt", ".html")
QUOTED = re.compile(r"`(equipoise [^`]+)`")
NAMES = "ask|audit|build|compare|data|export|gate|import|init|list|plan|report|study|view"
BARE = re.compile(rf"(?<!`)\b(equipoise (?:{NAMES})\b[^`\n;)<]*)")


@cache
def templates() -> frozenset[tuple[str, str]]:
    """Return every recommended command with its file; {} is where a message has a value."""
    return frozenset(
        (file.relative_to(PACKAGE).as_posix(), command)
        for file in sorted(PACKAGE.rglob("*"))
        if file.suffix == ".py" or file.suffix in DATA
        for text in _texts(file)
        for command in commands_in(text)
    )


def commands_in(text: str) -> list[str]:
    """Return the commands that a text recommends, in backticks or after a colon."""
    return [" ".join(found.split()) for found in (*QUOTED.findall(text), *BARE.findall(QUOTED.sub("", text)))]


def _texts(file: Path) -> Iterator[str]:
    """Yield the strings of a file that a user may see: no comments and no docstrings, but the help of commands."""
    content = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        yield content
        return
    tree = ast.parse(content)
    hidden = {id(part) for node in ast.walk(tree) for part in _unseen(node, file)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in hidden:
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.value


def _unseen(node: ast.AST, file: Path) -> Iterator[ast.AST]:
    """Yield the strings below a node that nobody sees: parts of a longer one, and docstrings except help."""
    if isinstance(node, ast.JoinedStr):
        yield from (part for part in ast.walk(node) if part is not node)
    is_help = isinstance(node, ast.FunctionDef) and file.parent.name == "cli" and node.decorator_list
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not is_help:
        yield from (item.value for item in node.body if isinstance(item, ast.Expr))
