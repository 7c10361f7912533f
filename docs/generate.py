"""Write the reference from the code: `python docs/generate.py`; with `--check`, only say which pages are outdated."""

from __future__ import annotations

import ast
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "equipoise"
DOCS = ROOT / "docs"
MARK = "<!-- From here on written by docs/generate.py: change the code, then run `make reference`. -->\n"
NOTE = "<!-- Written by docs/generate.py: change the code, then run `make reference`. -->\n"

MODULES = (
    ("run", "The pipeline: every function returns a `Run`."),
    ("options", "Every choice about an audit, by the part of the program that takes it."),
    ("settings", "All options of an audit together."),
    ("runs.run", "A run folder, read back."),
    ("comparing.comparison", "Runs on the same sentences, compared."),
    ("verdict.gate", "A run checked against requirements."),
    ("records.examples", "What a model is asked about. All types are importable from `equipoise.records`."),
    ("records.prompts", "What an engine is asked, and its answer."),
    ("records.outcomes", "What a model made of each item."),
    ("records.limits", "How far probabilities are known."),
    ("records.measurements", "What was measured."),
    ("records.errors", "Errors: wrong input, and values that are not defined."),
    ("datasets", "Datasets by name or path."),
    ("datasets.dataset", "What a loader returns."),
    ("tasks", "Ways to ask an example."),
    ("scoring.engine", "What answers prompts."),
    ("uncertainty", "From a distribution over candidates to a certainty."),
    ("metrics", "The table of metrics."),
    ("metrics.fairness", "Fairness metrics: arrays in, one number out."),
    ("metrics.calibration", "Calibration metrics."),
    ("metrics.confidence", "Coreference confidence."),
    ("stats.bootstrap", "Intervals."),
    ("stats.paired", "Paired tests."),
)
"""The modules that other packages may import from, top to bottom as data flows through them."""


def plain(text: str) -> str:
    """Return the text as one line that fits a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _default(parameter: Any) -> str:
    default = parameter.default
    if default is None or default is False or callable(default) or parameter.required:
        return ""
    return ", ".join(f"`{value}`" for value in (default if isinstance(default, list) else [default]))


def _values(parameter: Any) -> str:
    """Return what may be given: the choices, or the kind of value; nothing for a flag."""
    kind = parameter.type_descriptor.annotation
    if get_origin(kind) is list:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return " \\| ".join(f"`{choice}`" for choice in get_args(kind))
    if issubclass(kind, Enum):
        return " \\| ".join(f"`{choice.value}`" for choice in kind)
    return {str: "text", int: "number", float: "number", Path: "path"}.get(kind, "")


def _options(command: Any) -> Iterator[str]:
    """Yield a table of the parameters, or one for each panel of the command's help."""
    from equipoise.cli.help import COMMON
    from equipoise.options import PANELS

    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        is_option = parameter.param_type_name == "option"
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        name = names if is_option else f"`{parameter.name.upper()}`"
        several = "; repeatable" if parameter.multiple or parameter.nargs == -1 else ""
        text = plain(parameter.help or "")
        cells = (name, _values(parameter) + several, _default(parameter), text)
        panel = getattr(parameter, "rich_help_panel", None) if command.name in COMMON else None
        panels.setdefault(panel or "", []).append(f"| {' | '.join(cells)} |")
    for panel, rows in sorted(panels.items(), key=lambda item: PANELS.index(item[0]) if item[0] else -1):
        heading = f"**{panel}**\n\n" if panel else ""
        yield heading + "| | value | default | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _commands(command: Any, name: str, depth: int) -> Iterator[str]:
    commands = getattr(command, "commands", {})
    text = (command.help or "").replace("\b\n", "").strip()
    yield f"{'#' * min(depth, 4)} `{name}`\n\n{re.sub(r'<(?=[A-Za-z])', '&lt;', text)}\n"
    if not commands:
        arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
        usage = " ".join(
            f"{'' if item.required else '['}{item.name.upper()}{'' if item.required else ']'}"
            + ("…" if item.nargs == -1 else "")
            for item in arguments
        )
        yield "```\n" + " ".join(part for part in (name, usage, "[OPTIONS]") if part) + "\n```\n"
    yield from _options(command)
    for subname, subcommand in commands.items():
        yield from _commands(subcommand, f"{name} {subname}", depth + 1)


def cli_page() -> str:
    """Return the reference of the command line."""
    from typer.main import get_command

    from equipoise.cli import app

    intro = (
        "# Command line\n\nEvery command and option. Exit codes: 0 when it worked; 1 when a check failed (`gate`, "
        "`verify`, `doctor`); 2 when the command could not do its work (one sentence on standard error says why); 3 "
        "when a gate is undecided.\n"
    )
    return "\n".join((NOTE, intro, *_commands(get_command(app), "equipoise", 2)))


def _docstring(node: Any) -> str:
    return (ast.get_docstring(node) or "").replace("<", "&lt;")


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    line = f"{name}({arguments}){returns}"
    if len(line) <= 100:
        return line
    parts = [part.strip() for part in _split(arguments)]
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def _split(arguments: str) -> Iterator[str]:
    """Yield the arguments of a signature: split at the commas outside all brackets."""
    depth, start = 0, 0
    for position, character in enumerate(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            yield arguments[start:position]
            start = position + 1
    if arguments[start:].strip():
        yield arguments[start:]


def _is_property(node: ast.AST) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "property" for item in getattr(node, "decorator_list", ()))


def _fields(node: ast.ClassDef) -> list[str]:
    rows = []
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id[0] != "_":
            default = f"`{plain(ast.unparse(item.value))}`" if item.value else ""
            rows.append(f"| `{item.target.id}` | `{plain(ast.unparse(item.annotation))}` | {default} |")
    return rows


def _class(node: ast.ClassDef, module: str) -> Iterator[str]:
    yield f"### `{module}.{node.name}`\n\n{_docstring(node)}\n"
    if parents := [ast.unparse(parent) for parent in node.bases if ast.unparse(parent).endswith("Options")]:
        yield f"It has the options of {', '.join(f'`{parent}`' for parent in parents)}.\n"
    if fields := _fields(node):
        yield "| field | type | default |\n|---|---|---|\n" + "\n".join(fields) + "\n"
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name[0] != "_":
            returns = f" -> {ast.unparse(item.returns)}" if item.returns else ""
            name = f"{item.name}{returns}" if _is_property(item) else _signature(item, item.name)
            yield f"```python\n{name}\n```\n\n{_docstring(item)}\n"


def _module(name: str, summary: str) -> Iterator[str]:
    path = PACKAGE / Path(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    module = f"equipoise.{name}"
    yield f"## `{module}`\n\n{summary}\n"
    if name == "options":
        yield from _takers()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(following, ast.Expr):
            # A metric that is the size of differences is made, not defined; its description follows it.
            target, code = ast.unparse(node.targets[0]), f"```python\n{ast.unparse(node)}\n```"
            if target.islower():
                yield f"### `{module}.{target}`\n\n{code}\n\n{ast.literal_eval(following.value)}\n"
        elif isinstance(node, ast.ClassDef) and node.name[0] != "_":
            yield from _class(node, module)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            signature = _signature(node, node.name)
            yield f"### `{module}.{node.name}`\n\n```python\n{signature}\n```\n\n{_docstring(node)}\n"


def _takers() -> Iterator[str]:
    """Yield the classes of options, each with a table of what it declares."""
    from equipoise.options import Options, options_of, table

    classes = [known for known in vars(table).values() if isinstance(known, type) and issubclass(known, Options)]
    for taker in classes:
        if taker is Options:
            continue
        parents = [parent for parent in taker.__bases__ if parent is not Options]
        also = f"\n\nIt has the options of {', '.join(f'`{p.__name__}`' for p in parents)}, too." if parents else ""
        yield f"### `equipoise.options.{taker.__name__}`\n\n{taker.__doc__}{also}\n"
        inherited = options_of(*parents) if parents else {}
        rows = ["| option | type | default | |", "|---|---|---|---|"]
        for name, option in options_of(taker).items():
            if name not in inherited:
                kind = plain(" or ".join(f'"{word}"' for word in option.choices) or option.words)
                rows.append(f"| `{name}` | {kind} | `{plain(repr(option.default))}` | {plain(option.explanation)} |")
        yield "\n".join(rows) + "\n"


def api_page() -> str:
    """Return the reference of the Python interface."""
    import equipoise

    names = [f"`{name}`" for name in dir(equipoise) if not name.startswith("_")]
    intro = (
        f"# Python\n\n`import equipoise` gives {', '.join(names[:-1])} and {names[-1]}. The modules "
        "below may be imported too; everything else may change without notice.\n"
    )
    modules = (part for name, summary in MODULES for part in _module(name, summary))
    return "\n".join((NOTE, intro, *modules))


def metrics_page() -> str:
    """Return the page on metrics, with the table of all of them from their rows."""
    from equipoise.metrics import METRICS

    lines = [
        "| metric | in words | range | better | taken over | what it is | p-value of | paper |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for metric in METRICS.values():
        low, high = ("∞" if math.isinf(bound) else f"{bound:g}" for bound in metric.bounds)
        words = (metric.label, f"{'−' if low == '∞' else ''}{low} to {high}", metric.better, metric.taken_over)
        cells = (f"`{metric.name}`", *map(plain, words), plain(metric.summary), plain(metric.null), plain(metric.paper))
        lines.append(f"| {' | '.join(cells)} |")
    intro = "## Every metric\n\n`equipoise list metrics` prints this table, with the metrics of your plug-ins.\n"
    return _ending("metrics.md", intro, lines)


def run_folder_page() -> str:
    """Return the page on the run folder, with the columns of measurements.csv and --json from their JSON Schema."""
    schema = json.loads((PACKAGE / "runs" / "measurements.schema.json").read_text(encoding="utf-8"))
    lines = ["| column | type | what |", "|---|---|---|"]
    for name, column in schema["properties"]["measurements"]["items"]["properties"].items():
        kind = column.get("type") or [f'"{choice}"' for choice in column["enum"]]
        kinds = kind if isinstance(kind, str) else " or ".join(kind)
        lines.append(f"| `{name}` | {kinds} | {plain(column['description'])} |")
    intro = (
        f"## Columns of measurements.csv\n\n{schema['title']} (`{schema['$id']}`). {schema['description']} "
        "`equipoise list schema` prints the JSON Schema.\n"
    )
    return _ending("run-folder.md", intro, lines)


def _ending(name: str, intro: str, lines: list[str]) -> str:
    """Return a page whose first part people write and whose last part is this."""
    written, _, _ = (DOCS / name).read_text(encoding="utf-8").partition(MARK)
    return "\n".join((written + MARK, intro, *lines, ""))


WRITERS: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli_page,
    "reference/api.md": api_page,
    "metrics.md": metrics_page,
    "run-folder.md": run_folder_page,
}
"""File name under docs/ -> what writes it."""


def outdated() -> list[str]:
    """Return the names of the pages that differ from what the code says."""
    pages = {name: DOCS / name for name in WRITERS}
    return [name for name, page in pages.items() if not page.is_file() or page.read_text("utf-8") != WRITERS[name]()]


def main(arguments: Iterable[str]) -> int:
    """Write the pages, or check them."""
    if "--check" in arguments:
        names = outdated()
        print("\n".join(f"docs/{name} is out of date: run `make reference`" for name in names), end="")
        return 1 if names else 0
    for name, write in WRITERS.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
