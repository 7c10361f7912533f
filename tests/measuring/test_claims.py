"""Claims are tested as one family: a planted difference is found, and its rows have the corrected p."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_kept_measurements import asked, builtin

from equipoise import audit
from equipoise.measuring.claims import CONTRASTS, SHARES, _occupations
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.metrics import METRICS
from equipoise.records import RunKey
from equipoise.runs.run import Part
from equipoise.scoring.planted import PlantedEngine
from equipoise.stats.bootstrap import cluster_numbers
from equipoise.stats.separation import separations
from equipoise.uncertainty import ESTIMATORS


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Part:
    folder: Path = tmp_path_factory.mktemp("claims")
    choices = {"limit": 80, "resamples": 30, "by": ["stereotype", "occupation"]}
    return audit(PlantedEngine(strength=1, bias=1.5, noise=1), out=folder / "run", **choices).parts[0]


def test_the_error_is_shared_out_once() -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert len({contrast.metric for contrast in CONTRASTS}) == len(CONTRASTS)


def test_a_planted_bias_is_found_and_nothing_else(part: Part) -> None:
    measured = part.measured
    for metric, kind in (("flip_bias", "type1"), ("flip_bias", "type2"), ("accuracy_gap", "type2")):
        row = measured.get(metric, type=kind)
        assert row is not None and row.estimate.p <= row.estimate.p_corrected < 0.05
    for kind in ("type1", "type2"):
        row = measured.get("certainty_gap", type=kind)
        assert row is not None and row.estimate.p_corrected > 0.05


def test_every_claim_of_a_type_has_its_corrected_p(part: Part) -> None:
    claimed = {"flip_bias", "accuracy_gap", "certainty_gap", "desirability_gap", "overconfidence"}
    rows = [row for row in part.measured if row.metric in claimed and set(row.parts) == {"type"}]
    assert {row.metric for row in rows} == claimed
    assert all(0 < row.estimate.p <= row.estimate.p_corrected <= 1 for row in rows)


def test_labels_of_people_are_a_claim_of_the_family(tmp_path: Path) -> None:
    """A model that gives the first side far too little is found; one that gives what people say is not."""
    texts = [f"The {job} number {row} said {{}} was late." for row in range(60) for job in ("nurse", "baker")]
    for right, shown in ((0, True), (1, False)):
        labels = [row % 2 if right else 1 for row in range(len(texts))]
        rows = [
            {"sent_more": text.format("he"), "sent_less": text.format("she"), "y": label, "bias_type": ""}
            for text, label in zip(texts, labels, strict=True)
        ]
        engine = PlantedEngine(strength=0.0, bias=0.0, noise=0.5)
        run = audit(engine, rows, task="cloze", out=tmp_path / f"run-{right}", resamples=30, progress=False)
        (part,) = run.parts
        lean, share, stated = (part.measured.get(name) for name in ("label_lean", "label_share", "p_first"))
        assert lean is not None and share is not None and stated is not None
        assert lean.value == pytest.approx(stated.value - share.value) and share.value == np.mean(labels)
        assert (lean.estimate.p_corrected < 0.05) == shown
        assert lean.estimate.p <= lean.estimate.p_corrected


def test_differences_of_pairs_have_the_p_of_their_own_values_whichever_estimator_comes_first() -> None:
    outcomes = asked(builtin(40, pronouns=("he", "she", "ze")))
    found = []
    for names in (("perplexity",), ("margin",), ("margin", "perplexity")):
        estimators = [ESTIMATORS[name] for name in names]
        plan = Plan([METRICS["certainty_difference"]], estimators, by=(), resamples=20)
        rows, _ = measure_part(measured_items(outcomes, plan), plan, RunKey("m", "d", "t"))
        found.append([(row.group, row.value, row.estimate.p) for row in rows])
    assert found[0] == found[1] == found[2] and len(found[0]) == 6


def test_occupations_are_tested_by_base_sentence_and_only_those_with_a_name() -> None:
    outcomes = asked(builtin(60))
    numbers = cluster_numbers(outcomes.set_id)
    names = np.array(["nurse", "", "baker", "cook", "cook"], dtype=object)[numbers % 5]
    items = Items(replace(outcomes, groups={**outcomes.groups, "occupation": names}))
    plan = Plan([METRICS["ucerf"], METRICS["ucerf_signed"]], by=())
    kinds = [(kind, np.flatnonzero(outcomes.group("type") == kind)) for kind in ("type1", "type2")]
    expected = {}
    for (kind, rows), (metric, column) in zip(kinds, (("ucerf_signed", "u_signed"), ("ucerf", "u")), strict=True):
        values, several = items.columns(plan.estimators[0])[column], defaultdict(list)
        for row in rows.tolist():
            if names[row] and not math.isnan(values[row]):
                several[items.clusters[row], names[row]].append(values[row])
        expected[metric, kind] = [np.mean(units) for units in several.values()], [name for _, name in several]
    by_kind = {(metric, part["type"]): means for metric, part, means in _occupations(items, plan, kinds)}
    assert list(by_kind) == list(expected) == [("ucerf_signed", "type1"), ("ucerf", "type2")]
    for name, (means, occupations) in expected.items():
        assert by_kind[name][0] == pytest.approx(means) and by_kind[name][1].tolist() == occupations
    measured, _ = measure_part(items, replace(plan, by=("occupation",), resamples=20), RunKey("m", "d", "t"))
    tested = {row.group: row for row in measured if row.metric == "ucerf"}
    for apart in separations(*by_kind["ucerf", "type2"], seed=plan.seed):
        assert tested[f"occupation={apart.group},type=type2"].estimate.p == apart.corrected
    (only,) = _occupations(items, Plan([METRICS["ucerf"]], by=()), kinds)
    assert only[:2] == ("ucerf", {"type": "type2"})
