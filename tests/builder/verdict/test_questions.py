"""Questions as data: votes that can be given, and what cannot be asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.builder.steps import BuildError
from equipoise.builder.verdict.questions import Questionnaire, published, questions_of

REPLIES = st.dictionaries(st.sampled_from(["coherent", "first", "second", "other"]), st.sampled_from(["yes", "no", ""]))


def test_the_papers_questions_have_five_votes() -> None:
    votes = published().votes()
    assert set(votes) == {
        ("no", "", ""),
        *(("yes", first, second) for first in ("yes", "no") for second in ("yes", "no")),
    }


@given(REPLIES)
def test_a_vote_is_complete_or_none(replies: dict[str, str]) -> None:
    vote = published().vote(replies)
    complete = replies.get("coherent") == "no" or all(replies.get(name) for name in ("coherent", "first", "second"))
    assert (vote is not None) is complete
    if vote is not None:
        assert vote in published().votes() and published().read(published().as_text(vote)) == vote


def test_unsure_is_a_reply_only_if_it_is_allowed() -> None:
    replies = {"coherent": "unsure"}
    assert published().vote(replies) is None and published().vote(replies, unsure=True) == ("unsure", "", "")


def test_questions_come_back_from_their_rows() -> None:
    assert questions_of("rows", published().as_rows()) == published()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"name": "Bad name", "choices": ["a", "b"]}, "cannot name a question"),
        ({"name": "csrf", "choices": ["a", "b"]}, "cannot name a question"),
        ({"name": "one", "choices": ["a"]}, "at least two choices"),
        ({"name": "one", "choices": ["a", "<b>"]}, "at least two choices"),
        ({"name": "one", "choices": ["a", "b"], "when": {"two": "a"}}, "which no earlier question offers"),
    ],
)
def test_what_cannot_be_asked_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        questions_of("mine.toml", [row])
    with pytest.raises(BuildError, match="no questions"):
        questions_of("mine.toml", [])


def test_a_question_that_depends_on_another_is_asked_only_then() -> None:
    questions = questions_of(
        "mine",
        [
            {"name": "more", "choices": ["first", "second", "same"]},
            {"name": "sure", "choices": ["yes", "no"], "when": {"more": "first"}},
        ],
    )
    assert isinstance(questions, Questionnaire)
    assert set(questions.votes()) == {("first", "yes"), ("first", "no"), ("second", ""), ("same", "")}


NAMES = "cannot name a question; use small letters, each name once"
CHOICES = "needs at least two choices, named in small letters"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"choices": ["a", "b"]}], f"mine: '' {NAMES}"),
        ([{"name": "a" * 32, "choices": ["a", "b"]}], f"mine: '{'a' * 32}' {NAMES}"),
        ([{"name": "1a", "choices": ["a", "b"]}], f"mine: '1a' {NAMES}"),
        ([{"name": "a-b", "choices": ["a", "b"]}], f"mine: 'a-b' {NAMES}"),
        ([{"name": "a", "choices": ["a", "b"]}] * 2, f"mine: 'a' {NAMES}"),
        *(
            ([{"name": name, "choices": ["a", "b"]}], f"mine: '{name}' {NAMES}")
            for name in ("ticket", "comment", "unsure", "text", "pronoun", "why", "type")
        ),
        ([{"name": "a"}], f"mine: question 'a' {CHOICES}"),
        ([{"name": "a", "choices": ["a", "a"]}], f"mine: question 'a' {CHOICES}"),
        ([{"name": "a", "choices": ["a", "b", "C"]}], f"mine: question 'a' {CHOICES}"),
        ([], "mine: there are no questions"),
        (
            [{"name": "a", "choices": ["x", "y"]}, {"name": "b", "choices": ["x", "y"], "when": {"a": "z"}}],
            "mine: question 'b' depends on a = z, which no earlier question offers",
        ),
        (
            [{"name": "a", "choices": ["x", "y"]}, {"name": "b", "choices": ["x", "y"], "when": {"a": "x", "b": "y"}}],
            "mine: question 'b' depends on a = x, which no earlier question offers",
        ),
    ],
)
def test_every_mistake_in_a_question_is_named(rows: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(BuildError) as error:
        questions_of("mine", rows)
    assert str(error.value) == reason


def test_a_question_keeps_what_it_was_given() -> None:
    rows = [
        {"name": "a" * 31, "choices": ["x", "y2", "z_"], "column": "A"},
        {"name": "b", "choices": ["x", "y"], "when": {"a" * 31: "z_"}},
    ]
    made = questions_of("mine", rows)
    assert made.names == ("a" * 31, "b") and [q.column for q in made.questions] == ["A", "b"]
    assert (
        made.as_rows() == [rows[0], {**rows[1], "column": "b"}] and not made.is_published and published().is_published
    )
    assert made.vote({"a" * 31: "z_", "b": "unsure"}) is None
    assert made.vote({"a" * 31: "z_", "b": "unsure"}, unsure=True) == ("z_", "unsure")
    assert made.vote({"a" * 31: "x", "b": "y"}) == ("x", "")
    assert made.votes() == (("x", ""), ("y2", ""), ("z_", "x"), ("z_", "y"))
    assert made.as_text(("x", "")) == json.dumps({"a" * 31: "x"}) and made.read(made.as_text(("x", ""))) == ("x", "")
