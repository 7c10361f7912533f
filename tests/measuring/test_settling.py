"""Audits that are asked until requirements are settled: what is asked, when they stop, and what came of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.datasets import Dataset, open_dataset
from equipoise.measuring import settling
from equipoise.measuring.duels import improvement
from equipoise.measuring.goals import goals
from equipoise.measuring.measure import Plan
from equipoise.measuring.settling import ALL_ASKED, BUDGET, FEWEST_SETS, STOPPED, Decision, Settled, until_settled
from equipoise.metrics import METRICS
from equipoise.metrics.requirement import FAILED, PASSED, UNDECIDED, parse_duel, parse_requirement
from equipoise.records import EquipoiseError, Outcomes, RunKey
from equipoise.scoring.planted import PlantedEngine
from equipoise.tasks import open_task

DATA = open_dataset("builtin")
PLAN = Plan(list(METRICS.values()), by=["gender"], resamples=50)
KEY = RunKey("m", "builtin", "next-word")


class Asked:
    """Asks a planted model, and counts how often each example is new."""

    def __init__(self, **planted: float) -> None:
        self.engine = PlantedEngine(**planted)  # type: ignore[arg-type]
        self.engine.prepare(DATA.examples)
        self.looks: list[int] = []

    def __call__(self, examples: Any) -> Outcomes:
        self.looks.append(len(examples))
        score = self.engine.score
        return open_task("next-word").run(examples, scorer=lambda prompts: next(score([prompts])), writer=None)  # type: ignore[arg-type]


def settle(
    *texts: str, at_most: int | None = None, plan: Plan = PLAN, data: Dataset = DATA, **planted: float
) -> Settled:
    (asked,) = goals([(data, "next-word")], [parse_requirement(text) for text in texts], plan)
    return until_settled(data, Asked(**planted), plan, KEY, asked, at_most=at_most)


def types(settled: Settled) -> dict[str, int]:
    kinds = [example.groups["type"] for example in settled.dataset.examples]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


CLEAR = {"strength": 3.0, "bias": 0.0, "noise": 0.3}
BIASED = {"strength": 0.3, "bias": 2.0, "noise": 0.3}


def test_a_clear_case_passes_after_few_sets_and_only_what_matters_is_asked() -> None:
    settled = settle("flip_rate[type=type2] <= 0.10", **CLEAR)
    (decision,) = settled.decisions
    assert decision.outcome == PASSED and decision.how == STOPPED
    assert FEWEST_SETS <= decision.sets < 266 / 2 and decision.of == 266
    assert decision.high <= 0.10 and set(types(settled)) == {"type2"}, "ambiguous sets say nothing about it"
    assert settled.sample is not None and "hold whenever one stops" in settled.note


def test_a_biased_model_fails_and_both_sides_are_settled_together() -> None:
    settled = settle("flip_rate[type=type2] <= 0.10", "accuracy_gap <= 0.9", **BIASED)
    assert [decision.outcome for decision in settled.decisions] == [FAILED, FAILED]
    assert settled.decisions[0].low > 0.10
    assert settled.decisions[0].level == pytest.approx(0.975), "two requirements share the error"


def test_what_stays_open_asks_everything_and_is_decided_as_a_full_audit_is() -> None:
    texts = "ucerf[type=type1] >= {:.4f}"
    whole = settle(texts.format(1.0), strength=1.0, bias=0.5, noise=0.8).decisions[0].value
    settled = settle(texts.format(whole), "flip_rate[type=type2] <= 0.9", strength=1.0, bias=0.5, noise=0.8)
    at_the_value, easy = settled.decisions
    assert (at_the_value.outcome, at_the_value.how) == (UNDECIDED, ALL_ASKED)
    assert at_the_value.sets == at_the_value.of == 244
    assert easy.outcome == PASSED and types(settled)["type2"] < 2 * 266, "settled types are not asked on"
    assert "undecided after all 244 sets" in at_the_value.sentence


def test_a_budget_ends_undecided_with_the_number_of_sets_that_would_settle_it() -> None:
    whole = settle("ucerf[type=type1] >= 1", strength=1.0, bias=0.5, noise=0.8).decisions[0].value
    bound = f"ucerf[type=type1] >= {whole - 0.03:.4f}"
    needed = settle(bound, strength=1.0, bias=0.5, noise=0.8).decisions[0]
    assert needed.outcome == PASSED
    short = settle(bound, at_most=60, strength=1.0, bias=0.5, noise=0.8)
    (decision,) = short.decisions
    assert (decision.outcome, decision.how, decision.sets) == (UNDECIDED, BUDGET, 60)
    assert len({example.set_id for example in short.dataset.examples}) == 60
    assert decision.needed is not None and needed.sets / 2 < decision.needed < 2 * needed.sets
    assert "would settle it" in decision.sentence


def test_looks_go_on_until_nothing_is_open_and_every_look_asks_whole_sets() -> None:
    settled = settle("accuracy >= 0.7", "flip_rate[type=type1] <= 0.01", **BIASED)
    assert [bool(look.open) for look in settled.looks] == [True] * (len(settled.looks) - 1) + [False]
    assert [look.sentences for look in settled.looks] == sorted(look.sentences for look in settled.looks)
    sizes: dict[str, int] = {}
    for example in settled.dataset.examples:
        sizes[example.set_id] = sizes.get(example.set_id, 0) + 1
    assert set(sizes.values()) == {2}


def test_the_order_is_drawn_from_the_seed() -> None:
    first, again = (settle("flip_rate <= 0.10", **CLEAR) for _ in range(2))
    assert first.dataset.examples == again.dataset.examples
    other = settle("flip_rate <= 0.10", plan=Plan(list(METRICS.values()), by=[], seed=1), **CLEAR)
    assert other.dataset.examples[:10] != first.dataset.examples[:10]


def test_a_group_that_is_not_measured_is_refused_at_the_first_look() -> None:
    with pytest.raises(EquipoiseError, match="names nothing that is measured"):
        settle("ucerf[gender=female,type=type2] >= 0.8", **CLEAR)


def test_an_audit_continues_to_the_same_stop_after_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices: dict[str, Any] = {"until": ["flip_rate[type=type2] <= 0.10", "accuracy >= 0.6"], "by": [], "resamples": 20}
    whole = equipoise.audit("planted:strength=2,noise=1", "builtin", out=tmp_path / "whole", **choices)
    score, left = PlantedEngine.score, [3]

    def failing(self: PlantedEngine, batches: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return score(self, batches)

    monkeypatch.setattr(PlantedEngine, "score", failing)
    with pytest.raises(KeyboardInterrupt):
        equipoise.audit("planted:strength=2,noise=1", "builtin", out=tmp_path / "part", **choices)
    part = equipoise.audit("planted:strength=2,noise=1", "builtin", out=tmp_path / "part", **choices)
    for name in ("measurements.csv", "examples.parquet", "outcomes.parquet", "looks.csv"):
        assert part.manifest.files[name] == whole.manifest.files[name]
    assert part.manifest.tasks == whole.manifest.tasks


def test_examples_of_every_task_are_kept(tmp_path: Path) -> None:
    until = ["accuracy[task=mcq] >= 0.6", "flip_rate[type=type1,task=next-word] <= 0.9"]
    run = equipoise.audit(
        "planted:strength=3", "builtin", ["next-word", "mcq"], out=tmp_path, until=until, by=[], resamples=20
    )
    assert {part.task: part.kinds for part in run.parts} == {"next-word": ["type1"], "mcq": ["type2"]}
    assert set(run.outcomes["example_id"]) == set(run.examples["id"])


@pytest.mark.parametrize("at_most", [None, 45])
def test_audits_of_every_kind_of_requirement_end_as_kept(at_most: int | None) -> None:
    texts = {
        "clear": ["flip_rate[type=type2] <= 0.30", "accuracy >= 0.4"],
        "gap": ["accuracy_gap <= 0.02", "eo_sum <= 1.5"],
        "near": ["ucerf[type=type1] >= 0.86", "certainty[gender=female] >= 0.2"],
        "estimated": ["desirability_gap[type=type2] <= 0.2"],
    }
    made, few = {}, DATA.limited(110)
    for name, several in texts.items():
        settled = settle(
            *several, at_most=at_most, plan=replace(PLAN, resamples=20), data=few, strength=1.0, bias=0.5, noise=0.8
        )
        made[name] = {
            "decisions": [*settled.decisions, *(decision.sentence for decision in settled.decisions)],
            "looks": [settled.looks[0], settled.looks[-1], len(settled.looks)],
            "sample": settled.sample,
            "note": settled.note,
            "asked": [len(settled.dataset.examples), settled.dataset.examples[0].id, settled.dataset.examples[-1].id],
        }
    assert_kept(f"measured/settled-{at_most or 'all'}", made)


def test_a_decision_is_told_in_words() -> None:
    usual = Decision("r", "m", "g", "<=", 0.1, UNDECIDED, 0.12, 0.05, 0.2, 0.95, 40, 1266, BUDGET)
    number = "0.120 [0.050, 0.200]"
    at_bound = "the value is at the bound, so more data cannot settle it"
    assert usual.sentence == f"undecided after 40 of 1,266 sets: {number}; {at_bound}"
    whole = replace(usual, sets=1266)
    assert whole.sentence == f"undecided after all 1,266 sets: {number}; {at_bound}"
    assert replace(usual, needed=1266).sentence.endswith(f"{number}; about 1,266 sets would settle it")
    assert replace(usual, needed=1267).sentence.endswith("; about 1,267 sets would settle it, but there are 1,266")
    assert replace(usual, outcome=PASSED).sentence == f"passed after 40 of 1,266 sets: {number}"
    assert replace(usual, outcome=PASSED, word="better").sentence == f"better after 40 of 1,266 sets: {number}"
    unknown = replace(usual, value=math.nan, needed=7)
    assert unknown.as_json()["value"] is None and unknown.as_json()["needed"] == 7 and unknown.as_json()["low"] == 0.05


def test_a_budget_that_no_sentence_fits_into_is_refused() -> None:
    with pytest.raises(
        EquipoiseError, match=r"^at_most 0 leaves nothing to ask; a base sentence has more sets than that$"
    ):
        settle("accuracy >= 0.4", at_most=0, **CLEAR)
    assert len({example.set_id for example in settle("accuracy >= 0.4", at_most=1, **CLEAR).dataset.examples}) == 1


def test_a_budget_that_is_spent_too_early_says_what_can_be_said() -> None:
    few, chosen = DATA.limited(110), replace(PLAN, resamples=20)
    weak = {"strength": 1.0, "bias": 0.5, "noise": 0.8}

    def ended(text: str, at_most: int) -> Decision:
        (decision,) = settle(text, at_most=at_most, plan=chosen, data=few, **weak).decisions
        assert (decision.outcome, decision.how, decision.sets, decision.of) == (UNDECIDED, BUDGET, at_most, 58)
        return decision

    unknown = ended("eo_sum <= 0.5", 1)
    assert unknown.needed is None and [*map(math.isnan, (unknown.value, unknown.low, unknown.high))] == [True] * 3
    gap, odds = ended("accuracy_gap <= 0.3", 45), ended("eo_sum <= 0.5", 45)
    assert (gap.needed, odds.needed) == (301, 214), "the size of a gap has no units of its own"
    assert ended("accuracy_gap <= 0.9", 1).needed == 3, "more than were asked"


def test_a_comparison_whose_budget_is_spent_says_how_many_sets_would_settle_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rehearsed: list[Any] = []
    monkeypatch.setattr(settling, "units_to_settle", lambda *given: rehearsed.append(given) or 77)
    data, asked = DATA.limited(110), Asked(strength=1.0, bias=0.5, noise=0.8)
    earlier = Asked(strength=1.0, bias=0.6, noise=0.8)(data.examples)
    ((goal,),) = goals([(data, "next-word")], [parse_duel("accuracy", 0.0)], PLAN, {("builtin", "next-word"): earlier})
    settled = until_settled(data, asked, PLAN, KEY, [goal], at_most=45)
    (decision,) = settled.decisions
    units = improvement(asked(settled.dataset.examples), goal)
    assert units is not None and (decision.outcome, decision.how, decision.word) == (UNDECIDED, BUDGET, "")
    assert decision.value == pytest.approx(units.sums.sum() / units.counts.sum())
    ((seen, bound, error),) = rehearsed
    assert decision.needed == 77 and np.array_equal(seen.sums, units.sums)
    assert (bound, error) == (0.0, pytest.approx((1 - goal.level) / 2))
    assert settled.sample is not None and not settled.sample.followed, "no metric of this run alone is followed"
    other = replace(goal, earlier=earlier.take(np.array([], dtype=int)))
    (unknown,) = until_settled(data, asked, PLAN, KEY, [other], at_most=45).decisions
    assert math.isnan(unknown.value) and unknown.needed is None
