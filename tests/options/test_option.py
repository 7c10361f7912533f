"""What an option is: how it is declared, what it takes, and what it refuses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.options.arguments import takes
from equipoise.options.option import (
    ASK,
    LARGEST,
    MODEL,
    OptionError,
    Options,
    check_arguments,
    fits,
    hint,
    option,
    options_of,
    written,
)


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


@dataclass(frozen=True, kw_only=True)
class Bounds(Options):
    """One option of each kind of bound."""

    free: float = option(0.0, "Free.", ASK)
    least: float = option(5.0, "At least.", ASK, least=2)
    above: float = option(5.0, "Above.", ASK, above=2)
    below: float = option(1.0, "Below.", ASK, below=4)
    from_to: float = option(3.0, "At least and below.", ASK, least=2, below=4)
    between: float = option(3.0, "Between.", ASK, above=2, below=4)
    files: Sequence[str] = option((), "Files.", ASK)
    many: int | None = option(None, "Many.", ASK)


WORDS = {
    "free": "",
    "least": "be at least 2",
    "above": "be above 2",
    "below": "be below 4",
    "from_to": "be at least 2 and below 4",
    "between": "lie between 2 and 4",
}


@given(st.sampled_from(list(WORDS)), st.sampled_from([1.5, 2.0, 2.5, 3.5, 4.0, 4.5]) | st.floats(-9, 9))
def test_a_value_is_taken_exactly_within_its_bounds(name: str, value: float) -> None:
    inside = {
        "free": True,
        "least": value >= 2,
        "above": value > 2,
        "below": value < 4,
        "from_to": 2 <= value < 4,
        "between": 2 < value < 4,
    }[name]
    if inside:
        assert getattr(Bounds(**{name: value}), name) == value
        return
    with pytest.raises(OptionError) as refused:
        Bounds(**{name: value})
    assert str(refused.value) == f"{name} must {WORDS[name]}, not {value!r}" and refused.value.names == (name,)


def test_a_default_is_taken_although_it_is_no_choice() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Odd(Options):
        size: str = option("", "Size.", ASK, choices=("big", "small", "tiny"))
        count: int = option(0, "Count.", ASK, least=3)

    assert (Odd().size, Odd(size="big").size, Odd(count=3).count) == ("", "big", 3)
    with pytest.raises(OptionError, match=r"^size must be big, small or tiny, not 'wide'$"):
        Odd(size="wide")
    with pytest.raises(OptionError, match=r"^count must be at least 3, not 2$"):
        Odd(count=2)


def test_texts_are_split_at_commas_only_where_that_is_meant() -> None:
    assert Tea(herbs="mint").herbs == ("mint",) and Tea(herbs="mint,sage").herbs == ("mint", "sage")
    assert Bounds(files="a,b").files == ("a,b",)
    assert Bounds(files=[Oat(), np.str_("b")]).files == ["oat", "b"]
    assert Bounds(files=(Oat(),)).files == ("oat",)


def test_nothing_is_taken_only_where_that_is_a_type() -> None:
    assert Bounds(many=None).many is None and Tea(heat=None).heat is None
    for name in ("least", "files"):
        with pytest.raises(OptionError, match=rf"^{name} must be a .*, not None$"):
            Bounds(**{name: None})


@pytest.mark.parametrize("kind", [int, float])
def test_a_number_that_a_computer_word_cannot_hold_fits_nothing(kind: type) -> None:
    assert LARGEST == 9223372036854775808
    for sign in (1, -1):
        assert fits(sign * (LARGEST - 1), kind) and not fits(sign * LARGEST, kind)
    assert fits(1e300, float) and not fits(1e300, int)
    assert not fits(True, kind) and fits(True, bool) and not fits(1, bool) and not fits("1", kind)


def test_long_values_are_cut_where_they_are_refused() -> None:
    assert written("x" * 300) == f"'{'x' * 27}...{'x' * 28}'"
    assert len(written(10**300)) == 60 and written(10**5000) == "a number this long"
    assert written("short") == "'short'"
    assert len(written(type("A" * 200, (), {"__repr__": lambda self: "o" * 200})())) == 60


def test_the_nearest_name_is_the_one_that_is_said() -> None:
    assert hint("herbz", ["mint", "herb", "herds", "hero"]) == "; did you mean 'herb'?"
    assert hint("herds", ["herbs", "herb"]) == "; did you mean 'herbs'?"
    assert hint("seeds", ["seed"]) == "; it is now 'orders'"
    assert hint("precision", ["until_width"]) == "; it is now 'until_width'"
    assert hint("precision", ["until-width"]) == "; it is now 'until-width'"
    assert hint("pre-cision", ["x"]) == ""


def test_a_type_among_several_is_the_first_that_is_one() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mixed(Options):
        number: int | str | None = option(1, "Number.", ASK)
        word: str | None = option(None, "Word.", ASK)
        words: Sequence[str] | None = option(None, "Words.", ASK)
        fewer: str | Sequence[str] = option("", "Fewer.", ASK)
        either: Sequence[str] | int = option((), "Either.", ASK)

    known = options_of(Mixed)
    assert [known[name].kind for name in ("number", "word", "words", "fewer", "either")] == [int, str, str, str, str]
    assert known["words"].several and not known["word"].several


def test_names_have_dashes_in_files_and_values_are_copied() -> None:
    assert options_of(Bounds)["from_to"].key == "from-to"
    tea = Tea()
    assert tea.names == {} and OPTIONS["names"].default == {}
    assert Tea(names={"a": "b"}).names == {"a": "b"}
    assert list(options_of(Bounds, Tea))[:2] == ["iced", "free"], "arguments first, then as declared"
