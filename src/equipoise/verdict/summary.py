"""What a run shows, part by part: a verdict, what was found, and what to mind."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..options import checked
from ..records.showing import Finding, Verdict
from ..runs.run import Part, Run, remembered
from .decision import verdict_of
from .settled import decisions_of
from .validity import checks
from .words import words_of

VERDICTS = "verdict.json"
"""File of a run folder with the verdict of every part, for those who list runs."""


@dataclass(frozen=True)
class PartSummary:
    """What a run shows on one dataset and task: `title`, the `checks` of its validity, and its `verdict`."""

    title: str
    checks: tuple[Finding, ...]
    verdict: Verdict

    @property
    def headline(self) -> str:
        """The first line: whether the run is usable, and whether a difference was found."""
        return self.verdict.sentence

    @property
    def sentences(self) -> tuple[Finding, ...]:
        """All findings, the most important first."""
        return tuple(self.verdict.findings)

    def __str__(self) -> str:
        return "\n".join([self.title, self.headline, *(f"- {sentence.text}" for sentence in self.sentences)])


@dataclass(frozen=True)
class Summary:
    """What a run shows, in plain sentences: `print(summary(run))`, or part by part in `parts`."""

    model: str
    parts: tuple[PartSummary, ...]

    @property
    def headline(self) -> str:
        """The first sentence of the first part."""
        return self.parts[0].headline if self.parts else ""

    def __str__(self) -> str:
        return "\n\n".join(str(part) for part in self.parts)


@checked
def summary(run: Run | str | Path) -> Summary:
    """Return what a run (or the run in a folder) shows: the sentences that the terminal and the page print."""
    opened = run if isinstance(run, Run) else Run(run)
    return Summary(opened.name, tuple(part_summary(part) for part in opened.parts))


@remembered
def part_summary(part: Part) -> PartSummary:
    """Return what the run shows on one dataset and task."""
    listed = checks(part) if part.has_items else []
    return PartSummary(f"{part.run.name} on {part}", tuple(listed), verdict_of(part, listed))


def verdicts_of(run: Run) -> list[dict[str, Any]]:
    """Return the verdict of every dataset and task as plain values."""
    verdicts = []
    for part in run.parts:
        settled = [decision.as_json() for decision in decisions_of(part)]
        verdict = {**asdict(part.key), **part_summary(part).verdict.as_json()}
        verdicts.append({**verdict, "settled": settled} if settled else verdict)
    return verdicts


def verdicts_json(run: Run) -> bytes:
    """Return the content of the run folder's file of verdicts."""
    return json.dumps(verdicts_of(run), indent=2).encode()


def run_json(run: Run) -> str:
    """Return the verdicts and measurements of a run as JSON, as `equipoise list schema` describes it."""
    rows = json.loads(run.measurements.to_json(orient="records", double_precision=15))
    return json.dumps({"verdicts": verdicts_of(run), "measurements": rows}, indent=2, ensure_ascii=False)


def legend(run: Run) -> str:
    """Return what brackets, n, sets, types and candidate mass are, as far as this run has them."""
    level = f"{100 * run.manifest.settings['level']:.10g}%"
    sentences = [f"Brackets are {level} intervals; n counts sets or sentences."]
    parts = [part for part in run.parts if not part.is_control]
    measured = [part.measured for part in parts]
    if any(metric.startswith("flip_rate") for part in measured for metric in part.metrics):
        sentences.append(f"A set is {words_of(parts).asked}.")
    if any("type1" in part.kinds for part in measured):
        sentences.append("Resolvable sentences say who is meant, ambiguous ones do not.")
    for name, facts in run.manifest.datasets.items():
        if isinstance(size := facts.get("population"), int):
            drawn = f"The sentences of {name} were drawn at random from {size:,}"
            sentences.append(f"{drawn}; intervals are about all of these.")
    if any("candidate_mass" in part.metrics for part in measured):
        sentences.append("Candidate mass is the probability of all candidate answers together.")
    return " ".join(sentences)
