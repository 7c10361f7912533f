"""How raters come in: consent, invitations that cannot be guessed, and nothing stored but what was asked."""

from __future__ import annotations

from pathlib import Path

from survey_browser import come, heading_of, panel, site

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.panel import signed_links


def test_invitations_are_unguessable_and_stored_hashed(database: SurveyDatabase, tmp_path: Path) -> None:
    tokens = database.raters.invite(20)
    assert all(len(token) == 43 for token in tokens) and len(set(tokens)) == 20
    browser = site(database)()
    browser.enter(tokens[0])
    session = browser.cookies["session"]
    database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("survey.sqlite*"))
    assert all(secret.encode() not in stored for secret in (*tokens, session))
    assert browser.get("/enter/guess").status_code == 404


def test_nothing_is_stored_of_a_person_but_what_was_asked(database: SurveyDatabase, tmp_path: Path) -> None:
    fields = {"locale": "Kenya", "agree": "yes"}
    headers = {"user-agent": "TellTale/1.0", "accept-language": "sw-KE"}
    site(database)().post(f"/enter/{database.raters.invite(1)[0]}", data=fields, headers=headers)
    assert {rater.locale for rater in database.raters.all()} == {""}
    asking = site(database, asks_locale=True)
    asking().post(f"/enter/{database.raters.invite(1)[0]}", data=fields, headers=headers)
    asking().post(
        f"/enter/{database.raters.invite(1)[0]}", data={"locale": "my street 5", "agree": "yes"}, headers=headers
    )
    assert sorted(rater.locale for rater in database.raters.all()) == ["", "", "Kenya"]
    database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("survey.sqlite*"))
    assert all(word not in stored for word in (b"TellTale", b"sw-KE", b"testclient", b"127.0.0.1", b"my street"))


def test_consent_is_needed_and_recorded(database: SurveyDatabase) -> None:
    browser = site(database)()
    (invitation,) = database.raters.invite(1)
    assert "I agree to take part" in browser.get(f"/enter/{invitation}").text
    assert browser.post(f"/enter/{invitation}").status_code == 422
    assert database.raters.state_of(invitation) == "invited"
    assert browser.enter(invitation).status_code == 200


def test_who_comes_back_is_greeted(database: SurveyDatabase) -> None:
    make = site(database)
    (invitation,) = database.raters.invite(1)
    browser = make()
    browser.enter(invitation)
    again = make()
    page = again.get(f"/enter/{invitation}").text
    assert heading_of(page) == "Welcome back" and "in the middle of the entrance test" in page
    assert again.post(f"/enter/{invitation}").status_code == 200  # no second consent
    again.take_test()
    assert "You passed the entrance test" in make().get(f"/enter/{invitation}").text
    assert "Sentence 1" in browser.get("/work").text  # the first browser goes on as well


def test_of_several_reasons_to_turn_a_panel_away_the_first_is_told(tmp_path: Path, database: SurveyDatabase) -> None:
    closed = site(database)()
    assert closed.get("/panel?id=%01").status_code == 404, "no panel, and no id either"
    make, _ = panel(tmp_path, database, key="k" * 32)
    assert make().get("/panel?other=1").status_code == 404
    assert make().get("/panel?id=%01").status_code == 422, "an id is asked for before a signature"
    (link,) = signed_links("", ["bob"], "k" * 32)
    browser = make()
    assert come(browser, link) == 200
    assert browser.get(link, follow_redirects=False).headers["location"] == "/work", "in already: nothing to greet"
    assert heading_of(make().get(link).text) == "Welcome back"
