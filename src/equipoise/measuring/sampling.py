"""Cheaper audits: base sentences in random order, until every disparity is known as closely as was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..datasets import Dataset
from ..records import EquipoiseError, Example, ModelError, Outcomes, RunKey, RunManifest, group_label
from ..stats.sequential import balanced_order, frequent_looks, planned_looks
from .identities import confidence_disparities, widest
from .items import Items
from .measure import Plan
from .sample import Sample
from .stopping import COLUMN_OF, guaranteed, planned_sample, widths

Ask = Callable[[Sequence[Example]], Outcomes]
"""Asks the model some examples; what was asked before costs nothing."""


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

    def row(self) -> dict[str, object]:
        """Return the look as a row of `looks.csv`."""
        return asdict(self)


@dataclass(frozen=True)
class Sampled:
    """How much was needed: the examples asked, the looks taken, and how the sample was drawn (None if it is all)."""

    dataset: Dataset
    looks: tuple[Look, ...]
    sample: Sample | None

    @property
    def _what(self) -> str:
        names = dict.fromkeys(name.rsplit("/", 1)[1] for name in self.sample.totals) if self.sample else ()
        return ", ".join(names) or "disparities"

    @property
    def note(self) -> str:
        """What to say of it, in one sentence."""
        if self.sample is None:
            return "all base sentences were needed for the precision asked; intervals are those of a full audit"
        last = self.looks[-1]
        return (
            f"stopped at look {last.look} of {last.looks}, after {last.sentences:,} of {last.of:,} base sentences "
            f"({last.prompts:,} prompts); intervals of {self._what} are about all of them, and hold at any look"
        )


def until_precise(
    dataset: Dataset, ask: Ask, plan: Plan, *, precision: float, joint: bool = False, drop: bool = False
) -> Sampled:
    """Return the sample at which every interval that was asked for is narrower than `precision`.

    On marked sentences these are all confidence disparities, else UCerF, flip rate, accuracy and gaps (stopping.py).

    The base sentences come in batches balanced over type and occupation; the same seed gives the same batches, so
    an interrupted audit continues. The interval is about the dataset's own disparity: what asking all would give. The
    guarantee is for each disparity by itself, or with `joint` for all of them at once (Bonferroni). With `drop`, the
    markers of an attribute are not asked of further sentences once its disparity is known that closely.
    """
    if precision <= 0:
        raise EquipoiseError(f"precision must be greater than 0, not {precision}")
    if not any("marker" in example.groups for example in dataset.examples):
        return _until_narrow(dataset, ask, plan, precision=precision, joint=joint)
    sentences: dict[str, list[Example]] = {}
    for example in dataset.examples:
        sentences.setdefault(example.cluster_id, []).append(example)
    firsts = [group[0] for group in sentences.values()]
    strata = [f"{e.groups.get('type', '')}\0{e.groups.get('occupation', '')}" for e in firsts]
    order = balanced_order(strata, np.random.default_rng(plan.seed))
    ordered = [list(sentences.values())[unit] for unit in order]
    sizes = planned_looks(len(ordered))
    population = dict(Counter(example.groups.get("type", "") for example in firsts))
    families = {_family(example) for example in dataset.examples if "marker" in example.groups}
    sample = Sample(population, looks=max(1, len(sizes)), together=len(families) if joint else 1)
    looks: list[Look] = []
    settled: set[str] = set()
    examples: tuple[Example, ...] = ()
    for number, size in enumerate(sizes, start=1):
        further = (example for group in ordered[looks[-1].sentences if looks else 0 : size] for example in group)
        examples += tuple(example for example in further if not settled or _family(example) not in settled)
        disparities = confidence_disparities(ask(examples), plan, sample)
        width, name = widest(disparities)
        looks.append(Look(number, len(sizes), size, len(ordered), len(examples), width, name))
        if width < precision:
            return Sampled(replace(dataset, examples=examples), tuple(looks), sample)
        if drop:
            settled |= {name for name, row in disparities.items() if row.high - row.low < precision}
    if not settled:
        return Sampled(dataset, tuple(looks), None)
    # What is left is asked of all sentences, so its interval is not about a part of them.
    rest = (example for group in ordered[sizes[-1] :] for example in group)
    examples += tuple(example for example in rest if _family(example) not in settled)
    return Sampled(replace(dataset, examples=examples), tuple(looks), replace(sample, population={}))


def _family(example: Example) -> str:
    """Return the disparity that an example is asked for, as confidence_disparities names it; "" without a marker."""
    if "marker" not in example.groups:
        return ""
    names = ("type", "augmentation", "attribute")
    return group_label({name: example.groups[name] for name in names if example.groups.get(name)})


def _until_narrow(dataset: Dataset, ask: Ask, plan: Plan, *, precision: float, joint: bool) -> Sampled:
    """Return the sample at which every metric with a guarantee has an interval narrower than `precision`."""
    wanted = [metric.name for metric in plan.metrics if metric.name in COLUMN_OF]
    sample = planned_sample(dataset.examples, wanted, precision, joint=joint)
    if not sample.totals:
        raise EquipoiseError(f"precision needs one of these metrics, and data that has it: {', '.join(COLUMN_OF)}")
    sentences: dict[str, list[Example]] = {}
    for example in dataset.examples:
        sentences.setdefault(example.cluster_id, []).append(example)
    # Within a type the order is purely random: this is what the sequence needs.
    order = balanced_order(
        [group[0].groups.get("type", "") for group in sentences.values()], np.random.default_rng(plan.seed)
    )
    ordered = [list(sentences.values())[unit] for unit in order]
    sizes, looks = frequent_looks(len(ordered)), []
    for number, size in enumerate(sizes, start=1):
        examples = tuple(example for group in ordered[:size] for example in group)
        spans = widths(guaranteed(Items(ask(examples)), sample, plan.level))
        name = max(spans, key=lambda name: spans[name])
        missing = len(spans) < len(sample.totals)
        looks.append(Look(number, len(sizes), size, len(ordered), len(examples), spans[name], name))
        if spans[name] < precision and not missing:
            return Sampled(replace(dataset, examples=examples), tuple(looks), sample)
    return Sampled(dataset, tuple(looks), None)


def outcomes_of(dataset: Dataset, ask: Ask) -> Outcomes:
    """Return the outcomes of the dataset; sets with an example that the model fails on are left out."""
    try:
        return ask(dataset.examples)
    except ModelError as error:
        if not error.example_ids:
            raise
        return ask(dataset.without(error.example_ids).examples)


def with_samples(manifest: RunManifest, sampled: Iterable[tuple[RunKey, Sampled]]) -> RunManifest:
    """Return the manifest that says how the sentences of each dataset and task were sampled."""
    tasks = {name: dict(task) for name, task in manifest.tasks.items()}
    notes = []
    for key, drawn in sampled:
        notes.append(f"{key}: {drawn.note}")
        if drawn.sample is not None:
            samples = {**dataset_samples(manifest, key.task), key.dataset: asdict(drawn.sample)}
            tasks[key.task] = {**tasks[key.task], "samples": samples}
            manifest = replace(manifest, tasks=tasks)
    return replace(manifest, tasks=tasks, notes=[*notes, *manifest.notes])


def dataset_samples(manifest: RunManifest, task: str) -> Mapping[str, Any]:
    """Return how each dataset was sampled for a task; a dataset that was asked completely is not in it."""
    drawn = manifest.tasks.get(task, {}).get("samples")
    # Open answers have a setting of the same name: how many answers were drawn for each question.
    return drawn if isinstance(drawn, Mapping) else {}


def sample_of(manifest: RunManifest, key: RunKey) -> Sample | None:
    """Return how the sentences of a dataset were sampled for a task, None where all were asked."""
    drawn = dataset_samples(manifest, key.task).get(key.dataset)
    return None if drawn is None else Sample(**drawn)
