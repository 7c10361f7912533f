"""Two identities: U is over the members of a set, resampling is over clusters; markings make the difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.measuring.sets import members_of, of_members, only, within_sets
from equipoise.measuring.tables import set_columns
from equipoise.metrics import METRICS
from equipoise.records import ABSENT, Outcomes, RunKey
from equipoise.runs.run import Run
from equipoise.scoring.planted import open_planted
from equipoise.uncertainty import PERPLEXITY, RENYI

MARKINGS = ("none", "old", "young")


def certainty(p: float) -> float:
    return float(PERPLEXITY.certainty(np.array([[p, 1 - p]]))[0])


def marked_outcomes(make_outcomes: Any, probabilities: dict[str, tuple[float, float]], sentences: int = 1) -> Outcomes:
    """Return sentences with he and she in each marking; the probability of the right answer of either is given."""
    rows = []
    for sentence in range(sentences):
        for marking, both in probabilities.items():
            for gender, p in zip(("male", "female"), both, strict=True):
                row = {"pair": f"s{sentence}+{marking}", "probs": (p, 1 - p), "gold": 0, "type": "type2"}
                augmentation = (
                    {"augmentation": "none"} if marking == "none" else {"augmentation": "R", "marker": marking}
                )
                rows.append({**row, "gender": gender, **augmentation})
    outcomes = make_outcomes(rows)
    clusters = np.array([name.partition("+")[0] for name in outcomes.set_id], dtype=object)
    return replace(outcomes, cluster_id=clusters)


@pytest.fixture
def outcomes(make_outcomes) -> Outcomes:
    return marked_outcomes(make_outcomes, {"none": (0.9, 0.8), "old": (0.7, 0.3), "young": (0.95, 0.95)})


def test_u_is_over_he_and_she_within_one_marking(outcomes: Outcomes) -> None:
    columns = Items(outcomes).columns(PERPLEXITY)
    apart = [certainty(0.9) - certainty(0.8), certainty(0.7) + certainty(0.3), 0.0]
    np.testing.assert_allclose(columns["u"][::2], [1 - d / 2 for d in apart], atol=1e-12)
    assert np.isnan(columns["u"][1::2]).all()


def test_the_intersectional_u_is_over_all_genders_and_markings_of_a_sentence(outcomes: Outcomes) -> None:
    column = Items(outcomes).columns(PERPLEXITY)["u_intersectional"]
    assert column[0] == pytest.approx(1 - (certainty(0.95) + certainty(0.3)) / 2, abs=1e-12)
    assert np.isnan(column[1:]).all()


def test_a_marking_of_one_gender_enters_the_intersection_and_no_set(make_outcomes) -> None:
    outcomes = marked_outcomes(make_outcomes, {"none": (0.9, 0.8), "old": (0.1, 0.5)}).take(np.array([0, 1, 2]))
    items = Items(outcomes)
    assert (items.members.tolist(), items.intersections.tolist()) == ([[0, 1]], [[0, 1, 2]])


def test_without_markings_there_is_no_intersection(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "a", "probs": (p, 1 - p), "gold": 0} for p in (0.9, 0.4)])
    plan = Plan([METRICS["ucerf_intersectional"], METRICS["ucerf"]], resamples=5)
    measurements, notes = measure(measured_items(outcomes, plan), plan, RunKey("m", "d", "t"))
    assert ({m.metric for m in measurements}, notes) == ({"ucerf"}, [])


def test_markings_of_one_sentence_are_no_further_evidence(make_outcomes) -> None:
    rng = np.random.default_rng(0)
    sentences = [{marking: tuple(rng.uniform(0.2, 0.9, 2)) for marking in MARKINGS[:1]} for _ in range(80)]

    def width(markings: int) -> tuple[float, int]:
        parts = []
        for number, both in enumerate(sentences):
            repeated = dict.fromkeys(MARKINGS[:markings], both["none"])
            part = marked_outcomes(make_outcomes, repeated)
            renamed = np.array([f"{number}/{name}" for name in part.set_id], dtype=object)
            parts.append(replace(part, set_id=renamed, cluster_id=np.full(len(part), f"s{number}", dtype=object)))
        plan = Plan([METRICS["ucerf"]], by=(), resamples=300)
        everything = Outcomes(
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in (*Outcomes._columns(), "probs", "logprobs")
            },
            groups={name: np.concatenate([part.group(name) for part in parts]) for name in ("augmentation", "gender")},
        )
        measurements, _ = measure(measured_items(everything, plan), plan, RunKey("m", "d", "t"))
        (whole,) = [m for m in measurements if m.group == "all"]
        return whole.high - whole.low, whole.n

    (once, sets), (thrice, more_sets) = width(1), width(3)
    assert (sets, more_sets) == (80, 240)
    assert thrice == pytest.approx(once, abs=1e-6)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    data = identity_dataset(open_dataset("builtin").limited(12), recipe(attributes=["age"]))
    engine = open_planted("lead=0.3,lead:old=-0.5,lead:female=-0.1,sentence=0.2,noise=0.1")
    out = tmp_path_factory.mktemp("run")
    metrics = ["ucerf", "ucerf_intersectional", "fp"]
    return equipoise.audit(engine, data, out=out, resamples=50, metrics=metrics, estimators=["perplexity", "renyi"])


def test_the_table_of_sets_has_a_row_a_set_whose_u_follows_from_its_columns(run: Run) -> None:
    pairs, items = run.pairs, run.outcomes
    sizes = items.groupby("set_id").size()
    assert pairs["set_id"].is_unique and set(pairs["set_id"]) == set(sizes[sizes > 1].index)
    assert len(pairs) == pairs["cluster_id"].nunique() * 7  # as it is, R and NR with two markers, C with two contrasts
    for suffix in ("", "_renyi"):
        members = pairs[[f"d_male{suffix}", f"d_female{suffix}"]].to_numpy()
        assert not np.isnan(members).any() and (np.abs(members) == pairs[[f"c_male{suffix}", f"c_female{suffix}"]]).all(
            axis=None
        )
        np.testing.assert_allclose(pairs[f"u{suffix}"], 1 - np.abs(members[:, 0] - members[:, 1]) / 2, atol=1e-12)
    # Each d is that of the item with that gender in the set.
    female = items[items["gender"] == "female"].set_index("set_id")["desirability"]
    np.testing.assert_array_equal(pairs["d_female"], female[pairs["set_id"]])


def test_both_values_of_a_run_follow_from_its_tables(run: Run) -> None:
    (part,) = run.parts
    ucerf = part.measured.get("ucerf", type="type2")
    assert (ucerf.value, ucerf.n) == (pytest.approx(run.pairs["u"].mean(), abs=1e-12), len(run.pairs))
    overall = part.measured.get("ucerf_intersectional", type="type2")
    desirability = run.outcomes.groupby("cluster_id")["desirability"]
    expected = 1 - (desirability.max() - desirability.min()) / 2
    assert (overall.value, overall.n) == (pytest.approx(expected.mean(), abs=1e-12), len(expected))
    assert overall.value < ucerf.value - 0.1


def test_unanswerable_sets_follow_the_rule_without_the_half(make_outcomes) -> None:
    rows = [{"pair": "a", "probs": (p, 1 - p), "gender": gender} for p, gender in ((0.9, "male"), (0.4, "female"))]
    plan = Plan(list(METRICS.values()), (PERPLEXITY, RENYI))
    table = set_columns(measured_items(make_outcomes(rows), plan), plan.estimators)
    for suffix in ("", "_renyi"):
        apart = abs(table[f"c_male{suffix}"] - table[f"c_female{suffix}"])
        np.testing.assert_allclose(table[f"u{suffix}"], 1 - apart, atol=1e-12)


def test_the_pair_s_confidence_is_of_the_two_most_probable_not_of_all_three(make_outcomes) -> None:
    rows = [{"pair": "a", "probs": (0.5, 0.3, 0.2), "gold": gold, "mass": 0.4} for gold in (0, 1, 2)]
    columns = Items(make_outcomes(rows)).columns(PERPLEXITY)
    expected = [(0.5 - 0.3) / 0.8, (0.3 - 0.5) / 0.8, (0.2 - 0.5) / 0.7]
    np.testing.assert_allclose(columns["confidence_pair"], expected, atol=1e-12)
    np.testing.assert_allclose(columns["confidence"], np.array([0.2, -0.2, -0.3]) * 0.4, atol=1e-12)


def test_a_sentence_pair_at_exactly_one_half_prefers_neither_side(make_outcomes) -> None:
    rows = [{"pair": f"p{p}", "probs": (p, 1 - p), "gold": 0, "answerable": False} for p in (0.5, 0.75, 0.25)]
    outcomes = replace(make_outcomes(rows), sides=np.array(["male|female"] * 3, dtype=object))
    plan = Plan([METRICS[name] for name in ("preference", "p_first", "human_alignment")], resamples=5)
    items = measured_items(outcomes, plan)
    columns = items.columns(PERPLEXITY)
    assert columns["prefers"].tolist() == [0.5, 1.0, 0.0]
    assert (
        columns["predicted_side"].tolist()
        == items.outcomes.group("predicted_gender").tolist()
        == ["", "male", "female"]
    )
    measurements, _ = measure(items, plan, RunKey("m", "d", "t"))
    values = {(m.metric, m.group): (m.value, m.n) for m in measurements}
    assert values["preference", "all"] == (0.5, 3)
    assert {group for _, group in values} == {"all", "predicted_gender=male", "predicted_gender=female"}


def test_a_third_candidate_does_not_enter_the_probability_of_a_side(make_outcomes) -> None:
    rows = [{"pair": "p", "probs": (0.3, 0.3, 0.4), "gold": 1, "answerable": False}]
    outcomes = replace(make_outcomes(rows), sides=np.array(["male|female|neutral"], dtype=object))
    columns = Items(outcomes).columns(PERPLEXITY)
    assert (columns["p"][0], columns["y"][0], columns["prefers"][0], columns["predicted_side"][0]) == (
        0.5,
        0.0,
        0.5,
        "",
    )


def test_the_folder_measured_again_has_the_same_sets(run: Run, tmp_path: Path) -> None:
    again = equipoise.remeasure(run.path, estimators=["perplexity", "renyi"])
    assert again.pairs.equals(run.pairs)


def test_sets_of_at_least_two_have_their_rows_and_columns_by_member() -> None:
    members = members_of(np.array([0, 1, 0, 2, 1, 1]))
    assert members.tolist() == [[0, 2, ABSENT], [1, 4, 5]]
    values = of_members(np.arange(6.0), members)
    assert np.isnan(values[0, 2]) and values[1].tolist() == [1, 4, 5]
    names = np.array(["x", "x", "y", "x", "x", ""])
    assert within_sets(names, members, ("x", "y")).tolist() == ["x", "", "y", "", "", ""]
    of_three = np.array([[0, 2, 3]])
    of_two = only(np.array(["x", "x", "y", "z"]), ("x", "y"))
    assert within_sets(of_two, of_three, ("x", "y")).tolist() == ["x", "", "y", ""]
    assert members_of(np.empty(0, dtype=np.int64)).shape == (0, 1)


def test_a_group_word_or_a_stereotype_of_another_name_belongs_to_no_side(make_outcomes) -> None:
    sides = [("pro", "male"), ("anti", "female"), ("neither", "neutral")]
    rows = [
        {"pair": "a", "probs": (0.7, 0.3), "gold": 0, "type": "type2", "stereotype": fit, "gender": gender}
        for fit, gender in sides
    ]
    columns = Items(make_outcomes(rows)).columns(PERPLEXITY)
    for name in ("stereotype", "stereotype_within"):
        assert columns[name].tolist() == ["pro", "anti", ""]
    for name in ("gender", "gender_within"):
        assert columns[name].tolist() == ["male", "female", ""]
