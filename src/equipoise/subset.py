"""A part of a run as a run of its own: the chosen sentences with the model's answers, measured without the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from .datasets.dataset import Dataset
from .progress import Progress, shown
from .records import DatasetError, Example, OtherRunError, Outcomes, RunError
from .run import measured_tables
from .runs import Run, written
from .runs.folder import RunFolder, folder_name
from .runs.manifest import NO_SCORES, command_line, now
from .runs.tables import example_rows, examples_from_table, release_tables, selected
from .settings import Settings

LONGEST = 100
"""Characters of a folder's name."""


def subset_run(
    path: str | Path,
    where: Sequence[str],
    *,
    out: str | Path | None = None,
    progress: Progress | bool | None = None,
    **choices: Any,
) -> Run:
    """Return the run of the items that meet one of the conditions, in a folder of its own; the run is left as it is.

    `where` are texts such as "occupation=nurse,other=physician". `choices` are fields of `Settings`, as for
    `remeasure`. The folder is beside the run's unless `out` is given.
    """
    run = Run(path)
    earlier = run.manifest.settings
    # A part of a part must still say what it is a part of.
    settings = Settings.again(earlier, **choices, where=[*earlier.get("where", ()), *where])
    examples, left_out = _selected(run, where)
    folder = RunFolder(Path(out) if out else _place(run.path, where))
    if folder.path.resolve() == run.path.resolve():
        raise RunError(f"{folder.path} is the run itself; choose another folder for a part of it")
    with folder.held():
        facts = {name: {**run.manifest.datasets[name], **_facts(name, chosen)} for name, chosen in examples.items()}
        notes = [f"a part of {run.path}: {' or '.join(where)}", *left_out]
        manifest = replace(run.manifest, settings=asdict(settings), datasets=facts, files={}, notes=notes)
        manifest = replace(manifest, command=command_line(), started=now(), finished=None)
        manifest = replace(manifest, engine={**manifest.engine, "scores": f"{NO_SCORES}: a part of another run"})
        try:
            folder.begin(manifest)
        except OtherRunError as error:
            raise RunError(f"{error.fact}; choose another out, or delete that folder") from None
        parts = [
            (key, _kept(outcomes, examples[key.dataset])) for key, outcomes in run.answers() if key.dataset in examples
        ]
        packed = {"examples.parquet": example_rows(examples).content()}
        del run, examples  # which take as much memory as all that follows
        release_tables()
        measured, undefined = measured_tables(parts, settings.plan, manifest, shown(progress))
        del parts
        measured = replace(measured, tables={**measured.tables, **packed}, contents=packed)
        return written(folder, measured, manifest, undefined)


def _selected(run: Run, where: Sequence[str]) -> tuple[dict[str, list[Example]], list[str]]:
    """Return the examples of each dataset that has some, and a note on each that has none; an error where none has."""
    examples: dict[str, list[Example]] = {}
    faults = []
    for name in run.manifest.datasets:
        try:
            examples[name] = _examples(run, name, where)
        except DatasetError as fault:
            faults.append(fault)
    if not examples:
        raise faults[0]
    return examples, [f"left out: {fault}" for fault in faults]


def _examples(run: Run, dataset: str, where: Sequence[str]) -> list[Example]:
    asked = run.examples_of(dataset)
    return list(examples_from_table(asked.filter(selected(asked, where, f"{dataset} in {run.path}"))))


def _kept(outcomes: Outcomes, examples: Sequence[Example]) -> Outcomes:
    return outcomes.take(pd.Index(outcomes.example_id).isin([example.id for example in examples]))


def _facts(name: str, examples: Sequence[Example]) -> Mapping[str, Any]:
    dataset = Dataset(name, tuple(examples))
    return {"sha256": dataset.sha256, "examples": len(dataset.examples), "sets": dataset.sets}


def _place(run: Path, where: Sequence[str]) -> Path:
    """Return a folder beside the run that is the same for the same conditions."""
    name = run.resolve().name
    return run.resolve().parent / folder_name(f"{name}--where-{'+or+'.join(where)}", longest=LONGEST)
