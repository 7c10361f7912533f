"""Options as the command line takes them: made from the table of options, where each is declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..options import AuditOptions, Option, OutputOptions, RunOptions, options_of
from ..records import EquipoiseError

if TYPE_CHECKING:
    from ..topics.published import PublishedValue

AUDIT = options_of(RunOptions, AuditOptions, OutputOptions)
"""The options of `equipoise audit` by name."""


def flag(option: Option, help: str = "") -> Any:
    """Return the option as typer declares it, with another help text where one is given."""
    text = (help or option.help) + (" Repeatable." if option.several or option.pairs else "")
    if option.positional:
        return typer.Argument(help=text, rich_help_panel=option.panel)
    names = [f"--{option.key}", *([option.short] if option.short else [])]
    # typer would show a list of Python's.
    metavar = f"<{'|'.join(option.choices) or 'str'}>" if option.several or option.pairs else None
    return typer.Option(*names, help=text, rich_help_panel=option.panel, metavar=metavar)


Quiet = Annotated[bool, flag(AUDIT["quiet"])]
Json = Annotated[bool, flag(AUDIT["json"])]
NoHtml = Annotated[bool, flag(AUDIT["no_html"])]
Where = Annotated[list[str] | None, flag(AUDIT["where"])]
Resamples = Annotated[int, flag(AUDIT["resamples"])]
Level = Annotated[float, flag(AUDIT["level"])]


def with_options(
    *names: str, table: Mapping[str, Option] = AUDIT, unset: bool = True, **helps: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: the command's `**choices` become options of the table, with its help or the one given.

    The command gets the values as the library takes them. With `unset` it gets only what was given; else the table's
    defaults are shown, and values that are not set are left out.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        options = [table[name] for name in (*names, *helps)]
        kept = _parameters(function)
        made = [_parameter(option, unset=unset, help=helps.get(option.name, "")) for option in options]

        def command(**values: Any) -> None:
            for option in options:
                value = values.pop(option.name)
                if value is not None:
                    values[option.name] = _library_value(option, value)
            function(**values)

        command.__doc__ = function.__doc__
        command.__signature__ = inspect.Signature([*kept, *made])  # type: ignore[attr-defined]
        command.__annotations__ = {known.name: known.annotation for known in (*kept, *made)}
        return command

    return decorate


def _parameters(function: Callable[..., None]) -> list[inspect.Parameter]:
    """Return the parameters that a command has beside those of the table, by keyword."""
    known = inspect.signature(function, eval_str=True).parameters.values()
    kept = [parameter for parameter in known if parameter.kind is not parameter.VAR_KEYWORD]
    return [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in kept]


def _parameter(option: Option, *, unset: bool, help: str) -> inspect.Parameter:
    kind: Any = Path if option.path else option.kind
    if option.choices and not option.commas:
        # typer knows no list of literals.
        enumeration: Any = StrEnum
        kind = enumeration(option.name, list(option.choices)) if option.several else Literal[option.choices]
    if option.several or option.pairs:
        kind = list[kind]
    default = None if unset and option.kind is not bool else shown_default(option)
    if default is None:
        kind = kind | None
    annotation = Annotated[kind, flag(option, help)]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def was_given(context: typer.Context, name: str) -> bool:
    """Return whether a parameter was given, on the command line or in a file."""
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT",)


def shown_default(option: Option) -> Any:
    """Return the default as the command line has it: None where there is nothing to show."""
    if isinstance(option.default, tuple):
        return list(option.default) or None
    return None if option.default in ("", {}) and option.kind is not bool else option.default


def _library_value(option: Option, value: Any) -> Any:
    """Return a value from the command line as the library takes it."""
    if option.pairs:
        return _column_map(value)
    if option.commas:
        return [part.strip() for text in value for part in text.split(",") if part.strip()]
    if option.several:
        return [str(item) for item in value]
    return str(value) if option.path else value


def _column_map(parts: Sequence[str]) -> dict[str, str]:
    """Return the column map of `a=b,c=d` parts."""
    mapping: dict[str, str] = {}
    for part in (piece for option in parts for piece in option.split(",")):
        name, separator, column = (piece.strip() for piece in part.partition("="))
        if not separator or not name or not column:
            raise EquipoiseError(f"--columns takes name=column parts, not {part!r}")
        if name in mapping:
            raise EquipoiseError(f"--columns names {name!r} twice: {mapping[name]!r} and {column!r}")
        mapping[name] = column
    return mapping


# typer knows no list of literals.
Recalibration = StrEnum("Recalibration", ["beta", "platt", "isotonic", "temperature", "histogram"])
PaperValues = StrEnum("PaperValues", ["ucerf-paper", "winoidentity-paper", "gender-ece-paper"])

Against = Annotated[
    list[PaperValues] | None,
    typer.Option("--against", help="Show the published values of this paper beside the runs' own. Repeatable."),
]


def published_values(against: Sequence[PaperValues] | None) -> list[PublishedValue]:
    """Return the published values of the papers named."""
    if not against:
        return []
    from ..papers.published import published_values as values_of

    return [value for name in against for value in values_of(name.removesuffix("-paper"))]
