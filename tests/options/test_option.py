"""What an option is: how it is declared, what it takes, and what it refuses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from equipoise.options.arguments import takes
from equipoise.options.option import ASK, MODEL, OptionError, Options, check_arguments, option, options_of


@dataclass(frozen=True, kw_only=True)
class Tea(Options):
    """Options of a tea."""

    cups: int = option(2, "How many --cups.", MODEL, least=1)
    heat: float | None = option(None, "How hot.", MODEL, above=0, below=1)
    milk: str = option("none", "Milk.", ASK, choices=("none", "oat"), flag="--with-milk")
    herbs: Sequence[str] = option((), "Herbs.", ASK, choices=("mint", "sage"), commas=True)
    names: Mapping[str, str] = option({}, "Names.", ASK)
    iced: bool = option(False, "Ice.", ASK, positional=True)


@dataclass(frozen=True, kw_only=True)
class Party(Tea):
    """Options of a tea for many."""

    guests: int = option(3, "How many guests.", MODEL)


OPTIONS = options_of(Tea)


def test_options_come_panel_by_panel_arguments_first() -> None:
    assert list(OPTIONS) == ["iced", "milk", "herbs", "names", "cups", "heat"]
    assert list(options_of(Party))[-1] == "guests"


def test_an_unknown_argument_is_named_with_its_new_or_nearest_name() -> None:
    for name, reason in {
        "herb": "; did you mean 'herbs'?",
        "precision": "; it is now 'until-width'",
        "zzz": "",
    }.items():
        with pytest.raises(OptionError, match=f"^unknown argument '{name}'{re.escape(reason)}$"):
            check_arguments([name], Tea, "task")
    with pytest.raises(OptionError, match="did you mean 'task'"):
        check_arguments(["tasks"], Tea, "task")
    check_arguments(["herbs", "task"], Tea, "task")


@pytest.mark.parametrize(
    ("name", "kind", "several", "pairs", "words"),
    [
        ("cups", int, False, False, "a whole number"),
        ("heat", float, False, False, "a number"),
        ("milk", str, False, False, "text"),
        ("herbs", str, True, False, "a list of texts"),
        ("names", str, False, True, "a table of texts"),
        ("iced", bool, False, False, "true or false"),
    ],
)
def test_the_type_says_what_is_taken(name: str, kind: type, several: bool, pairs: bool, words: str) -> None:
    known = OPTIONS[name]
    assert (known.kind, known.several, known.pairs, known.words) == (kind, several, pairs, words)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("cups", [1, 7], [1.5, "1", True]),
        ("heat", [1, 0.5], ["0.5", False]),
        ("milk", ["oat"], [1, ["oat"]]),
        ("herbs", [[], ["mint"]], ["mint", [1]]),
        ("names", [{}, {"a": "b"}], [["a=b"], {"a": 1}]),
        ("iced", [True], [1, "yes"]),
    ],
)
def test_values_of_a_file_are_of_the_right_kind(name: str, good: list[Any], bad: list[Any]) -> None:
    assert all(OPTIONS[name].accepts(value) for value in good)
    assert not any(OPTIONS[name].accepts(value) for value in bad)


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"cups": 0}, "cups must be at least 1, not 0"),
        ({"cups": "many"}, "cups must be a whole number, not 'many'"),
        ({"herbs": ["mint", 3]}, "herbs must be a list of texts, not ['mint', 3]"),
        ({"names": {1: "a"}}, "names must be a table of texts, not {1: 'a'}"),
        ({"heat": 1.0}, "heat must lie between 0 and 1, not 1.0"),
        ({"heat": float("nan")}, "heat must lie between 0 and 1, not nan"),
        ({"milk": "cow"}, "milk must be none or oat, not 'cow'"),
        ({"herbs": ["mint", "rue"]}, "herbs must be mint or sage, not 'rue'"),
    ],
)
def test_what_is_not_allowed_is_refused_when_it_is_made(chosen: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError) as refused:
        Tea(**chosen)
    assert (str(refused.value), refused.value.names) == (sentence, tuple(chosen))


def test_a_part_has_exactly_its_options() -> None:
    party = Party(cups=9, guests=8, herbs=["mint"])
    assert party.part(Tea) == Tea(cups=9, herbs=["mint"])
    assert Tea.taken({"cups": 4, "guests": 1}) == Tea(cups=4)
    assert Tea().names is not Tea().names


def test_names_on_the_command_line_and_in_python() -> None:
    assert (OPTIONS["milk"].key, OPTIONS["cups"].key) == ("with-milk", "cups")
    assert OPTIONS["cups"].explanation == "How many cups."


def test_a_function_names_the_options_it_takes() -> None:
    @takes(Tea)
    def brew(leaves: str, *, quick: bool = False, **choices: Any) -> str:
        """Return a tea."""
        return f"{leaves} {choices}"

    parameters = inspect.signature(brew).parameters
    assert list(parameters) == ["leaves", "quick", *OPTIONS]
    assert (parameters["cups"].default, parameters["cups"].annotation) == (2, int)
    assert brew.__doc__ is not None and brew.__doc__.startswith(
        "Return a tea.\n\nOptions:\n    iced: Ice.\n    milk: Milk.\n"
    )
    assert brew("mint", cups=3) == "mint {'cups': 3}"


def test_one_text_is_a_list_of_one_a_path_its_text_and_a_number_of_numpys_a_plain_one() -> None:
    tea = Tea(herbs="mint,sage", cups=np.int64(3), heat=np.float64(0.5), iced=np.True_, milk=Oat())
    assert (tea.herbs, tea.cups, tea.heat, tea.iced, tea.milk) == (("mint", "sage"), 3, 0.5, True, "oat")
    assert [type(value) for value in (tea.cups, tea.heat, tea.iced)] == [int, float, bool]
    herbs = ["mint"]
    assert Tea(herbs=herbs).herbs == herbs and Tea(herbs=("mint",)).herbs == ("mint",)


class Oat:
    """A path that is a word."""

    def __fspath__(self) -> str:
        return "oat"
