"""Planted truth about wordings: what they change, what they do not, and the mean over them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.datasets import open_dataset
from equipoise.measuring.ensembles import over_wordings, wordings_of
from equipoise.measuring.estimators import CHANGED, Resamples, set_values, usable_estimators
from equipoise.measuring.items import Items
from equipoise.measuring.wordings import item_table, wording_study, wording_values
from equipoise.options import DatasetOptions
from equipoise.records import EquipoiseError, Outcomes, UndefinedMetric
from equipoise.scoring.planted import PlantedEngine
from equipoise.tasks import TaskOptions, open_task, read_wordings
from equipoise.uncertainty import ESTIMATORS, entropy, perplexity

EXAMPLES = [e for e in open_dataset("builtin", DatasetOptions(limit=80)).examples if e.answerable]
PLAN = Resamples(resamples=60)


def asked(engine: PlantedEngine, *, worded: bool = True) -> Outcomes:
    engine.prepare(EXAMPLES)
    task = open_task("next-word", TaskOptions(questions=read_wordings("built-in") if worded else ()))
    return task.run(EXAMPLES, scorer=lambda prompts: next(engine.score([prompts])), writer=None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def noisy() -> Items:
    return Items(asked(PlantedEngine(strength=1, bias=0.4, noise=0.8, wording=0.5)))


def test_only_the_wording_varies_where_only_it_was_planted() -> None:
    items = Items(asked(PlantedEngine(strength=2, bias=0, wording=0.6)))
    result = wording_study({"a": items}, np.arange(len(items)), "u", PLAN)
    shares = {row.name: row.share.value for row in result.divided[0].rows}
    assert result.divided[0].quantity == "certainty" and shares["wording"] == pytest.approx(1)


def test_nothing_is_the_wordings_where_none_was_planted() -> None:
    items = Items(asked(PlantedEngine(strength=1, bias=0.5, noise=1)))
    result = wording_study({"a": items}, np.arange(len(items)), "u", PLAN)
    share = {row.name: row.share for row in result.divided[0].rows}["wording"]
    assert share.value < 0.02 and share.low < 0.01


def test_wordings_are_told_apart_where_they_differ_and_only_there(noisy: Items) -> None:
    alike = Items(asked(PlantedEngine(strength=1, bias=0.4, noise=0.8)))
    assert not any(apart.detected for apart in wording_study({"a": alike}, np.arange(len(alike)), "u", PLAN).apart)
    moved = Items(asked(PlantedEngine(strength=1, bias=2, noise=0.2, wording=2)))
    result = wording_study({"a": moved}, np.arange(len(moved)), "u", PLAN)
    by_wording = {row.estimator: row.ucerf.value for row in result.study.standings}
    held = [apart for apart in result.apart if apart.detected]
    assert len(result.apart) == 45 and held
    for apart in held:
        assert apart.difference.value == pytest.approx(by_wording[apart.first] - by_wording[apart.second])


def test_a_study_of_many_parts_is_corrected_for_all_of_them(noisy: Items) -> None:
    rows = np.arange(len(noisy))
    one, three = (wording_study({"a": noisy}, rows, "u", Resamples(60, parts=n)).apart for n in (1, 3))
    for apart, other in zip(one, three, strict=True):
        if apart.difference.p > 0.01:  # small ones come from more exchanges
            assert other.difference.p_corrected == pytest.approx(min(1.0, 3 * apart.difference.p_corrected))


def test_the_worst_wording_is_the_lowest_mean_and_the_robust_mean_that_of_all(noisy: Items) -> None:
    result = wording_study({"a": noisy}, np.arange(len(noisy)), "u", PLAN)
    (robust,) = result.robust
    by_wording = {row.estimator: row.ucerf.value for row in result.study.standings}
    assert robust.wording == min(by_wording, key=lambda name: by_wording[name])
    assert robust.worst.value == by_wording[robust.wording] and robust.worst.low < robust.worst.value
    assert robust.mean.value == pytest.approx(np.mean(list(by_wording.values())))
    assert robust.mean.low < robust.mean.value < robust.mean.high


def test_the_table_of_items_holds_the_certainty_of_each_combination(noisy: Items) -> None:
    table, factors = item_table(noisy, np.arange(len(noisy)), "certainty")
    assert factors == ("wording", "sentence", "group") and table.shape == (10, len(EXAMPLES) // 2, 2)
    outcomes = noisy.outcomes
    rows = (outcomes.variant == "wording=paper") & (outcomes.cluster_id == EXAMPLES[0].cluster_id)
    expected = ESTIMATORS["perplexity"].certainty(outcomes.probs[rows & (outcomes.group("gender") == "male")])
    assert np.isclose(table[0, 0], expected[0]).any()


def test_the_prompt_ensemble_is_the_mean_distribution(noisy: Items) -> None:
    joined, rows = over_wordings(noisy.outcomes)
    assert len(joined) == len(EXAMPLES) and (joined.variant == "").all()
    members = noisy.outcomes.probs[rows == 7]
    np.testing.assert_allclose(joined.probs[7], members.mean(axis=0))
    certainty = noisy.columns(ESTIMATORS["prompt-ensemble"])["certainty"]
    np.testing.assert_allclose(certainty[rows == 7], 2 - perplexity(members.mean(axis=0, keepdims=True))[0])
    information = entropy(members.mean(axis=0, keepdims=True)) - entropy(members).mean()
    agreement = noisy.columns(ESTIMATORS["prompt-agreement"])["certainty"]
    np.testing.assert_allclose(agreement[rows == 7], 1 - information[0])


def test_the_ensemble_takes_part_where_there_are_wordings_only(noisy: Items) -> None:
    single = Items(asked(PlantedEngine(), worded=False))
    names = {estimator.name for estimator in usable_estimators([noisy])}
    assert {"prompt-ensemble", "prompt-agreement"} <= names
    assert not {"prompt-ensemble", "prompt-agreement"} & {e.name for e in usable_estimators([noisy, single])}
    values = set_values({"a": noisy}, np.arange(len(noisy)), "u", [ESTIMATORS["prompt-ensemble"]])
    joined = Items(over_wordings(noisy.outcomes)[0])
    expected = joined.columns(ESTIMATORS["perplexity"])["u"]
    np.testing.assert_allclose(np.sort(values.values[0, 0]), np.sort(expected[~np.isnan(expected)]))
    with pytest.raises(EquipoiseError, match="several wordings"):
        single.columns(ESTIMATORS["prompt-ensemble"])


def test_an_order_that_holds_in_some_wordings_only_is_found(noisy: Items) -> None:
    # The second run is more even in the first five wordings, and less even in the others.
    outcomes = noisy.outcomes
    places = {f"wording={w.name}": number for number, w in enumerate(read_wordings("built-in"))}
    male = (outcomes.group("gender") == "male").astype(float)
    size = np.array([0.05 if places[v] < 5 else 0.6 for v in outcomes.variant])
    right = 0.2 + 0.3 * male + 0 * size
    uneven, mixed = right, 0.2 + size * male

    def items(first: np.ndarray) -> Items:
        probs = np.column_stack([first, 1 - first])
        return Items(Outcomes(**{**vars_of(outcomes), "probs": probs, "logprobs": np.log(probs)}))

    runs = {"steady": items(uneven), "mixed": items(mixed)}
    result = wording_study(runs, np.arange(len(outcomes)), "u_signed", PLAN)
    (order,) = result.study.orders
    assert order.verdict == CHANGED and len(order.for_first) == 5 and len(order.for_second) == 5


def vars_of(outcomes: Outcomes) -> dict:
    return {name: getattr(outcomes, name) for name in outcomes.__dataclass_fields__}


def test_a_study_of_wordings_is_as_kept() -> None:
    data = list(EXAMPLES[:24])
    runs = {}
    for name, engine in (
        ("a", PlantedEngine(strength=1, bias=0.4, noise=0.8, wording=0.5)),
        ("b", PlantedEngine(strength=0.5, bias=0.8, noise=0.8, wording=0.8)),
    ):
        engine.prepare(data)
        task = open_task("mcq", TaskOptions(questions=read_wordings("built-in")[:3], seeds=(1, 2)))
        runs[name] = Items(task.run(data, scorer=lambda prompts, e=engine: next(e.score([prompts])), writer=None))  # type: ignore[arg-type]
    rows = np.arange(len(runs["a"]))
    made = wording_study(runs, rows, "u", Resamples(resamples=30, level=0.9, seed=1))
    table, _ = item_table(runs["a"], rows[5:], "desirability")
    joined, places = over_wordings(runs["a"].outcomes)
    ensemble = [joined.probs.sum(axis=0), joined.logprobs.sum(axis=0), places[:9], joined.variant[:3], len(joined)]
    reductions = {name: float(values.sum()) for name, values in joined.reductions.items()}
    assert_kept(
        "measured/wordings-study",
        [made.robust, made.divided, made.apart, made.study.standings, made.study.flips],
        [table.shape, float(table.sum()), table[:, 0].ravel()],
        [ensemble, reductions],
    )


def test_groups_without_genders_are_those_of_the_texts(noisy: Items) -> None:
    outcomes = noisy.outcomes
    renamed = {"group" if name == "gender" else name: column for name, column in outcomes.groups.items()}
    rows = np.arange(len(noisy))
    plain = item_table(noisy, rows, "certainty")[0]
    assert np.array_equal(plain, item_table(Items(replace(outcomes, groups=renamed)), rows, "certainty")[0])
    nothing = Items(replace(outcomes, groups={"type": outcomes.group("type")}))
    assert item_table(nothing, rows, "certainty")[0].size == 0


def test_sentences_that_miss_a_combination_are_left_out(noisy: Items) -> None:
    table, _ = item_table(noisy, np.arange(1, len(noisy)), "certainty")
    assert table.shape == (10, len(EXAMPLES) // 2 - 1, 2)


def test_one_wording_has_no_name_and_no_study() -> None:
    single = Items(asked(PlantedEngine(noise=1), worded=False))
    assert set(wordings_of(single.outcomes)) == {""}
    with pytest.raises(UndefinedMetric, match=r"^no counterfactual set was asked in several wordings$"):
        wording_values({"a": single}, np.arange(len(single)), "u")
    with pytest.raises(
        EquipoiseError, match=r"^an estimator over wordings needs items that were asked in several wordings$"
    ):
        over_wordings(single.outcomes)
