"""The first screen of a run: its verdict, at most five findings, one picture, the worst case, and the checks.

Of several datasets and tasks one comes first, with the reason; each other one has a line, and its own block below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..records import DECIDED
from ..records.showing import (
    Axis,
    Bar,
    Cell,
    Chart,
    Column,
    Dot,
    Finding,
    Key,
    Panel,
    Row,
    Section,
    Table,
    Tone,
)
from ..runs.run import Part, Run
from ..verdict.items import Labels, labels_of
from ..verdict.summary import part_summary
from ..verdict.validity import OF_DATA
from . import calibration, categories, decisions, identities, wordings
from .examples import examples
from .flips import set_fates, squares


def findings(run: Run) -> Section:
    """Return what was found: the part that comes first as a block, a line for each other one, and the notes."""
    place, why = lead_place(run.parts)
    part = run.parts[place]
    others = [_line(other, at) for at, other in enumerate(run.parts) if at != place]
    shown: list[Finding | Table | Section] = []
    if others:
        shown.append(Finding(f"{part}: {why}", state="note"))
    shown += [block(part), *further(part)]
    if others:
        columns = (Column("asked", words=True), Column("found", words=True))
        shown.append(Table("The other datasets and tasks of this run", columns, others))
    level = (
        f"Brackets are {100 * run.level:g}% intervals; all that is made from one base sentence counts together in them."
    )
    shown.append(Finding(level, state="note"))
    notes = [Finding(note, state="note") for note in run.manifest.notes]
    if notes:
        count = f"{len(notes)} note{'s' if len(notes) > 1 else ''} about this run"
        shown.append(Section(count, notes, folded=True))
    return Section("What was found", shown, "findings", "Findings")


def parts(run: Run) -> Section | None:
    """Return the datasets and tasks that are not on the first screen, each with its picture and worst case."""
    place, _ = lead_place(run.parts)
    blocks = [
        Section(str(part), [block(part), *further(part)], id=f"part-{at}")
        for at, part in enumerate(run.parts)
        if at != place
    ]
    return Section("The other datasets and tasks", blocks, "parts", "Other parts") if blocks else None


def lines(part: Part) -> list[Finding]:
    """Return the verdict of a dataset and task, and the findings under it."""
    verdict = part_summary(part).verdict
    return [verdict.line, *verdict.reasons[1:], *verdict.first]


def block(part: Part) -> Section:
    """Return a dataset and task: its verdict and pictures, beside the worst case and the checks."""
    summary = part_summary(part)
    verdict = summary.verdict
    # A picture of answers to a question that was not understood would be read as a finding.
    fates = list(set_fates(part)) if verdict.usable else []
    labels = labels_of(part) if verdict.usable else None
    pictures: list[Chart] = [*([label_chart(part, labels)] if labels else []), *map(squares, fates)]
    if verdict.usable and (answer := leading_picture(part)):
        pictures.insert(0, answer)
    beside = [*(examples(part) if verdict.usable else ()), *summary.checks]
    # A second picture comes after the worst case: on a phone the case is still on the first screen.
    columns: list[Sequence[Finding | Chart]] = [
        [verdict.line, *verdict.reasons[1:], *pictures[:1]],
        beside,
        *([chart] for chart in pictures[1:]),
    ]
    return Section("", [Section("", shown) for shown in columns], layout="first")


def leading_picture(part: Part) -> Chart | None:
    """Return the picture of what the part was asked for; None where that is whether answers change."""
    elsewhere = (calibration.reliability, decisions.leading_chart)
    for draw in (identities.leading_changes, categories.scores, wordings.spread_chart, *elsewhere):
        chart = draw(part)
        if chart is not None:  # some are published by sections of their own
            return replace(chart, topic="" if draw in elsewhere else chart.topic)
    return None


def further(part: Part) -> Iterator[Finding | Section]:
    """Yield what comes after the verdict: at most five findings, what was not detected, more findings, other topics."""
    verdict = part_summary(part).verdict
    yield from verdict.first
    if verdict.uncounted:
        yield Finding(verdict.uncounted, state="note")
    if verdict.more:
        yield Section(
            f"{len(verdict.more)} more finding{'s' if len(verdict.more) > 1 else ''}", verdict.more, folded=True
        )
    yield from calibration.findings(part)


def lead_place(parts: Sequence[Part]) -> tuple[int, str]:
    """Return the place of the part that comes first, and why: sound answers first, then the surest large effect.

    A control is not what was asked for: it comes last.
    """
    summaries = [part_summary(part) for part in parts]
    surest = [_surest_flips(part) for part in parts]
    sound = [summary.verdict.usable and not any(c.beside for c in summary.checks) for summary in summaries]
    asked = [DECIDED not in part.kinds for part in parts]
    order = [(asked[at], summaries[at].verdict.usable, sound[at], surest[at]) for at in range(len(parts))]
    place = max(range(len(parts)), key=lambda at: (*order[at], -at))
    if surest[place] < 0:
        return place, f"One of {len(parts)} parts of this run."
    if sum(asked) == 1:
        return (
            place,
            f"Shown first of {len(parts)} parts: the other{'s are controls' if len(parts) > 2 else ' is a control'}.",
        )
    effect = f"its flip rate is the highest, by the low end of its interval ({surest[place]:.1%})"
    among = sum(sound)
    if among == len(parts):
        return place, f"Shown first of {len(parts)} parts: {effect}."
    if not sound[place]:
        return place, f"Shown first of {len(parts)} parts, all of them in doubt: {effect}."
    if among == 1:
        return place, f"Shown first of {len(parts)} parts: the only one answered better than chance."
    return place, f"Shown first of {len(parts)} parts: of the {among} answered better than chance, {effect}."


def _line(part: Part, number: int) -> Row:
    """Return a dataset and task as one row: its name and its verdict."""
    return Row((Cell(str(part), link=f"#part-{number}"), part_summary(part).verdict.sentence))


def data_checks(parts: Sequence[Part], dataset: str) -> list[Finding]:
    """Return what is to be said of a dataset itself, each sentence once for all tasks."""
    several = [
        replace(check, short="", beside="")
        for part in parts
        if part.dataset == dataset
        for check in part_summary(part).checks
        if check.name in OF_DATA and check.state != "fine"
    ]
    return list({check.text: check for check in several}.values())


def label_chart(part: Part, labels: Labels) -> Chart:
    """Return how often people say the first side, over the mean probability that the model gives it."""
    names = ["people"] * (labels.labelled is not None) + ["the model, on average"]
    shares = [*([] if labels.labelled is None else [labels.labelled.value]), labels.stated.value]
    tones = [_tone(labels.side, 0), _tone(labels.other, 1)]
    marks: list[Bar | Dot] = []
    for place, (name, share) in enumerate(zip(names, shares, strict=True)):
        for ends, tone in (((0.0, share), tones[0]), ((share, 1.0), tones[1])):
            marks.append(Bar(ends, (place - 0.3, place + 0.3), tone, label=f"{name}: {labels.side} {share:.0%}"))
    marks.append(Dot(labels.stated.estimate, len(names) - 1.0, "neither", "the model, on average", small=True))
    keys = [Key(labels.side, tones[0]), Key(labels.other, tones[1])]
    panel = Panel(marks, Axis(f"share of {labels.side}", unit="%"), Axis.of_names(names))
    rows = [Row(("the model", labels.stated))]
    if labels.labelled is not None:
        rows.insert(0, Row(("people", labels.labelled)))
    data = Table("", (Column("who", words=True), Column(labels.side)), rows)
    return Chart(f"Share of {labels.side}", [panel], "labels", part.about(), keys, data=data)


def _tone(side: str, number: int) -> Tone:
    return {"male": "he", "female": "she"}.get(side, number)


def _surest_flips(part: Part) -> float:
    """Return the largest low end of a flip rate's interval, -1 where no flips were measured."""
    rates = [part.measured.get("flip_rate", type=kind) for kind in part.kinds]
    return max((float(rate.low) for rate in rates if rate is not None and rate.low == rate.low), default=-1.0)
