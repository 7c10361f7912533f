"""A backup while raters answer is of one moment."""

from __future__ import annotations

import re
import sqlite3
import stat
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from local_parts import write_records
from survey_browser import TEST, Browser, passed, site
from survey_raters import YES, answer, new_sqlite, rater
from typer.testing import CliRunner

from equipoise.builder.steps import BuildError, BuildFolder
from equipoise.builder.survey.database import results
from equipoise.builder.survey.database.connection import Store
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import STORED, Asking
from equipoise.builder.survey.entrance import EntranceTest
from equipoise.builder.verdict.consensus import Coverage, Rule
from equipoise.cli import app

TWO, OTHER = EntranceTest(TEST.pool[:2]), EntranceTest(TEST.pool[2:4])


@pytest.mark.slow
def test_a_backup_while_raters_answer(database_url: str, tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(database_url, Asking(Rule(Coverage(enough=10))))
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
            # One moment: what each sentence needs fits its answers.
            counted = "(SELECT count(*) FROM answers WHERE sentence = s.id)"
            wrong = copy.execute(f"SELECT count(*) FROM sentences s WHERE needed <> 10 - {counted}")
            assert wrong.fetchone() == (0,)
            sizes.append(copy.execute("SELECT count(*) FROM answers").fetchone()[0])
    assert sizes == sorted(sizes) and sizes[-1] > 0
    reopened = SurveyDatabase(f"sqlite:///{copies[-1]}")
    assert len(reopened.results.answers()) == sizes[-1]
    with pytest.raises(BuildError, match="never overwrites"):
        reopened.results.backup(copies[0])
    reopened.close()
    database.close()


def test_a_backup_is_restored_into_either_database_and_the_survey_goes_on(
    database_url: str, tmp_path: Path, some_sentences
) -> None:
    first = SurveyDatabase(new_sqlite(tmp_path / "first.sqlite"))
    first.load(some_sentences(3))
    first.apply_options("test")
    who = rater(first)
    answer(first, who, first.work.question(who.id).ticket)
    first.results.backup(tmp_path / "copy.sqlite")
    assert all((tmp_path / name).stat().st_mode & 0o077 == 0 for name in ("first.sqlite", "copy.sqlite"))
    held = first.work.question(who.id)
    result = CliRunner().invoke(
        app, ["build", "restore", str(tmp_path), str(tmp_path / "copy.sqlite"), "--database", database_url]
    )
    assert result.exit_code == 0 and "1 answers are restored" in result.output, result.output
    again = SurveyDatabase(database_url)
    assert again.results.answers() == first.results.answers() and again.tidy() == 0
    assert again.work.question(who.id) == held  # the rater's session and place are there, too
    assert again.work.answer(who.session, held.ticket, YES).result == STORED
    with pytest.raises(BuildError, match="not empty"):
        again.results.restore(tmp_path / "copy.sqlite")
    first.close()
    again.close()


def test_the_files_of_a_survey_are_private_also_those_of_an_older_version(tmp_path: Path) -> None:
    path = tmp_path / "survey.sqlite"
    sqlite3.connect(path).close()
    path.chmod(0o644)
    database = SurveyDatabase(f"sqlite:///{path}")
    database.remember("status", "open")
    modes = {file.name: oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("survey.sqlite", "survey.sqlite-wal", "survey.sqlite-shm"), "0o600")
    database.close()


def test_what_is_exported_counted_and_kept(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "survey.sqlite"), clock=lambda: 1000.0)
    sentences = some_sentences(2)
    database.load(sentences)
    people = [rater(database) for _ in range(2)]
    for who in people:
        while question := database.work.question(who.id):
            database.work.answer(who.session, question.ticket, YES, "why not")
    database.raters.withdraw(people[0].id)
    columns, rows = database.results.export_columns, database.results.export_rows()
    assert columns == (
        *("sentence", "text", "rater", "origin", "number", "coherent", "first", "second"),
        *("seconds", "answered_at", "comment", "withdrawn", "rater_state", "rater_score", "rater_locale"),
    )
    assert [row[:1] + row[2:3] for row in rows] == sorted(row[:1] + row[2:3] for row in rows) and len(rows) == 4
    texts = {sentence.id: sentence.text for sentence in sentences}
    for row in (dict(zip(columns, row, strict=True)) for row in rows):
        gone = row["rater"] == people[0].id
        assert row["text"] == texts[row["sentence"]] and (row["coherent"], row["first"], row["second"]) == YES
        assert (row["comment"], row["answered_at"], row["origin"], row["rater_locale"]) == (
            "why not",
            1000.0,
            "person",
            "",
        )
        assert (row["withdrawn"], row["rater_state"]) == (gone, "withdrawn" if gone else "passed")
        assert row["rater_score"] == 1.0 and row["number"] in (0, 1)
    assert len(database.results.answers()) == 4 and database.results.counts() == (2, 0)
    summary = database.results.summary()
    assert (summary.answers, summary.simulated) == (2, 0)
    database.raters.restore(people[0].id)
    assert database.results.summary(max_age_s=60) is summary and database.results.summary().answers == 4
    kept = database.results.summary(max_age_s=60)
    database.results.forget()
    assert database.results.summary(max_age_s=60) is not kept
    database.close()


def test_a_backup_never_overwrites_and_is_restored_into_an_empty_survey_only(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "survey.sqlite"))
    database.load(some_sentences(1))
    who = rater(database)
    question = database.work.question(who.id)
    assert question is not None and answer(database, who, question.ticket)
    copy = tmp_path / "deep" / "copy.sqlite"
    assert database.results.backup(copy) == 1 and stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [file.name for file in copy.parent.iterdir()] == ["copy.sqlite"]
    assert database.results.backup(copy.with_name("second.sqlite")) == 1
    with pytest.raises(BuildError, match=rf"^{re.escape(str(copy))} exists already; a backup never overwrites a file$"):
        database.results.backup(copy)
    with pytest.raises(BuildError, match="the survey's database is not empty; a backup is restored into an empty one"):
        database.results.restore(copy)
    database.close()
    empty = SurveyDatabase(new_sqlite(tmp_path / "empty.sqlite"))
    with pytest.raises(BuildError, match=r"none\.sqlite does not exist$"):
        empty.results.restore(tmp_path / "none.sqlite")
    assert empty.results.restore(copy) == 1 and len(empty.results.answers()) == 1
    empty.close()


def test_a_database_without_a_file_is_copied_row_by_row(
    tmp_path: Path, some_sentences, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "survey.sqlite"))
    database.load(some_sentences(2))
    who = rater(database)
    question = database.work.question(who.id)
    assert question is not None and answer(database, who, question.ticket)
    answers = database.results.answers()
    (tmp_path / "copies").mkdir()
    copy = tmp_path / "copies" / "copy.sqlite"
    copy.with_name(".copy.sqlite.part").write_text("what an earlier try left")
    monkeypatch.setattr(Store, "sqlite_path", None)
    assert database.results.backup(copy) == 1
    database.close()
    assert [file.name for file in copy.parent.iterdir()] == ["copy.sqlite"], "the file alone is the copy"
    assert sqlite3.connect(copy).execute("PRAGMA journal_mode").fetchone() == ("delete",)
    again = SurveyDatabase(new_sqlite(tmp_path / "again.sqlite"))
    assert again.results.restore(copy) == 1 and again.results.answers() == answers and again.tidy() == 0
    again.close()


def test_a_damaged_copy_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed: list[bool] = []

    class Damaged:
        def execute(self, text: str) -> Any:
            assert text == "PRAGMA integrity_check"
            return SimpleNamespace(fetchone=lambda: ("row 3 is missing",))

        def close(self) -> None:
            closed.append(True)

    monkeypatch.setattr(results.sqlite3, "connect", lambda path: Damaged())
    with pytest.raises(BuildError, match=r"^the copy is damaged \(row 3 is missing\)$"):
        results._checked(tmp_path / "x")
    assert closed == [True]
