"""`audit --config FILE`, `audit --print-config` and `equipoise init`: the options of an audit as a TOML file."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from ..records import EquipoiseError

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "a path"}


def _options(command: Any) -> dict[str, Any]:
    """Return the parameters that a file may set, by their names without dashes."""
    ours = ("help", "config", "print_config")
    parameters = [parameter for parameter in command.params if parameter.name not in ours]
    return {max(parameter.opts, key=len).lstrip("-"): parameter for parameter in parameters}


def _kind(parameter: Any) -> tuple[Any, bool]:
    """Return the type of a parameter's value, and whether it takes several."""
    kind = parameter.type_descriptor.annotation
    return (get_args(kind)[0], True) if get_origin(kind) is list else (kind, False)


def _choices(kind: Any) -> tuple[str, ...]:
    """Return the words that an option takes, none where it takes any."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(item.value for item in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


def read_config(path: Path, command: Any) -> dict[str, Any]:
    """Return the values in a TOML file, by the names of the command's parameters; every mistake is one sentence."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EquipoiseError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EquipoiseError(f"{path}: is not a TOML file: {error}") from None
    options = _options(command)
    chosen = {}
    for key, value in values.items():
        name = key.replace("_", "-")
        if name not in options:
            close = difflib.get_close_matches(name, options, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else "; `equipoise init` writes a file with all options"
            raise EquipoiseError(f"{path}: unknown option {key!r}{hint}")
        parameter = options[name]
        chosen[parameter.name] = _value(value, parameter, f"{path}: {key}")
    return chosen


def _value(value: Any, parameter: Any, where: str) -> Any:
    """Return the value as the command line would give it."""
    kind, several = _kind(parameter)
    if several:
        if isinstance(value, Mapping):  # columns = {text = "sentence"}
            value = [f"{name}={item}" for name, item in value.items()]
        return [_single(item, kind, where) for item in (value if isinstance(value, list) else [value])]
    if kind is str and isinstance(value, list):  # attributes = ["age", "race"]
        return ",".join(_single(item, str, where) for item in value)
    return _single(value, kind, where)


def _single(value: Any, kind: Any, where: str) -> Any:
    if choices := _choices(kind):
        if value not in choices:
            raise EquipoiseError(f"{where} must be one of {', '.join(choices)}, not {value!r}")
        return value
    accepted: Any = {bool: bool, int: int, float: (int, float), Path: str}.get(kind, str)
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise EquipoiseError(f"{where} must be {WORDS.get(kind, 'text')}, not {value!r}")
    return value


def take_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make a file's values the defaults of the command's options: what is on the command line wins."""
    if path is not None:
        context.default_map = read_config(path, context.command)
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        is_eager=True,
        callback=take_config,
        help="A TOML file with any of these options (`equipoise init` writes one); the command line wins.",
    ),
]
PrintConfig = Annotated[
    bool, typer.Option("--print-config", help="Print all options as TOML, as this command would use them, and stop.")
]


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False)


def config_text(command: Any, values: Mapping[str, Any]) -> str:
    """Return the options with these values as TOML; options without a value are comments."""
    lines = []
    for name, parameter in _options(command).items():
        value = values.get(parameter.name)
        lines.append(f"# {name} is not set" if value is None or value in ([], ()) else f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _commented(command: Any) -> Iterator[str]:
    """Yield every option with its help and its default, commented out."""
    examples: dict[Any, Any] = {bool: False, int: 1, float: 0.5}
    for name, parameter in _options(command).items():
        kind, several = _kind(parameter)
        words = (parameter.help or "").replace("--", "").split()
        yield from _wrapped(words)
        choices = _choices(kind)
        if choices:
            yield f"# One of: {', '.join(choices)}."
        default = parameter.default
        if default is None:
            default = choices[0] if choices else examples.get(kind, "")
            default = [default] if several else default
        yield f"# {name} = {_toml(default)}"
        yield ""


def _wrapped(words: list[str]) -> Iterator[str]:
    line = "#"
    for word in words:
        if len(line) + len(word) > 110:
            yield line
            line = "#"
        line += f" {word}"
    yield line


INTRODUCTION = """\
# What to audit, and how: equipoise audit --config {name}
# Take the # away from an option to set it. What is on the command line wins over this file.

model = "smollm2"
data = ["builtin"]
task = ["next-word"]

"""


def init(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write a configuration file for `equipoise audit`. It has every option, explained in comments."""
    from ..files import write_file

    if path.exists() and not force:
        raise EquipoiseError(f"{path} exists already; --force replaces it")
    group: Any = context.find_root().command
    shown = ("model", "data", "task")
    blocks = "\n".join(_commented(group.commands["audit"])).split("\n\n")
    rest = [block for block in blocks if not any(f"\n# {name} = " in block for name in shown)]
    write_file(path, (INTRODUCTION.format(name=path) + "\n\n".join(rest)).encode())
    typer.echo(f"{path} is written; edit it, then run: equipoise audit --config {path}")
