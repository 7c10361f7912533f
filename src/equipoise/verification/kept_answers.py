"""The outcomes of a run made again from its scores: the same questions, asked of what is in its stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ..catalog import names
from ..datasets.dataset import Dataset
from ..measuring.sampling import dataset_samples
from ..records import EquipoiseError, Example, Outcomes, RunError, RunKey
from ..runs import Run
from ..runs.manifest import NO_SCORES
from ..runs.run import Part
from ..runs.tables import examples_from_table
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
    for key in run.asked_keys():
        if key.task not in tasks:
            raise RunError(f"the outcomes have a task {key.task}, the manifest has not")
        yield key, tasks[key.task].run(_asked(run, key), scorer=scorer, writer=writer)


@lru_cache(maxsize=4)
def asked_dataset(run: Run, name: str) -> Dataset:
    """Return the examples of a run that are of one dataset."""
    import pyarrow.compute as pc

    table = run.table("examples.parquet")
    made = Dataset(name, tuple(examples_from_table(table.filter(pc.equal(table["dataset"], name)))))
    run.let_go("examples.parquet")
    return made


def _asked(run: Run, key: RunKey) -> Sequence[Example]:
    """Return the examples that a task was asked: all except in a sample, and except those that the model fails on."""
    asked = asked_dataset(run, key.dataset)
    if key.dataset in dataset_samples(run.manifest, key.task):
        # In the order in which they were asked: intervals that hold at any look depend on it.
        by_id = {example.id: example for example in asked.examples}
        ids = dict.fromkeys(Part(run, key.dataset, key.task).outcomes.example_id.tolist())
        asked = replace(asked, examples=tuple(by_id[id] for id in ids if id in by_id))
    named = [note.partition("were left out: ")[2].split(", ") for note in run.manifest.notes]
    left_out = {id for several in named for id in several} & {example.id for example in asked.examples}
    return asked.without(left_out).examples if left_out else asked.examples
