"""A survey that is started again: changed rules, a changed test, other sentences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from survey_browser import TEST, heading_of, passed, site
from survey_raters import new_sqlite

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import EntranceTest
from equipoise.builder.verdict.consensus import Coverage, Rule

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
