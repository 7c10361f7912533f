"""The names of measurements: metrics with and without an estimator's ending."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from equipoise.metrics import METRICS, naming
from equipoise.metrics.naming import (
    SUFFIXES,
    _splits,
    estimator_of,
    label_of,
    metric_named,
    metric_of,
    spoken,
    suffix,
    suffixes,
)
from equipoise.records import EquipoiseError
from equipoise.uncertainty import ESTIMATORS


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_every_metric_is_found_by_its_name_with_any_estimator(metric) -> None:
    assert metric_of(metric.name) is metric and estimator_of(metric.name) is None
    if metric.estimated:
        for name, estimator in ESTIMATORS.items():
            taken = f"{metric.name}_{name.replace('-', '_')}"
            assert metric_of(taken) is metric and estimator_of(taken) == estimator


def test_an_unknown_name_is_an_error() -> None:
    assert metric_of("flip_rate_renyi") is None, "flips have no estimator"
    with pytest.raises(EquipoiseError, match="nothing_like_it"):
        metric_named("nothing_like_it")


def test_an_estimator_adds_its_name_but_for_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (suffix("perplexity"), suffix("fisher-rao")) == ("", "_fisher_rao")
    monkeypatch.setattr(naming, "names", lambda table, kind: [*table, f"other-{kind}"])
    assert suffixes()[0] == "" and suffixes()[-1] == "_other_estimator" and len(suffixes()) == len(ESTIMATORS) + 1


def test_a_label_names_the_estimator_unless_it_is_the_usual_one() -> None:
    assert (label_of("ucerf"), label_of("ucerf_renyi")) == ("UCerF", "UCerF (renyi)")


def test_an_ending_names_its_estimator_and_the_longest_beginning_is_the_metric() -> None:
    assert {"fisher_rao", "perplexity", "top_probability"} <= SUFFIXES and len(SUFFIXES) == len(ESTIMATORS)
    assert label_of("ucerf_signed_fisher_rao") == f"{METRICS['ucerf_signed'].label} (fisher-rao)"
    assert metric_of("ucerf_signed_margin") is METRICS["ucerf_signed"], "not ucerf with an ending of signed_margin"
    for unknown in ("ucerf_", "_margin", "ucerf_nothing", "margin", "", "accuracy_margin_margin"):
        assert metric_of(unknown) is None and estimator_of(unknown) is None
    with pytest.raises(EquipoiseError):
        label_of("ucerf_nothing")


def test_a_name_is_split_at_each_underscore_the_longest_beginning_first() -> None:
    assert list(_splits("a_b_c")) == [("a_b", "c"), ("a", "b_c")]
    assert list(_splits("_a_")) == [("_a", "")] and list(_splits("ab")) == []


def test_the_metric_of_a_plug_in_is_found_by_its_whole_name_or_with_an_estimator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {
        "plain": SimpleNamespace(estimated=False),
        "sure": SimpleNamespace(estimated=True),
        "sure_other_way": SimpleNamespace(estimated=False),
    }
    known = {"metric": [*own], "estimator": ["other-way"]}
    monkeypatch.setattr(naming, "names", lambda table, kind: known[kind])
    monkeypatch.setattr(naming, "metric_row", lambda name: own[name])
    assert metric_of("plain") is own["plain"] and metric_of("plain_other_way") is None, "it has no estimator"
    assert metric_of("sure") is own["sure"] and metric_of("sure_other_way") is own["sure_other_way"]
    assert metric_of("sure_other-way") is None is metric_of("other_way")
    del own["sure_other_way"]
    known["metric"] = [*own]
    assert metric_of("sure_other_way") is own["sure"]

    def fails(*_: object, **__: object) -> None:
        raise EquipoiseError("it cannot be loaded")

    monkeypatch.setattr(naming, "metric_row", fails)
    assert metric_of("plain") is None


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("flip_rate", "flip rate"),
        ("ucerf", "UCerF"),
        ("ucerf_signed", "signed UCerF"),
        ("ucerf_signed_renyi", "signed UCerF (renyi)"),
        ("fp", "FP"),
    ],
)
def test_a_name_inside_a_sentence_is_small_but_for_abbreviations(name: str, inside: str) -> None:
    assert spoken(name) == inside
