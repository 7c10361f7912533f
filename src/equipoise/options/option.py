"""What an option is: declared once, as a field of whoever takes it, with all that is shown and checked of it."""

from __future__ import annotations

import difflib
import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

from ..records import EquipoiseError, listed

Taken = TypeVar("Taken", bound="Options")

ASK, MODEL, SERVER, PROMPT = "What to ask", "Model", "Server", "Prompt"
MEASURING, STOPPING, IDENTITIES = "Measuring", "Stopping early", "Identities"
CLUSTER, OUTPUT, TUNING = "Cluster", "Output", "Tuning"
PANELS = (ASK, MODEL, SERVER, PROMPT, MEASURING, STOPPING, IDENTITIES, CLUSTER, OUTPUT, TUNING)
"""The headings of help, in its order."""

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
"""What a value of each kind is called."""


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
"""Cuts long values."""

LARGEST = 2**63
"""Whole numbers are smaller: no count here needs more than a computer's word."""

RENAMED = {"seeds": "orders", "precision": "until_width", "reductions": "whole_vocabulary"}
"""Options that had another name -> their name now; manifests of earlier runs are read by these."""


class OptionError(EquipoiseError):
    """An option that cannot be used so."""


@dataclass(frozen=True)
class Option:
    """A choice that a user has: its name, type and default, and all that is shown and checked of it.

    `choices` are the words that it takes; a number is at `least`, `above` or `below` a bound. `flag` is its name on the
    command line (by default `--name`), `short` a letter for it, and `positional` makes it an argument there. `commas`:
    several values may be given as one text. `path`: the text is a path.
    `asked` is set for options that change what the model is asked: these name the run folder, in the order of their
    numbers, which never change; a new option takes the next one. `speed` marks options that change how long an audit
    takes, and nothing else.
    """

    name: str
    type: Any
    default: Any
    help: str
    panel: str
    choices: tuple[str, ...] = ()
    flag: str = ""
    short: str = ""
    positional: bool = False
    commas: bool = False
    path: bool = False
    asked: int = 0
    speed: bool = False
    least: float | None = None
    above: float | None = None
    below: float | None = None

    @property
    def key(self) -> str:
        """Its name in a configuration file: as on the command line, without the dashes."""
        return (self.flag or self.name.replace("_", "-")).lstrip("-")

    @property
    def explanation(self) -> str:
        """Its help, where options have no dashes: in Python and in files."""
        return self.help.replace("--", "")

    @property
    def kind(self) -> type:
        """The type of its value, of each of its values where it takes several."""
        kinds = [part for part in get_args(self.type) or (self.type,) if part is not type(None)]
        return kinds[0] if isinstance(kinds[0], type) else str

    @property
    def several(self) -> bool:
        """Whether it takes several values."""
        return self._is(Sequence)

    @property
    def pairs(self) -> bool:
        """Whether it takes names with a value each."""
        return self._is(Mapping)

    def _is(self, kind: type) -> bool:
        return any(get_origin(part) is kind for part in (self.type, *get_args(self.type)))

    @property
    def words(self) -> str:
        """What it takes, in words."""
        if self.pairs:
            return "a table of texts"
        return "a list of texts" if self.several else WORDS[self.kind]

    def accepts(self, value: Any) -> bool:
        """Return whether a value is of the right kind."""
        if self.pairs:
            return isinstance(value, dict) and all(isinstance(text, str) for text in (*value, *value.values()))
        if self.several:
            return isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value)
        return fits(value, self.kind)

    def read(self, value: Any) -> Any:
        """Return a value given in Python, in the type that the option has; an error where it is not of its kind.

        One text stands for a list of one, a path for its text, and a number of numpy's for a plain one.
        """
        plain = _plain(value)
        if self.several and isinstance(plain, str):
            plain = tuple(plain.split(",")) if self.commas else (plain,)
        if isinstance(plain, list | tuple):
            plain = type(plain)(_plain(entry) for entry in plain)
        if not self.accepts(plain) and not (plain is None and type(None) in get_args(self.type)):
            raise OptionError(f"{self.name} must be {self.words}, not {written(value)}", self.name)
        return plain

    def check(self, value: Any) -> None:
        """Raise an error where the value is not one of the choices, or out of bounds."""
        if value is None or value == self.default:
            return
        if self.choices:
            for word in value if self.several else [value]:
                if word not in self.choices:
                    raise OptionError(f"{self.name} must be {listed(self.choices, 'or')}, not {word!r}", self.name)
        if not self._inside(value):
            raise OptionError(f"{self.name} must {self._bounds}, not {written(value)}", self.name)

    @property
    def _bounds(self) -> str:
        """The bounds in words."""
        if self.above is not None and self.below is not None:
            return f"lie between {self.above:g} and {self.below:g}"
        bounds = {"at least": self.least, "above": self.above, "below": self.below}
        return "be " + " and ".join(f"{words} {bound:g}" for words, bound in bounds.items() if bound is not None)

    def _inside(self, value: Any) -> bool:
        """Return whether a value is within the bounds, if there are any; what is not a number is not."""
        inside = (self.least is None or value >= self.least) and (self.above is None or value > self.above)
        return inside and (self.below is None or value < self.below)


def fits(value: Any, kind: type) -> bool:
    """Return whether a value is of that kind; true and false are not numbers, nor what a computer word cannot hold."""
    accepted: Any = (int, float) if kind is float else kind
    right = isinstance(value, accepted) and (kind is bool or not isinstance(value, bool))
    return right and not (isinstance(value, int) and abs(value) >= LARGEST)


def _plain(value: Any) -> Any:
    """Return a path as text and a number of numpy's as a plain one; else the value."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    single = getattr(value, "item", None)
    return single() if callable(single) and getattr(value, "ndim", None) == 0 else value


def written(value: Any) -> str:
    """Return how a value is written in a sentence that refuses it."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number this long"


def hint(name: str, known: Iterable[str]) -> str:
    """Return what to add to a sentence about an unknown name: its name now, or the nearest one; else nothing."""
    now = RENAMED.get(name.replace("-", "_"), "")
    names = list(known)
    if now:
        now = now.replace("_", "-") if now not in names else now
        return f"; it is now {now!r}"
    return "".join(f"; did you mean {close!r}?" for close in difflib.get_close_matches(name, names, n=1))


def check_arguments(choices: Iterable[str], taker: type[Options], *others: str) -> None:
    """Raise an error where an argument is not an option of the taker; `others` are further arguments of the call."""
    check_names(choices, [*others, *options_of(taker)])


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise an error where an argument is not among the known ones; it says the nearest of them."""
    for name in given:
        if name not in known:
            raise OptionError(f"unknown argument {name!r}{hint(name, known)}")


def option(default: Any, help: str, panel: str, **facts: Any) -> Any:
    """Return the field of an option; `facts` are fields of `Option`."""
    facts |= {"help": help, "panel": panel}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=facts)
    return field(default=default, metadata=facts)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a part of the program; a value that is not allowed is refused when they are made."""

    def __post_init__(self) -> None:
        for name, known in options_of(type(self)).items():
            value = known.read(getattr(self, name))
            object.__setattr__(self, name, value)
            known.check(value)

    def part(self, taker: type[Taken]) -> Taken:
        """Return exactly the options that a part of the program takes."""
        return taker(**{name: getattr(self, name) for name in options_of(taker)})

    @classmethod
    def taken(cls, values: Mapping[str, Any]) -> Self:
        """Return these options with the values given for them; those of other takers are left out."""
        return cls(**{name: value for name, value in values.items() if name in options_of(cls)})


def options_of(*takers: type[Options]) -> dict[str, Option]:
    """Return the options of takers by name: panel by panel, arguments first, then as declared."""
    return _options_of(takers)


@cache
def _options_of(takers: tuple[type[Any], ...]) -> dict[str, Option]:
    declared = {known.name: known for taker in takers for known in fields(taker) if known.metadata}
    types = {name: kind for taker in takers for name, kind in get_type_hints(taker).items()}
    options = [Option(name, types[name], _default(known), **known.metadata) for name, known in declared.items()]
    arguments_first = sorted(options, key=lambda known: not known.positional)
    return {known.name: known for known in sorted(arguments_first, key=lambda known: PANELS.index(known.panel))}


def _default(declared: Any) -> Any:
    return declared.default if declared.default_factory is MISSING else declared.default_factory()
