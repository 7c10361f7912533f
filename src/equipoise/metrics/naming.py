"""The names of measurements: a metric, and an estimator's ending where certainty is not that of perplexity."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import names
from ..records import EquipoiseError
from ..uncertainty import ESTIMATORS, PERPLEXITY, Estimator
from .metric import Metric
from .plugged import estimator_row, metric_row
from .table import METRICS

SUFFIXES = {name.replace("-", "_") for name in ESTIMATORS}
"""What the names of metrics end with that were taken by another estimator than perplexity."""


def suffix(estimator: str) -> str:
    """Return what an estimator of that name adds to a metric's: nothing for perplexity, the default."""
    return "" if estimator == PERPLEXITY.name else f"_{estimator.replace('-', '_')}"


def suffixes() -> list[str]:
    """Return what each estimator adds; those of other packages come last."""
    return [suffix(name) for name in names(ESTIMATORS, kind="estimator")]


def metric_of(name: str) -> Metric | None:
    """Return the row of the table of metrics that a measurement's name belongs to, also with an estimator's suffix."""
    if name in METRICS:
        return METRICS[name]
    for base, ending in _splits(name):
        if base in METRICS and METRICS[base].estimated and ending in SUFFIXES:
            return METRICS[base]
    plugged = set(names(METRICS, kind="metric"))
    estimators = {estimator.replace("-", "_") for estimator in names(ESTIMATORS, kind="estimator")}
    # The whole name first: a plug-in's metric may begin as one of ours does.
    bases = [name, *(base for base, ending in _splits(name) if ending in estimators)]
    try:
        metrics = [metric_row(base) for base in bases if base in plugged]
    except EquipoiseError:  # a plug-in that cannot be loaded
        return None
    return next((metric for metric in metrics if metric.estimated or bases[0] in plugged), None)


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Yield what is before and after each underscore of a name, the longest beginning first."""
    for place in range(len(name) - 1, 0, -1):
        if name[place] == "_":
            yield name[:place], name[place + 1 :]


def estimator_of(name: str) -> Estimator | None:
    """Return the estimator that a measurement's name ends with; None where it names none."""
    metric = metric_of(name)
    if metric is None or metric.name == name:
        return None
    by_ending = {known.replace("-", "_"): known for known in names(ESTIMATORS, kind="estimator")}
    return estimator_row(by_ending[name.removeprefix(f"{metric.name}_")])


def metric_named(name: str) -> Metric:
    """Return the row that a measurement's name belongs to; an unknown name is an error."""
    return metric_of(name) or metric_row(name)


def label_of(name: str) -> str:
    """Return what a measurement is called where people read it: "UCerF", "UCerF (renyi)"."""
    estimator = estimator_of(name)
    label = metric_named(name).label
    return label if estimator is None else f"{label} ({estimator.name})"


def spoken(name: str) -> str:
    """Return what a measurement is called inside a sentence: "flip rate", "signed UCerF"."""
    label = label_of(name)
    if label.startswith("UCerF, signed"):  # its comma would be one more in a list
        label = label.replace("UCerF, signed", "signed UCerF", 1)
    return label if label[:2].isupper() or label.startswith("UCerF") else f"{label[:1].lower()}{label[1:]}"
