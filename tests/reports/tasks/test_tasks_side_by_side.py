"""Four tasks side by side: the planted answer to "do options make it look fairer?", and answers no rule can read."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from equipoise.records import Context, Prompt, Sampling
from equipoise.reports.page.html import run_page, write_run_page
from equipoise.reports.tasks.answers import readings
from equipoise.reports.tasks.tables import task_summary
from equipoise.reports.tasks.views import SHOWN, task_reports
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted.stereotype import PlantedEngine

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
    return audit(Talker(strength=2, bias=5), task=tasks, limit=40, seeds=2, out=folder, **shown)


def test_the_answer_is_the_planted_one(run: Run) -> None:
    (report,) = task_reports(run)
    assert [row.task for row in report.tables[0].rows] == ["next-word", "mcq", "next-word-cot", "open"]
    assert [row.options for row in report.tables[0].rows] == [False, True, False, False]
    flips = {(one.second, one.kind): one for one in report.differences if one.metric == "flip_rate"}
    for task in ("next-word", "next-word-cot"):
        assert flips[task, "type1"].estimate.value == -1 and flips[task, "type1"].estimate.p_corrected < 0.05
    # Two of three base sentences change their open answer with the pronoun.
    assert flips["open", "type1"].estimate.value == pytest.approx(-2 / 3, abs=0.12)
    assert report.sentences[0].startswith("Does offering options make the model look fairer? It does in")
    assert "the opposite holds in 0" in report.sentences[0]
    assert any(
        "With options (mcq) the answers of ambiguous sets change 100.0 points less" in s for s in report.sentences
    )


def test_a_run_of_one_task_has_no_such_table(planted_run: Path) -> None:
    assert task_reports(Run(planted_run)) == () and task_summary(Run(planted_run)) is None


@pytest.mark.parametrize("width", [80, 400])
def test_the_terminal_has_every_task_with_n_and_the_tests(run: Run, width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(task_summary(run))
    (report,) = task_reports(run)
    for table in report.tables:
        for row in table.rows:
            for cell in row.cells:
                assert cell is None or f"{cell.value:.3f} [{cell.low:.3f}, {cell.high:.3f}]" in out.getvalue()
    assert out.getvalue().count("mcq - next-word ") >= 4 or width == 80


def test_unparsed_answers_are_counted_and_shown_on_the_page_as_text(
    run: Run, opened: Callable[..., Any], tmp_path: Path
) -> None:
    part = run.parts[-1]
    unparsed = next(reading for reading in readings(part) if reading.meaning == "unparsed")
    share = part.measured.get("unparsed_share")
    assert share is not None and share.value > 0.2
    assert unparsed.count == round(share.value * len(part.items)) and len(unparsed.sample) == 12
    tab = opened(write_run_page(run.path, out=tmp_path / "page.html"))
    assert UNREADABLE in tab.locator("#answers details[open]").inner_text()
    assert "with options minus without" in tab.inner_text("#tasks")
    bare = run_page(run, sentences=False)
    assert 'id="answers"' not in bare and "is a question." not in bare and 'id="tasks"' in bare
