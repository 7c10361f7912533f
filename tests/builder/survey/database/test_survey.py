"""A survey that is started again: changed rules, a changed test, other sentences."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from survey_browser import TEST, heading_of, passed, site
from survey_raters import new_sqlite, survey_of, votes_for

from equipoise.builder.steps import BuildError, Sentence, Variant
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import SENTENCES
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import EntranceTest
from equipoise.builder.verdict.consensus import Coverage, Criteria, Rule
from equipoise.builder.verdict.questions import questions_of

TWO, OTHER = EntranceTest(TEST.pool[:2]), EntranceTest(TEST.pool[2:4])


def test_a_changed_rule_is_applied_to_every_sentence(tmp_path: Path, some_sentences) -> None:
    url = new_sqlite(tmp_path / "s.sqlite")
    database = SurveyDatabase(url)
    database.load([sentence for sentence in some_sentences(40) if sentence.type == "type1"][:2])
    assert database.apply_options("test") == [] == database.apply_options("test")
    make = site(database, test=TWO)
    for _ in range(2):
        browser = passed(database, make(), TWO)
        browser.answer()
        browser.answer()
    assert database.results.counts() == (2, 0)
    database.close()
    looser = SurveyDatabase(url, Asking(Rule(Coverage(enough=2))))
    (note,) = looser.apply_options("test")
    assert "all sentences were counted again" in note
    assert looser.results.counts() == (2, 2)
    looser.close()
    stricter = SurveyDatabase(url, Asking())
    stricter.apply_options("test")
    assert stricter.results.counts() == (2, 0)
    stricter.close()


def test_a_changed_test_begins_again_for_those_in_the_middle(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"))
    database.load(some_sentences(2))
    database.apply_options(TWO.identity)
    make = site(database, test=TWO)
    done, halfway = passed(database, make(), TWO), make()
    halfway.enter(database.raters.invite(1)[0])
    halfway.post("/test", data=halfway.form(halfway.shown()[0]))
    assert "question 2 of 2" in halfway.get("/work").text
    (note,) = database.apply_options(OTHER.identity)
    assert "1 raters in the middle of it begin again" in note
    changed = site(database, test=OTHER)
    for browser in (done, halfway):
        fresh = changed()
        fresh.cookies.set("session", browser.cookies["session"])
        page = fresh.get("/work").text
        assert heading_of(page) == ("Sentence 1" if browser is done else "Entrance test: question 1 of 2")
    database.close()


def test_sentences_that_were_filtered_out_are_asked_no_more(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"))
    three = some_sentences(3)
    database.load(three, twins=True)
    assert database.results.counts() == (6, 0)
    database.load(three[:2])
    assert database.results.counts() == (2, 0)
    browser, seen = passed(database, site(database, test=TWO)(), TWO), set()
    while 'action="/answer"' in browser.get("/work").text:
        seen.add(browser.shown()[1])
        browser.answer()
    assert seen == {sentence.text for sentence in three[:2]}
    assert database.load(three) == 0 and database.results.counts() == (3, 0)
    database.close()


def test_loading_again_adds_only_what_is_new(
    database_url: str, some_sentences: Callable[[int], list[Sentence]]
) -> None:
    database = SurveyDatabase(database_url)
    assert (database.load(some_sentences(2)), database.load(some_sentences(2))) == (2, 0)
    database.close()


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[SurveyDatabase]:
    made = SurveyDatabase(new_sqlite(tmp_path / "survey.sqlite"))
    yield made
    made.close()


def test_settings_and_the_state_are_remembered(survey: SurveyDatabase, tmp_path: Path) -> None:
    assert (survey.setting("x"), survey.status, survey.chosen_rule()) == (None, "open", None)
    survey.remember("x", "1")
    survey.remember("x", "2")
    assert survey.setting("x") == "2"
    survey.set_status("paused")
    assert survey.status == "paused"
    other = SurveyDatabase(f"sqlite:///{tmp_path / 'survey.sqlite'}")
    assert other.status == "paused"
    survey.set_status("closed")
    assert other.status == "paused"  # for a second
    now = time.monotonic()
    other._monotonic = lambda: now + 2.0
    assert other.status == "closed"
    other.close()
    with pytest.raises(BuildError, match=r"^a survey is open, paused, closed, not 'over'$"):
        survey.set_status("over")


def test_every_version_of_a_sentence_becomes_a_row(survey: SurveyDatabase) -> None:
    variants = (Variant("She.", "she", "female", "old"), Variant("They.", "they", "neutral", ""))
    sentence = Sentence("s", "type1", "He.", "he", "subject", "cook", "nurse", "nurse", "male", variants, "young")
    assert survey.load([sentence], twins=True, seed=3) == 3 and survey.work.has_twins
    with survey.store.reading() as connection:
        rows = {row.id: row for row in connection.execute(sa.select(SENTENCES))}
    assert list(rows) == ["s", "s-twin", "s-twin2"]
    assert [(row.text, row.pronoun, row.first, row.second) for row in rows.values()] == [
        ("He.", "he", "cook", "young nurse"),
        ("She.", "she", "cook", "old nurse"),
        ("They.", "they", "cook", "nurse"),
    ]
    rng = random.Random(3)
    assert [row.shuffle for row in rows.values()] == [rng.random() for _ in range(3)]
    assert {(row.pair, row.type, row.active, row.settled, row.needed) for row in rows.values()} == {
        ("s", "type1", True, False, 4)
    }
    assert survey.load([sentence], twins=True) == 0
    assert survey.load([replace(sentence, type="type2"), replace(sentence, id="t")]) == 1
    with survey.store.reading() as connection:
        told = {row.id: (row.type, row.active, row.needed) for row in connection.execute(sa.select(SENTENCES))}
    gone = ("type1", False, 0)
    assert told == {"s": ("type2", True, 4), "s-twin": gone, "s-twin2": gone, "t": ("type1", True, 4)}


def test_a_start_says_what_changed(survey: SurveyDatabase, tmp_path: Path, some_sentences) -> None:
    survey.load(some_sentences(2))
    assert survey.apply_options("first") == [] and survey.chosen_rule() == Rule() and survey.setting("test") == "first"
    assert survey.apply_options("first") == []
    assert survey.apply_options("second") == ["the entrance test changed; 0 raters in the middle of it begin again"]
    url = f"sqlite:///{tmp_path / 'survey.sqlite'}"
    rule = Rule(Coverage(2, 5), Criteria(meant=0.5))
    other = SurveyDatabase(url, Asking(rule))
    changes = "enough 4 is now 2, most 10 is now 5, meant 0.75 is now 0.5"
    assert other.apply_options("second") == [f"the rule changed: {changes}; all sentences were counted again"]
    with other.store.reading() as connection:
        assert set(connection.scalars(sa.select(SENTENCES.c.needed))) == {2}
    other.store.write(lambda connection: connection.execute(SENTENCES.update().values(needed=7)) and None)
    assert other.apply_options("second") == ["2 sentences had wrong counts and were counted again"]
    own = questions_of("mine", [{"name": "more", "choices": ["first", "second"]}])
    third = SurveyDatabase(url, Asking(replace(rule, questions=own)))
    notes = third.apply_options("second")
    assert notes == ["the rule changed: other questions; all sentences were counted again"]
    assert SurveyDatabase(url).asking.rule == replace(rule, questions=own)
    for made in (other, third):
        made.close()


def test_questions_cannot_change_once_somebody_has_answered(tmp_path: Path, some_sentences) -> None:
    sentences = some_sentences(1)
    url = survey_of(tmp_path / "answered.sqlite", sentences, votes_for(sentences[0]))
    first = SurveyDatabase(url)
    first.apply_options("test")
    own = questions_of("mine", [{"name": "more", "choices": ["first", "second"]}])
    second = SurveyDatabase(url, Asking(Rule(questions=own)))
    with pytest.raises(BuildError, match=r"^the survey was begun with other questions; use a new database for these$"):
        second.apply_options("test")
    for made in (first, second):
        made.close()


def test_a_survey_is_tidied_until_nothing_is_held_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, left = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite")), [3, 2, 0, 9]
    monkeypatch.setattr(database.work, "sweep", lambda: left.pop(0))
    assert database.tidy() == 0 and left == [9]
    database.close()
