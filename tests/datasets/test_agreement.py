"""Verbs agree with their pronoun."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.datasets.agreement import PLURALS, SINGULARS, WORDS, Unresolved, agreeing, is_inverted
from equipoise.datasets.user_table import load_table


def test_the_verb_after_a_subject_agrees_with_they_and_with_nobody_else(tmp_path: Path) -> None:
    rows = (
        "The pilot met the waiter before {pronoun} was paid.,subject",
        "He said that {pronoun} dog was ill.,possessive",
    )
    path = tmp_path / "mine.csv"
    lines = ["text,form,candidate_1,candidate_2", *(f"{row},pilot,waiter" for row in rows), ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    ends = [example.text.split()[-4:] for example in load_table(path, pronouns=("she", "they")).examples]
    assert [" ".join(words) for words in ends] == [
        "before she was paid.",
        "before they were paid.",
        "her dog was ill.",
        "their dog was ill.",
    ]


@pytest.mark.parametrize(("singular", "plural"), sorted(PLURALS.items()))
def test_every_listed_verb_is_turned_both_ways(singular: str, plural: str) -> None:
    assert agreeing(f" {singular} here.", plural=True) == f" {plural} here."
    assert agreeing(f" {plural} here.", plural=False) == f" {SINGULARS[plural]} here."


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("cries", "cry"),
        ("passes", "pass"),
        ("wishes", "wish"),
        ("watches", "watch"),
        ("fixes", "fix"),
        ("buzzes", "buzz"),
        ("echoes", "echo"),
        ("sizes", "size"),
        ("leaves", "leave"),
        ("runs", "run"),
        ("Runs", "run"),
        ("Isn’t", "aren't"),
        ("walked", "walked"),
        ("can't", "can't"),
        ("went", "went"),
        ("beat", "beat"),
    ],
)
def test_a_verb_follows_they_by_its_ending(singular: str, plural: str) -> None:
    assert agreeing(f" {singular} home", plural=True) == f" {plural} home"


@pytest.mark.parametrize(
    ("after", "plural", "whole"),
    [
        (" always really was late.", True, " always really were late."),
        (" quickly runs.", True, " quickly run."),
        ("\t  was late, said all.", True, "\t  were late, said all."),
        (" walked.", False, " walked."),
        (" would go.", False, " would go."),
        (" was late and never came back.", True, " were late and never came back."),
        (" was late, and this helped us and less, unless pass or cross.", True, None),
        (" was in a class and press.", True, " were in a class and press."),
        (" were late, runs end.", False, " was late, runs end."),
    ],
)
def test_only_the_verb_changes_and_words_before_it_stay(after: str, plural: bool, whole: str | None) -> None:
    expected = whole or after.replace("was", "were", 1)
    assert agreeing(after, plural=plural) == expected


@pytest.mark.parametrize(
    ("after", "plural", "reason"),
    [
        ("'s late.", True, "a contraction after the pronoun can be 'is' or 'has'"),
        ("’s late.", False, "a contraction after the pronoun can be 'is' or 'has'"),
        (", who was late.", True, "the verb after the pronoun was not found"),
        (" always", True, "the verb after the pronoun was not found"),
        ("", True, "the verb after the pronoun was not found"),
        (" need it.", True, "'need' after the pronoun is not a known verb"),
        (" Dress up.", True, "'dress' after the pronoun is not a known verb"),
        (" this.", True, "'this' after the pronoun is not a known verb"),
        (" axes it.", True, "'axes' after the pronoun is not a known verb"),
        (" put it down.", False, "'they put' can be present or past"),
        (" need it.", False, "'they need' can be present or past"),
        (" was late and is sorry.", True, "'was' is followed by a second verb, 'is'"),
        (" was late, and then Often runs.", True, "'was' is followed by a second verb, 'runs'"),
        (" was late, truly has gone", True, "'was' is followed by a second verb, 'has'"),
        (" were late but do care.", False, "'were' is followed by a second verb, 'do'"),
        (" were late or was ill.", False, "'were' is followed by a second verb, 'was'"),
    ],
)
def test_what_grammar_leaves_open_is_refused_with_its_reason(after: str, plural: bool, reason: str) -> None:
    with pytest.raises(Unresolved, match=f"^{re.escape(reason)}$"):
        agreeing(after, plural=plural)


def test_a_second_verb_in_the_past_and_a_noun_in_the_singular_change_nothing() -> None:
    assert agreeing(" were late, runs were short.", plural=False) == " was late, runs were short."
    assert agreeing(" was late then slept.", plural=True) == " were late then slept."


@pytest.mark.parametrize("word", sorted(WORDS["base_in_ed"]))
def test_a_base_form_in_ed_is_not_a_past_form(word: str) -> None:
    for plural in (True, False):
        with pytest.raises(Unresolved):
            agreeing(f" {word} it.", plural=plural)


@pytest.mark.parametrize(
    ("before", "inverted"),
    [
        ("Only then was ", True),
        ("Only then WAS ", True),
        ("Only then isn’t ", True),
        ("Why don't ", True),
        ("Are ", True),
        ("were", True),
        ("have ", True),
        ("do ", True),
        ("then go ", False),
        ("then lie ", False),
        ("It was, ", False),
        ("It was.", False),
        ("was then ", False),
        ("", False),
        ("  ", False),
        ("1 ", False),
    ],
)
def test_a_verb_before_its_pronoun_is_seen(before: str, inverted: bool) -> None:
    assert is_inverted(before) is inverted


@pytest.mark.parametrize(
    "verb",
    [
        *("is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't"),
        *("are", "were", "have", "do", "aren't", "weren't", "haven't", "don't"),
    ],
)
def test_every_verb_that_can_come_first_is_known(verb: str) -> None:
    assert is_inverted(f"Then {verb} ")


@pytest.mark.parametrize("plural", [True, False])
@pytest.mark.parametrize("words", ["'d been late.", "’ll go.", "'D go."])
def test_a_contraction_that_is_the_same_after_every_pronoun_stays(words: str, plural: bool) -> None:
    assert agreeing(words, plural=plural) == words
    with pytest.raises(Unresolved, match="can be 'is' or 'has'"):
        agreeing("'s gone.", plural=plural)
    with pytest.raises(Unresolved, match="'d' is followed by a second verb, 'was'"):
        agreeing("'d left and was sorry.", plural=True)
