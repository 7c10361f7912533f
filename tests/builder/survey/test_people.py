"""Surveys with people who are paid: panels, consent, withdrawal, attention checks, corrections, pausing, texts."""

from __future__ import annotations

import csv
import html
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from survey_browser import SITE, TEST, YES, Browser, heading_of, site

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import EntranceTest, read_checks, read_test
from equipoise.builder.survey.panel import Ending, PanelOptions, PaymentMap, normalised, signed_links, visit_of
from equipoise.builder.survey.web.administration import Rejection
from equipoise.builder.verdict.summary import RaterSummary, Summary
from equipoise.builder.verdict.votes import Vote

SHORT = EntranceTest(TEST.pool[:1])
NO = Vote(False, None, None)
KEY = "a key for signed links, 128 bits"
ENDINGS = {
    "completed": Ending("DONE42", "https://panel.test/end?cc={code}&who={id}"),
    "screened_out": Ending("OUT7"),
    "no_work": Ending("NONE1"),
}
ID = "5F3C2b1a9d8e7f6a5b4c3d2e"


def rater(database: SurveyDatabase, make: Callable[[], Browser], test: EntranceTest = SHORT) -> Browser:
    browser = make()
    browser.enter(database.raters.invite(1)[0])
    browser.take_test(test)
    return browser


def panel(tmp_path: Path, database: SurveyDatabase, **options: object) -> tuple[Callable[[], Browser], PaymentMap]:
    payments = PaymentMap(tmp_path / "panel.sqlite")
    return site(database, payments, test=SHORT, panel=PanelOptions(True, **{**ENDINGS, **options})), payments


def come(browser: Browser, address: str) -> int:
    """Come from a panel: read the page, agree, and begin."""
    page = browser.get(address)
    if page.status_code != 200:
        return page.status_code
    parameters = dict(parse_qsl(address.partition("?")[2]))
    return browser.post("/panel", data={**parameters, "agree": "yes"}).status_code


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (f"/panel?PROLIFIC_PID={ID}&STUDY_ID=s&SESSION_ID=t", "prolific"),
        ("/panel?workerId=A1B2C3&assignmentId=x9&hitId=h1", "mturk"),
        ("/panel?participantId=p-17&assignmentId=x&projectId=y", "cloudresearch"),
        ("/panel?id=me", "other"),
    ],
)
def test_panels_and_their_parameters(tmp_path: Path, database: SurveyDatabase, address: str, name: str) -> None:
    make, payments = panel(tmp_path, database)
    browser = make()
    assert come(browser, address) == 200
    browser.take_test(SHORT)
    for _ in range(3):
        page = browser.answer()
    assert heading_of(page.text) == "That is all. Thank you!" and "DONE42" in page.text
    table = list(csv.DictReader(payments.table({}, ()).splitlines()))
    assert [row["panel"] for row in table] == [name]
    shown = html.unescape(page.text)
    assert f"https://panel.test/end?cc=DONE42&who={table[0]['panel_id']}" in shown


def test_a_person_enters_once_whatever_the_case_and_width_of_the_id(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database)
    assert come(make(), f"/panel?PROLIFIC_PID={ID}") == 200
    for same in (ID.lower(), f"%20{ID}%20", "５F3C2b1a9d8e7f6a5b4c3d2e"):
        again = make()
        assert come(again, f"/panel?PROLIFIC_PID={same}") == 409
        page = again.post("/panel", data={"PROLIFIC_PID": ID, "agree": "yes"})
        assert "Go on in the browser you began with" in page.text
    assert len(database.raters.all()) == 1  # so there is one entrance test
    assert normalised("  Ab c ") == "abc" and normalised("a;b") == ""


def test_panel_ids_are_kept_apart_from_answers(tmp_path: Path, database: SurveyDatabase) -> None:
    make, payments = panel(tmp_path, database)
    come(make(), f"/panel?PROLIFIC_PID={ID}")
    (record,) = database.raters.all()
    assert payments.panel_id(record.id) == ID
    database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("survey.sqlite*"))
    assert ID.encode() not in stored and ID.lower().encode() not in stored
    assert (tmp_path / "panel.sqlite").stat().st_mode & 0o077 == 0
    admin = make()
    admin.log_in()
    exported = list(csv.DictReader(admin.get("/admin/payments.csv").text.splitlines()))
    assert exported[0]["panel_id"] == ID and exported[0]["rater"] == record.id and exported[0]["state"] == "testing"


def test_an_allow_list_and_signed_links(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database, allowed=frozenset({"alice"}))
    assert come(make(), "/panel?id=Alice") == 200
    assert come(make(), "/panel?id=mallory") == 403
    signed, _ = panel(tmp_path, database, key=KEY)
    (link,) = signed_links(SITE, ["bob"], KEY)
    assert come(signed(), link.removeprefix(SITE)) == 200
    assert come(signed(), link.removeprefix(SITE)) == 200  # another device: the link proves who it is
    assert come(signed(), link.removeprefix(SITE).replace("id=bob", "id=eve")) == 403
    assert come(signed(), "/panel?id=eve") == 403
    assert len(database.raters.all()) == 2


def test_a_preview_of_mturk_enters_nobody(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database)
    preview = "/panel?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=h&workerId="
    assert "preview" in make().get(preview).text
    visit = visit_of({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "workerId": "W"})
    assert visit is not None and visit.preview
    fields = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "workerId": "W", "agree": "yes"}
    assert make().post("/panel", data=fields).status_code == 403
    assert database.raters.all() == []


def test_codes_for_those_who_fail_and_those_who_find_no_work(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database)
    failing = make()
    come(failing, "/panel?id=fails")
    page = failing.take_test(SHORT, right=0)
    assert "OUT7" in page and "DONE42" not in page
    database.load([])
    late = make()
    come(late, "/panel?id=late")
    page = late.take_test(SHORT)
    assert heading_of(page) == "No sentences are left" and "NONE1" in page and "/work" in page


def test_consent_is_needed_and_recorded(database: SurveyDatabase) -> None:
    browser = site(database, test=SHORT)()
    (invitation,) = database.raters.invite(1)
    assert "I agree to take part" in browser.get(f"/enter/{invitation}").text
    assert browser.post(f"/enter/{invitation}").status_code == 422
    assert database.raters.state_of(invitation) == "invited"
    assert browser.enter(invitation).status_code == 200


def test_who_comes_back_is_greeted(database: SurveyDatabase) -> None:
    make = site(database, test=SHORT)
    (invitation,) = database.raters.invite(1)
    browser = make()
    browser.enter(invitation)
    again = make()
    page = again.get(f"/enter/{invitation}").text
    assert heading_of(page) == "Welcome back" and "in the middle of the entrance test" in page
    assert again.post(f"/enter/{invitation}").status_code == 200  # no second consent
    again.take_test(SHORT)
    assert "You passed the entrance test" in make().get(f"/enter/{invitation}").text
    assert browser.get("/work").status_code == 403  # the older session has ended


def test_a_rater_who_withdraws_is_deleted(database: SurveyDatabase) -> None:
    make = site(database, test=SHORT)
    staying, leaving = rater(database, make), rater(database, make)
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
    browser = rater(database, site(database, test=SHORT))
    assert "no answer to correct" in browser.get("/last").text
    browser.answer(NO, comment="first")
    first = browser.shown()
    page = browser.get("/last").text
    assert 'value="no" checked' in page and ">first</textarea>" in page and 'name="number" value="0"' in page
    response = browser.post("/last", data=browser.form("", YES, number="0", comment="changed"))
    assert "Your last answer was corrected" in response.text
    assert browser.shown() == first  # the next question waits as before
    (answer,) = database.results.answers()
    assert (answer.vote, answer.comment) == (YES, "changed")
    with database.store.reading() as connection:
        tally = connection.exec_driver_sql(
            "SELECT votes, coherent_yes, coherent_no, first_yes FROM sentences ORDER BY votes"
        )
        assert tuple(tally.fetchall()[-1]) == (1, 1, 0, 1)
    browser.answer()
    response = browser.post("/last", data=browser.form("", NO, number="0"))
    assert "Only your most recent answer" in response.text
    assert {answer.vote for answer in database.results.answers()} == {YES}


def test_unsure_is_off_unless_asked_for(database: SurveyDatabase) -> None:
    strict, free = site(database, test=SHORT), site(database, test=SHORT, allows_unsure=True)
    unsure = Vote(True, None, True)
    browser = rater(database, strict)
    assert "Unsure" not in browser.get("/work").text
    assert "Please answer every question" in browser.answer(unsure).text
    browser = rater(database, free)
    assert "Unsure" in browser.get("/work").text
    browser.answer(unsure)
    assert [answer.vote for answer in database.results.answers()] == [unsure]


def test_attention_checks_are_mixed_in_and_counted(tmp_path: Path, some_sentences) -> None:
    store = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}", Asking(check_every=2))
    store.load(some_sentences(6))
    checks = read_checks(None)
    answers = {check.text: check.answer for check in checks}
    make = site(store, test=SHORT, checks=checks)
    orders = []
    for careful in (True, False):
        browser, seen = rater(store, make), []
        while 'action="/answer"' in browser.get("/work").text:
            text = browser.shown()[1]
            seen.append(text)
            wrong = Vote(not answers[text].coherent, True, True) if text in answers else YES
            browser.answer(answers.get(text, YES) if careful else wrong)
        orders.append([place for place, text in enumerate(seen) if text in answers])
    assert orders == [[2, 5, 8], [2, 5, 8]]
    counted = sorted((record.checks_right, record.checks_wrong) for record in store.raters.all())
    assert counted == [(0, 3), (3, 0)]
    assert len(store.results.answers()) == 12  # checks are no answers
    rejected = Rejection(wrong_checks=2).raters(store.results.summary())
    assert [line.checks_wrong for line in rejected] == [3]
    store.close()


def test_raters_are_rejected_by_speed_or_agreement_after_a_preview(database: SurveyDatabase) -> None:
    lines = [
        RaterSummary("fast", "passed", 1.0, "", 50, 1.2, 0.9),
        RaterSummary("apart", "passed", 1.0, "", 50, 9.0, 0.4),
        RaterSummary("new", "passed", 1.0, "", 2, 0.5, 0.0),
        RaterSummary("good", "passed", 1.0, "", 50, 9.0, 0.9),
    ]
    summary = Summary(1, 0, 152, 0, 1.0, 5.0, (), tuple(lines))
    assert [line.id for line in Rejection(seconds=2.0).raters(summary)] == ["fast"]
    assert [line.id for line in Rejection(agreement=0.5).raters(summary)] == ["apart"]
    make = site(database, test=SHORT)
    browser = rater(database, make)
    browser.answer()
    admin = make()
    csrf = admin.log_in()
    page = admin.get("/admin/reject", params={"seconds": "9999", "least_answers": "1"}).text
    assert "1 rater, 1 answers that count now" in page
    assert not database.results.answers()[0].withdrawn  # a preview changes nothing
    (record,) = database.raters.all()
    admin.post("/admin/withdraw", data={"csrf": csrf, "rater": record.id})
    assert database.results.answers()[0].withdrawn
    nobody = admin.get("/admin/reject", params={"seconds": "0.0001"}).text
    assert heading_of(nobody) == "No rater is rejected by these rules"


def test_pausing_and_closing(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database)
    working, idle = make(), make()
    for browser, id in ((working, "w"), (idle, "i")):
        come(browser, f"/panel?id={id}")
        browser.take_test(SHORT)
    working.answer()
    admin = make()
    csrf = admin.log_in()
    for status, heading, code in (("paused", "The survey is paused", ""), ("closed", "The survey is closed", "DONE42")):
        admin.post("/admin/status", data={"csrf": csrf, "status": status})
        page = working.get("/work").text
        assert heading_of(page) == heading and code in page
    assert "NONE1" in idle.get("/work").text  # who did nothing gets another code
    admin.post("/admin/status", data={"csrf": csrf, "status": "open"})
    assert heading_of(working.get("/work").text) == "Sentence 2"


def test_pages_with_simulated_answers_say_so_first(database: SurveyDatabase) -> None:
    make = site(database, test=SHORT)
    browser = make()
    browser.enter(database.raters.invite(1, origin="simulated")[0])
    browser.take_test(SHORT)
    browser.answer()
    assert [answer.origin for answer in database.results.answers()] == ["simulated"]
    admin = make()
    admin.log_in()
    body = admin.get("/admin").text.partition("<body")[2]
    assert body.index("Rehearsal with simulated raters") < body.index("<h1")
    assert admin.get("/admin/answers.csv").text.startswith("# SIMULATED RATERS")
    rehearsal = site(database, test=SHORT, simulated=True)().get("/").text
    assert "Rehearsal with simulated raters" in rehearsal


def test_progress_with_a_quota(tmp_path: Path, some_sentences) -> None:
    store = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}", Asking(quota=2))
    store.load(some_sentences(5))
    browser = rater(store, site(store, test=SHORT))
    page = browser.get("/work").text
    assert heading_of(page) == "Sentence 1 of 2" and '<progress max="2" value="0"' in page
    browser.answer()
    assert heading_of(browser.answer().text) == "That is all. Thank you!"
    store.close()


def test_the_entrance_test_is_drawn_from_a_pool_shuffled_and_balanced() -> None:
    for name, count in (("section-4.3", 10), ("appendix-d", 15)):
        test = read_test(name)
        orders = set()
        for seed in range(20):
            drawn = test.draw(random.Random(seed))
            assert len(drawn) == len(set(drawn)) == test.length == 2 * count
            assert Counter(question.type for question in drawn) == {"type1": count, "type2": count}
            kinds = Counter(question.kind for question in drawn if question.type == "type2")
            assert kinds["incoherent"] >= 1
            assert abs(kinds["True-False"] - kinds["False-True"]) <= 1  # the referent is as often first as second
            orders.add(tuple(question.key for question in drawn))
        assert len(orders) == 20
    with pytest.raises(BuildError, match="questions of type1, not 99"):
        read_test("section-4.3", per_type=99)


def test_two_raters_get_different_tests(database: SurveyDatabase) -> None:
    make = site(database)
    browsers = [make(), make()]
    for browser in browsers:
        browser.enter(database.raters.invite(1)[0])
    raters = [database.raters.in_session(browser.cookies["session"]) for browser in browsers]
    assert raters[0] and raters[1] and raters[0].questions != raters[1].questions
    first = browsers[0].shown()
    assert browsers[0].shown() == first  # but each keeps their own


def test_versions_with_markers_are_asked_about_by_their_label(tmp_path: Path) -> None:
    store = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}")
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
    page = html.unescape(rater(store, site(store, test=SHORT)).get("/work").text)
    assert "Can “xe” mean the old cook?" in page and "Can “xe” mean the nurse?" in page
    store.close()
