"""The whole program on one screen: datasets are asked as tasks, an engine answers, the answers are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from .datasets import Dataset, open_dataset
from .datasets.external_results import read_results
from .datasets.identity import NAME as IDENTITY
from .datasets.identity import identity_dataset
from .measuring.identities import Sample, is_marked, measure_identities
from .measuring.measure import Labels, Plan, check_groups, derived_columns, measure, pair_columns
from .measuring.sampling import Sampled, until_precise
from .records import Example, Outcomes, RunError, RunManifest
from .runs.folder import RunFolder, default_folder, examples_frame, measurements_frame, outcomes_frame
from .runs.provenance import IMPORTED, describe, describe_imported, now
from .scoring.engine import DEFAULT_MODEL, Engine, open_engine
from .scoring.planted.identities import PlantedIdentities
from .scoring.planted.stereotype import PlantedEngine
from .scoring.reasoning import reason
from .scoring.store import ScoreStore
from .settings import Settings
from .tasks import ChainOfThought, Task, open_task

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def audit(
    model: str | Engine = DEFAULT_MODEL,
    data: str | Dataset | Sequence[str | Dataset] = "builtin",
    task: str | Task | Sequence[str | Task] = "next-word",
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **choices: Any,
) -> Run:
    """Return the run of a model on every dataset as every task; the same call continues one that was interrupted.

    `choices` are the fields of `Settings`: `audit("smollm2", data="winobias", limit=100, estimators=["renyi"])`.
    """
    settings = Settings(**choices)
    plan = settings.plan()
    say = progress or _silent
    datasets = [_dataset(one, settings) for one in _several(data)]
    tasks = [open_task(one, settings.task_options()) if isinstance(one, str) else one for one in _several(task)]
    for dataset in datasets:
        check_groups(dataset.examples, plan)
    say("loading the model", 0, 1)
    engine = open_engine(model, settings.engine_options()) if isinstance(model, str) else model
    say("loading the model", 1, 1)
    if isinstance(engine, PlantedEngine | PlantedIdentities):
        engine = engine.knowing(example for dataset in datasets for example in dataset.examples)
    folder = RunFolder(Path(out) if out else default_folder(engine.name, datasets, tasks))
    answered: list[tuple[Labels, Outcomes]] = []
    asked: dict[str, Dataset] = {}
    sampled: dict[Labels, Sampled] = {}
    with ScoreStore(folder.scores) as store:
        manifest = describe(engine, datasets, tasks, settings)
        folder.begin(manifest)
        for dataset in datasets:
            for each in tasks:
                labels = Labels(engine.name, dataset.name, each.name)
                ask = _Asker(each, engine, store, folder, say, labels)
                chosen = dataset
                if settings.precision is not None:
                    found = until_precise(dataset, ask, plan, precision=settings.precision, seed=settings.seed)
                    chosen, sampled[labels] = found.dataset, found
                answered.append((labels, ask(chosen.examples)))
                # Tasks may stop sampling at different looks; the later one has the earlier one's examples too.
                asked[dataset.name] = max(asked.get(dataset.name, chosen), chosen, key=lambda d: len(d.examples))
        folder.write_frame("examples.parquet", pd.concat([examples_frame(d.name, d.examples) for d in asked.values()]))
        notes = [*store.notes, *getattr(engine, "notes", ())]
        manifest = replace(manifest, engine={**engine.identity, **engine.description}, notes=notes)
        if sampled:
            manifest = _record_looks(folder, manifest, sampled)
        _measure_all(folder, answered, plan, manifest, say)
    return Run(folder)


def _record_looks(folder: RunFolder, manifest: RunManifest, sampled: Mapping[Labels, Sampled]) -> RunManifest:
    """Write the looks that were taken, and return the manifest that says how the sentences were drawn."""
    rows = [{**asdict(labels), **look.row()} for labels, one in sampled.items() for look in one.looks]
    folder.write_frame("looks.csv", pd.DataFrame(rows))
    tasks = {name: dict(task) for name, task in manifest.tasks.items()}
    for labels, one in sampled.items():
        if one.sample is not None:
            tasks[labels.task].setdefault("samples", {})[labels.dataset] = asdict(one.sample)
    notes = [*(f"{labels}: {one.note}" for labels, one in sampled.items()), *manifest.notes]
    return replace(manifest, tasks=tasks, notes=notes)


def _sample(manifest: RunManifest, labels: Labels) -> Sample | None:
    """Return how the sentences of a dataset were drawn for a task, None where all were asked."""
    drawn = manifest.tasks[labels.task].get("samples", {}).get(labels.dataset)
    return None if drawn is None else Sample(**drawn)


@dataclass(frozen=True)
class _Asker:
    """Asks examples as one task, and only what is not in the run's folder yet."""

    task: Task
    engine: Engine
    store: ScoreStore
    folder: RunFolder
    progress: Progress
    labels: Labels

    def __call__(self, examples: Sequence[Example]) -> Outcomes:
        """Return what the model makes of the examples."""
        task = self.task
        if isinstance(task, ChainOfThought):
            questions = [question for example in examples for question in task.questions(example)]
            say = partial(self.progress, f"{self.labels}, reasoning")
            path = self.folder.reasoning
            task = task.with_reasoning(reason(self.engine, questions, budget=task.budget, path=path, progress=say))
        prompts = [prompt for example in examples for prompt in task.prompts(example)]
        scores = self.store.fill(self.engine, prompts, partial(self.progress, str(self.labels)))
        return task.outcomes(examples, prompts, scores)


def remeasure(path: str | Path, *, progress: Progress | None = None, **choices: Any) -> Run:
    """Return the run measured anew from what is in its folder, without the model: other estimators, groups, level."""
    folder = RunFolder(Path(path))
    manifest = folder.manifest()
    settings = Settings(**{**manifest.settings, **choices})
    answered = [(Labels(manifest.model, dataset, task), outcomes) for dataset, task, outcomes in folder.outcomes()]
    imported = manifest.engine.get("engine") == IMPORTED  # such a run has no scores, and no audit to write them
    with nullcontext() if imported else ScoreStore(folder.scores):  # held, so that no audit writes the folder meanwhile
        # What was said of the earlier measurements is said anew of these, where it still holds.
        notes = [note for note in manifest.notes if not note.startswith(tuple(f"{labels}: " for labels, _ in answered))]
        manifest = replace(manifest, settings=asdict(settings), notes=notes, finished=None)
        _measure_all(folder, answered, settings.plan(), manifest, progress or _silent)
    return Run(folder)


def import_results(
    files: str | Path | Sequence[str | Path],
    *,
    format: str = "general",
    out: str | Path | None = None,
    model: str = "",
    dataset: str = "",
    progress: Progress | None = None,
    **choices: Any,
) -> Run:
    """Return a run made of one model's results from elsewhere (datasets/external_results.py); no model is run."""
    settings = Settings(**choices)
    results = [
        one for file in _several(files) for one in read_results(file, format=format, model=model, dataset=dataset)
    ]
    models, parts = {one.model for one in results}, {(one.dataset.name, one.task) for one in results}
    if len(models) > 1:
        raise RunError(f"a run is of one model, these are of {len(models)}: {', '.join(sorted(models))}")
    if len(parts) < len(results):
        raise RunError("two of the files hold the same dataset and task; name them apart, or import one at a time")
    datasets = {one.dataset.name: one.dataset for one in results}
    folder = RunFolder(Path(out) if out else default_folder(results[0].model, [*datasets.values()], [Imported()]))
    manifest = describe_imported(results, format, settings)
    folder.begin(manifest)
    folder.write_frame(
        "examples.parquet", pd.concat([examples_frame(one.name, one.examples) for one in datasets.values()])
    )
    answered = [(Labels(one.model, one.dataset.name, one.task), one.outcomes) for one in results]
    _measure_all(folder, answered, settings.plan(), manifest, progress or _silent)
    return Run(folder)


@dataclass(frozen=True)
class Imported:
    """What stands for the task in the name of an imported run's folder."""

    name: str = IMPORTED


def load(path: str | Path) -> Run:
    """Return a finished run from its folder."""
    run = Run(RunFolder(Path(path)))
    if run.manifest.finished is None:
        raise RunError(f"the run in {path} was not finished; run its command again to continue: {run.manifest.command}")
    return run


@dataclass(frozen=True)
class Run:
    """A run, as it stands in its folder."""

    folder: RunFolder

    @property
    def path(self) -> Path:
        """Where the run is."""
        return self.folder.path

    @property
    def manifest(self) -> RunManifest:
        """What was audited, and how."""
        return self.folder.manifest()

    @property
    def measurements(self) -> pd.DataFrame:
        """Every metric for every group, with its interval."""
        return self.folder.frame("measurements.csv")

    @property
    def outcomes(self) -> pd.DataFrame:
        """What the model made of each item."""
        return self.folder.frame("outcomes.parquet")

    @property
    def pairs(self) -> pd.DataFrame:
        """D of each side, and U, of every counterfactual set."""
        return self.folder.frame("pairs.parquet")

    @property
    def examples(self) -> pd.DataFrame:
        """What was asked."""
        return self.folder.frame("examples.parquet")


def _measure_all(
    folder: RunFolder,
    answered: Sequence[tuple[Labels, Outcomes]],
    plan: Plan,
    manifest: RunManifest,
    say: Progress,
) -> None:
    """Measure the outcomes and write all tables, the manifest last: only then is the run finished."""
    items, pairs, measurements, notes = [], [], [], list(manifest.notes)
    for number, (labels, outcomes) in enumerate(answered):
        say("measuring", number, len(answered))
        found, undefined = measure(outcomes, plan, labels)
        if is_marked(outcomes):
            found += measure_identities(outcomes, plan, labels, _sample(manifest, labels))
        measurements += found
        notes += [f"{labels}: {sentence}" for sentence in undefined]
        items.append(outcomes_frame(asdict(labels), outcomes, derived_columns(outcomes, plan)))
        pairs.append(pd.DataFrame({**asdict(labels), **pair_columns(outcomes, plan)}))
    say("measuring", len(answered), len(answered))
    folder.write_frame("outcomes.parquet", pd.concat(items))
    folder.write_frame("pairs.parquet", pd.concat(pairs))
    folder.write_frame("measurements.csv", measurements_frame(measurements))
    folder.write_manifest(replace(manifest, notes=notes, finished=now()))


def _dataset(one: str | Dataset, settings: Settings) -> Dataset:
    dataset = one
    if one == IDENTITY:
        base = open_dataset(settings.base, columns=settings.columns, pronouns=settings.pronouns)
        return identity_dataset(base, settings.recipe(), limit=settings.limit)
    if isinstance(dataset, str):
        dataset = open_dataset(dataset, columns=settings.columns, pronouns=settings.pronouns)
    return dataset.limited(settings.limit) if settings.limit is not None else dataset


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _silent(what: str, done: int, total: int) -> None:
    """Report no progress."""
