"""How many sets for what? Sets, prompts and time until something is shown, from an earlier run or a planted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from ..datasets import Dataset
from ..measuring.following import points_of, units_of
from ..measuring.goals import Goal, goals
from ..measuring.measure import Plan, measured_items
from ..measuring.settling import FEWEST_SETS
from ..metrics import Metric
from ..metrics.columns import COLUMNS
from ..metrics.naming import metric_named
from ..metrics.requirement import Requirement
from ..options import RunOptions
from ..records import Context, EquipoiseError, Estimate, Outcomes, Sampling, parse_group
from ..runs import Run
from ..scoring.planted import PlantedEngine
from ..settings import Settings
from ..stats.betting import Units
from ..stats.planning import units_to_settle
from ..stats.power import Contrast, power_of_pilots, spreads_of_pilots, units_for_width, with_true_value
from ..stats.sequential import frequent_looks
from ..tasks import Task, open_tasks
from . import rates
from .forecast import forecast, workload

PLANTED = PlantedEngine(strength=1.0, bias=0.5, noise=1.0)
"""Whose sets are taken where no earlier run is given: right in some 80% of its answers, and biased."""

MOST_PLANTED = 1000
"""Base sentences of a dataset that the planted model is asked."""

SHARES = (0.25, 0.5, 1.0, 1.5, 2.0)
"""Multiples of the sets needed at which the power is told."""


@dataclass(frozen=True)
class Wish:
    """What an audit is to show of a metric: `kind` is detect, width or require; `amount` is its number.

    `true` is the value that is assumed; None: as it was seen. A `usual` wish, where no metric is named, is of each type
    that has the metric.
    """

    kind: str
    requirement: Requirement
    amount: float
    true: float | None = None
    usual: bool = False


@dataclass(frozen=True)
class Planned:
    """How many sets a wish needs of one dataset and task, and what these cost; None where no number would do.

    `powers` are how often an audit of that many sets shows it, with what an earlier run leaves open of it. `of` is the
    number of sets that there are.
    """

    wish: str
    where: str
    sets: int | None
    of: int
    kind: str
    prompts: int = 0
    seconds: float | None = None
    powers: Sequence[tuple[int, Estimate]] = field(default_factory=tuple)

    @property
    def answer(self) -> str:
        """Whether it can be done with the data there are, in words."""
        if self.sets is None:
            return "no: no number of sets would show it"
        if self.sets > self.of:
            return f"no: {self.where} has {self.of:,} such sets, you would need about {self.sets:,}"
        return f"yes: about {self.sets:,} of {self.of:,} sets"


def planned(
    asked: RunOptions, settings: Settings, wishes: Sequence[Wish], *, power: float = 0.8, like: Run | None = None
) -> list[Planned]:
    """Return what every wish needs, for each dataset and task that has its metric; one that none has is an error."""
    tasks = open_tasks(asked.task, settings.task)
    rows: list[Planned] = []
    for dataset, task in product(settings.datasets(asked.data, tasks), tasks):
        named = [wish for wish in wishes if wish.requirement.is_about(dataset.name, task.name)]
        sample = dataset.limited(MOST_PLANTED) if len(dataset.examples) > 4 * MOST_PLANTED else dataset
        outcomes = _seen(sample, task, like)
        place = _Place(dataset, task, asked, settings, like is not None)
        for wish in named:
            for typed in _of_each_type(wish, dataset) if wish.usual else (wish,):
                try:
                    several = _goals(dataset, task.name, typed, settings.plan)
                    units = [(goal, _units(outcomes, goal)) for goal in several]
                except EquipoiseError:
                    if not wish.usual:
                        raise
                    continue
                rows += [_planned(place, goal, typed, of_goal, power) for goal, of_goal in units]
    for wish in wishes:
        if not (rows if wish.usual else any(row.wish == _text(wish) for row in rows)):
            raise EquipoiseError(f"{_text(wish)!r} names nothing in {', '.join(map(str, asked.data))}")
    return rows


def _of_each_type(wish: Wish, dataset: Dataset) -> Iterator[Wish]:
    """Yield the wish for each type of sentences; as it is where there are none."""
    types = sorted({example.groups.get("type", "") for example in dataset.examples} - {""})
    for group in [f"type={kind}" for kind in types] or [wish.requirement.group]:
        yield replace(wish, requirement=replace(wish.requirement, group=group))


NEAR_AND_FAR = (0.25, 0.5, 0.9)
"""Where true values are assumed where none is known: shares of the way from a bound to the best value."""


def wishes_of(requirements: Sequence[Requirement]) -> list[Wish]:
    """Return requirements as wishes, for true values near to the bound and far from it on the side that passes."""
    wishes = []
    for requirement in requirements:
        low, high = metric_named(requirement.metric).bounds
        best = low if requirement.sign.startswith("<") else high
        values = [requirement.bound + share * (best - requirement.bound) for share in NEAR_AND_FAR]
        wishes += [Wish("require", requirement, 0.0, round(value, 4)) for value in values if np.isfinite(value)]
    return wishes


@dataclass(frozen=True)
class _Place:
    """Where a wish is planned; `piloted`: from the sets of an earlier run."""

    dataset: Dataset
    task: Task
    asked: RunOptions
    settings: Settings
    piloted: bool = False


def _goals(dataset: Dataset, task: str, wish: Wish, plan: Plan) -> Iterator[Goal]:
    """Yield what a wish is about in a dataset; nothing where the dataset does not have it."""
    keys = [key for key in parse_group(wish.requirement.group) if key != "type"]
    try:
        (about,) = goals([(dataset, task)], [wish.requirement], replace(plan, by=keys))
    except EquipoiseError as error:
        if "names nothing" not in str(error):
            raise
        return
    yield from about


def _seen(dataset: Dataset, task: Task, like: Run | None) -> Outcomes:
    """Return outcomes to take units from: of an earlier run, or of a planted model."""
    if like is not None:
        parts = [part for part in like.parts if part.task == task.name] or like.parts
        same = [part for part in parts if part.dataset == dataset.name] or parts
        return same[0].outcomes
    PLANTED.prepare(dataset.examples)
    return task.run(dataset.examples, scorer=lambda prompts: next(PLANTED.score([prompts])), writer=_refuse)


def _refuse(_: Sequence[Context], __: int, ___: Sampling | None = None, /) -> dict[Context, str]:
    raise EquipoiseError("this task writes texts, which a planted model cannot; give an earlier run (like)")


def _units(outcomes: Outcomes, goal: Goal) -> Units:
    wanted = goal.followed
    items = measured_items(outcomes, Plan([], by=[key for key in parse_group(wanted.group) if key != "type"]))
    point = points_of(items, [wanted]).get(wanted.name)
    several = units_of(point, items, wanted) if point else []
    if len(several) != 1:
        why = "is made of several means" if point else "has no value in the run that is to be followed"
        raise EquipoiseError(f"{goal.requirement.text}: {goal.metric.name} {why}, so its sets cannot be planned")
    return several[0]


def _planned(place: _Place, goal: Goal, wish: Wish, units: Units, power: float) -> Planned:
    """Return the plan of one wish in one dataset and task."""
    metric, level = goal.metric, place.settings.level
    of, sentences = goal.sets_in(goal.sentences), len(goal.sentences)
    sets_of_one = of / sentences
    whole = COLUMNS[metric.inputs[0]].whole
    mean = units.ratio
    contrast, true = _contrast(wish, metric, mean, level, whole)
    chosen = units if true is None else with_true_value(units, true, whole=whole)
    needed: int | None
    if wish.kind == "require":
        needed = units_to_settle(chosen, wish.requirement.bound, (1 - goal.level) / 2, seed=place.settings.seed)
        needed = None if needed is None else _at_look(needed, sentences)
    elif wish.kind == "width":
        needed = units_for_width(chosen, wish.amount, level)
    else:
        needed = contrast.units_for(chosen, power, seed=place.settings.seed)
    sets = None if needed is None else round(needed * sets_of_one)
    sizes = [] if needed is None or wish.kind == "width" else sorted({max(8, round(s * needed)) for s in SHARES})
    shares = [(size, contrast.power(chosen, size)) for size in sizes if size <= 20_000]
    spreads = spreads_of_pilots(units, true, whole=whole) if place.piloted and shares else np.ones(1)
    powers = [(round(size * sets_of_one), power_of_pilots(share, spreads, units, level)) for size, share in shares]
    prompts, seconds = _cost(place, 0 if sets is None else sets)
    where = f"{place.dataset.name} · {place.task.name}"
    return Planned(_text(wish), where, sets, of, wish.kind, prompts, seconds, tuple(powers))


def _contrast(wish: Wish, metric: Metric, mean: float, level: float, whole: bool) -> tuple[Contrast, float | None]:
    """Return what is tested, and the true value that is assumed."""
    absolute = metric.norm is not None
    if wish.kind == "require":
        return Contrast(wish.requirement.bound, level, whole, absolute), wish.true
    if absolute or metric.bounds[0] < 0 < metric.bounds[1]:  # 0 is "no difference"
        return Contrast(0.0, level, whole, absolute), wish.amount
    true = mean if wish.true is None else wish.true
    bound = true - wish.amount if true - wish.amount > metric.bounds[0] else true + wish.amount
    return Contrast(bound, level, whole, absolute), true


def _at_look(units: int, there_are: int) -> int:
    """Return the look of an audit at which that many units are reached."""
    looks = [look for look in frequent_looks(max(there_are, 4 * units)) if look >= max(units, FEWEST_SETS)]
    return min(looks[0] if looks else units, there_are if units <= there_are else units)


def _cost(place: _Place, sets: int) -> tuple[int, float | None]:
    """Return the prompts that the sets ask, and how long they take; None where that is not known."""
    work = workload(place.task, place.dataset)
    share = sets / max(1, place.dataset.sets)
    prompts, texts = round(work.prompts * share), round(work.texts * share)
    engine = place.settings.engine
    seconds = rates.seconds(place.asked.model, engine, place.task.name, prompts=prompts, texts=texts)
    if seconds is None and not place.settings.server:
        rough = replace(work, prompts=prompts, texts=texts, characters=round(work.characters * share))
        seconds = forecast(place.asked.model, rough, device=place.settings.device)
    return prompts, seconds


def _text(wish: Wish) -> str:
    """Return a wish in words."""
    asks = wish.requirement
    group = "" if asks.group == "all" else f"[{asks.group}]"
    if wish.kind == "require":
        return f"settle {asks.text}" + ("" if wish.true is None else f" if the value is {wish.true:g}")
    if wish.kind == "width":
        return f"an interval of {asks.metric}{group} {wish.amount:g} wide"
    return f"detect {asks.metric}{group} = {wish.amount:g}"
