"""The pages in a real browser: rules for screen readers (axe), the keyboard alone, and no dead ends."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from local_parts import missing
from survey_raters import new_sqlite

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import EntranceTest, read_test
from equipoise.builder.survey.panel import Ending, PanelOptions, PaymentMap
from equipoise.builder.survey.rehearsal import UNLIMITED
from equipoise.builder.survey.web.app import survey_app
from equipoise.builder.survey.web.pages import SurveyOptions
from equipoise.serving import serving

TOKEN = "a-token-of-at-least-128-bits"
SHORT = EntranceTest(read_test(None).pool[:1])


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if shutil.which("chromium") is None:
        missing("needs Chromium: apt-get install chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        yield browser
        browser.close()


@pytest.fixture
def survey(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> Iterator[tuple[str, SurveyDatabase]]:
    database = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"), Asking(quota=2))
    database.load(some_sentences(3))
    panel = PanelOptions(True, Ending("DONE42", "https://panel.test/?cc={code}"))
    options = SurveyOptions(SHORT, TOKEN, limits=UNLIMITED, panel=panel, asks_locale=True, allows_unsure=True)
    payments = PaymentMap(tmp_path / "panel.sqlite")
    with serving(survey_app(database, options, payments)) as address:
        yield address, database
    database.close()


def check(page: Any) -> None:
    """Fail if axe finds a violation, or if the page has not exactly one main heading, or no way on."""
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.evaluate("document.documentElement.lang") != ""


def press(page: Any, key: str, until: str, most: int = 60) -> None:
    """Press a key until the focused element fits a selector."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement.matches(selector)", until):
            return
    raise AssertionError(f"{until} is not reached with {key}")


@pytest.mark.slow
def test_screen_readers_and_the_keyboard(chromium: Any, survey: tuple[str, SurveyDatabase]) -> None:
    address, database = survey
    context = chromium.new_context(bypass_csp=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{address}/")
    check(page)
    page.goto(f"{address}/enter/{database.raters.invite(1)[0]}")
    check(page)
    # From here on nothing but the keyboard.
    press(page, "Tab", "input[name=agree]")
    page.keyboard.press("Space")
    press(page, "Tab", "button")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    check(page)
    for expected in ("Sentence 1 of 2", "Sentence 2 of 2", "That is all. Thank you!"):
        for name in ("coherent", "first", "second"):
            press(page, "Tab", f"input[name={name}]")
            page.keyboard.press("Space")
        press(page, "Tab", "button")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.get_by_role("heading", level=1).inner_text() == expected
        check(page)
    assert page.get_by_role("link", name="Return to the panel").count() == 1
    page.goto(f"{address}/last")
    check(page)
    assert page.locator("fieldset > legend").count() == 3  # every question is a group with its own name
    page.goto(f"{address}/leave")
    check(page)
    context.close()


@pytest.mark.slow
def test_the_administration_and_the_pages_about_problems(chromium: Any, survey: tuple[str, SurveyDatabase]) -> None:
    address, _ = survey
    context = chromium.new_context(bypass_csp=True)
    page = context.new_page()
    for path in ("/enter/nothing", "/work", "/nowhere", "/panel?id=%3C", "/admin/answers.csv"):
        page.goto(f"{address}{path}")
        check(page)
        assert page.get_by_role("link").count() >= 1, f"{path} is a dead end"
    page.goto(f"{address}/admin")
    check(page)
    page.get_by_label("Token").fill(TOKEN)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    check(page)
    with page.expect_navigation():
        page.get_by_role("button", name="Make links").click()
    check(page)
    context.close()
