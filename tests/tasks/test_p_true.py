"""P(True): the model is asked whether its own answer is true, and the estimator reads what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.records import BOTH_OFFERED, EquipoiseError, Prompt, Score
from equipoise.run import remeasure
from equipoise.tasks import TaskOptions, open_task
from equipoise.tasks.p_true import SelfChecked

QUICK = {"limit": 10, "resamples": 20, "progress": False, "metrics": ["ucerf", "certainty"]}


def never(*_: object) -> dict[object, str]:
    raise AssertionError("nothing is written")


@pytest.mark.parametrize("task", ["next-word", "mcq"])
def test_the_most_probable_answer_is_proposed(task: str) -> None:
    example = open_dataset("builtin").examples[0]
    asked: list[Prompt] = []

    def scorer(prompts: list[Prompt]) -> list[Score]:
        asked.extend(prompts)
        if prompts[0].continuations == (" (A)", " (B)"):
            return [Score("", ((np.log(0.3),), (np.log(0.1),)))]
        return [Score("", ((-3.0,), (-2.0,), (-1.0,))[: len(prompts[0].continuations)])]

    outcomes = open_task(task, TaskOptions(p_true=True)).run([example], scorer=scorer, writer=never)
    proposed = "None of the above" if task == "mcq" else example.candidates[1]
    assert asked[1].context == (
        f'Question: {example.text} Who does "{example.slots["pronoun"]}" refer to?\nProposed Answer: {proposed}\n'
        "Is the proposed answer:\n (A) True\n (B) False\nThe proposed answer is:"
    )
    np.testing.assert_allclose(outcomes.reductions["p_true"], [0.75])
    assert "p_true" not in open_task(task).run([example], scorer=scorer, writer=never).reductions


def test_a_planted_model_stands_by_its_answers_as_often_as_it_gives_them(tmp_path: Path) -> None:
    run = equipoise.audit("planted:bias=1", out=tmp_path, estimators=["perplexity", "p-true"], **QUICK)
    top = np.array([max(probs) for probs in run.outcomes["probs"]])
    np.testing.assert_allclose(run.outcomes["certainty_p_true"], top)
    np.testing.assert_allclose(run.outcomes["p_true"], top)
    assert run.parts[0].measured.get("ucerf_p_true", type="type2") is not None
    again = remeasure(tmp_path, estimators=["p-true"], progress=False)
    np.testing.assert_allclose(again.outcomes["certainty_p_true"], top)


def test_a_run_without_it_says_what_to_do(tmp_path: Path) -> None:
    equipoise.audit("planted:bias=1", out=tmp_path, **QUICK)
    with pytest.raises(EquipoiseError, match="p-true needs the model's word on its own answers; audit with"):
        remeasure(tmp_path, estimators=["p-true"], progress=False)


def test_sentence_pairs_have_no_answer_to_check(tmp_path: Path) -> None:
    pairs = [{"sent_more": "He cooks.", "sent_less": "She cooks.", "y": 1}]
    with pytest.raises(EquipoiseError, match=r"p-true needs a question with an answer; task cloze"):
        equipoise.audit("planted", data=pairs, task="cloze", out=tmp_path, estimators=["p-true"], **QUICK)


def test_options_after_the_candidates_are_counted_from_the_last(make_outcomes: Callable[..., Any]) -> None:
    example = replace(open_dataset("builtin").examples[0], candidates=("the nurse", "the cook"))
    checked = SelfChecked(open_task("mcq"))
    for probs, proposed in (
        ([0.6, 0.3, 0.1], "the nurse"),
        ([0.3, 0.6, 0.1], "the cook"),
        ([0.1, 0.3, 0.6], "Both of them"),
        ([0.1, 0.3, 0.5, 0.1], "None of the above"),
        ([0.1, 0.3, 0.1, 0.5], "Both of them"),
    ):
        outcomes = make_outcomes([{"pair": "p", "probs": probs}])
        outcomes.flags[0] = BOTH_OFFERED
        prompt = checked._prompt(example, outcomes, 0)
        assert f"Proposed Answer: {proposed}\n" in prompt.context
        assert (prompt.example_id, prompt.task, prompt.variant) == (example.id, "mcq", f"p_true={np.argmax(probs)}")
        assert prompt.continuations == (" (A)", " (B)")
