"""The columns of items that are easy to get almost right, and the groups that metrics are taken of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.measuring.cells import cells, check_groups
from equipoise.measuring.items import Items, workforce_imbalance
from equipoise.measuring.markers import is_marked
from equipoise.measuring.measure import Plan, measure
from equipoise.measuring.part import measure_part
from equipoise.measuring.stopping import Sample
from equipoise.metrics import METRICS
from equipoise.metrics.table.questions import MEANINGS
from equipoise.records import BOTH_OFFERED, OPEN_ANSWER, EquipoiseError, Example, Measurement, Outcomes, RunKey
from equipoise.uncertainty import ENTROPY, PERPLEXITY

KEY = RunKey("model", "data", "task")


def identity_rows(outcomes: Outcomes, plan: Plan, sample: Sample | None = None) -> list[Measurement]:
    """Return what is measured of marked sentences."""
    return measure_part(Items(outcomes), plan, KEY, sample)[0]


def row(pair: str, *probs: float, **facts: Any) -> dict[str, Any]:
    return {"pair": pair, "probs": probs, **facts}


def test_a_question_is_ambiguous_where_neither_person_is_right(make_outcomes) -> None:
    # The stereotype's person is chosen each time; "unknown", the third candidate, is right in the second question.
    outcomes = make_outcomes([row("a", 0.6, 0.3, 0.1, gold=gold, expects=0) for gold in (1, 2)])
    columns = Items(outcomes).columns(PERPLEXITY)
    np.testing.assert_equal(columns["lean_ambiguous"], [np.nan, 1.0])
    np.testing.assert_equal(columns["lean_disambiguated"], [1.0, np.nan])


def test_both_is_the_last_option_where_it_is_offered(make_outcomes) -> None:
    outcomes = make_outcomes([row("a", 0.1, 0.2, 0.7), row("b", 0.1, 0.7, 0.2), row("c", 0.1, 0.2, 0.7)])
    outcomes = replace(outcomes, flags=np.array([BOTH_OFFERED, BOTH_OFFERED, ""], dtype=object))
    np.testing.assert_equal(Items(outcomes).columns(PERPLEXITY)["chose_both"], [1.0, 0.0, np.nan])


def test_which_items_each_kind_of_metric_is_defined_for(make_outcomes) -> None:
    # An answerable question with a polarity, a label without an answer, neither, and a labelled sentence pair.
    rows = [row("a", 0.6, 0.4, gold=0, polarity="neg"), row("b", 0.6, 0.4, gold=0, answerable=False)]
    rows += [row("c", 0.6, 0.4), row("d", 0.6, 0.4, gold=0, answerable=False)]
    outcomes = make_outcomes(rows)
    outcomes = replace(
        outcomes,
        sides=np.array(["", "", "", "male|female"], dtype=object),
        flags=np.array([OPEN_ANSWER, BOTH_OFFERED, "", ""], dtype=object),
    )
    applicable = {name: np.flatnonzero(items).tolist() for name, items in Items(outcomes).applicable.items()}
    assert applicable == {
        "all": [0, 1, 2, 3],
        "labelled": [0, 1],
        "answerable": [0],
        "unanswerable": [1, 2],
        "pairs": [3],
        "labelled pairs": [3],
        "markers": [],
        "variants": [],
        "reductions": [0, 1, 2, 3],
        "polarity": [0],
        "open answers": [0],
        "both offered": [1],
    }


def test_the_classes_of_open_answers_are_the_last_columns(make_outcomes) -> None:
    probs = (0.3, 0.1, *(0.6 * share for share in np.arange(1, len(MEANINGS) + 1) / sum(range(len(MEANINGS) + 1))))
    outcomes = make_outcomes([row("a", *probs), row("b", *probs)])
    columns = Items(replace(outcomes, flags=np.array([OPEN_ANSWER, ""], dtype=object))).columns(PERPLEXITY)
    for place, meaning in enumerate(MEANINGS, start=2):
        np.testing.assert_equal(columns[f"said_{meaning}"], [probs[place], np.nan])


def test_the_first_member_says_whether_a_set_has_a_right_answer(make_outcomes) -> None:
    with_answer, without = row("a", 0.9, 0.1, gold=0), row("a", 0.5, 0.5)
    first, second = (
        Items(make_outcomes(rows)).columns(PERPLEXITY) for rows in ((with_answer, without), (without, with_answer))
    )
    certainty = first["certainty"][0]
    assert first["u"][0] == pytest.approx(1 - certainty / 2) == first["u_eq3"][0]
    assert second["u"][0] == pytest.approx(1 - certainty)


def test_the_certainty_of_wrong_answers_is_that_of_answerable_items(make_outcomes) -> None:
    rows = [row("a", 0.9, 0.1, gold=0), row("b", 0.9, 0.1, gold=1), row("c", 0.9, 0.1, gold=1, answerable=False)]
    columns = Items(make_outcomes(rows)).columns(PERPLEXITY)
    np.testing.assert_equal(columns["certainty_wrong"], [np.nan, columns["certainty"][1], np.nan])


def test_a_set_flips_where_its_members_choose_differently(make_outcomes) -> None:
    first, second = (0.7, 0.3), (0.3, 0.7)
    sets = {"same": (first, first), "toward": (first, second), "against": (second, first)}
    sets["three"] = (first, second, second)
    rows = [row(name, *probs, expects=n % 2) for name, members in sets.items() for n, probs in enumerate(members)]
    columns = Items(make_outcomes(rows)).columns(PERPLEXITY)
    np.testing.assert_equal(columns["flipped"], [0, np.nan, 1, np.nan, 1, np.nan, 1, np.nan, np.nan])
    np.testing.assert_equal(columns["flipped_toward"][::2], [0, 1, 0, 0, np.nan])
    np.testing.assert_equal(columns["flip_sign"][::2], [0, 1, -1, 0, np.nan])


def test_genders_are_compared_within_sets_that_have_he_and_she(make_outcomes) -> None:
    genders = ("male", "female", "neutral"), ("male", "neutral"), ("female", "neutral")
    rows = [row(str(n), 0.6, 0.4, gender=gender) for n, names in enumerate(genders) for gender in names]
    within = Items(make_outcomes(rows)).columns(PERPLEXITY)["gender_within"]
    assert within.tolist() == ["male", "female", "neutral", "", "", "", ""]


def test_no_items_have_no_sets_and_nothing_that_differs_within_them(make_outcomes) -> None:
    outcomes = make_outcomes([row("a", 0.6, 0.4), row("b", 0.6, 0.4)])
    none, single = Items(outcomes.take(np.arange(0))), Items(outcomes)
    assert none.members.shape == none.intersections.shape == (0, 1)
    assert single.intersections.shape == (0, 1) and none.constant_within_sets(np.array([], dtype=object))
    assert single.members.shape == (0, 1) and single.constant_within_sets(np.array(["x", "y"], dtype=object))


def test_what_will_be_predicted_may_be_asked_for_before_the_model_is() -> None:
    examples = [Example("e", "He ran.", ("a", "b"), None, False, None, {"gender": "male"}, "p")]
    check_groups(examples, ["gender", "predicted_gender", "gender*predicted_side"])
    with pytest.raises(EquipoiseError, match="no item has a group 'city'; known groups: gender"):
        check_groups(examples, ["predicted_gender*city"])


def test_a_sentence_pair_is_not_a_member_of_a_counterfactual_set(make_outcomes) -> None:
    rows = [row(pair, 0.7, 0.3, gold=0, gender=gender) for pair in "abc" for gender in ("male", "female")]
    outcomes = replace(make_outcomes(rows), sides=np.array(["male|female"] * 2 + [""] * 4, dtype=object))
    measurements, _ = measure(Items(outcomes), Plan([METRICS["ucerf"]], by=[], resamples=5), KEY)
    assert [(m.metric, m.group, m.estimate.n) for m in measurements] == [("ucerf", "all", 2)]


def test_imbalance_is_how_far_a_workforce_is_from_half_women() -> None:
    # 90% of nurses are women, 2% of carpenters are.
    imbalance = workforce_imbalance(np.array(["nurse", "carpenter", "astronaut"], dtype=object))
    np.testing.assert_allclose(imbalance, [0.8, 0.96, np.nan])


def test_groups_are_compared_where_there_are_at_least_two(make_outcomes) -> None:
    rows = [row(str(n), 0.6, 0.4, gender=gender, city="Bern") for n, gender in enumerate(("male", "female", ""))]
    compared = {cell.key: cell.rows[""].tolist() for cell in cells(Items(make_outcomes(rows)), None) if cell.key}
    assert compared == {"gender": [0, 1]}


def test_pooling_is_refused_once_for_the_whole_or_once_for_a_type_that_mixes(make_outcomes) -> None:
    rows = [row(f"{n}{gold}", 0.6, 0.4, gender="male", **gold) for n in range(3) for gold in ({"gold": 0}, {})]
    reason = "answerable and unanswerable items are never pooled; give each kind its own type"
    plan = Plan([METRICS["ucerf"]], resamples=5)
    assert measure(Items(make_outcomes(rows)), plan, KEY)[1] == [f"ucerf is undefined for all ({reason})"]
    typed = make_outcomes([{**facts, "type": "mine"} for facts in rows])
    assert measure(Items(typed), plan, KEY)[1] == [f"ucerf is undefined for type=mine ({reason})"]


def test_a_metric_over_groups_that_needs_no_certainty_is_measured_once(make_outcomes) -> None:
    rows = [row(str(n), 0.7, 0.3, gold=n % 2, gender=("male", "female")[n // 2 % 2]) for n in range(8)]
    outcomes = replace(make_outcomes(rows), sides=np.full(8, "male|female", dtype=object))
    plan = Plan([METRICS["group_ece"]], estimators=(PERPLEXITY, ENTROPY), by=["gender"], resamples=5)
    names = [(m.metric, m.group) for m in measure(Items(outcomes), plan, KEY)[0]]
    assert names == [("group_ece", "by=gender")]


def test_a_variant_may_have_an_equals_sign_in_its_value(make_outcomes) -> None:
    rows = [row("a", 0.7, 0.3, variant=f"wording={name}") for name in ("x=1", "y=2=3")]
    measurements, _ = measure(Items(make_outcomes(rows)), Plan([METRICS["certainty"]], resamples=5), KEY)
    assert [m.group for m in measurements] == ["all", "wording=x=1", "wording=y=2=3"]


def test_each_variant_has_a_value_and_an_interval_of_its_own(make_outcomes) -> None:
    rng = np.random.default_rng(0)
    rows = [
        row(str(n), p, 1 - p, variant=f"seed={seed}") for seed in (0, 1) for n, p in enumerate(rng.uniform(0.5, 1, 80))
    ]
    plan = Plan([METRICS["certainty"]], resamples=50)
    measurements, _ = measure(Items(make_outcomes(rows)), plan, KEY)
    alone, _ = measure(Items(make_outcomes([{**facts, "variant": ""} for facts in rows[:80]])), plan, KEY)
    both, first, _ = (m.estimate for m in measurements)
    assert first == alone[0].estimate != both


def test_a_plan_has_2000_resamples_drawn_with_seed_0() -> None:
    plan = Plan([])
    assert (plan.resamples, plan.level, plan.seed, plan.disparity) == (2000, 0.95, 0, "range")
    assert (plan.permutations, replace(plan, intervals=False).permutations) == (5000, 1)


@pytest.fixture
def marked(make_outcomes) -> Outcomes:
    """Six sentences about a nurse without a marker, four of them also with one of two markers."""
    rows = [
        row(f"s{n}+{marker}", 0.5 + n / 20, 0.5 - n / 20, gold=0, gender="male", marker=marker, **facts)
        | {"occupation": "nurse", "side": "female", "stereotype": "anti"}
        for n in range(6)
        for marker, facts in (
            ("", {"augmentation": "none"}),
            ("old", {"augmentation": "R", "attribute": "age", "privilege": "disadvantaged"}),
            ("young", {"augmentation": "R", "attribute": "age", "privilege": "privileged"}),
        )
        if n < 4 or not marker
    ]
    outcomes = make_outcomes(rows)
    return replace(outcomes, cluster_id=np.array([name.partition("+")[0] for name in outcomes.set_id], dtype=object))


def test_marked_outcomes_are_those_with_a_marker_and_a_referent(marked: Outcomes) -> None:
    has_marker = marked.group("marker") != ""
    assert is_marked(marked) and is_marked(marked.take(np.flatnonzero(has_marker)))
    assert not is_marked(marked.take(np.flatnonzero(~has_marker)))
    assert not is_marked(replace(marked, gold=np.full(len(marked), -1)))


def test_variants_are_items_of_data_in_which_some_are_marked(marked: Outcomes) -> None:
    plain = np.flatnonzero(marked.group("marker") == "")
    assert Items(marked).applicable["variants"].all()
    assert not Items(marked.take(plain)).applicable["variants"].any()


def test_a_deviation_is_over_the_sentences_of_its_augmentation(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20))
    deviations = {m.group: (m.estimate.value, m.estimate.n) for m in rows if m.metric == "confidence_deviation"}
    assert deviations == {
        "augmentation=none": (pytest.approx(np.std(np.arange(6) / 10)), 6),
        "augmentation=R": (pytest.approx(np.std(np.arange(4) / 10)), 4),
    }


def test_occupations_are_named_with_the_marker_and_without_its_privilege(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20))
    assert {m.group: m.estimate.n for m in rows if "occupation=" in m.group} == {
        "augmentation=none,gender=male,occupation=nurse": 6,
        "attribute=age,augmentation=R,gender=male,marker=old,occupation=nurse": 4,
        "attribute=age,augmentation=R,gender=male,marker=young,occupation=nurse": 4,
    }


def test_confidence_by_stereotype_is_not_told_by_gender_again(marked: Outcomes) -> None:
    groups = {m.group for m in identity_rows(marked, Plan([], resamples=20)) if m.metric == "confidence"}
    assert "augmentation=R,gender=male,side=female" in groups and "augmentation=R,stereotype=anti" in groups
    assert not any("gender=" in group and "stereotype=" in group for group in groups)


def test_a_drop_is_taken_against_the_unmarked_sentences_of_the_same_gender(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20))
    values = {m.group: m.estimate.value for m in rows if m.metric == "confidence_drop"}
    # Confidence rises by 0.1 from sentence to sentence, and the last two have no marker.
    assert values["augmentation=R"] == values["augmentation=R,gender=male"] == pytest.approx(0.25 - 0.15)
    assert not any("augmentation=none" in group for group in values)


def test_a_p_value_shared_among_looks_is_never_above_one(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20), Sample(looks=50))
    assert [m.estimate.p for m in rows if m.metric == "confidence_disparity"] == [1.0]


def test_the_interval_of_a_gender_gap_is_of_differences_within_sentences(make_outcomes) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for n in range(40):
        # Sentences differ widely, he and she within one always by 0.1.
        confidence = rng.uniform(-0.6, 0.6)
        for gender, lead in (("male", confidence), ("female", confidence - 0.1 + rng.normal(0, 0.01))):
            facts = {"gender": gender, "augmentation": "R", "attribute": "age", "marker": "old", "gold": 0}
            rows.append(row(f"s{n}", 0.5 + lead / 2, 0.5 - lead / 2, **facts))
    outcomes = make_outcomes(rows)
    measurements = identity_rows(outcomes, Plan([], resamples=200))
    (gap,) = (m.estimate for m in measurements if m.metric == "confidence_gender_gap")
    assert gap.value == pytest.approx(0.1, abs=0.005) and gap.high - gap.low < 0.02
    # No resample ranges as widely as he and she differ; with three looks each has a third of the error.
    for looks in (1, 3):
        measurements = identity_rows(outcomes, Plan([], resamples=200), Sample(looks=looks))
        (p,) = (m.estimate.p for m in measurements if m.metric == "confidence_disparity")
        assert p == pytest.approx(looks / 201)


def test_the_interval_of_a_deviation_is_that_of_resampled_deviations(make_outcomes) -> None:
    # Forty sentences with a confidence of 0.5 to 0.7: the deviation is about 0.06, known to about 0.01.
    leads = np.linspace(0.5, 0.7, 40)
    facts = {"gold": 0, "augmentation": "R", "attribute": "age", "marker": "old"}
    rows = [row(f"s{n}", 0.5 + lead / 2, 0.5 - lead / 2, **facts) for n, lead in enumerate(leads)]
    measurements = identity_rows(make_outcomes(rows), Plan([], resamples=200))
    (deviation,) = (m.estimate for m in measurements if m.metric == "confidence_deviation")
    assert deviation.value == pytest.approx(leads.std()) and deviation.high - deviation.low < 0.04
