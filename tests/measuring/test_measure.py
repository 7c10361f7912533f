"""Which numbers come out of a table of outcomes, for which groups, and from which rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise import cores
from equipoise.measuring import measure as measuring
from equipoise.measuring import tables as run_columns
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.measure import measure as measure_items
from equipoise.measuring.part import set_sentences
from equipoise.metrics import METRICS, Metric
from equipoise.metrics.columns import COLUMNS
from equipoise.metrics.groups import mean
from equipoise.records import EquipoiseError, Estimate, Measurement, Outcomes, RunKey
from equipoise.uncertainty import ENTROPY, ESTIMATORS, PERPLEXITY, RENYI, Estimator

LABELS = RunKey("model", "data", "task")


def measure(outcomes: Outcomes, chosen: Plan, key: RunKey) -> Any:
    return measure_items(measured_items(outcomes, chosen), chosen, key)


def item_columns(outcomes: Outcomes, estimator: Estimator, *, disparity: str = "range") -> dict[str, Any]:
    return Items(outcomes, disparity).columns(estimator)


def set_members(outcomes: Outcomes) -> Any:
    return Items(outcomes).members


def derived_columns(outcomes: Outcomes, chosen: Plan) -> dict[str, Any]:
    return run_columns.item_columns(measured_items(outcomes, chosen), chosen.estimators)


def pair_columns(outcomes: Outcomes, chosen: Plan) -> dict[str, Any]:
    return run_columns.set_columns(measured_items(outcomes, chosen), chosen.estimators)


EVERYTHING = tuple(METRICS.values())


def certainty(*probs: float) -> float:
    return float(PERPLEXITY.certainty(np.array([probs]))[0])


def plan(*names: str, **choices: Any) -> Plan:
    return Plan([METRICS[name] for name in names] or EVERYTHING, **{"resamples": 50, **choices})


def table(outcomes: Outcomes, chosen: Plan) -> dict[tuple[str, str], Estimate]:
    """Return the estimates by metric and group; that each stands once is part of the contract."""
    found, _ = measure(outcomes, chosen, LABELS)
    estimates = {(one.metric, one.group): one.estimate for one in found}
    assert len(estimates) == len(found)
    return estimates


def answerable_rows(pairs: int = 12, *, seed: int = 0, start: int = 0) -> list[dict[str, Any]]:
    """Return resolvable sentences of three occupations, he and she, with probabilities that vary."""
    rng = np.random.default_rng(seed)
    occupations = [("nurse", "female"), ("guard", "male"), ("cook", "male"), ("clerk", "female")]
    rows = []
    for pair in range(start, start + pairs):
        (referent, side), (other, _) = occupations[pair % 4], occupations[(pair + 1 + 2 * (pair % 2)) % 4]
        for gender in ("male", "female"):
            right = rng.beta(3, 2) if gender == side else rng.beta(2, 3)
            gold = pair // 4 % 2
            row = {"pair": f"r{pair}", "probs": (right, 1 - right) if gold == 0 else (1 - right, right), "gold": gold}
            row |= {"type": "type2", "gender": gender, "side": side, "occupation": referent, "other": other}
            rows.append(row | {"stereotype": "pro" if gender == side else "anti"})
    return rows


def unanswerable_rows(pairs: int = 6, *, seed: int = 1) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for pair in range(pairs):
        for gender in ("male", "female"):
            first = rng.beta(2, 2)
            rows.append({"pair": f"a{pair}", "probs": (first, 1 - first), "type": "type1", "gender": gender})
    return rows


@pytest.fixture(scope="module")
def mixed(make_outcomes) -> Outcomes:
    return make_outcomes(answerable_rows(24) + unanswerable_rows())


# --- columns ---------------------------------------------------------------------------------------------------


def test_there_is_a_column_for_every_name_that_metrics_may_read(mixed: Outcomes) -> None:
    # "group" is handed to metrics over groupings alone, and those of identities to metrics of marked sentences.
    identities = {"marked", "subgroup", "marker", "answered", "privilege"}
    pairs = {name for name in COLUMNS if name.endswith(("_apart", "_of_pair"))} - {"stated_apart", "p_apart"}
    assert set(item_columns(mixed, PERPLEXITY)) == set(COLUMNS) - {"group", *identities, *pairs}
    assert identities <= {name for metric in EVERYTHING if metric.unit == "identity" for name in metric.inputs}


def test_sets_of_different_sizes_are_compared_pairwise_unless_asked_otherwise(make_outcomes) -> None:
    triples = [{"pair": f"t{n}", "probs": (p, 1 - p), "gold": 0} for n in range(2) for p in (0.9, 0.6, 0.2)]
    pair = [{"pair": "p", "probs": (p, 1 - p), "gold": 0} for p in (0.9, 0.6)]
    for rows, usual in ((triples, "range"), (triples + pair, "pairwise")):
        outcomes = make_outcomes(rows)
        by_default, chosen = (item_columns(outcomes, PERPLEXITY, disparity=kind)["u"] for kind in ("auto", usual))
        np.testing.assert_array_equal(by_default, chosen)
    lone = make_outcomes([*triples, *pair, {"pair": "x", "probs": (0.5, 0.5), "gold": 0}])
    first, second = set_sentences(Items(lone))
    assert first.startswith("1 of 4 sets have one sentence only")
    assert "(1 of 2, 2 of 3): U compares them pairwise" in second
    assert "by range" in list(set_sentences(Items(lone, "range")))[1]
    assert list(set_sentences(Items(make_outcomes(triples)))) == []


def test_the_columns_of_items_and_pairs_name_every_estimator_but_the_default(mixed: Outcomes) -> None:
    chosen = plan(estimators=(PERPLEXITY, RENYI))
    assert list(derived_columns(mixed, chosen)) == [
        *("correct", "perplexity", "candidate_mass", "certainty", "desirability"),
        *("certainty_renyi", "desirability_renyi"),
    ]
    pairs = pair_columns(mixed, chosen)
    assert len(pairs["set_id"]) == 30
    for suffix in ("", "_renyi"):
        d = np.abs(pairs[f"d_male{suffix}"] - pairs[f"d_female{suffix}"])
        np.testing.assert_allclose(pairs[f"u_eq3{suffix}"], 1 - d / 2, atol=1e-12)
        answerable = pairs["type"] == "type2"
        np.testing.assert_allclose(pairs[f"u{suffix}"], np.where(answerable, 1 - d / 2, 1 - d), atol=1e-12)


def test_a_pair_without_one_of_the_genders_has_no_d_of_it(make_outcomes) -> None:
    rows = [{"pair": "a", "probs": (0.9, 0.1), "gold": 0, "gender": g} for g in ("male", "female", "neutral")]
    rows += [{"pair": "b", "probs": (0.9, 0.1), "gold": 0, "gender": g} for g in ("male", "female")]
    pairs = pair_columns(make_outcomes(rows), plan())
    assert np.isnan(pairs["d_neutral"]).tolist() == [False, True]


def test_outcomes_without_a_pair_have_an_empty_table_of_pairs(make_outcomes) -> None:
    pairs = pair_columns(make_outcomes([{"pair": "a", "probs": (0.9, 0.1), "gold": 0, "gender": "male"}]), plan())
    assert {len(column) for column in pairs.values()} == {0}


# --- groups and labels -----------------------------------------------------------------------------------------


def test_groups_are_the_whole_the_types_and_each_group_of_either(mixed: Outcomes) -> None:
    found = {group for metric, group in table(mixed, plan("certainty")) if metric == "certainty"}
    occupations = {f"occupation={name}" for name in ("nurse", "guard", "cook", "clerk")}
    plain = {"gender=male", "gender=female", "stereotype=pro", "stereotype=anti", *occupations}
    of_type2 = {f"{label},type=type2" for label in plain}
    of_type1 = {"gender=male,type=type1", "gender=female,type=type1"}
    assert found == {"all", "type=type1", "type=type2", *plain, *of_type2, *of_type1}


def test_the_value_of_a_group_is_the_metric_of_its_rows(mixed: Outcomes) -> None:
    found = table(mixed, plan("accuracy", "certainty"))
    columns = item_columns(mixed, PERPLEXITY)
    rows = (mixed.group("gender") == "male") & (mixed.group("type") == "type2")
    for name, column in (("accuracy", "correct"), ("certainty", "certainty")):
        estimate = found[name, "gender=male,type=type2"]
        assert estimate.value == pytest.approx(columns[column][rows].mean(), abs=1e-12)
        assert estimate.n == rows.sum()


def test_measurements_say_what_they_are_about(mixed: Outcomes) -> None:
    found, _ = measure(mixed, plan("accuracy", level=0.9), LABELS)
    assert {(one.model, one.dataset, one.task) for one in found} == {("model", "data", "task")}
    assert {one.better for one in found} == {"higher"}
    assert {one.estimate.level for one in found} == {0.9}
    assert all(isinstance(one, Measurement) for one in found)
    assert str(LABELS) == "data · task"


def test_ucerf_never_pools_answerable_and_unanswerable_items(mixed: Outcomes) -> None:
    found = table(mixed, plan(by=()))
    pooled = {metric for metric, group in found if group == "all"}
    assert pooled.isdisjoint({"ucerf", "ucerf_signed", "ucerf_eq3", "fp"})
    assert {"certainty", "perplexity", "candidate_mass", "certainty_gap"} <= pooled
    assert {("ucerf", "type=type1"), ("ucerf", "type=type2"), ("fp", "type=type1"), ("fp", "type=type2")} <= set(found)


def test_ucerf_of_the_whole_is_given_where_all_items_are_of_one_kind(make_outcomes) -> None:
    for rows in (answerable_rows(), unanswerable_rows()):
        found = table(make_outcomes(rows), plan("ucerf", by=()))
        assert found["ucerf", "all"].value == found["ucerf", f"type={rows[0]['type']}"].value


def test_a_metric_is_given_only_for_the_items_it_needs(mixed: Outcomes) -> None:
    found = table(mixed, plan())
    groups = {name: {group for metric, group in found if metric == name} for name in METRICS}
    assert all("type1" in group for group in groups["ucerf_signed"] | groups["ucerf_eq3"])
    assert not any("type1" in group for group in groups["desirability"] | groups["eo_sum"] | groups["accuracy"])
    # The whole holds unanswerable items, too: the value is that of the answerable ones.
    assert found["desirability", "all"] == found["desirability", "type=type2"]


def test_ucerf_is_not_broken_down_by_what_differs_within_a_pair(mixed: Outcomes) -> None:
    found = table(mixed, plan())
    broken_down = {group for metric, group in found if metric in ("ucerf", "fp", "eo_sum", "certainty_gap")}
    assert not any("gender" in group or "stereotype" in group for group in broken_down)
    assert "occupation=nurse,type=type2" in broken_down


def test_ucerf_by_occupation_is_over_its_own_sentences_and_odds_over_those_where_it_is_the_other(
    mixed: Outcomes,
) -> None:
    found = table(mixed, plan("ucerf", "accuracy", "eo_sum"))
    own = mixed.group("occupation") == "nurse"
    either = own | (mixed.group("other") == "nurse")
    assert found["ucerf", "occupation=nurse"].n == own.sum() / 2
    assert found["accuracy", "occupation=nurse"].n == own.sum()
    assert found["eo_sum", "occupation=nurse"].n == either.sum() > own.sum()


def test_by_chooses_the_groups(mixed: Outcomes) -> None:
    found = {group for _, group in table(mixed, plan("accuracy", by=["side"]))}
    assert found == {"all", "type=type2", *(f"side={s}{t}" for s in ("male", "female") for t in ("", ",type=type2"))}


def test_measurements_do_not_depend_on_the_cores(mixed: Outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "BLOCK", 7)
    monkeypatch.setattr(measuring, "SMALL_BLOCK", 5)
    chosen, found = plan(), []
    for count in (1, 2, 5):
        monkeypatch.setattr(cores, "wanted", lambda count=count: count)
        found.append([repr(row) for row in measure(mixed, chosen, LABELS)[0]])
    assert len(found[0]) > 50
    assert found[0] == found[1] == found[2]


def test_an_unknown_group_is_refused_by_name(mixed: Outcomes) -> None:
    with pytest.raises(EquipoiseError, match="no item has a group 'religion'; known groups: type, gender"):
        measure(mixed, plan(by=["religion"]), LABELS)


def test_a_metric_that_reads_an_unknown_column_is_refused_by_name(mixed: Outcomes) -> None:
    metric = Metric("mine", mean, ("perplexty",), "neither", "Mine", "a typing error")
    with pytest.raises(EquipoiseError, match="metric mine reads 'perplexty'; known columns: correct, perplexity"):
        measure(mixed, Plan([metric]), LABELS)


def test_several_estimators_are_measured_at_once_and_named(mixed: Outcomes) -> None:
    # Estimators over wordings or labels need items that have them.
    together = table(mixed, plan(by=(), estimators=tuple(row for row in ESTIMATORS.values() if not row.over)))
    # No sentence here has several markings, and nothing is broken down by groups.
    estimated = [m.name for m in EVERYTHING if m.estimated and m.applies_to != "variants" and m.unit != "grouping"]
    for name in ("renyi", "fisher_rao", "top_probability", "margin", "entropy"):
        assert {f"{metric}_{name}" for metric in estimated} <= {metric for metric, _ in together}
        assert f"accuracy_{name}" not in {metric for metric, _ in together}
    alone = table(mixed, plan("ucerf", by=(), estimators=(ENTROPY,)))
    assert alone["ucerf_entropy", "type=type2"] == together["ucerf_entropy", "type=type2"]


def test_a_plugin_s_metric_without_weights_may_read_probabilities(mixed: Outcomes) -> None:
    def least(probs: np.ndarray) -> float:
        return float(probs.max(axis=1).min())

    found = table(
        mixed, Plan([Metric("least", least, ("probs",), "neither", "Least", "least certainty")], by=(), resamples=20)
    )
    assert found["least", "all"].value == mixed.probs.max(axis=1).min()
    assert found["least", "all"].low <= found["least", "all"].high


def test_a_metric_that_gives_no_number_is_undefined_and_noted(mixed: Outcomes) -> None:
    metric = Metric("mine", lambda certainty: np.nan, ("certainty",), "neither", "Mine", "no number", bounds=(0, 1))
    found, notes = measure(mixed, Plan([metric], by=(), resamples=20), LABELS)
    assert not found and "its function gave NaN" in notes[0]


# --- counterfactual sets ---------------------------------------------------------------------------------------


def test_unpaired_rows_count_for_items_and_not_for_pairs(make_outcomes) -> None:
    rows = answerable_rows(8)
    alone = [{**row, "pair": f"alone {number}"} for number, row in enumerate(answerable_rows(3, seed=5))]
    with_alone, without = (
        table(make_outcomes(some), plan("ucerf", "accuracy", by=())) for some in (rows + alone, rows)
    )
    assert with_alone["ucerf", "all"].n == without["ucerf", "all"].n == 8
    assert with_alone["ucerf", "all"].value == without["ucerf", "all"].value
    assert (with_alone["accuracy", "all"].n, without["accuracy", "all"].n) == (22, 16)


def test_without_any_pair_ucerf_is_undefined_and_noted(make_outcomes) -> None:
    rows = [{**row, "pair": f"alone {number}"} for number, row in enumerate(answerable_rows(8))]
    found, notes = measure(make_outcomes(rows), plan("ucerf", "accuracy", by=()), LABELS)
    assert {one.metric for one in found} == {"accuracy"}
    assert [note.split(" (")[0] for note in notes] == ["ucerf is undefined for all items and for 1 group"]
    _, notes = measure(make_outcomes(rows), plan("ucerf", by=("stereotype",)), LABELS)
    assert [note.split(" (")[0] for note in notes] == ["ucerf is undefined for all items and for 5 groups"]


def test_a_third_pronoun_joins_its_set(make_outcomes) -> None:
    rows = answerable_rows(6)
    rows += [{**row, "gender": "neutral", "stereotype": "", "probs": (0.5, 0.5)} for row in rows[::2]]
    found = table(make_outcomes(rows), plan("ucerf", "certainty", "certainty_gap"))
    assert found["ucerf", "all"].n == 6
    assert found["certainty", "gender=neutral"].value == pytest.approx(0, abs=1e-12)
    assert found["certainty_gap", "all"].n == 12, "of he and she alone"
    two = table(make_outcomes(rows[:12]), plan("ucerf", "certainty_gap"))
    assert found["ucerf", "all"].value <= two["ucerf", "all"].value + 1e-12
    assert found["certainty_gap", "all"].value == pytest.approx(two["certainty_gap", "all"].value, abs=1e-12)


# --- seeds -----------------------------------------------------------------------------------------------------


def test_rows_beside_each_other_are_a_slice(make_outcomes) -> None:
    rows = [{"pair": str(n // 2), "probs": [0.4, 0.6], "gender": "male" if n % 2 else "female"} for n in range(6)]
    points, _ = measuring.measured_points(measured_items(make_outcomes(rows), plan("certainty")), plan("certainty"))
    chosen = {point.parts.get("gender", ""): point.rows[""] for point in points}
    assert chosen[""] == slice(0, 6) and chosen["male"].tolist() == [1, 3, 5]


def test_metrics_of_the_same_differences_share_them(make_outcomes) -> None:
    sides = ("pro", "male"), ("anti", "male"), ("pro", "female"), ("anti", "female")
    rows = [
        {"pair": str(n), "probs": [0.4, 0.6], "gold": n % 2, "stereotype": fits, "side": side}
        for n, (fits, side) in enumerate(sides * 3)
    ]
    chosen = plan("eo_sum", "eo_max", "accuracy", by=())
    points, _ = measuring.measured_points(measured_items(make_outcomes(rows), chosen), chosen)
    whole = {point.job.name: point for point in points if not point.parts}
    first, second = whole["eo_sum"].differences[""], whole["eo_max"].differences[""]
    assert first is second and not whole["accuracy"].differences
    assert whole["eo_sum"].value == np.abs(first).sum() and whole["eo_max"].value == np.abs(first).max()
