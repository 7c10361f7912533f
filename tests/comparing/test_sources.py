"""What results depend on comes back from planted runs: the model, the task, the wording, or chance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

import equipoise
from equipoise.comparing import sources as module
from equipoise.comparing.sources import (
    OTHER,
    Cell,
    Sources,
    _mean_difference,
    _mean_tau,
    _order,
    _sums,
    _variation,
    fewest,
    frames,
    sources,
)
from equipoise.measuring.estimators import Resamples, correlation_of
from equipoise.metrics import METRICS
from equipoise.metrics.groups import mean
from equipoise.records import EquipoiseError, UndefinedMetric
from equipoise.runs.run import Part, Run
from equipoise.stats.attribution import NOISE
from equipoise.stats.resampling import Statistic

BIASES = (0.2, 0.8, 1.4)
PLAN = Resamples(resamples=200)


def parts(folder: Path, **choices: object) -> list[Part]:
    """Return runs of three planted biases as two tasks, each named by its bias."""
    made = []
    for bias in BIASES:
        for task in ("next-word", "mcq"):
            path = folder / f"{bias}-{task}"
            equipoise.audit(
                f"planted:strength=1.5,bias={bias},noise=0.8,wording=0.3",
                "builtin",
                task=task,
                out=path,
                limit=90,
                by=(),
                metrics=["ucerf"],
                resamples=10,
                progress=False,
                **choices,
            )
            made += Run(path, name=f"bias {bias}").parts
    return [part for part in made if part.dataset == "builtin"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return sources(parts(tmp_path_factory.mktemp("runs")), PLAN)


def test_the_model_is_the_largest_source_and_shares_add_up(found: Sources) -> None:
    (resolvable,) = [row for row in found.variations if row.kind == "type2"]
    shares = {name: share.value for name, share in resolvable.shares.items()}
    assert max(shares, key=lambda name: shares[name]) == "model" and sum(shares.values()) == pytest.approx(1)
    assert set(shares) == {"model", "task", "estimator", "model × task", "model × estimator", OTHER, NOISE}
    assert resolvable.levels["model"] == 3 and resolvable.levels["wording"] == 1
    assert all(share.low <= share.value <= share.high for share in resolvable.shares.values())
    assert resolvable.order is not None and resolvable.order.value == pytest.approx(1), "biases order the models"
    # With two candidates margin and top probability are one estimator; with three they are two.
    assert resolvable.levels["estimator"] == 6 and resolvable.conditions == 12


def test_metrics_that_follow_the_bias_agree_and_ambiguous_sentences_have_the_signed_one(found: Sources) -> None:
    taus = {(row.kind, row.first.name, row.second.name): row for row in found.agreements}
    flips = taus["type2", "ucerf", "flip_rate"]
    assert flips.tau.value == pytest.approx(1) and flips.tau.n == 3 and flips.conditions == 2
    assert ("type2", "ucerf", "eo_sum") in taus and ("type2", "ucerf", "answer_ece") in taus
    assert {row.metric.name for row in found.variations if row.kind == "type1"} == {"ucerf_signed"}


def test_a_difference_is_that_of_the_values_and_is_carried_by_some_sentences(found: Sources) -> None:
    rows = [row for row in found.carried if (row.kind, row.task) == ("type2", "next-word")]
    assert [(row.first, row.second) for row in rows] == [
        ("bias 0.2", "bias 0.8"),
        ("bias 0.2", "bias 1.4"),
        ("bias 0.8", "bias 1.4"),
    ]
    for row in rows:
        assert row.difference.value > 0 and 0 < row.fewest <= row.difference.n
    assert {"variation", "agreement", "carried"} == set(frames(found))


@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=1, max_size=12))
def test_without_the_fewest_sentences_the_sign_is_gone_and_with_one_more_it_is_not(values: list[float]) -> None:
    sums = np.array(values)
    count, total = fewest(sums), float(sums.sum())
    leading = np.sort(np.sign(total) * sums)[::-1]
    if count:
        assert leading[count:].sum() <= 1e-9 < leading[count - 1 :].sum() + 1e-9
    else:
        assert abs(total) < 1e-9


@pytest.mark.slow
def test_wordings_belong_to_their_task(tmp_path: Path) -> None:
    found = sources(parts(tmp_path, wordings="built-in"), PLAN)
    (resolvable,) = [row for row in found.variations if row.kind == "type2"]
    assert {"wording", "model × wording"} <= set(resolvable.shares) and resolvable.levels["wording"] > 10
    assert sum(share.value for share in resolvable.shares.values()) == pytest.approx(1)


def test_two_runs_of_one_cell_are_refused_and_so_is_a_single_value(tmp_path: Path) -> None:
    first = parts(tmp_path)[0]
    with pytest.raises(EquipoiseError, match=r"two runs are of bias 0\.2 on builtin · next-word"):
        sources([first, first], PLAN)


def test_the_tables_are_as_they_were_kept(found: Sources) -> None:
    assert_kept("comparing/sources", frames(found))


def test_runs_without_two_values_are_refused(planted_run: Path) -> None:
    with pytest.raises(EquipoiseError) as error:
        sources([], PLAN)
    assert str(error.value) == "the runs have no two values of UCerF that differ in model, data, task or wording"
    told: list[tuple[str, int, int]] = []
    with pytest.raises(EquipoiseError, match="no two values of UCerF"):
        sources(Run(planted_run).parts, Resamples(resamples=5), progress=lambda *seen: told.append(seen))
    assert told == [("resampling", 0, 1), ("resampling", 1, 1)]


def test_variations_agreements_and_what_carries_them_are_as_kept(found: Sources) -> None:
    rows = [(v.kind, v.metric.name, dict(v.levels), v.deviation, v.order, v.conditions) for v in found.variations]
    taus = [(a.kind, a.first.name, a.second.name, a.tau, a.conditions) for a in found.agreements]
    assert_kept("comparing/variations", rows, taus, found.carried)


def test_a_mean_tau_is_of_those_that_are_defined_and_its_interval_of_the_fewest_sentences() -> None:
    def cell(model: str, sentences: int) -> Cell:
        none = np.array([])
        return Cell(model, "d", "t", "type1", "", METRICS["ucerf"], "perplexity", 0.5, none, none, sentences)

    several, nan = [cell("a", 9), cell("b", 4), cell("a", 60)], float("nan")
    plan = Resamples(resamples=4)
    taus = [
        (0.6, np.array([0.1, 0.3, nan, nan])),
        (nan, np.array([1.0, 1.0, 1.0, 1.0])),
        (0.2, np.array([0.3, nan, 0.5, nan])),
    ]
    means = np.array([0.2, 0.3, 0.5, nan])
    expected = correlation_of(0.4, means, 2, plan, sets=4)
    found = _mean_tau(taus, several, plan)
    assert found is not None and found.n == 2 and not np.isnan(found.low)
    assert [found.value, found.low, found.high] == pytest.approx([expected.value, expected.low, expected.high])
    assert expected.low != correlation_of(0.4, means, 2, plan, sets=9).low
    assert _mean_tau(taus[1:2], several, plan) is None


NOISES = np.random.default_rng(0).normal(0, 0.01, 10)


def test_only_columns_of_numbers_are_added_up_by_sentence() -> None:
    clusters = np.array([0, 2, 2])

    def sums(column: np.ndarray) -> list[float]:
        return list(_sums(Statistic(mean, [column], clusters), 4))

    assert sums(np.array([1.0, np.nan, 0.5])) == [1.0, 0.0, 0.5, 0.0]
    assert sums(np.array(["a", "b", "c"])) == [0.0] * 4 == sums(np.ones((3, 2)))
    assert sums(np.array([1, 1, 1])) == [0.0] * 4


def test_what_no_terms_explain_has_no_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    def undefined(*_: object) -> None:
        raise UndefinedMetric("nothing varies")

    cells = [
        Cell(model, "d", task, "type1", "", METRICS["ucerf"], "perplexity", value, value + NOISES, np.zeros(40), 40)
        for (model, task), value in zip(product("ab", "xy"), (0.1, 0.2, 0.5, 0.4), strict=True)
    ]
    assert _variation(cells, Resamples(resamples=10)) is not None
    assert _order(cells, Resamples(resamples=10)) == (None, 2), "two models have no order to compare"
    monkeypatch.setattr(module, "attribution", undefined)
    assert _variation(cells, Resamples(resamples=10)) is None


def test_the_difference_of_two_models_is_that_of_their_means_over_wordings() -> None:
    def cells(*values: float) -> list[Cell]:
        return [
            Cell("m", "d", "t", "k", "", METRICS["ucerf"], "", value, np.array([value, 0.0]), np.array([1.0]), 1)
            for value in values
        ]

    assert _mean_difference(cells(0.5, 0.7), cells(0.1), "value") == pytest.approx(0.5)
    assert _mean_difference(cells(0.5, 0.7), cells(0.1), "samples").tolist() == pytest.approx([0.5, 0.0])


def test_a_wording_comes_after_its_task_and_what_is_crossed_with_the_model_comes_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[list[dict[str, list[str]]]] = []

    def divided(_: object, __: object, stages: list[dict[str, np.ndarray]]) -> None:
        seen.append([{name: levels.tolist() for name, levels in stage.items()} for stage in stages])
        raise UndefinedMetric("not looked at")

    def asked(models: Sequence[str], tasks: Sequence[str], wordings: Sequence[str]) -> list[tuple[str, str, str]]:
        named = list(product(models, tasks, wordings))
        cells = [
            Cell(model, "d", task, "type1", wording, METRICS["ucerf"], "", at / 10, at + NOISES, np.zeros(9), 9)
            for at, (model, task, wording) in enumerate(named)
        ]
        assert _variation(cells, PLAN) is None
        return named

    monkeypatch.setattr(module, "attribution", divided)
    named = asked("ab", "xy", "vw")
    mains = {"model": [m for m, _, _ in named], "task": [t for _, t, _ in named]}
    nested = {"wording": [f"{t} {w}" for _, t, w in named]}
    crossed = {
        "model × task": [f"{m} × {t}" for m, t, _ in named],
        "model × wording": [f"{m} × {t} {w}" for m, t, w in named],
    }
    assert seen.pop() == [mains, nested, crossed]
    asked("a", "x", "vw")
    assert seen.pop() == [{"wording": ["x v", "x w"]}], "what does not vary is no stage"
    asked("ab", "x", "v")
    assert seen.pop() == [{"model": ["a", "b"]}]
    asked("a", "xy", "v")
    assert seen.pop() == [{"task": ["x", "y"]}], "one wording of each task is no further factor"
    asked("a", "x", "v")
    assert seen == []
    asked(["a", "ab"], ["bx", "x"], "v")
    *_, last = seen.pop()
    assert len(set(last["model × task"])) == 4, "names that run into each other stay apart"
