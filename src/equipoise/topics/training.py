"""What a tuning run has learned: values before and after, learning curves, and its settings."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..records import RunError
from ..records.showing import (
    Axis,
    Chart,
    Column,
    Dot,
    Finding,
    Key,
    Line,
    Panel,
    Point,
    Row,
    Rule,
    Section,
    Table,
)

NAMES = {
    "loss": "validation loss",
    "accuracy": "accuracy",
    "ucerf": "UCerF, answerable sets",
    "signed": "UCerF signed, unanswerable sets",
    "flips": "flips, answerable sets",
    "flips_unanswerable": "flips, unanswerable sets",
    "certainty": "certainty",
    "mass": "candidate mass",
    "first": "first person chosen",
    "perplexity": "perplexity of neutral text",
}
OUTSIDE_NAMES = {
    "outside_accuracy": "accuracy",
    "outside_first": "accuracy, right person mentioned first",
    "outside_second": "accuracy, right person mentioned second",
    "outside_ucerf": "UCerF",
    "outside_flips": "flips",
}
WORD_NAMES = {
    "word_accuracy": "right answers",
    "word_male": "right answers with he",
    "word_female": "right answers with she",
    "word_other": "right answers with they and with markers",
}
LOSSES = {
    "task": "task",
    "UCerF": "ucerf",
    "UCerF, unanswerable sets": "ucerf_unanswerable",
    "leash": "leash",
    "where the word decides": "decided",
}
"""Lines of the chart of losses -> columns of curves.csv."""

GUARDS = ("certainty", "mass", "first")
VALUES = {
    "Alike and right {asked}": ("ucerf", "signed", "accuracy"),
    "Accuracy on built-in sentences, never trained on": ("outside_accuracy", "outside_first", "outside_second"),
    "Right answers where the group word decides, never trained on": ("word_accuracy", "word_male", "word_female"),
    "Share of sets that flip {asked}": ("flips", "flips_unanswerable"),
    "What the guards watch {asked}": GUARDS,
    "Perplexity of neutral text": ("perplexity",),
}
"""Further charts -> columns of validation.csv."""


@dataclass(frozen=True)
class Curves:
    """The rows of a tuning run by step, its settings, and its report."""

    steps: Sequence[Mapping[str, float]]
    validations: Sequence[Mapping[str, float]]
    settings: Mapping[str, Any]
    report: Mapping[str, Any]

    @property
    def kept(self) -> int:
        """The step whose weights were kept."""
        return int(self.report["step"])

    @property
    def refused(self) -> bool:
        """Whether no step passed the guards, so that no weights were kept."""
        return bool(self.report.get("refused"))

    @property
    def asked(self) -> str:
        """How many sets each validation asked, in words; a folder may not say."""
        count = self.report.get("validation_sets")
        return "on the validation sets" if count is None else f"on {count:,} validation sets"

    @property
    def pooled(self) -> int:
        """How many steps a point of a loss is the mean of: a twentieth of the run."""
        return max(1, len(self.steps) // 20)

    def losses(self, name: str) -> list[Point]:
        """Return a loss by step, as means over some steps, because single steps ask other sentences each."""
        parts = [self.steps[start : start + self.pooled] for start in range(0, len(self.steps), self.pooled)]
        return [(_mean(part, "step"), _mean(part, name)) for part in parts]

    def values(self, name: str) -> list[Point]:
        """Return a value on the validation sets by step; steps without one are left out."""
        points = [(row["step"], row[name]) for row in self.validations if name in row]
        return [point for point in points if not math.isnan(point[1])]


def _mean(rows: Sequence[Mapping[str, float]], name: str) -> float:
    return sum(row[name] for row in rows) / len(rows)


def read_curves(folder: Path) -> Curves:
    """Return the curves of the finished tuning run in that folder, the one named `training`."""
    try:
        settings, report = (json.loads((folder / name).read_text("utf-8")) for name in ("settings.json", "report.json"))
        steps, validations = (_rows(folder / name) for name in ("curves.csv", "validation.csv"))
    except FileNotFoundError as error:
        name = Path(str(error.filename)).name
        raise RunError(f"{folder} is not the folder of a finished tuning run: it has no {name}") from None
    except ValueError as error:
        raise RunError(f"{folder} holds a damaged file: {error}") from None
    return Curves(steps, validations, settings, report)


def _rows(file: Path) -> list[dict[str, float]]:
    with open(file, encoding="utf-8", newline="") as lines:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(lines)]


def facts(curves: Curves) -> list[tuple[str, str]]:
    """Return what is said of a tuning run beside its name."""
    settings, sets = curves.settings, curves.report.get("validation_sets")
    return [
        ("Data", str(settings["data"])),
        ("Method", str(settings["method"])),
        ("UCerF weight", f"{settings['weight']:g}"),
        ("Seed", str(settings["seed"])),
        ("Kept", "nothing" if curves.refused else f"step {curves.kept} of {len(curves.steps)}"),
        ("Validation sets", "" if sets is None else f"{sets:,}"),
    ]


def sections(curves: Curves) -> Iterator[Section]:
    """Yield the values before and after, the learning curves, and the settings."""
    end = ", so nothing was kept." if curves.refused else ", so an earlier one was kept."
    faults = [f"At the last step {fault}{end}" for fault in curves.report["faults_at_the_end"]]
    notes = [
        *faults,
        f"These occupations were in no training sentence: {', '.join(curves.report['held_out_occupations'])}.",
        "The validation sets chose the step that was kept, and the built-in sets decided whether it passed, so both"
        " flatter it. Audit the adapter on other data.",
    ]
    findings = [Finding(note, topic="training") for note in notes]
    yield Section("Before and after", (*before_and_after(curves), *findings), "values")
    intro = "The validation sets have sentence templates that no training sentence has."
    yield Section("Learning curves", list(charts(curves)), "curves", intro=intro)
    settings = [(name.replace("_", " "), value) for name, value in curves.settings.items()]
    rows = [Row((name, str(value))) for name, value in settings if not isinstance(value, Mapping)]
    columns = (Column("setting", words=True), Column("value", words=True))
    yield Section("Settings", [Table("", columns, rows)], "settings")


def before_and_after(curves: Curves) -> Iterator[Table]:
    """Yield the values before and after: on the validation sets, on built-in sentences, and where the word decides."""
    before, after = curves.report["before"], curves.report["after"]
    outside = f"on {curves.report.get('outside_sets') or 0:,} built-in sets, never trained on"
    control = f"on {curves.report.get('control_sets') or 0:,} sets in which the group word decides, never trained on"
    for asked, names in ((curves.asked, NAMES), (outside, OUTSIDE_NAMES), (control, WORD_NAMES)):
        rows = [Row((label, before[name], after[name])) for name, label in names.items() if name in before]
        if rows:
            yield Table("", (Column(asked, words=True), Column("before"), Column("after")), rows)


def charts(curves: Curves) -> Iterator[Chart]:
    """Yield what the run minimised, and what came of it on sentences that it was not trained on."""
    step = f"The dashed line is step {curves.kept}, whose weights were kept."
    if curves.refused:
        step = "No step passed the guards; the dashed line is the base model."
    means = f"Means over {curves.pooled} steps, each of other sentences."
    means = means if curves.pooled > 1 else "Each step asks other sentences."
    losses = {label: curves.losses(name) for label, name in LOSSES.items() if name in curves.steps[0]}
    yield _chart("Losses", losses, curves.kept, f"{means} {step}")
    labels = NAMES | OUTSIDE_NAMES | WORD_NAMES
    for title, names in VALUES.items():
        lines = {labels[name]: points for name in names if (points := curves.values(name))}
        if lines:
            yield _chart(title.format(asked=curves.asked), lines, curves.kept, step, whole=names is GUARDS)


def _chart(title: str, lines: Mapping[str, Sequence[Point]], kept: int, caption: str, *, whole: bool = False) -> Chart:
    """Return several lines over the steps, and the step that was kept; `whole`: on the scale from 0 to 1."""
    marks: list[Rule | Line | Dot] = [Rule(float(kept))]
    for tone, (label, points) in enumerate(lines.items()):
        marks.append(Line(points, tone, label))
        marks += [Dot(step, value, tone, f"{label}, step {step:g}", small=True) for step, value in points]
    steps = sorted({step for points in lines.values() for step, _ in points})
    across = Axis("step", 0.0, max(*steps, 1.0))
    values = [value for points in lines.values() for _, value in points]
    upwards = Axis() if whole else Axis.over(values, least=0.02)
    known = {label: dict(points) for label, points in lines.items()}
    rows = [Row((f"{step:g}", *(points.get(step) for points in known.values()))) for step in steps]
    data = Table("", [Column("step", words=True), *(Column(label) for label in lines)], rows)
    keys = Key.each(lines)
    return Chart(title, [Panel(marks, across, upwards)], legend=keys, caption=caption, data=data)


def picture(curves: Curves) -> Chart:
    """Return all learning curves as one chart."""
    several = list(charts(curves))
    panels = [replace(panel, title=chart.title, legend=chart.legend) for chart in several for panel in chart.panels]
    return Chart("Learning curves", panels, caption=several[0].caption, layout="multiples")
