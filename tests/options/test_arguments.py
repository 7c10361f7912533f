"""Arguments of another type: one sentence of ours that names them, for every function and every option."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.comparing.comparison import Choices
from equipoise.options import OptionError, Options, check_fields, checked, takes
from equipoise.options.arguments import check_type
from equipoise.options.option import ASK, option
from equipoise.progress import Progress
from equipoise.records import EquipoiseError

ODD: list[Any] = [True, 3, 2.5, b"x", object(), {"a": "b"}, {"a": 1}, {"a"}, range(3), [1], [["a"]], [None], None]
ODD += [np.int64(3), np.array(["a"]), float("nan"), 10**400, [10**5000], "word", ["word"], Path("word")]
FUNCTIONS = [name for name in equipoise.__all__ if inspect.isfunction(getattr(equipoise, name))]


@checked
def brew(
    herb: str | Sequence[str], cups: int = 1, *, out: str | Path | None = None, progress: Progress | bool | None = None
) -> tuple[Any, ...]:
    return herb, cups, out, progress


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"herb": 3}, "herb must be text or a list of texts, not 3"),
        ({"herb": ["mint", 3]}, "herb must be text or a list of texts, not ['mint', 3]"),
        ({"herb": "mint", "cups": True}, "cups must be a whole number, not True"),
        ({"herb": "mint", "cups": 10**5000}, "cups must be a whole number, not a number this long"),
        ({"herb": "mint", "out": ["a"]}, "out must be text or a path, not ['a']"),
        ({"herb": "mint", "progress": "yes"}, "progress must be a function or true or false, not 'yes'"),
        ({"herb": "mint", "cup": 2}, "unknown argument 'cup'; did you mean 'cups'?"),
    ],
)
def test_an_argument_of_another_type_or_name_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(sentence)}$"):
        brew(**given)


def test_what_fits_goes_through_as_it_is() -> None:
    herbs = ["mint", "sage"]
    assert brew(herbs, 2, out=Path("a"), progress=print) == (herbs, 2, Path("a"), print)
    assert brew(herbs)[0] is herbs and brew(("mint",), out=None) == (("mint",), 1, None, None)
    assert list(inspect.signature(brew).parameters) == ["herb", "cups", "out", "progress"]


def test_fields_are_checked_as_arguments_are() -> None:
    with pytest.raises(OptionError, match=r"^unknown argument 'metric'; did you mean 'metrics'"):
        check_fields({"metric": "ucerf"}, Choices)
    with pytest.raises(OptionError, match=r"^metrics must be a list of texts, not 'ucerf'$"):
        check_fields({"metrics": "ucerf"}, Choices)
    check_fields({"metrics": ["ucerf"], "permutations": None, "level": 0.9}, Choices)


@dataclass(frozen=True)
class Call:
    """A call of a public function that would go well but for one argument, which is named."""

    name: str
    argument: str

    def __call__(self, value: Any, folder: Path) -> Any:
        needed = {"sentences": "The nurse told the farmer that she was late.", "paths": [], "run": "none"}
        needed |= {"path": "none", "files": "none.csv", "model": "planted:", "data": "builtin", "out": str(folder)}
        function = getattr(equipoise, self.name)
        known = inspect.signature(function).parameters
        return function(**{key: text for key, text in needed.items() if key in known} | {self.argument: value})


CALLS = [
    Call(name, argument)
    for name in FUNCTIONS
    for argument in inspect.signature(inspect.unwrap(getattr(equipoise, name))).parameters
    if argument not in ("choices", "chosen", "data", "model")
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.name}-{call.argument}")
def test_every_public_function_answers_odd_arguments_with_our_error(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("equipoise.run.open_engine", _no_engine)
    for value in ODD:
        with pytest.raises(EquipoiseError):
            call(value, tmp_path / "out")


def _no_engine(*_: Any) -> None:
    raise EquipoiseError("the arguments were accepted")


KINDS: list[tuple[Any, list[Any], list[Any], str]] = [
    (Any, [None, 3, "a", print], [], ""),
    (str, ["a"], [3, None, ["a"]], "text"),
    (int, [3], [True, 2.5, "3", 2**63], "a whole number"),
    (float, [3, 2.5], [True, "3"], "a number"),
    (bool, [True], [1, "yes"], "true or false"),
    (Path, [Path("a")], ["a", 3], "a path"),
    (dict, [{"a": 1}], [[]], "a dict"),
    (str | None, ["a", None], [3], "text"),
    (int | str | None, [3, "a", None], [2.5, True], "a whole number or text"),
    (Sequence[str], [[], ["a"], ("a", "b")], ["a", [3], ["a", 3], {"a"}, None], "a list of texts"),
    (Sequence[int], [[], [3]], [["a"], 3], "a list"),
    (Sequence[str | Path], [["a", Path("b")]], [[3], "a"], "a list"),
    (Sequence[Sequence[str]], [[["a"]], [[]]], [["a"]], "a list"),
    (Sequence[str] | None, [None, ["a"]], ["a"], "a list of texts"),
    (Callable[[int], str], [print, len], [3, "print", None], "a function"),
    (Callable, [print, len], [3, "print", None], "a function"),
    (Callable[..., Any] | bool, [print, True], [3], "a function or true or false"),
    (Sequence[str] | Sequence[int] | str, ["a", [3], ["a"]], [3, [2.5]], "a list of texts or a list or text"),
]


@pytest.mark.parametrize(("hint", "good", "bad", "words"), KINDS, ids=[str(kind[0]) for kind in KINDS])
def test_every_annotation_takes_what_it_says_and_refuses_the_rest(
    hint: Any, good: list[Any], bad: list[Any], words: str
) -> None:
    for value in good:
        check_type("it", value, hint)
    for value in bad:
        with pytest.raises(OptionError) as refused:
            check_type("it", value, hint)
        assert str(refused.value) == f"it must be {words}, not {value!r}" and refused.value.names == ("it",)


def test_a_function_with_further_choices_takes_any_name() -> None:
    @checked
    def open_ended(cups: int, **choices: Any) -> dict[str, Any]:
        return {"cups": cups, **choices}

    assert open_ended(1, sugar="two") == {"cups": 1, "sugar": "two"}
    with pytest.raises(OptionError, match=r"^cups must be a whole number, not 'x'$"):
        open_ended("x")
    with pytest.raises(TypeError, match="positional argument"):
        brew("mint", 1, "a")


@dataclass(frozen=True, kw_only=True)
class Cup(Options):
    """Options of a cup."""

    size: int = option(3, "How --big.", ASK)


def test_a_function_that_takes_options_has_them_in_its_signature_and_text() -> None:
    @takes(Cup)
    def fill(herb: str, *, quick: bool = False, **choices: Any) -> tuple[Any, ...]:
        return herb, quick, choices

    parameters = inspect.signature(fill).parameters
    assert list(parameters) == ["herb", "quick", "size"]
    assert parameters["size"].kind is inspect.Parameter.KEYWORD_ONLY and parameters["size"].default == 3
    assert parameters["size"].annotation is int
    assert fill.__doc__ == "\n\nOptions:\n    size: How big."
    assert fill("mint", size=4) == ("mint", False, {"size": 4})
    with pytest.raises(OptionError, match=r"^herb must be text, not 3$"):
        fill(3)
