"""In: a run folder.
Out: whether it is what it claims: its files' hashes, its examples, and all that follows from its scores, recomputed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ..files import StrangeFile, file_sha256, plain_file
from ..measuring.sampling import dataset_samples
from ..metrics.naming import metric_of
from ..progress import Progress, silent
from ..records import EquipoiseError, Outcomes, RunError, RunKey
from ..run import measured_tables
from ..runs import Run
from ..runs.folder import STORES
from ..runs.measurements import measurements_frame
from ..runs.run import Part
from ..runs.tables import Rows, release_tables, texts_of
from ..settings import Settings
from .finding import Finding, some
from .kept_answers import asked_dataset, kept_answers, kept_tasks, why_without_scores
from .settled import certified, settled
from .tables import blocks_of, compared, compared_tables

UNNAMED = (*STORES, "scores.lock", "reasoning.lock", "manifest.json", ".run.lock")
"""Files of a run that need not be in the manifest: what an interrupted one continues from, and locks."""

UNREADABLE = (EquipoiseError, ValueError, KeyError, TypeError, ArithmeticError, IndexError)


def verify(path: str | Path, *, progress: Progress | None = None) -> list[Finding]:
    """Return every check of a run folder; those that need the tables are left out where the files are damaged.

    Scores are taken as they are: only asking the model again could show that they are its answers.
    """
    try:
        run = Run(path)
    except RunError as error:
        return [Finding("manifest", False, str(error))]
    findings = [Finding("manifest", True, f"a finished run of {run.manifest.model}, unchanged since it was written")]
    findings += [_files(run), *_strangers(run)]
    if not all(finding.passed for finding in findings):
        return findings
    checks: tuple[Callable[[Run], Iterator[Finding]], ...] = (_examples, _tasks, _answers)
    for check in checks:
        findings += _safely(check.__name__.strip("_"), partial(check, run))
    return [*findings, *_recomputed(run, progress or silent)]


def _safely(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    try:
        return list(check())
    except UNREADABLE as error:
        return [Finding(name, False, f"cannot be checked: {error}")]


def _files(run: Run) -> Finding:
    named = run.manifest.files
    wrong = [name for name, digest in named.items() if _digest(run.path, name) != digest]
    if wrong:
        return Finding("files", False, f"{len(wrong)} of {len(named)} are missing or changed: {some(wrong)}")
    unnamed = [] if why_without_scores(run) else [name for name in STORES[:1] if name not in named]
    if unnamed:
        advice = "run its audit again, the scores are kept"
        return Finding("files", False, f"the manifest does not name {some(unnamed)}, as earlier versions did; {advice}")
    return Finding("files", True, f"{len(named)} files have the SHA-256 that the manifest names")


def _digest(folder: Path, name: str) -> str | None:
    try:
        return file_sha256(plain_file(folder, name))
    except StrangeFile:
        return None


def _strangers(run: Run) -> Iterator[Finding]:
    inside = [file.relative_to(run.path).as_posix() for file in run.path.rglob("*") if file.is_file()]
    more = sorted(set(inside) - set(run.manifest.files) - set(UNNAMED))
    if more:
        yield Finding("other files", True, f"{len(more)} files are not part of the run: {some(more)}")


def _examples(run: Run) -> Iterator[Finding]:
    """Yield whether the examples are those whose hash and numbers the manifest names."""
    named = run.table("examples.parquet", ("dataset",))["dataset"].unique().to_pylist()
    unknown = sorted(set(named) - set(run.manifest.datasets))
    if unknown:
        yield Finding("examples", False, f"{some(unknown)} is in the examples, but not in the manifest")
    for name, facts in run.manifest.datasets.items():
        if any(name in dataset_samples(run.manifest, task) for task in run.manifest.tasks):
            yield Finding("examples", True, f"{name}: a sample was asked, so the dataset's hash says nothing of it")
            continue
        dataset = asked_dataset(run, name)
        count = len(dataset.examples)
        numbers = {"examples": count, "sets": dataset.sets}
        wrong = [f"{facts[key]:,} {key}, not {count:,}" for key, count in numbers.items() if facts[key] != count]
        digest, claimed = dataset.sha256, str(facts["sha256"])
        if digest != claimed:
            text = f"{name}: the {count:,} examples have the hash {digest[:12]}, the manifest says"
            yield Finding("examples", False, f"{text} {claimed[:12]}")
        elif wrong:
            yield Finding("examples", False, f"{name}: the manifest says {' and '.join(wrong)}")
        else:
            yield Finding("examples", True, f"{name}: {count:,} examples have the dataset's hash {digest[:12]}")


def _tasks(run: Run) -> Iterator[Finding]:
    """Yield whether the tasks ask as the manifest says; a run without scores was not asked here."""
    if why_without_scores(run):
        return
    for name, task in kept_tasks(run).items():
        asks, claimed = json.loads(json.dumps(dict(task.settings))), dict(run.manifest.tasks[name])
        if dataset_samples(run.manifest, name):
            claimed.pop("samples")
        claimed.pop("settled", None)
        wrong = [key for key in {**asks, **claimed} if asks.get(key) != claimed.get(key)]
        if wrong:
            yield Finding("tasks", False, f"{name}: the manifest has other {some(wrong)} than its settings make")
            return
    yield Finding("tasks", True, f"{some(list(run.manifest.tasks))} as the run's settings make them")


def _answers(run: Run) -> Iterator[Finding]:
    """Yield whether every answer is to an example of the run, with that example's set and right answer."""
    total, unknown = 0, 0
    differing: Counter[str] = Counter()
    for key, outcomes in run.answers():
        table, rows = Part(run, key.dataset, key.task).example_rows("set_id", "cluster_id", "answerable")
        total, unknown = total + len(rows), unknown + int((rows < 0).sum())
        known = rows >= 0
        for column in ("set_id", "cluster_id"):
            differing[column] += int((texts_of(table[column])[rows[known]] != getattr(outcomes, column)[known]).sum())
        # Of two sides of a sentence its text settles none, whatever it settles about its people.
        settled_by_text = table["answerable"].to_numpy()[rows[known]] & (outcomes.sides[known] == "")
        differing["answerable"] += int((settled_by_text != outcomes.answerable[known]).sum())
    run.let_go("examples.parquet", "outcomes.parquet")
    if unknown:
        yield Finding("answers", False, f"{unknown:,} of {total:,} are to no example of the run")
        return
    for column, count in differing.items():
        if count:
            yield Finding("answers", False, f"{count:,} of {total:,} differ from their example in {column}")
            return
    yield Finding("answers", True, f"{total:,} answers belong to the examples of the run")


def _recomputed(run: Run, report: Progress) -> list[Finding]:
    """Return whether outcomes follow from the scores, and sets and measurements from the outcomes."""
    findings: list[Finding] = []
    reason, source = why_without_scores(run), "scores"
    parts: list[tuple[RunKey, Outcomes]] = []
    try:
        parts = [] if reason else list(kept_answers(run))
    except UNREADABLE as error:
        findings.append(Finding("scores", False, f"the outcomes cannot be recomputed: {error}"))
    asked_dataset.cache_clear()  # a million examples take more than all that follows
    run.let_go("outcomes.parquet")
    if reason:
        findings.append(Finding("scores", True, f"there are none, so outcomes are taken as they are ({reason})"))
    if not parts:
        source = "probabilities"
        try:
            parts = list(run.answers())
        except UNREADABLE as error:
            return [*findings, Finding("outcomes", False, f"cannot be read: {error}")]
    return [*findings, *_safely("measurements", partial(_tables, run, parts, source, report))]


def _tables(run: Run, parts: list[tuple[RunKey, Outcomes]], source: str, report: Progress) -> Iterator[Finding]:
    unknown = [name for name in run.manifest.settings.get("metrics") or () if metric_of(name) is None]
    if unknown:
        yield Finding("measurements", False, f"these metrics are not known here: {some(unknown)}")
        return
    plan = Settings.again(run.manifest.settings).plan
    measured, _ = measured_tables(parts, plan, run.manifest, report)
    release_tables()
    findings = []
    # The smaller one first: it is let go before the other is read.
    for name, made_from in (("pairs.parquet", "outcomes"), ("outcomes.parquet", source)):
        fresh = measured.tables.pop(name)
        assert isinstance(fresh, Rows)
        findings.append(compared_tables(name, blocks_of(name, fresh, run.table(name)), made_from))
        del fresh
        run.let_go(name)
    yield from reversed(findings)
    yield compared(measurements_frame(measured.measurements), run.measurements)
    yield from settled(run, dict(parts), plan)
    yield from certified(run)


def to_json(of_runs: Mapping[str, list[Finding]]) -> str:
    """Return the findings of each run as one JSON list; every finding names its run."""
    listed = [{"run": run, **asdict(finding)} for run, findings in of_runs.items() for finding in findings]
    return json.dumps(listed, indent=2, ensure_ascii=False)
