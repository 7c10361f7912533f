"""First results: what whole sets say while others are still being scored, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.datasets.builtin import load_builtin
from equipoise.measuring.first_results import SHOWN, first_results, measured_items
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan
from equipoise.measuring.sampling import Ask
from equipoise.metrics import METRICS
from equipoise.records import Example, Limits, Outcomes, RunError, RunKey
from equipoise.run import audit
from equipoise.scoring.planted import PlantedEngine
from equipoise.settings import Settings
from equipoise.tasks.next_word import NextWord
from equipoise.tasks.task import ask as scored_by

KEY = RunKey("planted", "builtin", "next-word")
EXAMPLES = load_builtin().examples[:80]
PLAN = Settings(resamples=2).plan


def asking() -> Ask:
    engine = PlantedEngine(strength=1.0, bias=1.0, noise=1.0)
    engine.prepare(EXAMPLES)

    def ask(examples: Sequence[Example]) -> Outcomes:
        return scored_by(NextWord(), examples, lambda prompts: next(engine.score([prompts])))

    return ask


@given(st.sets(st.sampled_from([example.id for example in EXAMPLES])))
def test_only_whole_sets_count(scored: set[str]) -> None:
    asked: list[Example] = []
    ask = asking()
    seen = first_results(KEY, EXAMPLES, lambda: scored, lambda some: (asked.extend(some), ask(some))[1], PLAN)
    by_set: dict[str, list[str]] = {}
    for example in EXAMPLES:
        by_set.setdefault(example.set_id, []).append(example.id)
    whole = {name for name, members in by_set.items() if set(members) <= scored}
    assert {example.set_id for example in asked} == whole
    assert (seen is None) == (not whole)
    if seen is not None:
        assert (seen.sets, seen.of) == (len(whole), len(by_set))
        for metric in SHOWN:
            assert sum(n for kind, (_, n) in seen.metrics[metric].items() if kind) == len(whole)


def test_when_all_is_scored_they_are_the_values_of_the_finished_run(tmp_path: Path) -> None:
    data = replace(load_builtin(), examples=EXAMPLES)
    run = audit(PlantedEngine(strength=1.0, bias=1.0, noise=1.0), data, out=tmp_path / "run", resamples=2)
    measured = run.measured("builtin", "next-word")
    seen = first_results(KEY, EXAMPLES, lambda: {example.id for example in EXAMPLES}, asking(), PLAN)
    assert seen is not None and set(seen.metrics) == set(SHOWN) and seen.sets == seen.of
    compared = 0
    for metric, kinds in seen.metrics.items():
        for kind, (value, n) in kinds.items():
            row = measured.get(metric, type=kind)
            assert row is not None and (row.value, row.n) == (value, n)
            compared += 1
    assert compared >= 3


def test_values_that_are_only_bounded_say_nothing_yet() -> None:
    ask = asking()

    def bounded(examples: Sequence[Example]) -> Outcomes:
        outcomes = ask(examples)
        return replace(outcomes, limits=Limits(outcomes.probs, outcomes.probs))

    scored = {example.id for example in EXAMPLES}
    assert first_results(KEY, EXAMPLES, lambda: scored, ask, PLAN) is not None
    assert first_results(KEY, EXAMPLES, lambda: scored, bounded, PLAN) is None


def test_what_cannot_be_looked_up_yet_says_nothing() -> None:
    def refuse(examples: Sequence[Example]) -> Outcomes:
        raise RunError("a prompt has no score yet")

    assert first_results(KEY, EXAMPLES, lambda: {example.id for example in EXAMPLES}, refuse, PLAN) is None


def test_first_results_are_as_kept() -> None:
    made = {}
    for count in (4, 31, 80):
        scored = {example.id for example in EXAMPLES[:count]}
        made[count] = first_results(KEY, EXAMPLES, lambda scored=scored: scored, asking(), PLAN)
    assert_kept("measured/first-results", made)


def test_no_intervals_are_drawn_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("drawn")

    monkeypatch.setattr("equipoise.stats.bootstrap.weight_chunks", refuse)
    monkeypatch.setattr("equipoise.stats.bounded.mean_interval", refuse)
    assert first_results(KEY, EXAMPLES, lambda: {example.id for example in EXAMPLES}, asking(), PLAN) is not None


def test_nothing_is_measured_for_them_that_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []

    def watched(outcomes: Outcomes, plan: Plan) -> Items:
        plans.append(plan)
        return measured_items(outcomes, plan)

    monkeypatch.setattr("equipoise.measuring.first_results.measured_items", watched)
    plan = Settings(resamples=2, estimators=["renyi", "perplexity"], by=["occupation"]).plan
    seen = first_results(KEY, EXAMPLES, lambda: {example.id for example in EXAMPLES}, asking(), plan)
    brief = {"metrics": [METRICS[name] for name in SHOWN], "by": (), "intervals": False}
    assert plans == [replace(plan, estimators=plan.estimators[:1], **brief)]
    assert len(plan.estimators) == 2 and plan.by and seen is not None
