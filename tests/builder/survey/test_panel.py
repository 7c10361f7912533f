"""Panels that pay people: their parameters, ids, signed links and codes."""

from __future__ import annotations

import csv
import hmac
import html
import re
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from survey_browser import SITE, code_in, come, heading_of, panel

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.panel import (
    PREVIEW,
    Ending,
    PanelOptions,
    PaymentMap,
    Visit,
    is_signed,
    normalised,
    read_ids,
    signature_of,
    signed_links,
    visit_of,
)

KEY = "a key for signed links, 128 bits"


ID = "5F3C2b1a9d8e7f6a5b4c3d2e"


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
    browser.take_test()
    for _ in range(3):
        page = browser.answer()
    assert heading_of(page.text) == "That is all. Thank you!" and "DONE42" in page.text
    ((_, named, panel_id, *_),) = payments.people()
    assert named == name
    assert f"https://panel.test/end?cc=DONE42&who={panel_id}" in html.unescape(page.text)


def test_a_person_enters_once_whatever_the_case_and_width_of_the_id(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database)
    assert come(make(), f"/panel?PROLIFIC_PID={ID}") == 200
    for same in (ID.lower(), f"%20{ID}%20", "５F3C2b1a9d8e7f6a5b4c3d2e"):
        again = make()
        assert heading_of(again.get(f"/panel?PROLIFIC_PID={same}").text) == "Welcome back"
        page = again.post("/panel", data={"PROLIFIC_PID": ID, "agree": "yes"})
        assert page.status_code == 409 and "Go on in the browser you began with" in page.text
    assert len(database.raters.all()) == 1  # so there is one entrance test
    assert normalised("  Ab c ") == "abc" and normalised("a;b") == ""


def test_who_reopens_the_study_goes_on_here_or_elsewhere(tmp_path: Path, database: SurveyDatabase) -> None:
    make, _ = panel(tmp_path, database)
    address, begun = f"/panel?PROLIFIC_PID={ID}", make()
    first = begun.get(address).text
    code = code_in(first)
    assert len(code["code"]) == 14 and f">{code['code']}</p>" in first
    fields = {"PROLIFIC_PID": ID, **code, "agree": "yes"}
    for _ in range(2):  # a double click on "Begin"
        assert heading_of(begun.post("/panel", data=fields).text) == "Entrance test: question 1 of 1"
    begun.take_test()
    # The same browser goes on where it was.
    assert heading_of(begun.get(address).text) == "Sentence 1"
    # Another one needs the code; case and hyphens do not matter.
    other = make()
    assert "enter the code" in other.get(address).text
    wrong = other.post("/panel", data={"PROLIFIC_PID": ID, "code": "2345-2345-2345"})
    assert wrong.status_code == 409 and "That is not the code" in wrong.text
    assert other.get("/work").status_code == 403
    right = other.post("/panel", data={"PROLIFIC_PID": ID, "code": code["code"].replace("-", " ").upper()})
    assert heading_of(right.text) == "Sentence 1"
    begun.answer()  # the first browser is still in
    assert len(database.raters.all()) == 1
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("survey.sqlite*"))
    assert code["code"].encode() not in stored


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
    page = failing.take_test(right=0)
    assert "OUT7" in page and "DONE42" not in page
    database.load([])
    late = make()
    come(late, "/panel?id=late")
    page = late.take_test()
    assert heading_of(page) == "No sentences are left" and "NONE1" in page and "/work" in page


def test_a_payment_map_waits_half_a_minute_for_another_writer_and_keeps_each_row_at_once(tmp_path: Path) -> None:
    people = PaymentMap(tmp_path / "payments.sqlite")
    assert people._connection.execute("PRAGMA busy_timeout").fetchone() == (30_000,)
    assert people._connection.isolation_level is None


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (
            {"PROLIFIC_PID": " Ann ", "STUDY_ID": "s" * 101, "SESSION_ID": "t", "sig": "x"},
            ("prolific", "Ann", "ann", "s" * 100, "t", False, "x"),
        ),
        ({"workerId": "W1", "hitId": "h", "assignmentId": "a"}, ("mturk", "W1", "w1", "h", "a", False, "")),
        ({"assignmentId": PREVIEW}, ("mturk", "", "", "", PREVIEW, True, "")),
        ({"participantId": "p", "assignmentId": PREVIEW}, ("mturk", "", "", "", PREVIEW, True, "")),
        (
            {"participantId": "p", "projectId": "q", "assignmentId": "a" * 101},
            ("cloudresearch", "p", "p", "q", "a" * 100, False, ""),
        ),
        ({"id": "Ｘ 1", "study": "s", "session": PREVIEW}, ("other", "Ｘ 1", "x1", "s", PREVIEW, True, "")),
        ({"id": "a/b"}, ("other", "a/b", "", "", "", False, "")),
        ({"PROLIFIC_PID": " ", "id": "b"}, ("other", "b", "b", "", "", False, "")),
        ({"PROLIFIC_PID": "a", "id": "b"}, ("prolific", "a", "a", "", "", False, "")),
    ],
)
def test_who_an_address_names(parameters: dict[str, str], expected: tuple[object, ...]) -> None:
    assert visit_of(parameters) == Visit(*expected)


def test_nobody_is_named_by_other_parameters() -> None:
    assert visit_of({}) is None and visit_of({"id": " ", "study": "s"}) is None
    assert visit_of({"session": PREVIEW}) is None, "only MTurk shows a task before it says to whom"


def test_ids_are_one_whatever_their_case_and_width() -> None:
    assert normalised(" Ａb\u00a0C-1.2@x:+ ") == "abc-1.2@x:+"
    assert normalised("x" * 100) == "x" * 100 and normalised("x" * 101) == normalised("") == normalised("a;b") == ""


def test_a_signature_is_of_the_key_and_the_person() -> None:
    right = hmac.new(b"k", b"ann", "sha256").hexdigest()[:32]
    assert signature_of("k", " ANN ") == right != signature_of("l", "ann")
    options = PanelOptions(key="k")
    visit = Visit("other", "Ann", "ann", "", "", False, right)
    assert is_signed(options, visit) and not is_signed(options, replace(visit, signature="x"))
    assert not is_signed(PanelOptions(), replace(visit, signature=signature_of("", "ann")))
    assert signed_links("https://s.test/", ["a b", "c"], "k") == [
        f"https://s.test/panel?id=a%20b&sig={signature_of('k', 'ab')}",
        f"https://s.test/panel?id=c&sig={signature_of('k', 'c')}",
    ]


def test_ids_are_read_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    path.write_text(" Ann \n\nB1\n")
    assert read_ids(path) == {"ann", "b1"}
    path.write_text("ann\n\n a/b \n")
    with pytest.raises(BuildError, match=rf"^{re.escape(str(path))}:3: 'a/b' is not a participant id$"):
        read_ids(path)


def test_an_ending_fills_in_its_code_and_the_id() -> None:
    assert Ending("A B", "https://p.test/{code}?id={id}").link("x/y&") == "https://p.test/A%20B?id=x/y%26"
    assert Ending("A").link("x") == ""


def test_the_map_knows_each_person_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "panel.sqlite"
    payments = PaymentMap(path)
    ann, tom = Visit("other", "Ann", "ann", "s", "t", False), Visit("mturk", "Tom", "tom", "", "", False)
    rater = payments.rater_of(ann)
    assert rater == payments.rater_of(replace(ann, study="u")) != payments.rater_of(tom) and len(rater) == 12
    assert (payments.panel_id(rater), payments.panel_id("nobody")) == ("Ann", "")
    first, second = payments.people()
    assert first[:5] == (rater, "other", "Ann", "s", "t") and second[1:3] == ("mturk", "Tom")
    assert abs(float(str(first[5])) - time.time()) < 60 and stat.S_IMODE(path.stat().st_mode) == 0o600
    payments.close()
    again = PaymentMap(path)
    assert again.rater_of(ann) == rater
    again.close()
