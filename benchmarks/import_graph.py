"""The shape of the house: modules, imports, cycles, lines at the root, largest file.

python benchmarks/import_graph.py [FOLDER of the package, by default this one's]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "src" / "equipoise"


def modules(package: Path) -> dict[str, Path]:
    """Return the modules of a package by their dotted names."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(name: str, file: Path, known: dict[str, Path], *, lazy: bool) -> Iterator[str]:
    """Yield the modules of the package that a module imports; `lazy`: also inside functions."""
    here = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    here = [part for part in here if part]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typing_only = {id(n) for node in ast.walk(tree) if _is_typing(node) for n in ast.walk(node)}
    nodes = ast.walk(tree) if lazy else iter(tree.body)
    for node in nodes:
        if not isinstance(node, ast.ImportFrom) or not node.level or id(node) in typing_only:
            continue
        base = here[: len(here) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            full = ".".join([*base, alias.name])
            yield full if full in known else ".".join(base)


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle (strongly connected components)."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(name: str, edges: dict[str, set[str]], out: list[str]) -> None:
        stack = [(name, iter(sorted(edges.get(name, ()))))]
        seen.add(name)
        while stack:
            current, children = stack[-1]
            child = next((c for c in children if c not in seen), None)
            if child is None:
                out.append(current)
                stack.pop()
            else:
                seen.add(child)
                stack.append((child, iter(sorted(edges.get(child, ())))))

    for name in sorted(graph):
        if name not in seen:
            visit(name, graph, order)
    reverse: dict[str, set[str]] = {}
    for name, targets in graph.items():
        for target in targets:
            reverse.setdefault(target, set()).add(name)
    seen.clear()
    groups = []
    for name in reversed(order):
        if name not in seen:
            group: list[str] = []
            visit(name, reverse, group)
            groups.append(group)
    return [sorted(group) for group in groups if len(group) > 1]


def main() -> None:
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    known = modules(package)
    lengths = {name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in known.items()}
    largest = max(lengths, key=lambda name: lengths[name])
    print(f"modules: {len(known)}, lines: {sum(lengths.values()):,}")
    root = sum(n for name, n in lengths.items() if known[name].parent == package)
    print(f"lines at the package root: {root:,}")
    print(f"largest file: {largest} ({lengths[largest]} lines)")
    for lazy in (False, True):
        graph = {
            name: {t for t in imports(name, file, known, lazy=lazy) if t != name and t} for name, file in known.items()
        }
        found = cycles(graph)
        kind = "with lazy ones" if lazy else "at import"
        print(f"imports {kind}: {sum(map(len, graph.values()))}, cycles: {len(found)}", *found[:3])
    run = sorted(set(imports("run", known["run"], known, lazy=True)))
    print(f"run.py: {lengths['run']} lines, imports {len(run)} modules: {', '.join(run)}")


if __name__ == "__main__":
    main()
