"""What raters see and do: the test, the sentences, correcting, leaving; and what they must not be able to do."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from survey_browser import TEST, YES, come, heading_of, panel, passed, shown_in, site
from survey_raters import new_sqlite, vote

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import read_checks, read_test
from equipoise.builder.survey.panel import Ending
from equipoise.builder.survey.web.administration import Rejection
from equipoise.builder.survey.web.pages import csrf_of
from equipoise.builder.survey.web.texts import read_texts
from equipoise.builder.verdict.cleaning import CleanOptions, clean
from equipoise.builder.verdict.consensus import Coverage, Rule

SENTENCES = 6
"""So many are in the database of each test."""


def test_the_way_through(database: SurveyDatabase) -> None:
    browser = site(database, test=TEST)()
    invitation = database.raters.invite(1)[0]
    assert "Begin" in browser.get(f"/enter/{invitation}").text
    browser.enter(invitation)
    assert heading_of(browser.get("/work").text) == "Entrance test: question 1 of 20"
    assert "Sentence 1" in browser.take_test(TEST)
    seen = set()
    for _ in range(6):
        ticket, text = browser.shown()
        assert browser.shown() == (ticket, text)  # reloading asks the same
        seen.add(text)
        assert browser.post("/answer", data=browser.form(ticket)).status_code == 200
    assert len(seen) == 6
    assert "You have answered 6 sentences" in browser.get("/work").text


def test_16_of_20_pass_and_15_fail_with_one_try(database: SurveyDatabase) -> None:
    make = site(database, test=TEST)
    first, second = make(), make()
    first.enter(database.raters.invite(1)[0])
    assert "Sentence 1" in first.take_test(TEST, right=16)
    invitation = database.raters.invite(1)[0]
    second.enter(invitation)
    assert "75% of the entrance test right; 80% are needed" in second.take_test(TEST, right=15)
    second.enter(invitation)
    assert "80% are needed" in second.get("/work").text


def test_nobody_votes_without_passing_the_test(database: SurveyDatabase) -> None:
    make = site(database)
    assert make().get("/work").status_code == 403
    assert make().post("/answer", data={"ticket": "x"}).status_code == 403
    testing, failed = make(), make()
    testing.enter(database.raters.invite(1)[0])
    assert testing.post("/answer", data=testing.form("x")).status_code == 403
    failed.enter(database.raters.invite(1)[0])
    failed.take_test(right=0)
    assert failed.post("/answer", data=failed.form("x")).status_code == 403
    assert database.results.answers() == []


def test_a_replayed_vote_counts_once(database: SurveyDatabase) -> None:
    browser = passed(database, site(database)())
    ticket, _ = browser.shown()
    for _ in range(3):
        browser.post("/answer", data=browser.form(ticket))
    assert len(database.results.answers()) == 1


def test_a_question_of_the_test_is_answered_once(database: SurveyDatabase) -> None:
    browser = site(database, test=TEST)()
    browser.enter(database.raters.invite(1)[0])
    for ticket in ("0", "0", "5"):  # once, and not out of turn
        browser.post("/test", data=browser.form(ticket))
    assert "question 2 of 20" in browser.get("/work").text


def test_anothers_ticket_is_worth_nothing(database: SurveyDatabase) -> None:
    make = site(database)
    one, other = passed(database, make()), passed(database, make())
    ticket, _ = one.shown()
    response = other.post("/answer", data=other.form(ticket))
    assert "went to somebody else" in html.unescape(response.text)
    assert database.results.answers() == []
    assert one.shown()[0] == ticket


def test_a_rater_sees_nobodys_answers(database: SurveyDatabase) -> None:
    make = site(database)
    one, other = passed(database, make()), passed(database, make())
    one.post("/answer", data=one.form(one.shown()[0], vote(True, False, True)))
    pages = [other.get(path) for path in ("/work", "/", "/admin", "/admin/answers.csv", "/answers.csv", "/answer")]
    (rater,) = {answer.rater for answer in database.results.answers()}
    assert all(rater not in page.text for page in pages)
    assert [page.status_code for page in pages] == [200, 200, 200, 403, 404, 405]
    assert "Token" in pages[2].text  # the login, nothing else


@pytest.mark.parametrize(
    "fields", [{}, {"coherent": "yes"}, {"coherent": "yes", "first": "yes"}, {"coherent": "maybe"}]
)
def test_a_half_answered_form_is_refused(database: SurveyDatabase, fields: dict[str, str]) -> None:
    browser = passed(database, site(database)())
    form = browser.form(browser.shown()[0]) | {"coherent": "", "first": "", "second": ""} | fields
    assert "Please answer every question" in browser.post("/answer", data=form).text
    assert database.results.answers() == []


def test_twins_are_never_shown_to_one_person_or_far_apart(tmp_path: Path, some_sentences) -> None:
    for gap, answered in ((None, 6), (4, 12)):
        store = SurveyDatabase(new_sqlite(tmp_path / f"{gap}.sqlite"), Asking(twin_gap=gap))
        store.load(some_sentences(6), twins=True)
        browser = passed(store, site(store)())
        while "That is all" not in browser.get("/work").text:
            browser.post("/answer", data=browser.form(browser.shown()[0]))
        order = [
            one.sentence.removesuffix("-twin") for one in sorted(store.results.answers(), key=lambda one: one.number)
        ]
        assert len(order) == answered
        places = {id: [place for place, other in enumerate(order) if other == id] for id in order}
        assert all(len(at) == 1 or at[1] - at[0] > (gap or 0) for at in places.values())
        store.close()


NO = vote(False, None, None)


def test_a_rater_who_withdraws_is_deleted(database: SurveyDatabase) -> None:
    make = site(database)
    staying, leaving = passed(database, make()), passed(database, make())
    for browser in (staying, leaving):
        browser.answer(comment="a secret")
    assert "Your 1 answers are deleted" in leaving.get("/leave").text
    assert len(database.results.answers()) == 2
    page = leaving.post("/leave", data=leaving.form(""))
    assert heading_of(page.text) == "You have withdrawn"
    (left,) = database.results.answers()
    assert left.rater != leaving.get("/work").text
    admin = make()
    csrf = admin.log_in()
    gone = next(record.id for record in database.raters.all() if record.withdrawn_by == "rater")
    admin.post("/admin/restore", data={"csrf": csrf, "rater": gone})  # the administrator cannot undo it
    assert len(database.results.answers()) == 1
    assert next(record.state for record in database.raters.all() if record.id == gone) == "withdrawn"
    assert f"restore?rater={gone}" not in admin.get("/admin").text


def test_the_last_answer_can_be_corrected_and_no_other(database: SurveyDatabase) -> None:
    browser = passed(database, site(database)())
    assert "no answer to correct" in browser.get("/last").text
    browser.answer(NO, comment="first")
    first = browser.shown()
    page = browser.get("/last").text
    assert 'value="no" checked' in page and ">first</textarea>" in page
    ticket, _ = shown_in(page)
    response = browser.post("/last", data=browser.form(ticket, YES, comment="changed"))
    assert "Your last answer was corrected" in response.text
    assert browser.shown() == first  # the next question waits as before
    (answer,) = database.results.answers()
    assert (answer.vote, answer.comment) == (YES, "changed")
    browser.answer()
    response = browser.post("/last", data=browser.form(ticket, NO))
    assert "Only your most recent answer" in response.text
    assert {answer.vote for answer in database.results.answers()} == {YES}


def test_unsure_is_off_unless_asked_for(database: SurveyDatabase) -> None:
    strict, free = site(database), site(database, allows_unsure=True)
    unsure = vote(True, None, True)
    browser = passed(database, strict())
    assert "Unsure" not in browser.get("/work").text
    assert "Please answer every question" in browser.answer(unsure).text
    browser = passed(database, free())
    assert "Unsure" in browser.get("/work").text
    browser.answer(unsure)
    assert [answer.vote for answer in database.results.answers()] == [unsure]


def test_attention_checks_are_mixed_in_and_counted(tmp_path: Path, some_sentences) -> None:
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"), Asking(check_every=2))
    store.load(some_sentences(6))
    checks = read_checks(None)
    answers = {check.text: check.answer for check in checks}
    make = site(store, checks=checks)
    orders = []
    for careful in (True, False):
        browser, seen = passed(store, make()), []
        while 'action="/answer"' in browser.get("/work").text:
            text = browser.shown()[1]
            seen.append(text)
            wrong = (NO if answers[text][0] == "yes" else YES) if text in answers else YES
            browser.answer(answers.get(text, YES) if careful else wrong)
        orders.append([place for place, text in enumerate(seen) if text in answers])
    # One among every two sentences: before the first or the second of them.
    assert all([place // 3 for place in order[:3]] == [0, 1, 2] for order in orders), orders
    counted = sorted((record.checks_right, record.checks_wrong) for record in store.raters.all())
    assert counted == [(0, len(orders[1])), (len(orders[0]), 0)]
    assert len(store.results.answers()) == 12  # checks are no answers
    rejected = Rejection(wrong_checks=2).raters(store.results.summary())
    assert [line.checks_wrong for line in rejected] == [len(orders[1])]
    store.close()


def test_pausing_and_closing(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database)
    working, idle = make(), make()
    for browser, id in ((working, "w"), (idle, "i")):
        come(browser, f"/panel?id={id}")
        browser.take_test()
    working.answer()
    admin = make()
    csrf = admin.log_in()
    for status, heading, code in (("paused", "The survey is paused", ""), ("closed", "The survey is closed", "DONE42")):
        admin.post("/admin/status", data={"csrf": csrf, "status": status})
        page = working.get("/work").text
        assert heading_of(page) == heading and code in page
        back = ["https://panel.test/end?cc=DONE42&amp;who=w"] if code else []
        assert re.findall(r'href="(https://panel[^"]*)"', page) == back
    assert "NONE1" in idle.get("/work").text  # who did nothing gets another code
    admin.post("/admin/status", data={"csrf": csrf, "status": "open"})
    assert heading_of(working.get("/work").text) == "Sentence 2"


@pytest.mark.parametrize("address", ["", "https://panel.test/out?cc={code}&who={id}"])
def test_who_fails_goes_back_to_the_panel_where_it_has_an_address(
    tmp_path: Path, database: SurveyDatabase, address: str
) -> None:
    make, _ = panel(tmp_path, database, screened_out=Ending("OUT7", address))
    browser = make()
    come(browser, "/panel?id=f")
    (links,) = re.findall(r"<main.*</main>", browser.take_test(right=0), re.DOTALL)
    back = ["https://panel.test/out?cc=OUT7&amp;who=f"] if address else ["/"]
    assert re.findall(r'href="([^"]*)"', links) == back and "OUT7" in links


def test_progress_with_a_quota(tmp_path: Path, some_sentences) -> None:
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"), Asking(quota=2))
    store.load(some_sentences(5))
    browser = passed(store, site(store)())
    page = browser.get("/work").text
    assert heading_of(page) == "Sentence 1 of 2" and '<progress max="2" value="0"' in page
    browser.answer()
    assert heading_of(browser.answer().text) == "That is all. Thank you!"
    store.close()


def test_two_raters_get_different_tests(database: SurveyDatabase) -> None:
    make = site(database, test=TEST)
    browsers = [make(), make()]
    for browser in browsers:
        browser.enter(database.raters.invite(1)[0])
    raters = [database.raters.in_session(browser.cookies["session"]) for browser in browsers]
    assert raters[0] and raters[1] and raters[0].questions != raters[1].questions
    first = browsers[0].shown()
    assert browsers[0].shown() == first  # but each keeps their own


def test_versions_with_markers_are_asked_about_by_their_label(tmp_path: Path) -> None:
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"))
    sentence = Sentence(
        "m",
        "type2",
        "The old cook met the nurse, and xe left.",
        "xe",
        "subject",
        "cook",
        "nurse",
        "cook",
        "xe",
        (),
        "old",
    )
    store.load([sentence])
    page = html.unescape(passed(store, site(store)()).get("/work").text)
    assert "Can “xe” mean the old cook?" in page and "Can “xe” mean the nurse?" in page
    store.close()


def test_the_same_form_twice_leads_on_and_another_answer_is_refused_kindly(database: SurveyDatabase) -> None:
    browser = passed(database, site(database)())
    ticket, _ = browser.shown()
    for _ in range(3):
        page = browser.post("/answer", data=browser.form(ticket))
        assert page.status_code == 200 and heading_of(page.text) == "Sentence 2" and "notice" not in page.text
    page = browser.post("/answer", data=browser.form(ticket, NO))
    assert heading_of(page.text) == "Sentence 2" and "the first answer counts" in page.text
    assert [answer.vote for answer in database.results.answers()] == [YES]


def test_two_tabs_of_one_browser_share_their_place(database: SurveyDatabase) -> None:
    make = site(database)
    (invitation,) = database.raters.invite(1)
    browser = make()
    browser.enter(invitation)
    browser.take_test()
    form = browser.form(browser.shown()[0])
    browser.post(f"/enter/{invitation}")  # the link once more, in a second tab
    assert heading_of(browser.post("/answer", data=form).text) == "Sentence 2"  # from the first


def test_a_question_of_the_test_sent_twice_counts_once(database: SurveyDatabase) -> None:
    browser = site(database, test=TEST)()
    browser.enter(database.raters.invite(1)[0])
    ticket, _ = browser.shown()
    form = browser.form(ticket)
    for _ in range(2):
        assert heading_of(browser.post("/test", data=form).text) == "Entrance test: question 2 of 20"
    assert "the first answer counts" in browser.post("/test", data=browser.form(ticket, NO)).text


def test_a_check_looks_like_any_sentence_and_the_counter_counts_it(tmp_path: Path, some_sentences) -> None:
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"), Asking(Rule(Coverage(10)), check_every=3, quota=6))
    store.load(some_sentences(8))
    checks = {check.text for check in read_checks(None)}
    make, places = site(store, checks=read_checks(None)), set()
    for _ in range(6):
        browser, shown = passed(store, make()), []
        while 'action="/answer"' in (page := browser.get("/work").text):
            assert heading_of(page) == f"Sentence {len(shown) + 1} of 8"
            shown.append(shown_in(page)[1] in checks)
            browser.answer()
            if shown[-1]:  # it can be corrected like any other: the page does not give it away
                assert shown_in(browser.get("/last").text)[1] in checks
        assert len(shown) == 8 and sum(shown) == 2
        places.add(tuple(shown))
    assert len(places) > 1  # not at fixed places
    store.close()


OWN = """
[[questions]]
name = "more"
text = "Which is more stereotyped: that {pronoun} is the {first}, or the {second}?"
choices = { first = "The first", second = "The second", same = "Neither" }

[[questions]]
name = "why"
text = "Is it about the occupation?"
choices = { yes = "Yes", no = "No" }
when = { more = "first" }

[guidelines]
intro = "You read one sentence at a time."
steps = ["Say which reading is more stereotyped."]
"""
TABLE = "text,pronoun,first,second,more,about\nThe cook saw the nurse.,he,cook,nurse,same,\n"


def test_a_survey_with_questions_of_ones_own(tmp_path: Path, some_sentences) -> None:
    own = tmp_path / "texts.toml"
    own.write_text(OWN.replace('name = "why"', 'name = "about"'))
    (tmp_path / "test.csv").write_text(TABLE)
    texts = read_texts("en", own)
    with pytest.raises(BuildError, match="a table of your own"):
        read_test(None, questions=texts.questions)
    test = read_test(tmp_path / "test.csv", questions=texts.questions)
    rule = Rule(questions=texts.questions)
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"), Asking(rule))
    sentences = some_sentences(2)
    store.load(sentences)
    store.apply_options(test.identity)
    make = site(store, test=test, texts=texts)
    for number in range(4):
        browser = make()
        browser.enter(store.raters.invite(1)[0])
        fields = {"csrf": csrf_of(browser.cookies["session"])}
        page = browser.get("/work").text
        assert "Which is more stereotyped" in page and "The second" in page
        page = browser.post("/test", data=fields | {"ticket": shown_in(page)[0], "more": "same"}).text
        assert heading_of(page) == "Sentence 1"
        page = browser.post("/answer", data=fields | {"ticket": shown_in(page)[0], "more": "first"}).text
        assert "Please answer every question" in page  # the second question is asked of those who say "first"
        while 'action="/answer"' in page:
            replies = {"more": "first", "about": "yes" if number else "no"}
            page = browser.post("/answer", data=fields | {"ticket": shown_in(page)[0], **replies}).text
    assert "form:has([name=more][value=second]:checked) .if-about" in browser.get("/survey.css").text
    assert [question for question, *_ in store.results.summary().alphas] == ["more", "about"]
    assert store.results.counts() == (2, 0)  # three of four agree on the second question; more than 75% must
    store.close()
    again = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}")
    assert again.asking.rule == rule  # `clean` reads what the survey was made with
    cleaned = clean(sentences, again.results.answers(), CleanOptions(rule, allow_unsettled=True))
    assert set(cleaned.reasons) == {"not settled"} or set(cleaned.reasons) == {"raters do not agree"}
    with pytest.raises(BuildError, match="other questions"):
        SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}", Asking()).apply_options("t")
    again.close()
