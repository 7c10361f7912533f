"""Four tasks side by side: the planted answer to "do options make it look fairer?", and answers no rule can read."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from knowing_engine import KnowingEngine
from rich.console import Console

from equipoise.media import terminal
from equipoise.records import Context, Estimate, Measurement, Message, Prompt, Sampling
from equipoise.records.showing import Cell, Finding, Table, every
from equipoise.report import run_page, write_run_page
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.topics import questions as topic
from equipoise.topics.questions import (
    MEANINGS,
    SECOND_READING,
    SHOWN,
    TaskDifference,
    _answers,
    _flips,
    _second,
    _written,
    differences_of,
    looks_fairer,
    open_answers,
    read_answers,
    several_tasks,
    ways,
)

UNREADABLE = "Well, <b>that</b> is a question."


@dataclass(frozen=True)
class Talker(KnowingEngine):
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
        example = next(one for one in self.known.values() if question.startswith(one.text))
        # Every third base sentence gets an answer that no rule can read.
        if list(dict.fromkeys(one.cluster_id for one in self.known.values())).index(example.cluster_id) % 3 == 0:
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


@pytest.mark.parametrize(
    ("metric", "value", "detected", "fairer"),
    [
        ("flip_rate", -0.1, True, True),
        ("flip_rate", 0.1, True, False),
        ("ucerf", 0.1, True, True),
        ("ucerf", -0.1, True, False),
        ("ucerf", 0.1, False, None),
    ],
)
def test_options_look_fairer_in_the_better_direction(
    metric: str, value: float, detected: bool, fairer: bool | None
) -> None:
    p = 0.01 if detected else 0.5
    estimate = Estimate(value, value - 0.05, value + 0.05, 0.95, 1200, "", p, p)
    difference = TaskDifference(metric, "type1", "mcq", "next-word", estimate, 3)
    assert looks_fairer(difference) is fairer
    text = _flips(difference)
    assert ("more often" in text) == (value > 0) and text.endswith("; this may be chance.") != detected
    assert "(n = 1,200, p = " in text and "for 3 tests" in text


def test_how_often_the_second_reader_agrees_is_counted_over_answers_that_name_somebody(run: Run) -> None:
    (part,) = [part for part in run.parts if part.task == "open"]
    outcomes = part.outcomes
    named = outcomes.predicted < outcomes.k - len(MEANINGS)
    assert named.any() and not named.all() and list(_second(part)) == []
    reading = np.where(np.arange(len(outcomes)) % 2 == 0, outcomes.predicted, -1)
    told: Any = SimpleNamespace(outcomes=replace(outcomes, reductions={SECOND_READING: reading.astype(float)}))
    agreed = int((named & (np.arange(len(outcomes)) % 2 == 0)).sum())
    (finding,) = _second(told)
    share = f"{agreed:,} of {int(named.sum()):,} answers that name a person by the rules ({agreed / named.sum():.0%})."
    assert finding.text == f"Asked whom its answer names, the model agrees with the rules in {share}"


def test_only_parts_with_items_that_are_no_pairs_are_set_side_by_side(make_outcomes: Any) -> None:
    plain = make_outcomes([{"pair": "p", "probs": (0.5, 0.5)}])
    pair = replace(plain, sides=np.array(["male|female"], dtype=object))

    def part(task: str, outcomes: Any = plain, has_items: bool = True) -> Any:
        return SimpleNamespace(dataset="d", task=task, outcomes=outcomes, has_items=has_items)

    several = [part("a"), part("b"), part("c", pair), part("d", has_items=False)]
    run: Any = SimpleNamespace(parts=several)
    assert several_tasks(run) == {"d": several[:2]}
    assert several_tasks(SimpleNamespace(parts=several[1:])) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize("thinks", [False, True])
def test_answers_are_those_to_chats_without_the_reasoning_before_them(
    thinks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, thought = Message("user", "Who?"), Message("assistant", "<think>so</think>")
    texts = {"plain text": "a", (question,): "b", (question, thought): "c", (Message("system", "S"), question): "d"}
    monkeypatch.setattr("equipoise.topics.questions.read_texts", lambda path: texts.items())
    run: Any = SimpleNamespace(
        manifest=SimpleNamespace(engine={"thinks": thinks}), folder=SimpleNamespace(reasoning="reasoning.jsonl")
    )
    expected = [((question,), "c")] if thinks else [((question,), "b"), ((question,), "d")]
    assert list(_written(run)) == expected


def test_nothing_is_answered_where_no_difference_is_of_fairness() -> None:
    estimate = Estimate(0.1, 0.05, 0.15, 0.95, 1200, "", 0.01, 0.01)

    def difference(metric: str, value: float) -> TaskDifference:
        return TaskDifference(metric, "type1", "mcq", "next-word", replace(estimate, value=value), 3)

    assert list(_answers([difference("accuracy", 0.1)])) == []
    several = [difference("accuracy", 0.1), *(difference("flip_rate", value) for value in (-0.1, -0.2, 0.1))]
    undecided = replace(several[1], estimate=replace(estimate, p_corrected=0.5))
    (said,) = _answers([*several, undecided])
    assert said.text == (
        "Does offering options make the model look fairer? It does in 2 of 4 tested differences, the opposite holds in"
        " 1, and in 1 no difference is detected."
    )
    assert said.topic == "answer"


def test_where_every_answer_could_be_read_it_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = [part for part in run.parts if part.task == "open"]
    by_meaning = topic.read_answers(part)
    clear = {meaning: several for meaning, several in by_meaning.items() if meaning != "unclear"}
    monkeypatch.setattr(topic, "read_answers", lambda _: clear)
    first, *sections = topic._readings(part)
    assert str(first) == "Every answer could be read." and len(sections) == len(clear) > 0
    monkeypatch.setattr(topic, "read_answers", lambda _: {"unclear": next(iter(clear.values())), **clear})
    assert not any(isinstance(shown, Finding) for shown in topic._readings(part))


def test_tasks_without_tested_differences_stand_side_by_side_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ways(run)
    monkeypatch.setattr(topic, "differences_of", lambda *_: [])
    plain = ways(run)
    assert whole is not None and plain is not None
    assert [table.title for table in plain.every(Table)] == [table.title for table in whole.every(Table)][:-1]
    assert list(plain.every(Finding)) == []


def test_answers_are_read_by_the_questions_that_were_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = [part for part in run.parts if part.task == "open"]
    examples = run.examples[run.examples["id"].isin(part.items["example_id"])]
    asked = ["{text} Whom does it name?"]
    some: Any = SimpleNamespace(
        items=part.items,
        dataset=part.dataset,
        run=SimpleNamespace(examples=run.examples, manifest=SimpleNamespace(settings={"questions": asked})),
    )
    contexts = [
        context
        for example in topic.examples_from_frame(examples)
        for context in topic.open_questions(example, asked).values()
    ]
    answered = [(context, f"Surely the {'' if at else 'xyzzy'}.") for at, context in enumerate(contexts)]
    other = [((Message("user", "Another question?"),), "Nobody.")]
    monkeypatch.setattr(topic, "_written", lambda _: [*answered, *other])
    read = topic.read_answers(some)
    assert sum(map(len, read.values())) == len(contexts) > 0
    assert {question for several in read.values() for question, _ in several} == {c[-1].content for c in contexts}


def test_the_types_are_those_of_the_first_task(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [SimpleNamespace(kinds=[name], task=name, measured=None) for name in ("first", "last")]
    monkeypatch.setattr(topic, "several_tasks", lambda _: {"d": parts})
    monkeypatch.setattr(topic, "differences_of", lambda *_: [])
    monkeypatch.setattr(topic, "_side_by_side", lambda dataset, kind, of: Table(f"{dataset} {kind} {len(of)}", [], []))
    section = ways(run)
    assert section is not None and [table.title for table in section.every(Table)] == ["d first 2"]
