"""The whole program on one screen: datasets are asked as tasks, an engine answers, the answers are measured.

Dataset --Example--> Task --Prompt--> Engine --Score--> Task --Outcomes--> measure --Measurement--> Report
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as with_fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from .datasets import Dataset
from .datasets.exposure import exposure_notes
from .measuring.first_results import first_results
from .measuring.measure import Plan, measured_items
from .measuring.part import measure_part
from .measuring.sampling import Sampled, asked_as_needed, look_tables, sample_of, with_samples
from .measuring.settling import Settled
from .measuring.tables import item_columns, set_columns
from .options import AuditOptions, MeasuringOptions, RunOptions, StoppingOptions, check_arguments, checked, takes
from .progress import Progress, shown
from .records import Measurement, Outcomes, RunError, RunKey, RunManifest
from .runs import Held, Run, written
from .runs.folder import RunFolder, default_folder
from .runs.imported import read_results
from .runs.manifest import IMPORTED, describe, describe_imported
from .runs.measurements import measurements_frame
from .runs.packed import Packed, packed_aside, packed_outcomes
from .runs.tables import column_rows, outcome_columns, release_tables
from .scoring.engine import described
from .scoring.kept_engine import kept_answers
from .scoring.opening import open_engine
from .scoring.score_store import ScoreStore
from .scoring.text_store import TextStore
from .settings import Settings, fitting
from .tasks import Task, flag_notes, open_tasks

EXAMPLES = "examples.parquet"


@dataclass(frozen=True)
class Answers:
    """What a model made of a dataset as one task, and how the dataset was sampled (None: all of it was asked)."""

    key: RunKey
    dataset: Dataset
    outcomes: Outcomes
    sampled: Sampled | Settled | None = None


@takes(AuditOptions)
def audit(
    model: Any = RunOptions.model,
    data: Any = RunOptions.data,
    task: str | Task | Sequence[str | Task] = RunOptions.task,
    *,
    out: str | Path | None = None,
    replace: bool = RunOptions.replace,
    progress: Progress | bool | None = None,
    **choices: Any,
) -> Run:
    """Return the run of a model on every dataset as every task; the same call continues an interrupted run.

    `model` is a name, a path, (model, tokenizer) or a pipeline of transformers, or an engine. `data` is a name, a path,
    a DataFrame, a list of dicts, a `datasets.Dataset`, a Dataset, or a list of these. A folder that holds another run
    is refused, or emptied if `replace` is set. `progress` is called; without it a notebook has bars (False: never).
    For example: `audit("smollm2", data="winobias", limit=100, estimators=["renyi"])`.
    """
    check_arguments(choices, AuditOptions, "model", "data", "task", "out", "replace", "progress")
    settings, report = Settings(**choices), shown(progress)
    tasks, plan = open_tasks(task, settings.task), settings.plan
    datasets = settings.datasets(data, tasks)
    asked_until = settings.goals(datasets, tasks)
    report("loading the model", 0, 1)
    with packed_aside(datasets) as packed:
        engine = open_engine(model, settings.engine)
    report("loading the model", 1, 1)
    tasks, fitted = fitting(task, tasks, engine, settings)
    names = [dataset.label for dataset in datasets], [t.name for t in tasks], settings.asked
    folder = RunFolder(Path(out) if out else default_folder(engine.name, *names))
    with folder.held():
        report = folder.noting(report)
        if not settings.chat_time and (time := folder.time_to_keep(engine.identity)):
            engine = open_engine(model, with_fields(settings.engine, chat_time=time))
        manifest = describe(engine, datasets, tasks, asdict(settings))
        folder.begin(manifest, replacing=replace)
        with ScoreStore(folder.scores) as store:
            texts, answers = TextStore(folder.reasoning), []
            for (dataset, asked), until in zip(product(datasets, tasks), asked_until, strict=True):
                engine.prepare(dataset.examples)
                key = RunKey(engine.name, dataset.name, asked.name)
                scorer = store.scorer(engine, partial(report, str(key)))
                writer = texts.writer(engine, partial(report, f"{key}, reasoning"))
                ask = partial(asked.run, scorer=scorer, writer=writer)
                again = partial(asked.run, **kept_answers(engine, store, texts))
                report.watch(partial(first_results, key, dataset.examples, store.scored, again, plan))
                stopping = settings.part(StoppingOptions)
                answers.append(Answers(key, *asked_as_needed(dataset, ask, plan, key, stopping, until)))
            notes = [*fitted, *exposure_notes((model, settings.adapter), datasets), *store.notes, *texts.notes]
            manifest = with_fields(manifest, engine=described(engine), notes=[*notes, *engine.notes])
        report.watch(lambda: None)
        del datasets, dataset, engine, ask, again, scorer, writer  # a million examples take more than measuring them
        return _finish(folder, answers, packed, plan, manifest, report).with_texts(texts.texts)


@checked
def remeasure(path: Run | str | Path, *, progress: Progress | bool | None = None, **choices: Any) -> Run:
    """Return a run (or the run in a folder) measured again, without the model: other estimators, groups, metrics."""
    folder = (path if isinstance(path, Run) else Run(path)).folder
    with folder.held():
        examples = {EXAMPLES: folder.content(EXAMPLES)} if EXAMPLES in folder.manifest().files else {}
        run = Run(folder, held=Held({}, {}, (), contents=examples))
        settings, parts = Settings.again(run.manifest.settings, **choices), list(run.answers())
        # Notes on the earlier measurements are written again where they still hold.
        notes = [note for note in run.manifest.notes if not note.startswith(tuple(f"{key}: " for key, _ in parts))]
        manifest = with_fields(run.manifest, settings=asdict(settings), notes=notes)
        del run  # and with it the tables, which are as large as all that follows
        release_tables()
        measured, notes = measured_tables(parts, settings.plan, manifest, shown(progress))
        del parts
        return written(folder, with_fields(measured, contents=examples), manifest, notes)


@takes(MeasuringOptions)
def import_results(
    files: str | Path | Sequence[str | Path],
    *,
    format: str = "general",
    out: str | Path | None = None,
    replace: bool = RunOptions.replace,
    model: str = "",
    dataset: str = "",
    progress: Progress | bool | None = None,
    **choices: Any,
) -> Run:
    """Return a run made of one model's results from elsewhere (runs/imported); no model is run."""
    check_arguments(choices, MeasuringOptions, "files", "format", "out", "replace", "model", "dataset", "progress")
    settings = Settings(**choices)
    paths: Sequence[str | Path] = [files] if isinstance(files, str | Path) else files
    results = [part for path in paths for part in read_results(path, format=format, model=model, dataset=dataset)]
    models = sorted({result.model for result in results})
    if len(models) != 1:
        raise RunError(f"a run has one model, but these files have {len(models)}: {', '.join(models) or 'no results'}")
    if len({(result.dataset.name, result.task) for result in results}) < len(results):
        raise RunError("two of the files hold the same dataset and task; rename one, or import one at a time")
    names = list(dict.fromkeys(result.dataset.label for result in results))
    folder = RunFolder(Path(out) if out else default_folder(models[0], names, [IMPORTED]))
    with folder.held():
        manifest = describe_imported(results, format, asdict(settings))
        folder.begin(manifest, replacing=replace)
        answers = [Answers(RunKey(r.model, r.dataset.name, r.task), r.dataset, r.outcomes) for r in results]
        return _finish(folder, answers, Packed(), settings.plan, manifest, shown(progress))


@checked
def load(path: str | Path) -> Run:
    """Return a finished run from its folder."""
    return Run(path)


def _finish(
    folder: RunFolder, answers: list[Answers], packed: Packed, plan: Plan, manifest: RunManifest, report: Progress
) -> Run:
    """Return the run, measured and written; the answers are let go."""
    drawn = [(answer.key, answer.sampled) for answer in answers if answer.sampled]
    manifest = with_samples(with_fields(manifest, files=folder.stores()), drawn)
    examples = packed.examples((answer.dataset.name, answer.dataset.examples) for answer in answers)
    parts: list[tuple[RunKey, Any]] = [(answer.key, packed_outcomes(answer.outcomes)) for answer in answers]
    answers.clear()
    parts = [(key, unpacked()) for key, unpacked in parts]
    measured, notes = measured_tables(parts, plan, manifest, report)
    del parts
    tables = {**measured.tables, EXAMPLES: examples, **look_tables(drawn)}
    return written(folder, with_fields(measured, tables=tables, contents={EXAMPLES: examples}), manifest, notes)


def measured_tables(
    parts: Iterable[tuple[RunKey, Outcomes]], plan: Plan, manifest: RunManifest, report: Progress
) -> tuple[Held, list[str]]:
    """Return the tables of outcomes, sets and measurements, and the notes on what is undefined."""
    parts, outcome_parts, set_parts, notes = list(parts), [], [], []
    measurements: list[Measurement] = []
    for number, (key, outcomes) in enumerate(parts):
        report("measuring", number, len(parts))
        items = measured_items(outcomes, plan)
        rows, undefined = measure_part(items, plan, key, sample_of(manifest, key))
        measurements += rows
        notes += [f"{key}: {sentence}" for sentence in (*flag_notes(outcomes), *undefined)]
        outcome_parts.append(outcome_columns(asdict(key), outcomes, item_columns(items, plan.estimators)))
        set_parts.append({**asdict(key), **set_columns(items, plan.estimators)})
    report("measuring", len(parts), len(parts))
    tables: dict[str, Any] = {"outcomes.parquet": column_rows(outcome_parts), "pairs.parquet": column_rows(set_parts)}
    tables["measurements.csv"] = measurements_frame(measurements)
    return Held(tables, {(key.dataset, key.task): outcomes for key, outcomes in parts}, measurements), notes
