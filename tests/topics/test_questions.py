"""Four tasks side by side: the planted answer to "do options make it look fairer?", and answers no rule can read."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept
from rich.console import Console

from equipoise.media import terminal
from equipoise.records import Context, Measurement, Prompt, Sampling
from equipoise.records.showing import Cell, Finding, Table, every
from equipoise.report import run_page, write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics.questions import SHOWN, differences_of, open_answers, read_answers, ways

UNREADABLE = "Well, <b>that</b> is a question."


@dataclass(frozen=True)
class Talker(PlantedEngine):
    """Follows the stereotype without options, and chooses the first candidate with them; it writes, too."""

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        if not prompt.task.startswith("mcq"):
            return super()._logprobs(prompt)
        return tuple((-0.1,) if option == 0 else (-4.0,) for option in range(len(prompt.continuations)))

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        return [self._written(str(context[-1].content)) for context in contexts]  # type: ignore[union-attr]

    def _written(self, question: str) -> str:
        if "step by step" in question:
            return "Let me see."
        example = next(one for one in self.truth.values() if question.startswith(one.text))
        # Every third base sentence gets an answer that no rule can read.
        if list(dict.fromkeys(one.cluster_id for one in self.truth.values())).index(example.cluster_id) % 3 == 0:
            return UNREADABLE
        return f"The {example.candidates[example.stereotype or 0]}."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("tasks") / "run"
    tasks = ["next-word", "mcq", "next-word-cot", "open"]
    shown = {"metrics": list(SHOWN), "by": [], "resamples": 20}
    return audit(Talker(strength=2, bias=5), task=tasks, limit=40, orders=2, out=folder, **shown)


def shown_ways(run: Run) -> tuple[list[Finding], list[Table]]:
    section = ways(run)
    assert section is not None
    return list(section.every(Finding)), list(section.every(Table))


def test_the_answer_is_the_planted_one(run: Run) -> None:
    findings, tables = shown_ways(run)
    assert [row.cells[0] for row in tables[0].rows] == ["next-word", "mcq", "next-word-cot", "open"]
    assert [row.cells[1] for row in tables[0].rows] == ["no", "yes", "no", "no"]
    flips = {(one.second, one.kind): one for one in differences_of(run, "builtin") if one.metric == "flip_rate"}
    for task in ("next-word", "next-word-cot"):
        assert flips[task, "type1"].estimate.value == -1 and flips[task, "type1"].estimate.p_corrected < 0.05
    # Two of three base sentences change their open answer with the pronoun.
    assert flips["open", "type1"].estimate.value == pytest.approx(-2 / 3, abs=0.12)
    assert str(findings[-1]).startswith("Does offering options make the model look fairer? It does in")
    assert "the opposite holds in 0" in str(findings[-1])
    less = "With options (mcq) the answers of ambiguous sets change less often than without (next-word)"
    (said,) = [finding for finding in findings if str(finding).startswith(f"{less}: the difference is -100.0 points [")]
    rates = [row.estimate.value for row in said.rests_on]
    assert rates[0] - rates[1] == -1 and said.kind == "type1"


def test_a_difference_is_bold_where_it_is_detected(run: Run) -> None:
    table = shown_ways(run)[1][-1]
    assert [column.title for column in table.columns][-3:] == ["p", "corrected p", "with options it looks"]
    for row, difference in zip(table.rows, differences_of(run, "builtin"), strict=True):
        cell = row.cells[3]
        assert isinstance(cell, Cell) and cell.content == difference.estimate
        assert cell.strong == (row.cells[-1] is not None)
    looks = {row.cells[-1] for row in table.rows}
    assert "more alike" in looks


def test_a_run_of_one_task_has_no_such_section(planted_run: Path) -> None:
    assert ways(Run(planted_run)) is None and open_answers(Run(planted_run)) is None


@pytest.mark.parametrize("width", [80, 400])
def test_the_terminal_has_every_task_with_n_and_the_tests(run: Run, width: int) -> None:
    out = io.StringIO()
    section = ways(run)
    assert section is not None
    Console(file=out, width=width, color_system=None).print(terminal.draw(section))
    for table in shown_ways(run)[1][:-1]:
        for row in table.rows:
            assert all(f"{cell}" in out.getvalue() for cell in row.cells if isinstance(cell, Measurement))
    for difference in differences_of(run, "builtin"):
        assert (
            f"{difference.estimate:+}" in out.getvalue() and f"{difference.estimate.p_corrected:.4f}" in out.getvalue()
        )
    assert max(map(len, out.getvalue().splitlines())) <= width


def test_unparsed_answers_are_counted_and_shown_on_the_page_as_text(
    run: Run, opened: Callable[..., Any], tmp_path: Path
) -> None:
    part = run.parts[-1]
    unclear = read_answers(part)["unclear"]
    share = part.measured.get("unclear_share")
    assert share is not None and share.value > 0.2
    assert len(unclear) == round(share.value * len(part.items))
    assert all(text == UNREADABLE for _, text in unclear)
    section = open_answers(run)
    assert section is not None
    shares, answers = list(every([section], Table))[:2]
    assert [column.title for column in shares.columns] == ["type", "both", "neither", "refused", "unclear"]
    assert len(answers.rows) == 12
    tab = opened(write_run_page(run, out=tmp_path / "page.html"))
    shown = tab.locator("#answers").inner_text()
    assert f"unclear: 12 of {len(unclear)} answers" in shown and shown.count(UNREADABLE) == 12
    assert tab.locator("#answers details:not([open]) summary", has_text="one of the candidates: 3 of").count() == 1
    assert "with options minus without" in tab.inner_text("#tasks")
    bare = run_page(run, sentences=False)
    assert 'id="answers"' not in bare and "is a question." not in bare and 'id="tasks"' in bare


def test_what_is_described_is_as_it_was_kept(run: Run) -> None:
    assert_kept("topics/questions", ways(run), open_answers(run))
