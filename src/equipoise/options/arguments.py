"""Arguments of the functions that users call: one of another type is an error of ours that names it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from .option import WORDS, OptionError, Options, check_names, fits, options_of, written

Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function) -> Function:
    """Return the function; called with an argument that it does not have, or of another type, it raises our error."""
    parameters = inspect.signature(function).parameters
    named = [name for name, parameter in parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]

    @wraps(function)
    def call(*given: Any, **choices: Any) -> Any:
        if len(named) == len(parameters):
            check_names(choices, named)
        for name, value in {**dict(zip(named, given, strict=False)), **choices}.items():
            if name in named:
                check_type(name, value, _hints(function)[name])
        return function(*given, **choices)

    return call  # type: ignore[return-value]


def takes(taker: type[Options]) -> Callable[[Function], Function]:
    """Return a decorator: the arguments are checked, and signature and docstring name the options, not `**choices`."""

    def decorate(plain: Function) -> Function:
        options, function = options_of(taker), checked(plain)
        signature = inspect.signature(function)
        kept = [known for known in signature.parameters.values() if known.kind is not known.VAR_KEYWORD]
        made = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=known.default, annotation=known.type)
            for name, known in options.items()
        ]
        function.__signature__ = signature.replace(parameters=[*kept, *made])  # type: ignore[attr-defined]
        lines = [f"    {name}: {known.explanation}" for name, known in options.items()]
        function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Options:", *lines])
        return function

    return decorate


def check_fields(chosen: Mapping[str, Any], kind: type[Any]) -> None:
    """Raise an error where a choice is not a field of the class, or is of another type."""
    check_names(chosen, [known.name for known in fields(kind)])
    for name, value in chosen.items():
        check_type(name, value, get_type_hints(kind)[name])


def check_type(name: str, value: Any, hint: Any) -> None:
    """Raise an error where a value is not of the type that the annotation names."""
    if not _is(value, hint):
        kinds = [part for part in _parts(hint) if part is not type(None)]
        words = list(dict.fromkeys(_words(kind) for kind in kinds))
        raise OptionError(f"{name} must be {' or '.join(words)}, not {written(value)}", name)


@cache
def _hints(annotated: Hashable) -> dict[str, Any]:
    return get_type_hints(annotated)


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the types that an annotation allows."""
    return (hint,) if get_origin(hint) is Sequence or not get_args(hint) or _is_function(hint) else get_args(hint)


def _is_function(hint: Any) -> bool:
    return get_origin(hint) is Callable or hint is Callable


def _is(value: Any, hint: Any) -> bool:
    """Return whether a value is of one of the types that an annotation allows."""
    if hint is Any or len(_parts(hint)) > 1:
        return hint is Any or any(_is(value, part) for part in _parts(hint))
    if get_origin(hint) is Sequence:
        return isinstance(value, list | tuple) and all(_is(entry, get_args(hint)[0]) for entry in value)
    if _is_function(hint):
        return callable(value)
    if hint in WORDS:
        return fits(value, hint)
    return isinstance(value, os.PathLike if hint is Path else hint)


def _words(hint: Any) -> str:
    """Return what a type is called, with its article; several are a list."""
    if get_origin(hint) is Sequence:
        kinds = dict.fromkeys(_words(part) for part in _parts(get_args(hint)[0]))
        return "a list" if set(kinds) != {"text"} else "a list of texts"
    if _is_function(hint):
        return "a function"
    return WORDS.get(hint) or ("a path" if hint is Path else f"a {hint.__name__}")
