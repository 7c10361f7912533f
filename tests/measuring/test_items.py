"""What metrics read of every item: columns that are easy to get almost right."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from test_decisions import crossed
from test_kept_measurements import PAIRS, asked, builtin, open_dataset, questions

from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.datasets.occupations import workforce_imbalance
from equipoise.measuring.conformal import conformal_certainty
from equipoise.measuring.items import Items
from equipoise.measuring.markers import contrast_shares
from equipoise.measuring.measure import Plan, measure
from equipoise.measuring.tables import item_columns, set_columns
from equipoise.metrics import METRICS
from equipoise.metrics.columns import LETTERS
from equipoise.metrics.table.questions import MEANINGS
from equipoise.records import ABSENT, BOTH_OFFERED, DECIDED, OPEN_ANSWER, EquipoiseError, Outcomes, RunKey
from equipoise.tasks import read_wordings
from equipoise.uncertainty import ESTIMATORS, PERPLEXITY


def columns_of(outcomes: Outcomes, disparity: str = "range") -> Any:
    return Items(outcomes, disparity).columns(PERPLEXITY)


def certainty(*probs: float) -> float:
    return float(PERPLEXITY.certainty(np.array([probs]))[0])


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
    rows = [row("a", 0.6, 0.4, gold=0, polarity="neg", side="male")]
    rows += [row("b", 0.6, 0.4, gold=0, answerable=False, side="female")]
    rows += [row("c", 0.6, 0.4, type=DECIDED), row("d", 0.6, 0.4, gold=0, answerable=False)]
    outcomes = make_outcomes(rows)
    outcomes = replace(
        outcomes,
        sides=np.array(["", "", "", "male|female"], dtype=object),
        flags=np.array([OPEN_ANSWER, BOTH_OFFERED, "", ""], dtype=object),
    )
    applicable = {name: np.flatnonzero(items).tolist() for name, items in Items(outcomes).applicable.items()}
    assert applicable == {
        "alike": [0, 1, 3],
        "sided": [0, 1],
        "sided answerable": [0],
        "decided": [2],
        "decisions": [],
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
        "first named": [],
        **{f"letter {letter}": [] for letter in LETTERS},
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


def test_flips_take_time_in_proportion_to_the_sets(make_outcomes) -> None:
    pair = make_outcomes([row("p", 0.9, 0.1, expects=0, type="type1"), row("p", 0.1, 0.9, expects=1, type="type1")])
    many = pair.take(np.tile([0, 1], 40_000))
    many = replace(many, set_id=np.repeat(np.arange(40_000).astype(str).astype(object), 2))
    start = time.process_time()
    assert len(Items(many).flips["flipped"]) == 40_000
    # A comparison of every set with every other one takes some ten seconds.
    assert time.process_time() - start < 2


def test_genders_are_compared_within_sets_that_have_he_and_she(make_outcomes) -> None:
    genders = ("male", "female", "neutral"), ("male", "neutral"), ("female", "neutral")
    rows = [row(str(n), 0.6, 0.4, gender=gender) for n, names in enumerate(genders) for gender in names]
    within = Items(make_outcomes(rows)).columns(PERPLEXITY)["gender_within"]
    assert within.tolist() == ["male", "female", "", "", "", "", ""]


def test_gaps_of_gender_count_he_and_she_alone_and_parity_only_what_has_a_side(make_outcomes) -> None:
    genders = ("male", "female", "neutral")
    rows = [row("p", 0.6, 0.4, gender=gender, gold=0, side="male", type="type2") for gender in genders]
    # The side of one sentence is not known: its set has no other side for parity.
    rows += [row("q", 0.6, 0.4, gender=gender, gold=0, side=side, type="type2") for gender, side in SIDES]
    items = Items(make_outcomes(rows))
    names = ("certainty_gap", "certainty_gap_pooled", "demographic_parity")
    measured = measure(items, Plan([METRICS[name] for name in names], by=[], intervals=False), RUN_KEY)[0]
    assert {m.metric: m.estimate.n for m in measured if m.group == "all"} == dict(zip(names, (4, 4, 2), strict=True))


SIDES = (("male", ""), ("female", "male"), ("neutral", ""))
RUN_KEY = RunKey("model", "data", "task")


def test_no_items_have_no_sets_and_nothing_that_differs_within_them(make_outcomes) -> None:
    outcomes = make_outcomes([row("a", 0.6, 0.4), row("b", 0.6, 0.4)])
    none, single = Items(outcomes.take(np.arange(0))), Items(outcomes)
    assert none.members.shape == none.intersections.shape == (0, 1)
    assert single.intersections.shape == (0, 1) and none.constant_within_sets(np.array([], dtype=object))
    assert single.members.shape == (0, 1) and single.constant_within_sets(np.array(["x", "y"], dtype=object))


def test_imbalance_is_how_far_a_workforce_is_from_half_women() -> None:
    # 90% of nurses are women, 2% of carpenters are.
    imbalance = workforce_imbalance(np.array(["nurse", "carpenter", "astronaut"], dtype=object))
    np.testing.assert_allclose(imbalance, [0.8, 0.96, np.nan])


def test_variants_are_items_of_data_in_which_some_are_marked(marked: Outcomes) -> None:
    plain = np.flatnonzero(marked.group("marker") == "")
    assert Items(marked).applicable["variants"].all()
    assert not Items(marked.take(plain)).applicable["variants"].any()


def digest(column: Any) -> str:
    """Return one number for a column, which moves where a value or its place does, and how many values it has."""
    values = np.asarray(column)
    if values.dtype.kind in "OU":
        values = np.array([float(sum(map(ord, str(value)))) for value in values.ravel()])
    numbers = values.astype(float).ravel()
    known = ~np.isnan(numbers) & np.isfinite(numbers)
    return f"{float(np.where(known, numbers, 0.0) @ (1 + np.arange(numbers.size) % 7)):.6g}/{int(known.sum())}"


def kinds_of_outcomes() -> dict[str, Outcomes]:
    """Return outcomes of every kind of data and task."""
    marked = identity_dataset(builtin(4), recipe(attributes=["age", "race"], augmentations=["R", "NR", "C"]))
    orders = asked(builtin(6), "mcq", seeds=(1, 2))
    both = np.where(np.arange(len(orders)) % 3 == 0, f"{BOTH_OFFERED},x", "").astype(object)
    first = np.where(np.arange(len(orders)) % 4 == 0, -1, np.arange(len(orders)) % 2)
    free = asked(builtin(5))
    probs = np.random.default_rng(2).dirichlet(np.ones(2 + len(MEANINGS)), len(free))
    opened = replace(free, probs=probs, logprobs=np.log(probs), flags=np.full(len(free), OPEN_ANSWER, dtype=object))
    partly = np.where(np.arange(len(free)) % 2 == 0, OPEN_ANSWER, "").astype(object)
    worded = asked(builtin(4), questions=tuple(read_wordings("built-in")[:3]))
    first_id, first_variant = worded.example_id[0], worded.variant[0]
    kept = np.flatnonzero((worded.example_id != first_id) | (worded.variant == first_variant))
    some = worded.take(kept)
    unworded = np.where(some.example_id == first_id, "", some.variant).astype(object)
    halves = np.where(np.arange(len(free)) % 4 < 2, "male|female", "").astype(object)
    return {
        "mixed": replace(free, sides=halves, gold=np.arange(len(free)) % 3 - 1),
        "partly worded": replace(some, variant=unworded),
        "marked": asked(marked, model="lead=0.4,lead:old=-0.2,lead:female=-0.1,sentence=0.2,noise=0.1,echo=0.2"),
        "orders": replace(orders, flags=both, first=first),
        "three": asked(builtin(6, pronouns=("he", "she", "ze"))).take(np.flatnonzero(np.arange(18) % 5 > 0)),
        "pairs": asked(open_dataset(PAIRS[:9]), "cloze"),
        "wordings": worded,
        "questions": questions(5),
        "decisions": crossed(2, noise=0.4),
        "open": opened,
        "partly open": replace(opened, flags=partly),
        "none": free.take(np.arange(0)),
    }


def test_columns_of_every_kind_of_outcomes_are_as_kept() -> None:
    made: dict[str, Any] = {}
    for name, outcomes in kinds_of_outcomes().items():
        for disparity in ("auto", "range", "pairwise", "deviation"):
            items = Items(outcomes, disparity)
            if disparity != "auto":
                values = {key: items.columns(PERPLEXITY)[key] for key in ("u", "u_eq3", "u_signed", "u_intersectional")}
                made[f"{name}, {disparity}"] = " ".join(f"{key} {digest(column)}" for key, column in values.items())
                continue
            columns = {
                **items.columns(ESTIMATORS["margin"]),
                **{f"applies to {k}": v for k, v in items.applicable.items()},
            }
            for table in (item_columns, set_columns):
                columns |= {
                    f"{table.__name__} {k}": v for k, v in table(items, [PERPLEXITY, ESTIMATORS["renyi"]]).items()
                }
            parts = {"members": items.members, "intersections": items.intersections, "clusters": items.clusters}
            shown = {**columns, **parts, "variants": items.variants, "sentences": items.sentences}
            made[name] = "; ".join(f"{key} {digest(column)}" for key, column in shown.items())
    assert_kept("measured/columns", made)


def test_what_an_estimator_lacks_is_told() -> None:
    free = kinds_of_outcomes()["partly open"]
    bare = replace(free, reductions={})
    for name, why in {
        "semantic-entropy": "needs open answers; audit with the task open",
        "ensemble-agreement": "needs the members of an ensemble, but one model answered; audit ensemble:A+B or set"
        " dropout",
        "token-probability": "needs candidates of several tokens; where each has one it is sequence-probability",
        "p-true": "needs the model's word on its own answers; audit with this estimator, too",
        "vocab-entropy": "looks at the whole vocabulary, which was not stored; audit the model with whole_vocabulary",
    }.items():
        with pytest.raises(EquipoiseError) as error:
            Items(bare).certainty(ESTIMATORS[name])
        assert str(error.value) == f"estimator {name} {why}"


def test_contrasts_of_a_marker_share_one_count() -> None:
    outcomes = kinds_of_outcomes()["marked"]
    rows = np.arange(len(outcomes))
    shares = contrast_shares(outcomes, rows)
    marker, contrast = outcomes.group("marker"), outcomes.group("contrast")
    for number in rows:
        others = {other for m, other in zip(marker, contrast, strict=True) if m == marker[number] and other}
        assert shares[number] == pytest.approx(1 / len(others) if contrast[number] else 1.0)
    assert set(np.round(shares, 3)) > {1.0} and contrast_shares(outcomes, rows[contrast == ""]).min() == 1.0


def test_columns_that_are_constant_within_sets_are_told_apart() -> None:
    items = Items(kinds_of_outcomes()["three"])
    outcomes = items.outcomes
    assert items.constant_within_sets(outcomes.group("type")) and not items.constant_within_sets(
        outcomes.group("gender")
    )
    assert items.constant_within_sets(outcomes.set_id) and not items.constant_within_sets(outcomes.example_id)


def test_the_certainty_of_labels_is_that_of_conformal_sets() -> None:
    outcomes = asked(builtin(120))
    assert np.array_equal(Items(outcomes).certainty(ESTIMATORS["conformal"]), conformal_certainty(outcomes))
    assert ESTIMATORS["conformal"].over == "labels"


def test_rows_of_one_set_are_found_wherever_they_stand(make_outcomes) -> None:
    names = ["a", "b", "a", "c", "b", "b"]
    outcomes = make_outcomes([{"pair": name, "probs": (1, 0)} for name in names])
    assert Items(outcomes).members.tolist() == [[0, 2, ABSENT], [1, 4, 5]]


def test_a_set_lies_within_one_seed(make_outcomes) -> None:
    rows = [{"pair": "a", "probs": (1, 0), "variant": f"seed={seed}"} for seed in (0, 1, 0, 1)]
    assert Items(make_outcomes(rows)).members.tolist() == [[0, 2], [1, 3]]


def test_items_without_a_counterpart_make_no_set(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": name, "probs": (0.9, 0.1), "gold": 0} for name in "abc"])
    assert len(Items(outcomes).members) == 0
    assert np.isnan(columns_of(outcomes)["u"]).all()


def test_u_stands_on_the_first_item_of_its_set_by_the_rule_for_its_kind(make_outcomes) -> None:
    rows = [
        {"pair": "r", "probs": (0.9, 0.1), "gold": 0},
        {"pair": "a", "probs": (0.8, 0.2)},
        {"pair": "r", "probs": (0.4, 0.6), "gold": 0},
        {"pair": "a", "probs": (0.3, 0.7)},
    ]
    columns = columns_of(make_outcomes(rows))
    resolvable = 1 - (certainty(0.9, 0.1) + certainty(0.4, 0.6)) / 2
    ambiguous = certainty(0.8, 0.2) - certainty(0.3, 0.7)
    np.testing.assert_allclose(columns["u"], [resolvable, 1 - ambiguous, np.nan, np.nan], atol=1e-12)
    np.testing.assert_allclose(columns["u_eq3"], [resolvable, 1 - ambiguous / 2, np.nan, np.nan], atol=1e-12)
    signed = 1 - (certainty(0.8, 0.2) + certainty(0.3, 0.7)) / 2
    assert columns["u_signed"][1] == pytest.approx(signed, abs=1e-12)


def test_only_the_signed_u_sees_a_model_that_flips_with_full_confidence(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "a", "probs": probs} for probs in [(1, 0), (0, 1)]])
    columns = columns_of(outcomes)
    assert [columns[name][0] for name in ("u", "u_eq3", "u_signed")] == [1, 1, 0]


def test_an_unanswerable_item_with_a_label_counts_for_accuracy_but_not_for_desirability(make_outcomes) -> None:
    row = {"pair": "a", "probs": (0.2, 0.8), "gold": 0, "answerable": False}
    columns = columns_of(make_outcomes([row]))
    assert columns["correct"][0] == 0
    assert columns["desirability"][0] == pytest.approx(certainty(0.2, 0.8))
    assert columns["performance"][0] == pytest.approx(1 - certainty(0.2, 0.8))


def test_a_tie_is_wrong_and_chose_nobody(make_outcomes) -> None:
    row = {"pair": "a", "probs": (0.5, 0.5), "gold": 0, "side": "male", "stereotype": "pro"}
    columns = columns_of(make_outcomes([row]))
    assert (columns["correct"][0], columns["chosen_positive"][0]) == (0, False)
    assert abs(columns["desirability"][0]) == 0


def test_mass_is_the_raw_probability_of_all_candidates(make_outcomes) -> None:
    columns = columns_of(make_outcomes([{"pair": "a", "probs": (0.75, 0.25), "mass": 0.3}]))
    assert columns["candidate_mass"][0] == pytest.approx(0.3)


def test_three_pronouns_are_compared_by_the_disparity_asked_for(make_outcomes) -> None:
    rows = [{"pair": "r", "probs": (p, 1 - p), "gold": 0} for p in (0.9, 0.6, 0.2)]
    d = [certainty(0.9, 0.1), certainty(0.6, 0.4), -certainty(0.2, 0.8)]
    expected = {
        "range": d[0] - d[2],
        "pairwise": (d[0] - d[1] + d[1] - d[2] + d[0] - d[2]) / 3,
        "deviation": 2 * float(np.std(d)),
    }
    for kind, apart in expected.items():
        columns = columns_of(make_outcomes(rows), kind)
        assert columns["u"][0] == pytest.approx(1 - apart / 2, abs=1e-12)


def test_a_pair_beside_triples_is_compared_as_a_pair(make_outcomes) -> None:
    triple = [{"pair": "t", "probs": (p, 1 - p), "gold": 0} for p in (0.9, 0.6, 0.2)]
    pair = [{"pair": "p", "probs": (p, 1 - p), "gold": 0} for p in (0.9, 0.6)]
    for kind in ("range", "pairwise", "deviation"):
        together = columns_of(make_outcomes(triple + pair), kind)["u"]
        alone = columns_of(make_outcomes(pair), kind)["u"]
        assert together[3] == pytest.approx(alone[0], abs=1e-12)
