"""What a row says of itself follows from the columns that it reads."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import Metric
from equipoise.metrics.columns import ATTRIBUTE, AUGMENTATION
from equipoise.metrics.groups import Norm, mean, total_size
from equipoise.metrics.metric import mean_metric
from equipoise.records import EquipoiseError, RunKey


def over_sets(*inputs: str, **facts: object) -> Metric:
    chosen = {"function": lambda *columns, weights=None: mean(columns[0], weights=weights), **facts}
    return Metric("new", inputs=inputs, better="higher", label="New", summary="new", unit="sets", **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["u", "u_eq3", "u_signed", "u_intersectional"])
def test_a_metric_that_reads_u_never_mixes_answerable_and_unanswerable_sets(column: str) -> None:
    assert not over_sets(column).mixes_answerable
    assert not over_sets("certainty", column).mixes_answerable
    assert over_sets("flipped").mixes_answerable
    assert not over_sets("flipped", mixes_answerable=False).mixes_answerable


def test_the_n_of_a_metric_over_sets_is_the_number_of_sets_whatever_else_it_reads(make_outcomes) -> None:
    rows = [
        {"pair": f"p{pair}", "gender": gender, "probs": (0.7, 0.3), "side": "male"}
        for pair in range(5)
        for gender in ("male", "female")
    ]
    outcomes = make_outcomes(rows)
    # Nothing is right here: `correct` has no value on any item.
    metrics = [over_sets("u", "correct"), over_sets("u")]
    for metric in metrics:
        plan = Plan([metric], by=(), resamples=5)
        measurements, _ = measure(measured_items(outcomes, plan), plan, RunKey("model", "data", "task"))
        assert {row.estimate.n for row in measurements} == {5}
    assert np.isnan(measured_items(outcomes, plan).columns(plan.estimators[0])["correct"]).all()


@pytest.mark.parametrize(("field", "value"), [("better", "low"), ("unit", "set"), ("applies_to", "everything")])
def test_a_row_with_a_word_that_a_field_does_not_know_is_refused(field: str, value: str) -> None:
    facts = {"name": "new", "function": mean, "inputs": ("u",), "better": "higher", "label": "", "summary": ""}
    with pytest.raises(EquipoiseError, match=f"^metric new: {field} is '{value}', not one of "):
        Metric(**{**facts, field: value})  # type: ignore[arg-type]


def test_what_follows_from_a_row() -> None:
    mine = mean_metric("mine", "certainty", "higher", "Mine", "mine", unit="identity")
    assert (mine.function, mine.inputs, mine.means) == (mean, ("certainty",), 1)
    assert (mine.label, mine.summary, mine.better) == ("Mine", "mine", "higher")
    assert mine.levels == (AUGMENTATION, ATTRIBUTE) and mine.norm is None
    assert mean_metric("mine", "certainty", "higher", "", "").levels == ()
    own = mean_metric("mine", "certainty", "higher", "", "", unit="identity", levels=(("gender",),))
    assert own.levels == (("gender",),)
    norm = Norm(lambda *columns, weights=None: np.ones(1), total_size)
    assert over_sets("u", function=norm).norm is norm and over_sets("u", function=norm).means == 0


@pytest.mark.parametrize(
    ("inputs", "facts", "bounds"),
    [
        (("certainty",), {"function": mean}, (0, 1)),
        (("desirability", "certainty"), {"means": 2}, (-1, 1)),
        (("desirability", "certainty"), {"bounds": (0, 3)}, (0, 3)),
        (("desirability", "certainty"), {"means": 1, "bounds": (0, 3)}, (0, 3)),
        (("desirability", "certainty"), {"means": 2, "bounds": (0, 3)}, (-1, 1)),
        (("desirability", "stereotype"), {"means": 2}, (-1, 1)),
        (("desirability_apart", "certainty"), {"means": 2}, (-2, 2)),
        (("certainty", "desirability_apart"), {"means": 2}, (-2, 2)),
        (("chosen_positive", "certainty"), {"means": 2}, (0, 1)),
        (("perplexity",), {"function": mean}, None),
        (("certainty",), {}, None),
    ],
)
def test_bounds_of_what_is_averaged_are_those_of_its_columns(
    inputs: tuple[str, ...], facts: dict, bounds: tuple | None
) -> None:
    assert over_sets(*inputs, **facts).value_bounds == bounds


def test_what_it_is_taken_over_is_told_in_words() -> None:
    told = {
        (unit, applies): mean_metric("m", "certainty", "higher", "", "", unit=unit, applies_to=applies).taken_over
        for unit, applies in (
            ("items", "all"),
            ("sets", "alike"),
            ("contrast", "labelled"),
            ("grouping", "answerable"),
            ("identity", "unanswerable"),
            ("pair", "decisions"),
            ("items", "letter A"),
        )
    }
    assert list(told.values()) == [
        "items",
        "sets",
        "labelled items, two sides compared",
        "answerable items, by group",
        "unanswerable marked sentences",
        "decisions: pairs of groups",
        "letter A: items",
    ]


def test_why_it_cannot_be_followed_is_told_in_words() -> None:
    several = "it compares several groups at once, which has no sequence of units yet"
    for unit in ("identity", "pair", "grouping"):
        assert mean_metric("m", "certainty", "higher", "", "", unit=unit).unsettled == several
    assert over_sets("certainty").unsettled == "it is not made of means, or its row does not say of how many (`means`)"
    unbounded = mean_metric("m", "perplexity", "lower", "", "")
    assert unbounded.unsettled == "the values that it averages have no bounds"
    assert mean_metric("m", "certainty", "higher", "", "").unsettled == ""


def test_several_groups_are_the_first_reason() -> None:
    row = Metric("m", lambda values: 0.0, ("certainty",), "higher", "", "", unit="pair")
    assert row.means == 0 and row.unsettled.startswith("it compares several groups at once")
