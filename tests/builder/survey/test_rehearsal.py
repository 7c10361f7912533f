"""A rehearsal with simulated raters estimates what a survey costs."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import pytest
from local_parts import write_records
from typer.testing import CliRunner

from equipoise.builder.steps import (
    BuildFolder,
)
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.rater_client import Profile, RaterLog
from equipoise.builder.survey.rehearsal import Bill, Cast, _watch, bill, rehearse
from equipoise.builder.verdict.cleaning import (
    SIMULATED_LINE,
)
from equipoise.builder.verdict.consensus import Coverage, Rule
from equipoise.builder.verdict.questions import published
from equipoise.cli import app


@pytest.mark.slow
def test_a_rehearsal_estimates_the_cost(tmp_path: Path, some_sentences) -> None:
    write_records(BuildFolder(tmp_path).kept, some_sentences(4))
    result = CliRunner().invoke(
        app,
        ["build", "simulate", str(tmp_path), "--raters", "6", "--accuracy", "1", "--incoherent", "0", "--pay", "10"],
    )
    assert result.exit_code == 0, result.output
    assert "6 simulated, 6 passed" in result.output
    assert "16 simulated, 4.00 per sentence" in result.output
    assert "4 of 4 sentences" in result.output and "4 of 4 good sentences" in result.output
    database = f"sqlite:///{tmp_path / 'simulation.sqlite'}"
    cleaned = CliRunner().invoke(app, ["build", "clean", str(tmp_path), "--database", database])
    assert cleaned.output.startswith(SIMULATED_LINE)


def test_a_bill_counts_all_work_and_the_fee() -> None:
    logs = [RaterLog(["a", "b"], 1800.0), RaterLog([], 900.0), RaterLog(["c"], 900.0)]
    assert bill(logs, 2, pay=10.0, fee=0.5) == Bill(3, 1.5, 1.0, 15.0)
    assert bill([], 0, pay=10.0, fee=0.5) == Bill(0, 0.0, 0.0, 0.0)


def test_a_rehearsal_is_told_with_its_good_and_bad_sentences(tmp_path: Path, some_sentences) -> None:
    folder = BuildFolder(tmp_path)
    write_records(folder.kept, some_sentences(3))
    (tmp_path / "simulation.sqlite-wal").write_text("old")
    columns = ",".join(question.column for question in published().questions)
    (tmp_path / "test.csv").write_text(f"text,pronoun,first,second,{columns}\nA nurse.,he,a,b,yes,yes,no\n")
    cast = Cast(2, Profile(accuracy=1.0), 0.5, 1, Rule(Coverage(2, 2)))
    told = rehearse(folder, cast, test=tmp_path / "test.csv", pay=10.0, fee=0.0)
    # By the seed two of the three sentences are coherent; the raters make no mistake.
    drawn = random.Random(1)
    good = sum(drawn.random() >= 0.5 for _ in range(3))
    assert (told.passed, told.sentences, told.settled) == (2, 3, 3) and 0 < good < 3
    assert (told.good, told.good_kept, told.bad_kept) == (good, good, 0)
    assert told.bill.answers == 6 and told.bill.answers_a_sentence == 2.0
    assert told.bill.cost == pytest.approx(10 * told.bill.hours) and told.bill.hours > 0
    database = SurveyDatabase(f"sqlite:///{tmp_path / 'simulation.sqlite'}")
    assert {answer.origin for answer in database.results.answers()} == {"simulated"}
    database.close()


def test_progress_is_told_every_second_until_it_is_over() -> None:
    waited, told, over = [], [], iter([False, False, True])

    class Over:
        def wait(self, seconds: float) -> bool:
            waited.append(seconds)
            return next(over)

    counts = iter([(9, 1), (9, 4)])
    database = SimpleNamespace(results=SimpleNamespace(counts=lambda: next(counts)))
    _watch(database, Over(), lambda *given: told.append(given))  # type: ignore[arg-type]
    assert waited == [1.0] * 3 and told == [("settled", 1, 9), ("settled", 4, 9)]
