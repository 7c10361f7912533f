"""Whether a run folder is what it claims: its files' hashes, its examples' hash, and its measurements recomputed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .datasets.dataset import Dataset
from .files import file_sha256
from .measuring.sampling import dataset_samples
from .progress import Progress
from .records import EquipoiseError, RunError
from .run import measured_tables
from .runs import Run
from .runs.measurements import measurements_frame
from .runs.tables import examples_from_frame
from .settings import Settings

TOLERANCE = 1e-6
"""How far a recomputed number may lie from the one in the folder: processors add up in different orders."""

UNNAMED = ("scores.jsonl", "scores.lock", "reasoning.jsonl", "reasoning.lock", "manifest.json", ".run.lock")
"""Files of a run that the manifest does not name: what it continues from, and locks."""

NAMED_FAULTS = 5


@dataclass(frozen=True)
class Finding:
    """A check of a folder: what was checked, whether it holds, and what was seen."""

    name: str
    passed: bool
    what: str


def verify(path: str | Path, *, progress: Progress | None = None) -> list[Finding]:
    """Return every check of a run folder; those that need the measurements are left out where the files are damaged.

    Outcomes are taken as they are: only asking the model again could show that they are its answers.
    """
    try:
        run = Run(path)
    except RunError as error:
        return [Finding("manifest", False, str(error))]
    findings = [Finding("manifest", True, f"a finished run of {run.manifest.model}, unchanged since it was written")]
    findings += [_files(run), *_strangers(run)]
    if not all(finding.passed for finding in findings):
        return findings
    checks: tuple[Callable[[Run], Iterator[Finding]], ...] = (_examples, _answers)
    for check in checks:
        findings += _safely(check, run)
    return [*findings, _measurements(run, progress or (lambda what, done, total: None))]


def _safely(check: Callable[[Run], Iterator[Finding]], run: Run) -> list[Finding]:
    try:
        return list(check(run))
    except (EquipoiseError, ValueError, KeyError, TypeError) as error:
        return [Finding(check.__name__.strip("_"), False, f"cannot be read: {error}")]


def _files(run: Run) -> Finding:
    named = run.manifest.files
    wrong = [name for name, digest in named.items() if file_sha256(run.path / name) != digest]
    if wrong:
        return Finding("files", False, f"{len(wrong)} of {len(named)} are missing or changed: {_some(wrong)}")
    return Finding("files", True, f"{len(named)} files have the SHA-256 that the manifest names")


def _strangers(run: Run) -> Iterator[Finding]:
    inside = [file.relative_to(run.path).as_posix() for file in run.path.rglob("*") if file.is_file()]
    more = sorted(set(inside) - set(run.manifest.files) - set(UNNAMED))
    if more:
        yield Finding("other files", True, f"{len(more)} files are not part of the run: {_some(more)}")


def _examples(run: Run) -> Iterator[Finding]:
    """Yield whether the examples are those whose hash the manifest names."""
    for name, facts in run.manifest.datasets.items():
        if any(name in dataset_samples(run.manifest, task) for task in run.manifest.tasks):
            yield Finding("examples", True, f"{name}: a sample was asked, so the dataset's hash says nothing of it")
            continue
        rows = run.examples[run.examples["dataset"] == name]
        digest = Dataset(name, tuple(examples_from_frame(rows))).sha256
        claimed = facts.get("sha256")
        if digest == claimed:
            yield Finding("examples", True, f"{name}: {len(rows):,} examples have the dataset's hash {digest[:12]}")
        else:
            text = f"{name}: the {len(rows):,} examples have the hash {digest[:12]}, the manifest says"
            yield Finding("examples", False, f"{text} {str(claimed)[:12]}")


def _answers(run: Run) -> Iterator[Finding]:
    """Yield whether every answer is to an example of the run, with that example's set and right answer."""
    asked = run.examples.drop_duplicates(["dataset", "id"]).set_index(["dataset", "id"])
    keys = pd.MultiIndex.from_frame(run.outcomes[["dataset", "example_id"]])
    places = asked.index.get_indexer(keys)
    unknown = int((places < 0).sum())
    if unknown:
        yield Finding("answers", False, f"{unknown:,} of {len(places):,} are to no example of the run")
        return
    for column in ("set_id", "answerable"):
        differing = int((asked[column].to_numpy()[places] != run.outcomes[column].to_numpy()).sum())
        if differing:
            yield Finding("answers", False, f"{differing:,} of {len(places):,} differ from their example in {column}")
            return
    yield Finding("answers", True, f"{len(places):,} answers belong to the examples of the run")


def _measurements(run: Run, report: Progress) -> Finding:
    """Return whether the measurements are those that follow from the outcomes, with the run's settings."""
    manifest = run.manifest
    try:
        plan = Settings.again(manifest.settings).plan
        measured, _ = measured_tables(run.answers(), plan, manifest, report)
    except EquipoiseError as error:
        return Finding("measurements", False, f"cannot be recomputed: {error}")
    return compared(measurements_frame(measured.measurements), run.measurements)


def compared(fresh: pd.DataFrame, claimed: pd.DataFrame) -> Finding:
    """Return whether two tables of measurements hold the same numbers under the same names."""
    names = ["metric", "model", "dataset", "task", "group"]
    left, right = fresh.set_index(names), claimed.set_index(names)
    if not left.index.sort_values().equals(right.index.sort_values()):
        missing, extra = left.index.difference(right.index), right.index.difference(left.index)
        examples = _some([f"{key[0]}[{key[4]}]" for key in (*missing, *extra)])
        text = f"{len(missing):,} that follow from the outcomes are missing, {len(extra):,} do not follow: {examples}"
        return Finding("measurements", False, text)
    right = right.loc[left.index] if left.index.is_unique else right
    numbers = ["value", "low", "high", "level", "n"]
    near = np.isclose(left[numbers].to_numpy(float), right[numbers].to_numpy(float), 0, TOLERANCE, equal_nan=True)
    wrong = ~near.all(axis=1) | (left["better"].to_numpy() != right["better"].to_numpy())
    if wrong.any():
        lines = [
            f"{key[0]}[{key[4]}] is {fresh_value:.6g}, not {claimed_value:.6g}"
            for key, fresh_value, claimed_value in zip(
                left.index[wrong], left["value"][wrong], right["value"][wrong], strict=True
            )
        ]
        return Finding("measurements", False, f"{int(wrong.sum()):,} of {len(left):,} are others: {_some(lines)}")
    return Finding("measurements", True, f"{len(left):,} recomputed from the outcomes, all within {TOLERANCE:g}")


def _some(names: list[str]) -> str:
    """Return the first few of many names."""
    more = f" and {len(names) - NAMED_FAULTS:,} more" if len(names) > NAMED_FAULTS else ""
    return ", ".join(names[:NAMED_FAULTS]) + more


def to_json(findings: list[Finding]) -> str:
    """Return the findings as JSON."""
    return json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False)
