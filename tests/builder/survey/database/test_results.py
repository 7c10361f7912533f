"""A backup while raters answer is of one moment."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from local_parts import write_records
from survey_browser import TEST, Browser, passed, site
from typer.testing import CliRunner

from equipoise.builder.steps import BuildError, BuildFolder
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import EntranceTest
from equipoise.builder.verdict.consensus import Coverage
from equipoise.cli import app

TWO, OTHER = EntranceTest(TEST.pool[:2]), EntranceTest(TEST.pool[2:4])


@pytest.mark.slow
def test_a_backup_while_raters_answer(database_url: str, tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(database_url, Asking(Coverage(enough=10)))
    database.load(some_sentences(30))
    write_records(BuildFolder(tmp_path).kept, some_sentences(30))
    make = site(database, test=TWO)
    browsers = [passed(database, make(), TWO) for _ in range(3)]
    ended, copies = threading.Event(), []

    def answer(browser: Browser) -> None:
        while not ended.is_set() and 'action="/answer"' in browser.get("/work").text:
            browser.answer()

    threads = [threading.Thread(target=answer, args=(browser,)) for browser in browsers]
    for thread in threads:
        thread.start()
    for number in range(3):
        path = tmp_path / f"copy{number}.sqlite"
        result = CliRunner().invoke(
            app, ["build", "backup", str(tmp_path), "--database", database_url, "--out", str(path)]
        )
        assert result.exit_code == 0, result.output
        copies.append(path)
        time.sleep(0.3)
    ended.set()
    for thread in threads:
        thread.join()
    sizes = []
    for path in copies:
        with sqlite3.connect(path) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            # One moment: the counts with each sentence fit the answers.
            counted = "(SELECT count(*) FROM answers WHERE sentence = s.id)"
            wrong = copy.execute(f"SELECT count(*) FROM sentences s WHERE votes <> {counted}")
            assert wrong.fetchone() == (0,)
            sizes.append(copy.execute("SELECT count(*) FROM answers").fetchone()[0])
    assert sizes == sorted(sizes) and sizes[-1] > 0
    reopened = SurveyDatabase(f"sqlite:///{copies[-1]}")
    assert len(reopened.results.answers()) == sizes[-1]
    with pytest.raises(BuildError, match="never overwrites"):
        reopened.results.backup(copies[0])
    reopened.close()
    database.close()
