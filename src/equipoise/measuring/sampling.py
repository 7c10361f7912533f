"""Cheaper audits: base sentences in random order, until every disparity is known as closely as was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..datasets import Dataset
from ..options import StoppingOptions
from ..records import EquipoiseError, Example, ModelError, Outcomes, RunKey, RunManifest, group_label, grouped
from ..stats.sequential import balanced_order, frequent_looks, planned_looks
from .goals import Goal
from .identities import confidence_disparities
from .items import Items
from .measure import Plan
from .settling import Ask, Decision, Settled, until_settled
from .stopping import GUARANTEED, Sample, guaranteed, planned_sample

MOST_FAILED = 0.05
"""Share of the examples that may be left out because the model cannot be asked about them; one set always may."""


@dataclass(frozen=True)
class Look:
    """What was seen at one look: how much was asked by then, and the widest interval of a disparity."""

    look: int
    looks: int
    sentences: int
    of: int
    prompts: int
    width: float
    widest: str


@dataclass(frozen=True)
class Sampled:
    """How much was needed: the examples asked, the looks taken, and how the sample was drawn (None if it is all)."""

    dataset: Dataset
    looks: tuple[Look, ...]
    sample: Sample | None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What came of requirements: a width has none."""
        return ()

    @property
    def _what(self) -> str:
        names = dict.fromkeys(name.rsplit("/", 1)[1] for name in self.sample.totals) if self.sample else ()
        return ", ".join(names) or "disparities"

    @property
    def note(self) -> str:
        """What to say of it, in one sentence."""
        if self.sample is None:
            return "all base sentences were needed for the width asked; intervals are those of a full audit"
        last = self.looks[-1]
        return (
            f"stopped at look {last.look} of {last.looks}, after {last.sentences:,} of {last.of:,} base sentences "
            f"({last.prompts:,} prompts); intervals of {self._what} are about all of them, and hold at any look"
        )


def asked_as_needed(
    dataset: Dataset, ask: Ask, plan: Plan, key: RunKey, options: StoppingOptions, until: Sequence[Goal]
) -> tuple[Dataset, Outcomes, Sampled | Settled | None]:
    """Return as much of the dataset as the goals or the width asked for need, its outcomes, and how it was sampled.

    All of it is asked where there are neither; then the last is None.
    """
    drawn: Sampled | Settled
    if until:
        drawn = until_settled(dataset, ask, plan, key, until, at_most=options.at_most)
    elif options.until_width is None:
        return dataset, outcomes_of(dataset, ask), None
    else:
        limits = {"joint": options.joint, "drop": options.drop_settled}
        drawn = until_precise(dataset, ask, plan, width=options.until_width, **limits)
    return drawn.dataset, ask(drawn.dataset.examples), drawn


def until_precise(
    dataset: Dataset, ask: Ask, plan: Plan, *, width: float, joint: bool = False, drop: bool = False
) -> Sampled:
    """Return the sample at which every interval that was asked for is narrower than `width`.

    On marked sentences these are all confidence disparities, else UCerF, flip rate, accuracy and gaps (stopping.py).

    The base sentences come in batches balanced over type (and occupation, on marked sentences); the same seed gives
    the same batches, so an interrupted audit continues. The interval is about the dataset's own value: what asking all
    would give. The guarantee is for each by itself, or with `joint` for all of them at once (Bonferroni). With `drop`,
    the markers of an attribute are not asked of further sentences once its disparity is known that closely.
    """
    if width <= 0:
        raise EquipoiseError(f"width must be greater than 0, not {width}")
    marked = any("marker" in example.groups for example in dataset.examples)
    ordered = _ordered(dataset, ("type", "occupation") if marked else ("type",), plan.seed)
    sizes = planned_looks(len(ordered)) if marked else frequent_looks(len(ordered))
    sample = _marked_sample(ordered, len(sizes), joint) if marked else _sample(dataset, plan, width, joint)
    looks: list[Look] = []
    settled: set[str] = set()
    examples: tuple[Example, ...] = ()
    for number, size in enumerate(sizes, start=1):
        further = (example for group in ordered[looks[-1].sentences if looks else 0 : size] for example in group)
        examples += tuple(example for example in further if not settled or _family(example) not in settled)
        items = Items(ask(examples))
        estimates = confidence_disparities(items, plan, sample) if marked else guaranteed(items, sample, plan.level)
        # NaN (no interval) must not pass for a narrow one.
        widths = {name: float(np.nan_to_num(e.width, nan=np.inf)) for name, e in estimates.items()}
        name = max(widths, key=lambda name: widths[name])
        looks.append(Look(number, len(sizes), size, len(ordered), len(examples), widths[name], name))
        if widths[name] < width and len(widths) >= len(sample.totals):
            return Sampled(replace(dataset, examples=examples), tuple(looks), sample)
        if drop and marked:
            settled |= {name for name, reached in widths.items() if reached < width}
    if not settled:
        return Sampled(dataset, tuple(looks), None)
    # What is left is asked of all sentences, so its interval is not about a part of them.
    rest = (example for group in ordered[sizes[-1] :] for example in group)
    examples += tuple(example for example in rest if _family(example) not in settled)
    return Sampled(replace(dataset, examples=examples), tuple(looks), replace(sample, population={}))


def _ordered(dataset: Dataset, strata: Sequence[str], seed: int) -> list[list[Example]]:
    """Return the examples of each base sentence in a random order, of which every beginning holds all strata."""
    groups = list(grouped(dataset.examples, lambda example: example.cluster_id).values())
    names = ["\0".join(group[0].groups.get(name, "") for name in strata) for group in groups]
    return [groups[unit] for unit in balanced_order(names, np.random.default_rng(seed))]


def _marked_sample(ordered: Sequence[Sequence[Example]], looks: int, joint: bool) -> Sample:
    """Return how the base sentences of an audit with markers are sampled."""
    population = Counter(group[0].groups.get("type", "") for group in ordered)
    families = {_family(example) for group in ordered for example in group if "marker" in example.groups}
    return Sample(dict(population), looks=max(1, looks), together=len(families) if joint else 1)


def _sample(dataset: Dataset, plan: Plan, width: float, joint: bool) -> Sample:
    """Return how the base sentences of any other audit are sampled."""
    wanted = [metric.name for metric in plan.metrics if metric.name in GUARANTEED]
    sample = planned_sample(dataset.examples, wanted, width, joint=joint)
    if not sample.totals:
        raise EquipoiseError(f"until_width needs one of these metrics, and data that has it: {', '.join(GUARANTEED)}")
    return sample


def _family(example: Example) -> str:
    """Return the disparity that an example is asked for, as confidence_disparities names it; "" without a marker."""
    if "marker" not in example.groups:
        return ""
    names = ("type", "augmentation", "attribute")
    return group_label({name: example.groups[name] for name in names if example.groups.get(name)})


def outcomes_of(dataset: Dataset, ask: Ask) -> Outcomes:
    """Return the outcomes of the dataset; sets with an example that cannot be asked are left out, if they are few."""
    failed: set[str] = set()
    examples = dataset.examples
    while True:
        try:
            return ask(examples)
        except ModelError as error:
            if not set(error.example_ids) - failed:
                raise
            failed |= set(error.example_ids)
            left_out = {example.set_id for example in dataset.examples if example.id in failed}
            examples = tuple(example for example in dataset.examples if example.set_id not in left_out)
            count = len(dataset.examples) - len(examples)
            if not examples:
                raise ModelError(f"no example of {dataset.name} can be asked: {error}") from None
            if len(left_out) > 1 and count > MOST_FAILED * len(dataset.examples):
                share = f"{count:,} of {len(dataset.examples):,} examples, more than {MOST_FAILED:.0%}"
                raise ModelError(f"{share}, would be left out with their sets: {error}") from None


def with_samples(manifest: RunManifest, sampled: Iterable[tuple[RunKey, Sampled | Settled]]) -> RunManifest:
    """Return the manifest that says how the sentences of each dataset and task were sampled, and what was settled."""
    tasks = {name: dict(task) for name, task in manifest.tasks.items()}
    notes = []
    for key, drawn in sampled:
        notes.append(f"{key}: {drawn.note}")
        if drawn.decisions:
            settled = {**tasks[key.task].get("settled", {}), key.dataset: [d.as_json() for d in drawn.decisions]}
            tasks[key.task] = {**tasks[key.task], "settled": settled}
            manifest = replace(manifest, tasks=tasks)
        if drawn.sample is not None:
            samples = {**dataset_samples(manifest, key.task), key.dataset: asdict(drawn.sample)}
            tasks[key.task] = {**tasks[key.task], "samples": samples}
            manifest = replace(manifest, tasks=tasks)
    return replace(manifest, tasks=tasks, notes=[*notes, *manifest.notes])


def look_tables(sampled: Iterable[tuple[RunKey, Sampled | Settled]]) -> dict[str, pd.DataFrame]:
    """Return the table of all looks by the name of its file; none where nobody looked."""
    looks = [{**asdict(key), **asdict(look)} for key, drawn in sampled for look in drawn.looks]
    return {"looks.csv": pd.DataFrame(looks)} if looks else {}


def dataset_samples(manifest: RunManifest, task: str) -> Mapping[str, Any]:
    """Return how each dataset was sampled for a task; a dataset that was asked completely is not in it."""
    drawn = manifest.tasks.get(task, {}).get("samples")
    # Open answers have a setting of the same name: how many answers were drawn for each question.
    return drawn if isinstance(drawn, Mapping) else {}


def sample_of(manifest: RunManifest, key: RunKey) -> Sample | None:
    """Return how the sentences of a dataset were sampled for a task, None where all were asked."""
    drawn = dataset_samples(manifest, key.task).get(key.dataset)
    return None if drawn is None else Sample(**drawn)
