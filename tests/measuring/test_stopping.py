"""Audits that stop early on UCerF, flips, accuracy and gaps: what their intervals are about, and that they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from test_kept_measurements import asked, builtin
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.datasets import open_dataset
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measure
from equipoise.measuring.sampling import until_precise
from equipoise.measuring.stopping import GUARANTEED, Facts, Sample, facts_of, guaranteed, planned_sample, with_guarantee
from equipoise.metrics import METRICS
from equipoise.records import EquipoiseError, Outcomes, RunKey
from equipoise.scoring.planted import PlantedEngine
from equipoise.tasks import open_task

DATA = open_dataset("builtin")
ENGINE = PlantedEngine(strength=1.5, bias=0.4, noise=0.6)
ENGINE.prepare(DATA.examples)
PLAN = Plan([METRICS[name] for name in GUARANTEED], by=[], resamples=20)


def ask(examples: object) -> Outcomes:
    return open_task("next-word").run(examples, scorer=lambda prompts: next(ENGINE.score([prompts])), writer=None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> dict[str, float]:
    rows, _ = measure(Items(ask(DATA.examples)), PLAN, RunKey("m", "d", "t"))
    return {f"{row.metric} ({row.parts['type']})": row.value for row in rows if set(row.parts) == {"type"}}


def test_all_sentences_give_the_metrics_themselves(whole: dict[str, float]) -> None:
    sample = planned_sample(DATA.examples, GUARANTEED, 0.05, joint=False)
    estimates = guaranteed(Items(ask(DATA.examples)), sample, 0.95)
    assert len(estimates) == 6 + 4, "type 2 has no signed UCerF; type 1 has no accuracy, and no gap in it or in D"
    for name, estimate in estimates.items():
        value = whole[name]
        assert estimate.low == pytest.approx(value, abs=1e-6) and estimate.high == pytest.approx(value, abs=1e-6)


def test_an_audit_stops_early_and_its_intervals_hold_the_value_of_all(whole: dict[str, float]) -> None:
    stopped = until_precise(DATA, ask, PLAN, width=0.3)
    assert stopped.sample is not None and len(stopped.dataset.examples) < 0.8 * len(DATA.examples)
    assert [look.width < 0.3 for look in stopped.looks] == [False] * (len(stopped.looks) - 1) + [True]
    for name, estimate in guaranteed(Items(ask(stopped.dataset.examples)), stopped.sample, 0.95).items():
        assert estimate.high - estimate.low < 0.3
        assert estimate.low <= whole[name] <= estimate.high
    types = [example.groups["type"] for example in stopped.dataset.examples]
    assert types.count("type1") / len(types) == pytest.approx(244 / 510, abs=0.02), "balanced over types"


def test_a_precision_that_is_never_reached_asks_everything() -> None:
    stopped = until_precise(DATA, ask, PLAN, width=1e-9)
    assert stopped.sample is None and len(stopped.dataset.examples) == len(DATA.examples)


def test_only_the_metrics_that_were_asked_for_are_waited_for(tmp_path: Path) -> None:
    run = equipoise.audit(ENGINE, "builtin", out=tmp_path, until_width=0.1, metrics=["ucerf"], by=[], resamples=20)
    (part,) = run.parts
    row = part.measured.get("ucerf", type="type2")
    assert row is not None and row.high - row.low < 0.1 and "betting" in row.estimate.method
    assert len(part.outcomes) < len(DATA.examples) and "stopped at look" in run.manifest.notes[0]
    again = equipoise.remeasure(tmp_path, resamples=20).parts[0].measured.get("ucerf", type="type2")
    assert again is not None and (again.low, again.high) == (row.low, row.high), "measured again, it still holds"


def test_metrics_without_a_guarantee_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="until_width needs one of these metrics"):
        equipoise.audit(ENGINE, "builtin", out=tmp_path, until_width=0.1, metrics=["perplexity"])


def test_joint_intervals_are_wider() -> None:
    few = ask(DATA.examples[:200])
    apart, joint = (planned_sample(DATA.examples, GUARANTEED, 0.05, joint=joint) for joint in (False, True))
    widths = [guaranteed(Items(few), sample, 0.95)["ucerf (type2)"] for sample in (apart, joint)]
    assert widths[1].width > widths[0].width


def test_costs_are_told_before_they_are_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["audit", "smollm2", "--wordings", "built-in", "--limit", "30", "--dry-run"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0 and not list(tmp_path.iterdir()), "nothing is asked, nothing is written"
    assert "600" in result.output, "30 sentences, two pronouns, ten wordings"
    assert "width 0.02" in " ".join(result.output.split())


def test_a_contrast_within_sets_counts_whole_sets_only_and_others_count_every_example() -> None:
    def column(*values: str) -> np.ndarray:
        return np.array(values, dtype=object)

    sides, yes = column("pro", "anti", "pro", "anti", ""), np.ones(5, dtype=bool)
    groups = {"type": column(*["type2"] * 5), "stereotype": sides, "gender": column(*["male"] * 5)}
    facts = Facts(groups, column("a", "a", "b", "c", "c"), np.arange(5), yes, yes)
    found = {
        metric.inputs[1]: facts.signs(metric, "type2").tolist()
        for metric in METRICS.values()
        if metric.unit == "contrast" and metric.awaited
    }
    assert found["stereotype"] == [1, -1, 1, -1, 0]
    assert found["stereotype_within"] == [1, -1, 0, 0, 0]
    assert found["gender_within"] == [0, 0, 0, 0, 0]
    firsts = facts.signs(METRICS["flip_rate"], "type2").tolist()
    assert firsts == [1, 0, 0, 1, 0] and not facts.signs(METRICS["flip_rate"], "type1").any()


def test_samples_and_their_intervals_are_kept() -> None:
    data = builtin(40)
    made = {}
    for joint in (False, True):
        sample = planned_sample(data.examples, GUARANTEED, 0.1, joint=joint)
        made[f"sample, joint {joint}"] = sample
        for name, part in (("half", data.limited(20)), ("all", data)):
            made[f"{name}, joint {joint}"] = guaranteed(Items(asked(part)), sample, 0.9)
    orders = Items(asked(data.limited(20), "mcq", seeds=(1, 2)))
    made["orders"] = guaranteed(orders, planned_sample(data.examples, GUARANTEED, 0.1, joint=False), 0.9)
    assert_kept("measured/guaranteed", made)


def test_only_rows_of_types_take_the_intervals_of_a_sample() -> None:
    items = Items(asked(builtin(20)))
    plan = Plan([METRICS["ucerf"], METRICS["perplexity"]], by=["occupation"], resamples=20)
    rows, _ = measure(items, plan, RunKey("m", "d", "t"))
    sample = planned_sample(builtin(40).examples, ["ucerf"], 0.1, joint=False)
    changed = with_guarantee(rows, items, sample, 0.9)
    moved = [after for before, after in zip(rows, changed, strict=True) if before != after]
    assert {(row.metric, row.group) for row in moved} == {("ucerf", "type=type1"), ("ucerf", "type=type2")}
    assert [row.value for row in changed] == [row.value for row in rows]
    assert [row.n for row in changed] == [row.n for row in rows]
    nothing: Any = None  # a sample that waits for no metric looks at no item
    assert with_guarantee(rows, nothing, None, 0.9) == rows == with_guarantee(rows, nothing, Sample(), 0.9)


def test_the_error_is_shared_by_looks_and_intervals_and_deviations_shrink() -> None:
    sample = Sample({"a": 100}, looks=5, together=4)
    assert sample.errors == 20 and sample.level(0.95) == pytest.approx(1 - 0.05 / 20)
    assert sample.shrink("a", 36) == pytest.approx(0.8) and sample.shrink("a", 100) == 0 == sample.shrink("a", 120)
    assert sample.shrink("b", 36) == 1.0 == Sample().shrink("a", 5)
    assert Sample().errors == 1 and Sample().level(0.9) == pytest.approx(0.9)


def test_facts_are_those_of_the_examples() -> None:
    examples = builtin(3).examples
    facts = facts_of(examples)
    assert facts.kind.tolist() == [example.groups["type"] for example in examples]
    assert facts.groups["gender"].tolist() == [example.groups["gender"] for example in examples]
    assert facts.labelled.tolist() == [example.gold is not None for example in examples]
    assert facts.answerable.tolist() == [example.answerable for example in examples]
    assert facts.cluster.tolist() == sorted(facts.cluster.tolist()) and facts.set_id[0] == examples[0].set_id
