"""`audit --config FILE`, `audit --print-config` and `equipoise init`: the options of an audit as a TOML file."""

from __future__ import annotations

import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from ..options import OUTPUT, Option, RunOptions, hint, options_of
from ..options.option import WORDS, fits
from ..records import EquipoiseError
from .console import tell
from .parameters import AUDIT, shown_default

FILE_OPTIONS = {option.key: option for option in AUDIT.values()}
"""The options by their names in a file."""

LINE = 110
"""Characters of a line of comments."""


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EquipoiseError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EquipoiseError(f"{path}: is not a TOML file: {error}") from None


def required(path: Path) -> list[str]:
    """Return the requirements of a file's table [gate]."""
    gate = _read(path).get("gate", {})
    require = gate.get("require", []) if isinstance(gate, dict) else None
    if not isinstance(require, list) or not all(isinstance(text, str) for text in require):
        raise EquipoiseError(f"{path}: [gate] needs require, a list of texts such as 'ucerf[type=type2] >= 0.80'")
    if isinstance(gate, dict) and (unknown := sorted(set(gate) - {"require"})):
        raise EquipoiseError(f"{path}: [gate] has {unknown[0]!r}; it can have require")
    return require


def read_config(path: Path) -> dict[str, Any]:
    """Return the values in a TOML file, by the names of the options; every mistake is one sentence."""
    required(path)
    values = {key: value for key, value in _read(path).items() if key != "gate"}
    chosen = {}
    for key, value in values.items():
        option = FILE_OPTIONS.get(key.replace("_", "-"))
        if option is None:
            known = hint(key, FILE_OPTIONS) or "; `equipoise init --all` writes a file with all options"
            raise EquipoiseError(f"{path}: unknown option {key!r}{known}")
        chosen[option.name] = _value(value, option, f"{path}: {key}")
    return chosen


def _value(value: Any, option: Option, where: str) -> Any:
    """Return the value as the command line would give it."""
    if not (option.several or option.pairs):
        return _single(value, option, where)
    if isinstance(value, Mapping):  # columns = {text = "sentence"}
        value = [f"{name}={item}" for name, item in value.items()]
    return [_single(item, option, where) for item in (value if isinstance(value, list) else [value])]


def _single(value: Any, option: Option, where: str) -> Any:
    if option.choices and not option.commas:
        if value not in option.choices:
            raise EquipoiseError(f"{where} must be one of {', '.join(option.choices)}, not {value!r}")
    elif not fits(value, option.kind):
        raise EquipoiseError(f"{where} must be {WORDS[option.kind]}, not {value!r}")
    return value


def take_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make a file's values the defaults of the command's options: what is on the command line wins."""
    if path is not None:
        context.default_map = read_config(path)
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        is_eager=True,
        callback=take_config,
        rich_help_panel=OUTPUT,
        help="A TOML file with any of these options (`equipoise init` writes one); the command line wins.",
    ),
]
PrintConfig = Annotated[
    bool,
    typer.Option(
        "--print-config",
        rich_help_panel=OUTPUT,
        help="Print all options as TOML, as this command would use them, and stop.",
    ),
]


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False)


def config_text(values: Mapping[str, Any]) -> str:
    """Return the options with these values as TOML; options without a value are comments."""
    lines = []
    for key, option in FILE_OPTIONS.items():
        value = values.get(option.name)
        lines.append(f"# {key} is not set" if value in (None, [], ()) else f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


SHORT = ("limit", "server", "orders", "out")
"""The options that `init` shows commented out; `init --all` has every one."""

GATE = (
    "# What `equipoise gate RUN --config {name}` requires; see `equipoise list metrics`.\n"
    "[gate]\n"
    'require = ["flip_rate[type=type1] <= 0.20"]\n'
)


def init_text(name: str, *, every: bool = False) -> str:
    """Return a configuration file: what to audit and a gate; with `every`, all options, explained in comments."""
    introduction = (
        f"# What to audit, and how: equipoise audit --config {name}\n"
        "# Take the # away from an option to set it. What is on the command line wins over this file.\n"
    )
    asked = [option for option in options_of(RunOptions).values() if option.default not in (None, False)]
    blocks = [introduction + "".join(f"\n{option.key} = {_toml(shown_default(option))}" for option in asked)]
    panel = ""
    for option in AUDIT.values():
        if option not in asked and (every or option.name in SHORT):
            heading = [f"# ---- {option.panel} ----", ""] if every and option.panel != panel else []
            blocks.append("\n".join([*heading, *_commented(option)]))
            panel = option.panel
    return "\n\n".join([*blocks, GATE.format(name=name)])


def _commented(option: Option) -> Iterator[str]:
    """Yield an option with its help and its default, commented out."""
    yield from textwrap.wrap(option.explanation, LINE, initial_indent="# ", subsequent_indent="# ")
    if option.choices:
        yield f"# One of: {', '.join(option.choices)}."
    example: Any = shown_default(option)
    if example is None:
        example = option.choices[0] if option.choices else {bool: False, int: 1, float: 0.5}.get(option.kind, "")
        example = [example] if option.several else example
    yield f"# {option.key} = {'{}' if option.pairs else _toml(example)}"


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("audit.toml"),
    every: Annotated[bool, typer.Option("--all", help="With every option, explained in comments.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write a configuration file for `equipoise audit`. It has what most people change, and a gate."""
    from ..files import write_file

    if path.exists() and not force:
        raise EquipoiseError(f"{path} exists already; --force replaces it")
    write_file(path, init_text(quote(str(path)), every=every).encode())
    tell(f"{path} is written; edit it, then run: equipoise audit --config {quote(str(path))}")
