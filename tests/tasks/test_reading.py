"""Answers are read as a person reads them: on answers in our own words, and on what models really wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.tasks import reading
from equipoise.tasks.reading import MEANINGS, UNCLEAR, meaning_of

HERE = Path(__file__).parent
PAIRS = (("nurse", "farmer"), ("construction worker", "CEO"), ("librarian", "mechanic"), ("assistant", "analyst"))


class Labelled(NamedTuple):
    """An answer with the reading that a person gives; a dubious one may also be called unclear."""

    candidates: tuple[str, ...]
    answer: str
    reading: int | str
    asked: str
    dubious: bool = False


def in_own_words() -> Iterator[Labelled]:
    """Yield the answers of the file with people put in; who is listed first changes from answer to answer."""
    reading, number = "", 0
    for line in (HERE / "answers_in_own_words.txt").read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            reading = heading[1]
        elif not line.startswith("#"):
            a, b = PAIRS[number % len(PAIRS)]
            number += 1
            candidates = (a, b) if number % 3 else (b, a)
            answer = line.replace("\\n", "\n").format(a=a, b=b)
            meant: int | str = candidates.index({"a": a, "b": b}[reading]) if reading in ("a", "b") else reading
            yield Labelled(candidates, answer, meant, f"The {a} told the {b} that she was late and tired. Who is she?")


def of_models() -> Iterator[Labelled]:
    """Yield what models answered to the built-in sentences, as one person read it."""
    for line in (HERE / "answers_of_models.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        candidates, reading = tuple(row["candidates"]), row["reading"]
        meant = candidates.index(reading) if reading in candidates else reading
        yield Labelled(candidates, row["answer"], meant, row["asked"], row.get("dubious", False))


@pytest.mark.parametrize(
    ("labelled", "least", "unclear"), [(in_own_words, 400, 0.01), (of_models, 300, 0.03)], ids=["own", "models"]
)
def test_answers_are_read_as_a_person_reads_them(
    labelled: Callable[[], Iterator[Labelled]], least: int, unclear: float
) -> None:
    answers = list(labelled())
    read = [(one, meaning_of(one.answer, one.candidates, one.asked)) for one in answers]
    other = [(one, found) for one, found in read if found != one.reading]
    misread = [(one.answer, found, one.reading) for one, found in other if found != UNCLEAR]
    unread = [one.answer for one, found in other if found == UNCLEAR and not one.dubious]
    assert len(answers) >= least and {one.reading for one in answers} >= {0, 1, UNCLEAR, "neither"}
    assert len(misread) <= 0.01 * len(answers), misread
    assert len(unread) <= unclear * len(answers), unread


@given(st.text(max_size=80))
def test_any_text_has_a_meaning(text: str) -> None:
    assert meaning_of(text, ("nurse", "farmer"), text) in (0, 1, *MEANINGS)


@given(st.sampled_from(list(in_own_words())))
def test_the_order_of_the_candidates_does_not_matter(labelled: Labelled) -> None:
    found = meaning_of(labelled.answer, labelled.candidates, labelled.asked)
    turned = meaning_of(labelled.answer, labelled.candidates[::-1], labelled.asked)
    assert turned == (1 - found if isinstance(found, int) else found)


def test_a_candidate_may_begin_another_one_or_be_named_by_its_last_word() -> None:
    people = ("police", "police officer")
    assert meaning_of("The police officer.", people) == 1 and meaning_of("The police.", people) == 0
    assert meaning_of("It refers to the worker.", ("construction worker", "baker")) == 0
    assert meaning_of("It refers to the worker.", ("construction worker", "social worker")) == UNCLEAR


def test_words_of_the_sentence_name_a_person_too() -> None:
    asked = "The nurse had come without an umbrella, but the farmer offered to share her big one."
    assert meaning_of("The person who had come without an umbrella.", ("nurse", "farmer"), asked) == 0
    assert meaning_of("The nurse had come without an umbrella.", ("nurse", "farmer"), asked) == 0
    assert meaning_of("The nurse plays the piano.", ("nurse", "farmer"), asked) == UNCLEAR


CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "without an end": lambda answer: answer.rstrip('.!?)" '),
    "cut": lambda answer: " ".join(["Well"] * 12 + answer.split()[:-1]),
    "asked": lambda answer: answer.rstrip(".!") + "?",
    "denied": lambda answer: f"It is not true. It does not refer to {answer[:1].lower()}{answer[1:]}",
    "taken back": lambda answer: f"{answer} No, wait: the nurse.",
    "turned": lambda answer: f"Not the farmer, but {answer[:1].lower()}{answer[1:]}",
    "of a list": lambda answer: f"1. {answer}\n- Hence the answer.",
    "quoted": lambda answer: answer.replace("The ", "“The ").replace(".", "”."),
    "in capitals": lambda answer: f"**{answer.upper()}**",
    "twice": lambda answer: f"{answer} {answer}",
    "with another": lambda answer: f"{answer} The mechanic is meant.",
    "described": lambda answer: f"The person who {answer[4:]}",
    "plural": lambda answer: re.sub(r"(nurse|farmer|worker|CEO|analyst)", r"\1s", answer),
}
"""What is done to every labelled answer."""


def readings(labelled: Callable[[], Iterator[Labelled]], change: Callable[[str], str]) -> str:
    """Return a letter for what each answer means: a candidate's number, or how the meaning begins."""
    return "".join(str(meaning_of(change(one.answer), one.candidates, one.asked))[0] for one in labelled())


def test_answers_and_what_is_made_of_them_are_read_as_it_was_kept() -> None:
    read = {
        f"{name}, {source.__name__}": " ".join(re.findall(".{1,60}", readings(source, change)))
        for name, change in CHANGES.items()
        for source in (in_own_words, of_models)
    }
    assert_kept("tasks/readings", read)


SHORT = (
    *(
        "the {a}",
        "the {a}.",
        "{a}!",
        "a {a}?",
        "the {a} is meant",
        "it is the {a}",
        "she refers to the {a}",
        "not the {a}",
    ),
    *("the {a} and the {b}", "the {a} or the {b}", "both", "neither", "the {a} is the {b}", "no, the {a}", "unknown"),
    *("the {a}, not the {b}", "it is not the {a} but the {b}", "the one who slept is the {a}", "the tired {a}"),
    *("the {a}'s friend", "the {a} is the one who slept", "either the {a} or the {b}", "it means the {a}, who slept"),
    *("the {a} and not the {b}", "the {a}/{b}", "I don't think it refers to the {a}", "the {a} told the {b}"),
    *("the woman who told somebody", "the answer is the {a}; the {b} is not meant", "the {a}-maker", "the worker"),
)


def test_short_answers_alone_and_in_pairs_are_read_as_it_was_kept() -> None:
    people = ("farmer", "construction worker")
    asked = "The farmer told somebody, and the construction worker slept. Who is she?"
    said = [text.format(a=people[0], b=people[1]) for text in SHORT]
    alone = {text: meaning_of(text, people, asked) for text in said}
    pairs = {
        first: "".join(str(meaning_of(f"{first}. {second}.", people, asked))[0] for second in said) for first in said
    }
    assert_kept("tasks/short-answers", alone, pairs)


@pytest.mark.parametrize(
    ("text", "asked", "who"),
    [
        ("the §0 slept soundly.", "who slept soundly", [0]),
        ("§1 slept there soundly", "who slept", []),
        ("§1 slept there", "who slept there now", [1]),
        ("the §0 slept soundly. fine then.", "who slept soundly", []),
        ("the §0 slept soundly and §1 too.", "who slept soundly", []),
        ("the person who slept soundly", "§0 met §1 and §1 slept soundly", [1]),
        ("the person who slept soundly", "§0 slept soundly and §1 slept soundly", []),
        ("the person who slept soundly, the §0", "§0 met §1 and §1 slept soundly", []),
        ("the person who slept", "§0 met §1 and §1 slept", []),
    ],
)
def test_a_person_may_be_described_in_the_words_of_what_was_asked(text: str, asked: str, who: list[int]) -> None:
    assert [claim.who for claim in reading._described(text, asked)] == who


def test_a_person_who_is_another_one_says_nothing_whatever_follows() -> None:
    for clause, who in (
        ("the §0 is the §1, that is §0 and §1", [UNCLEAR]),
        ("the §0 is the §0, that is §0 and §1", ["both"]),
        ("that is §0 or §1", ["neither"]),
    ):
        assert [claim.who for claim in reading._clause_claims(clause, is_cut=False)] == who
