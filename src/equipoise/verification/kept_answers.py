"""The outcomes of a run made again from its scores: the same questions, asked of what is in its stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..catalog import names
from ..datasets.dataset import Dataset
from ..measuring.sampling import dataset_samples
from ..records import EquipoiseError, Example, Outcomes, RunError, RunKey
from ..runs import Run
from ..runs.manifest import NO_SCORES
from ..runs.tables import examples_from_frame
from ..scoring.kept_engine import KeptEngine
from ..scoring.score_store import ScoreStore
from ..scoring.text_store import TextStore
from ..settings import Settings
from ..tasks import TASKS, Task, open_task


def why_without_scores(run: Run) -> str:
    """Return why a run has no scores of its own; "" where it has some."""
    kind, _, reason = str(run.manifest.engine.get("scores", "")).partition(": ")
    return reason if kind == NO_SCORES else ""


def kept_tasks(run: Run) -> dict[str, Task]:
    """Return the run's tasks as its settings make them, by name; RunError names one that cannot be made here."""
    settings = Settings.again(run.manifest.settings)
    for path in (settings.shots, settings.wordings if settings.wordings != "built-in" else None):
        # A folder from elsewhere may name anything, also what never ends.
        if path is not None and not Path(path).is_file():
            raise RunError(f"the run was asked with {path}, which is not a file here")
    options, made = settings.task, {}
    for name in names(TASKS, kind="task"):
        with suppress(EquipoiseError):  # of a task that these options are not for
            task = open_task(name, options)
            made[task.name] = task
    missing = [name for name in run.manifest.tasks if name not in made]
    if missing:
        raise RunError(f"the task {missing[0]} is unknown here")
    return {name: made[name] for name in run.manifest.tasks}


def kept_answers(run: Run) -> Iterator[tuple[RunKey, Outcomes]]:
    """Yield the outcomes of every part of the run, made from its scores; RunError where these do not have them."""
    manifest = run.manifest
    if not manifest.engine.get("identity"):
        raise RunError("the manifest does not say what its scores belong to; run its audit again, the scores are kept")
    engine = KeptEngine(manifest.model, manifest.engine)
    tasks = kept_tasks(run)
    scorer = ScoreStore.kept(run.folder.scores).scorer(engine)
    writer = TextStore.kept(run.folder.reasoning).writer(engine)
    for dataset, name in run.outcomes[["dataset", "task"]].drop_duplicates().itertuples(index=False):
        if name not in tasks:
            raise RunError(f"the outcomes have a task {name}, the manifest has not")
        examples = _asked(run, str(dataset), str(name))
        yield RunKey(manifest.model, dataset, name), tasks[name].run(examples, scorer=scorer, writer=writer)


def _asked(run: Run, dataset: str, task: str) -> tuple[Example, ...]:
    """Return the examples that a task was asked: all except in a sample, and except those that the model fails on."""
    rows = run.examples[run.examples["dataset"] == dataset]
    if dataset in dataset_samples(run.manifest, task):
        outcomes = run.outcomes
        asked_ids = outcomes["example_id"][(outcomes["dataset"] == dataset) & (outcomes["task"] == task)].unique()
        # In the order in which they were asked: intervals that hold at any look depend on it.
        rows = rows.set_index("id", drop=False).loc[[name for name in asked_ids if name in set(rows["id"])]]
    asked = Dataset(dataset, tuple(examples_from_frame(rows)))
    ids = [note.partition("were left out: ")[2].split(", ") for note in run.manifest.notes]
    left_out = {id for several in ids for id in several} & {example.id for example in asked.examples}
    return asked.without(left_out).examples if left_out else asked.examples
