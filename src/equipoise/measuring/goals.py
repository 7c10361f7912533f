"""What an audit is to settle of each dataset and task: requirements, and the examples that count for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..datasets import Dataset
from ..metrics import Metric
from ..metrics.naming import estimator_of, metric_named
from ..metrics.requirement import Duel, Requirement
from ..records import DECIDED, EquipoiseError, Example, Outcomes, parse_group
from ..uncertainty import PERPLEXITY
from .following import Followed
from .measure import Plan


@dataclass(frozen=True)
class Goal:
    """A requirement on one dataset, the examples that count for it, and what an earlier run made of them, if any."""

    requirement: Requirement
    metric: Metric
    examples: tuple[Example, ...]
    earlier: Outcomes | None
    level: float

    @cached_property
    def sentences(self) -> frozenset[str]:
        """The base sentences that count."""
        return frozenset(example.cluster_id for example in self.examples)

    @cached_property
    def followed(self) -> Followed:
        """How its metric is followed."""
        units = [e.set_id if self.metric.unit == "sets" else e.id for e in self.examples]
        clusters = [e.cluster_id for e in self.examples]
        by_sentence: dict[str, set[str]] = {}
        for cluster, unit in zip(clusters, units, strict=True):
            by_sentence.setdefault(cluster, set()).add(unit)
        most = max(map(len, by_sentence.values()))
        asks = (self.requirement.metric, self.requirement.group)
        return Followed(*asks, float(most), float(len(by_sentence)), self.level)

    def sets_in(self, sentences: frozenset[str]) -> int:
        """Return how many of its sets are in these base sentences."""
        return len({example.set_id for example in self.examples if example.cluster_id in sentences})


Earlier = Mapping[tuple[str, str], Outcomes]
"""What an earlier run made of each dataset and task."""


def goals(
    parts: Sequence[tuple[Dataset, str]],
    requirements: Sequence[Requirement],
    plan: Plan,
    earlier: Earlier | None = None,
) -> list[list[Goal]]:
    """Return what is to be settled of each dataset and task, all with one error; what names nothing is refused."""
    chosen = []
    for dataset, task in parts:
        if requirements and any("marker" in example.groups for example in dataset.examples):
            raise EquipoiseError(f"until does not follow marked sentences, as in {dataset.name}; use until_width")
        about = [requirement for requirement in requirements if requirement.is_about(dataset.name, task)]
        chosen.append(
            [asks for r in about if (asks := _asks(r, dataset, plan, (earlier or {}).get((dataset.name, task))))]
        )
    named = {requirement.text for several in chosen for requirement, *_ in several}
    for requirement in requirements:
        if requirement.text not in named:
            where = ", ".join(dataset.name for dataset, _ in parts)
            raise EquipoiseError(f"until {requirement.text!r} names nothing in {where}{_known(requirement, parts)}")
    # Of two runs that do not differ, one may be called better or worse: that is wrong in two ways.
    ways = sum(2 if isinstance(r, Duel) and not r.one_sided else 1 for several in chosen for r, *_ in several)
    level = 1 - (1 - plan.level) / max(1, ways)
    return [[Goal(*asked, level) for asked in several] for several in chosen]


MOST_NAMED = 12
"""Values of a group that are named at most."""


def _known(requirement: Requirement, parts: Sequence[tuple[Dataset, str]]) -> str:
    """Return what the group that a requirement names can be, in words; "" where it names one that there is."""
    for key, value in parse_group(requirement.group).items():
        values = {example.groups.get(key, "") for dataset, _ in parts for example in dataset.examples} - {""}
        if values and value not in values:
            return f"; {key} can be {', '.join(sorted(values)[:MOST_NAMED])}"
    return ""


Asks = tuple[Requirement, Metric, tuple[Example, ...], Outcomes | None]


def _asks(requirement: Requirement, dataset: Dataset, plan: Plan, earlier: Outcomes | None) -> Asks | None:
    """Return a requirement with what counts for it in a dataset; None where nothing does."""
    metric = _metric(requirement, plan)
    examples = _counted(dataset.examples, metric, requirement)
    if not metric.mixes_answerable and len({example.answerable for example in examples}) > 1:
        types = sorted({example.groups.get("type", "") for example in examples} - {""})
        named = f"; name one: {requirement.metric}[type={types[-1]}]" if types else ""
        raise EquipoiseError(
            f"{requirement.text!r}: {requirement.metric} is taken of each type of sentences apart{named}"
        )
    if isinstance(requirement, Duel):
        asked = set() if earlier is None else set(earlier.example_id.tolist())
        examples = tuple(example for example in examples if example.id in asked)
        return (requirement, metric, examples, earlier) if examples else None
    return (requirement, metric, examples, None) if examples else None


def _metric(requirement: Requirement, plan: Plan) -> Metric:
    """Return the metric of a requirement; one that cannot be followed is refused before anything is asked."""
    text, metric = requirement.text, metric_named(requirement.metric)
    estimator = (estimator_of(requirement.metric) or PERPLEXITY).name
    if metric.unsettled:
        raise EquipoiseError(f"until {text!r}: {metric.name} cannot be followed: {metric.unsettled}")
    if metric.name not in {known.name for known in plan.metrics}:
        raise EquipoiseError(f"until {text!r}: {metric.name} is not measured; add it to the metrics")
    if metric.estimated and estimator not in {known.name for known in plan.estimators}:
        raise EquipoiseError(f"until {text!r}: the estimator {estimator} is not measured; add it to the estimators")
    missing = [key for key in parse_group(requirement.group) if key != "type" and key not in (plan.by or (key,))]
    if missing:
        raise EquipoiseError(f"until {text!r}: the run is not broken down by {missing[0]}; add it to by")
    return metric


def _counted(examples: Sequence[Example], metric: Metric, requirement: Requirement) -> tuple[Example, ...]:
    """Return the examples that count for a requirement, as far as that is known before they are asked."""
    parts = parse_group(requirement.group)
    sizes: dict[str, int] = {}
    for example in examples:
        sizes[example.set_id] = sizes.get(example.set_id, 0) + 1

    def counts(example: Example) -> bool:
        sided = bool(example.groups.get("side"))
        decided = example.groups.get("type", "") == DECIDED
        applies = {
            "labelled": example.gold is not None,
            "answerable": example.answerable,
            "unanswerable": not example.answerable,
            "sided": example.gold is not None and sided,
            "sided answerable": example.answerable and sided,
            "polarity": bool(example.groups.get("polarity")),
            "decided": decided,
            "alike": not decided,
        }.get(metric.applies_to, True)
        in_set = metric.unit != "sets" or sizes[example.set_id] > 1
        return applies and in_set and all(example.groups.get(key, "") == value for key, value in parts.items())

    return tuple(example for example in examples if counts(example))
