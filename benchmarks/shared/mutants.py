"""Small mistakes in Python code: every one that can be made in a file, of eleven kinds.

Left alone are types, decorators, assertions, texts, and what no test can see by its nature: `strict=` and `encoding=`,
changes of type alone (`bool(x)`, `float(x)`, `list(x)`), and the order of arguments or checks that may be exchanged.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
TWINS = {"min": "max", "any": "all", "minimum": "maximum", "startswith": "endswith", "ceil": "floor", "lower": "upper"}
TWINS |= {twin: name for name, twin in TWINS.items()} | {"fullmatch": "match", "low": "value", "high": "value"}
EXCHANGEABLE = {"max", "min", "maximum", "minimum", "hypot", "isclose", "array_equal", "gcd", "union", "intersection"}
CONVERSIONS = {"bool", "float", "list", "tuple", "dict", "iter"}
UNSEEN = {"strict", "encoding", "flush", "stacklevel", "maxsize"}
"""Keywords that change nothing, or only what no test should depend on."""
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class Mutant(NamedTuple):
    """One change in a file: its kind, its line, the text before and after, and the whole file with it."""

    kind: str
    line: int
    before: str
    after: str
    source: str

    def changes(self, text: str) -> bool:
        """Return whether it can be read by Python and is another program."""
        try:
            return ast.dump(ast.parse(self.source)) != ast.dump(ast.parse(text))
        except SyntaxError:
            return False


def mutants(text: str) -> Iterator[Mutant]:
    """Yield every mutant of a file, in the order of its syntax tree."""
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    left_alone = {inner for node in _left_alone(tree) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if node in left_alone:
            continue
        changes = _statements(node) if isinstance(node, ast.stmt) else _expressions(node)
        yield from (_mutant(text, kind, old, new, parents) for kind, old, new in changes)


def _left_alone(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from node.decorator_list
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.ClassDef):
            yield from node.bases
        if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
            yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield node
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("cast", "TypeVar", "lru_cache", "NewType"):
            yield node
        if isinstance(node, ast.keyword) and node.arg in UNSEEN:
            yield node
        if isinstance(node, ast.Assign) and _is_of_types(node.value):
            yield node


def _is_of_types(value: ast.expr) -> bool:
    """Return whether a value is the name of a type, such as `Mapping[str, int] | None`."""
    parts = [value.left, value.right] if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr) else [value]
    names = [ast.unparse(part.value if isinstance(part, ast.Subscript) else part) for part in parts]
    whole = len(parts) > 1 or isinstance(value, ast.Subscript)
    return whole and all(name in ("None", "Any", "float", "int", "str") or name[:1].isupper() for name in names)


Change = tuple[str, ast.AST, Any]
"""The kind, the old node (or two statements), and the new one."""


def _expressions(node: ast.AST) -> Iterator[Change]:
    """Yield the changes of an expression."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for place, old in enumerate(ops):
                if type(old) in COMPARISONS:
                    swapped = [*ops[:place], COMPARISONS[type(old)](), *ops[place + 1 :]]
                    yield "comparison", node, ast.Compare(left, swapped, others)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS and not _is_text(node):
            yield "arithmetic", node, ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op=op, values=values):
            yield "boolean", node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield from (("boolean", node, _joined(op, [v for v in values if v is not value])) for value in values)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield "sign", node, operand
        case ast.Constant(value=bool()):
            yield "constant", node, ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield from (("constant", node, ast.Constant(node.value + step)) for step in (1, -1))
        case ast.Constant(value=float()):
            yield "constant", node, ast.Constant(node.value * 2 or 1.0)
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            yield "twin", node, ast.Subscript(value, ast.UnaryOp(ast.USub(), ast.Constant(1)))
        case ast.Subscript(value=value, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            yield "twin", node, ast.Subscript(value, ast.Constant(0))
        case ast.IfExp(body=body, orelse=orelse):
            yield from (("branch", node, side) for side in (body, orelse))
        case ast.Call():
            yield from _calls(node)
        case ast.Attribute(value=value, attr=name) if name in TWINS:
            yield "twin", node, ast.Attribute(value, TWINS[name])
        case ast.Name(id=name, ctx=ast.Load()) if name in ("min", "max", "any", "all"):
            yield "twin", node, ast.Name(TWINS[name])
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _filters(node)


def _joined(op: ast.boolop, values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op, values)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and isinstance(s.value, str))
        for s in (node.left, node.right)
    )


def _calls(node: ast.Call) -> Iterator[Change]:
    """Yield a call left out, its arguments exchanged, and each keyword left out."""
    plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    name = ast.unparse(node.func).rpartition(".")[2]
    if len(node.args) == len(plain) == 1 and not node.keywords and name not in CONVERSIONS:
        yield "call", node, plain[0]
    if not node.args and not node.keywords and isinstance(node.func, ast.Attribute):
        yield "call", node, node.func.value
    if len(plain) > 1 and len(plain) == len(node.args) and name not in EXCHANGEABLE:
        first, second, *rest = plain
        if ast.dump(first) != ast.dump(second):
            yield "arguments", node, ast.Call(node.func, [second, first, *rest], node.keywords)
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in UNSEEN:
            kept = [other for other in node.keywords if other is not keyword]
            yield "arguments", node, ast.Call(node.func, node.args, kept)


def _filters(node: Any) -> Iterator[Change]:
    """Yield a comprehension without each of its conditions."""
    for place, part in enumerate(node.generators):
        for condition in part.ifs:
            kept = [other for other in part.ifs if other is not condition]
            loops = [*node.generators]
            loops[place] = ast.comprehension(part.target, part.iter, kept, part.is_async)
            fields = {name: getattr(node, name) for name in node._fields if name != "generators"}
            yield "branch", node, type(node)(**fields, generators=loops)


def _statements(node: ast.stmt) -> Iterator[Change]:
    """Yield the changes of a statement, and of the order of those in it."""
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            yield from (("branch", test, ast.Constant(always)) for always in (True, False))
            if len(orelse) == 1 and isinstance(orelse[0], ast.If) and not _in_any_order(node, orelse[0]):
                other = orelse[0]
                rest = ast.If(test, body, other.orelse)
                yield "order", node, ast.If(other.test, other.body, [rest])
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom() | ast.Await()):
            yield "statement", node, ast.Pass()
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in OPERATORS:
            yield "arithmetic", node, ast.AugAssign(target, OPERATORS[type(op)](), value)
            yield "statement", node, ast.Pass()
        case ast.Continue():
            yield "statement", node, ast.Break()
        case ast.Break():
            yield "statement", node, ast.Continue()
    for name in ("body", "orelse"):
        several = getattr(node, name, None) or []
        for first, second in pairwise(several):
            if _is_check(first) and _is_check(second) and not _in_any_order(first, second):
                yield "order", first, (first, second)


def _is_check(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ENDS)


def _in_any_order(first: ast.If, second: ast.If) -> bool:
    """Return whether two checks can be exchanged: they do the same, or ask whether one thing is this or that."""
    if [ast.dump(part) for part in first.body] == [ast.dump(part) for part in second.body]:
        return True
    match first.test, second.test:
        case (
            ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=this)]),
            ast.Compare(left=other, ops=[ast.Eq()], comparators=[ast.Constant(value=that)]),
        ):
            return ast.dump(left) == ast.dump(other) and this != that
    return False


def _mutant(text: str, kind: str, old: ast.AST, new: Any, parents: dict[ast.AST, ast.AST]) -> Mutant:
    first, last = old, old
    if isinstance(new, tuple):
        first, last = new
        after = "\n".join(ast.unparse(ast.fix_missing_locations(part)) for part in reversed(new))
    else:
        # Python 3.11 does not say where a part of an f-string is, so the whole text is written anew.
        whole: ast.AST | None = old
        while whole is not None and not isinstance(whole, ast.stmt):
            if isinstance(whole, ast.JoinedStr):
                first = last = whole
            whole = parents.get(whole)
        after = ast.unparse(new) if first is old else _within(first, old, new)
        after = (
            f"({after})"
            if isinstance(first, ast.expr) and not isinstance(first, ast.Constant | ast.JoinedStr)
            else after
        )
    start, end = _place(text, first.lineno, first.col_offset), _place(text, last.end_lineno, last.end_col_offset)
    before = text[start:end]
    indented = textwrap.indent(after, " " * first.col_offset).lstrip() if isinstance(first, ast.stmt) else after
    return Mutant(kind, old.lineno, before, after, text[:start] + indented + text[end:])


def _within(whole: ast.AST, old: ast.AST, new: ast.AST) -> str:
    """Return the text of a node in which an inner one is another."""
    for node in ast.walk(whole):
        for name, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            for place, item in enumerate(items):
                if item is old:
                    changed = [*items[:place], new, *items[place + 1 :]]
                    setattr(node, name, changed if isinstance(value, list) else new)
                    try:
                        return ast.unparse(whole)
                    finally:
                        setattr(node, name, value)
    raise ValueError("the node is not in there")


def _place(text: str, line: int, column: int) -> int:
    """Return the place in the text of a line and a column, which counts bytes."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())
