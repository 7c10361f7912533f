"""Wordings from a file: every sentence in every one, each a prompt of its own."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets import open_dataset
from equipoise.records import EquipoiseError, SentencePair
from equipoise.tasks import TaskOptions, open_task, read_wordings
from equipoise.tasks.wording import (
    WORDINGS,
    Shots,
    Wording,
    fill,
    joined_variant,
    pronoun_of,
    question_settings,
    wording_of,
    wordings_for,
)

EXAMPLE = open_dataset("builtin").examples[0]
TWO = """
[[wording]]
name = "a"
beginning = "{text} Here {pronoun} is the"
choice = "{text} Here {pronoun} is"
[[wording]]
name = "b"
beginning = "{text} And {pronoun} means the"
choice = "{text} And {pronoun} means"
instruction = "Choose."
"""


@pytest.mark.parametrize(("task", "field"), [("next-word", "beginning"), ("mcq", "choice")])
def test_the_package_has_at_least_eight_wordings_of_each_question(task: str, field: str) -> None:
    wordings = read_wordings("built-in")
    assert len({getattr(wording, field) for wording in wordings}) == len(wordings) >= 8
    prompts = open_task(task, TaskOptions(questions=wordings)).prompts(EXAMPLE)  # type: ignore[attr-defined]
    assert len({prompt.context for prompt in prompts}) == len(wordings)
    assert len({prompt.key("engine") for prompt in prompts}) == len(wordings), "a wording is part of the key"
    assert {prompt.variant.split("wording=")[1] for prompt in prompts} == {wording.name for wording in wordings}
    assert all(EXAMPLE.text in prompt.context for prompt in prompts)


@pytest.mark.parametrize("task", ["next-word", "mcq"])
def test_the_first_wording_asks_as_the_paper_does(task: str) -> None:
    usual = open_task(task).prompts(EXAMPLE)[0]  # type: ignore[attr-defined]
    worded = open_task(task, TaskOptions(questions=read_wordings("built-in"))).prompts(EXAMPLE)[0]  # type: ignore[attr-defined]
    assert (worded.context, worded.continuations) == (usual.context, usual.continuations)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TWO, encoding="utf-8")
    prompts = open_task("mcq", TaskOptions(questions=read_wordings(file))).prompts(EXAMPLE)  # type: ignore[attr-defined]
    assert [prompt.context.split("\n")[0] for prompt in prompts] == [
        "Choose the right option for the question using the context below.",
        "Choose.",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("wording = 3", "at least two tables"),
        (TWO.replace('"b"', '"a"'), "duplicate name 'a'"),
        (TWO.replace('"b"', '"b=c"'), "must not have any of"),
        (TWO.replace("{text} And {pronoun} means the", "Who?"), "needs the slot {text}"),
        (TWO.replace("instruction", "instructions"), "unknown key 'instructions'"),
        (TWO.replace('choice = "{text} Here {pronoun} is"', ""), "wording 1: choice is missing"),
        ("[[wording", "is not TOML"),
    ],
)
def test_a_faulty_file_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(EquipoiseError, match=reason):
        read_wordings(file)


PAIR = replace(EXAMPLE, pair=SentencePair("The nurse", ("said he", "said she"), ("male", "female")))


def test_the_first_slot_that_an_example_has_words_the_question() -> None:
    names = list(WORDINGS)
    for place, slot in enumerate(names):
        slots = dict.fromkeys(names[place:], "x")
        assert wording_of(replace(EXAMPLE, slots=slots)) == WORDINGS[slot]
        assert wording_of(replace(EXAMPLE, slots={**slots, **dict.fromkeys(names[:place], "")})) == WORDINGS[slot]


@pytest.mark.parametrize(
    ("asked", "example", "sentence"),
    [
        (wording_of, PAIR, "is a sentence pair; use the task cloze or sentence"),
        (pronoun_of, PAIR, "is a sentence pair; use the task cloze or sentence"),
        (
            wording_of,
            replace(EXAMPLE, slots={}),
            "has nothing to ask about; it needs one of pronoun, question, statement, or questions",
        ),
        (pronoun_of, replace(EXAMPLE, slots={"question": "Who?"}), "has no pronoun to ask about"),
    ],
)
def test_what_cannot_be_worded_is_one_sentence(asked: Any, example: Any, sentence: str) -> None:
    with pytest.raises(EquipoiseError, match=f"^example {EXAMPLE.id}: {re.escape(sentence)}$"):
        asked(example)


def test_wordings_of_a_user_go_before_those_of_the_example() -> None:
    assert wordings_for(EXAMPLE, ()) == {"": WORDINGS["pronoun"]} and pronoun_of(EXAMPLE) == EXAMPLE.slots["pronoun"]
    template = "{text} Who is {pronoun}?"
    plain = Wording(template, "Who is {pronoun}?", template, template)
    assert wordings_for(PAIR, [template]) == {"": plain}
    named = Wording.named("mine", "{text} a", "{text} b")
    assert wordings_for(EXAMPLE, [named]) == {"": named}
    assert wordings_for(EXAMPLE, [template, named, template]) == {
        "wording=1": plain,
        "wording=mine": named,
        "wording=3": plain,
    }
    assert question_settings([template, named]) == [template, asdict(named)]


def test_a_wording_without_the_sentence_is_what_is_left_or_a_colon() -> None:
    assert Wording.of("{text}").alone == ":" and Wording.of(" {text} So").alone == "So"
    full = Wording.named("n", "{text} Begin", "{text} {pronoun}", instruction="i", free="{text} Free?", alone="A")
    assert full == Wording("{text} Begin", "A", "{text} {pronoun}", "{text} Free?", True, "i", "n")
    assert Wording.named("n", "{text}", "{text}") == Wording("{text}", ":", "{text}", "{text}", name="n")
    for templates in (("Who?", "{text}"), ("{text}", "Who?")):
        with pytest.raises(EquipoiseError, match=r"^question 'Who\?' needs the slot \{text\} for the sentence$"):
            Wording.named("n", *templates)
    with pytest.raises(EquipoiseError, match=r"^question 'Who\?' needs"):
        Wording.named("n", "{text}", "{text}", free="Who?")


def test_slots_are_filled_from_the_text_the_slots_and_the_groups() -> None:
    example = replace(EXAMPLE, text="T.", slots={"a": "slot", "text": "no"}, groups={"a": "group", "b": "other"})
    assert fill("{text}/{a}/{b}/{}", replace(example, groups={**example.groups, "": "empty"})) == "T./slot/other/empty"
    sentence = "question '{text} {c}': example e has no slot {c}; it has {a}, {b}, {text}"
    with pytest.raises(EquipoiseError, match=f"^{re.escape(sentence)}$"):
        fill("{text} {c}", replace(example, id="e", slots={"a": "slot"}))


def test_shots_are_shown_in_their_order_and_never_asked() -> None:
    first, second = replace(EXAMPLE, id="s1", text="One.", gold=1), replace(EXAMPLE, id="s2", text="Two.", gold=0)
    shots = Shots((first, second))
    assert shots.settings == [
        {"text": "One.", "answer": EXAMPLE.candidates[1]},
        {"text": "Two.", "answer": EXAMPLE.candidates[0]},
    ]
    assert shots.before("Q", EXAMPLE, lambda shot: f"{shot.text}!") == "One.!\n\nTwo.!\n\nQ"
    assert Shots().before("Q", EXAMPLE, str) == "Q"
    with pytest.raises(EquipoiseError, match=r"^shot s2 is also asked, as e; take other sentences as shots$"):
        shots.before("Q", replace(EXAMPLE, id="e", text="Two."), str)
    twice = Shots((first, replace(first, id="s3")))
    with pytest.raises(EquipoiseError, match=r"^shot s1 is also asked"):
        twice.before("Q", replace(EXAMPLE, text="One."), str)
    with pytest.raises(EquipoiseError, match=r"^shot s1 has no right answer to show$"):
        Shots((replace(first, gold=None, answerable=False),))


def test_parts_of_a_variant_are_sorted_and_empty_ones_left_out() -> None:
    assert joined_variant("wording=2", "", "seed=0") == "seed=0,wording=2" and joined_variant("", "") == ""


MORE = [
    (TWO.replace('name = "a"', 'name = ""'), ", wording 1: name is missing"),
    (TWO.replace('name = "a"', ""), ", wording 1: name is missing"),
    (
        TWO.replace('name = "a"', 'name = "a,b"').replace('choice = "{text} Here {pronoun} is"', ""),
        ", wording 1: choice is missing",
    ),
    (TWO.replace('choice = "{text} And {pronoun} means"', "choice = 3"), ", wording 2: every key must be text"),
    ("wording = [1, 2]", ", wording 1: every key must be text"),
    (TWO[: TWO.rindex("[[wording]]")], " needs at least two tables [[wording]]"),
    ("", " needs at least two tables [[wording]]"),
    (
        TWO.replace("instruction", "more").replace("beginning", "start", 1),
        ", wording 1: unknown key 'start'; the keys are: name, beginning, choice, instruction, free, alone",
    ),
    (TWO.replace('"b"', '"x|y"'), ", wording 2: the name 'x|y' must not have any of , = | %"),
    (TWO.replace('"a"', '"z"') + TWO.replace('"a"', '"z"'), ": duplicate name 'b'"),
]


@pytest.mark.parametrize(("text", "reason"), MORE)
def test_each_fault_of_a_file_is_told_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(EquipoiseError, match=rf"{re.escape(f'{file}{reason}')}$"):
        read_wordings(file)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match=r"^wordings .*none\.toml cannot be read: no such file or directory$"):
        read_wordings(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes("wording = 'ä'".encode("latin-1"))
    with pytest.raises(EquipoiseError, match=r"latin\.toml cannot be read: it is not utf-8 text$"):
        read_wordings(tmp_path / "latin.toml")
