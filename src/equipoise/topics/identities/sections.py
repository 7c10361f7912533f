"""The section on identities: of one run by type and augmentation, and of several runs in one drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...comparing.comparison import Comparison
from ...comparing.values import parts_of
from ...records.showing import Cell, Chart, Column, Content, Finding, Row, Section, Table
from ...runs.run import Part, Run, all_parts
from ...stats.paired import DETECTED, is_detected
from ...verdict.identities import CORRECTED, TOPIC, change_findings
from ...verdict.subgroups import NON_DEMOGRAPHIC, NONE, WAYS, capital, main_disparity, row_title, subgroups, titled
from .charts import change_chart, crossing, disparities, heatmap, lines, radars
from .sentences import REASONED, answers, reasoning

MEASURES = ("confidence", "confidence_pair", "confidence_marked", "accuracy")
OVERALL = (*MEASURES, "candidate_mass", "confidence_drop")
HEADINGS = {
    "confidence": "confidence",
    "confidence_pair": "given one of the two",
    "confidence_marked": "“young nurse” counted",
    "accuracy": "accuracy",
    "candidate_mass": "candidate mass",
    "confidence_drop": "drop from no marker",
}


def section(run: Run) -> Section | None:
    """Return how sure the model is of each identity, for the datasets with marked sentences."""
    shown = [_kind(part, kind) for part in run.parts for kind in subgroups(part).kinds]
    intro = (
        "The same sentences with a word for an identity before a person (“the old nurse”). Confidence is the"
        " probability of the person who is meant minus that of the other person: 1 is surely right, 0 undecided, below"
        " 0 wrong. A disparity is the largest difference between the means of two identities (gender × marker); its"
        " interval takes into account that it is a maximum."
    )
    return Section("Identities", shown, "identities", intro=intro) if shown else None


def _kind(part: Part, kind: str) -> Section:
    named, ways = {part.run.name: part}, subgroups(part).ways(kind)
    shown: list[Finding | Table | Chart | Section] = [*change_findings(subgroups(part), kind)]
    table = _answer_table({way: list(answers(part.measured, kind, way)) for way in ways})
    if table.rows:
        title = "Privilege, double disadvantage and coverage: findings with their numbers"
        shown.append(Section(title, [table], folded=True))
    same_data = {other.task: other.measured for other in part.run.parts if other.dataset == part.dataset}
    shown += reasoning(part.measured, same_data.get(REASONED.get(part.task, "")), kind)
    shown += filter(None, [change_chart(part, kind), disparities(named, kind)])
    shown.append(overall(part, kind))
    crossings = [chart for way in ways if (chart := crossing(named, kind, way)) is not None]
    if crossings:
        title = "Mean confidence by side of the occupation, gender and privilege"
        shown.append(Section(title, crossings, folded=True))
    for way in ways:
        radar, heat = radars(named, kind, way), heatmap(part, kind, way)
        of_way: list[Finding | Table | Chart | Section] = [disparity_table(part, kind, way), *extremes(part, kind, way)]
        title = "Mean confidence of every subgroup: one radar for each attribute"
        of_way.append(radar if way == ways[0] else Section(title, [radar], folded=True))
        if heat is not None:
            title = "Mean confidence by identity and by the occupation that is meant"
            of_way.append(Section(title, [heat], folded=True))
        shown.append(Section(capital(WAYS[way]), of_way))
    if len(ways) > 1:
        shown.append(Section("Every marker without it and with each augmentation", [lines(part, kind)], folded=True))
    return Section(part.title(kind), shown)


def _answer_table(by_way: Mapping[str, Sequence[Finding]]) -> Table:
    rows: list[Row] = []
    for way, findings in by_way.items():
        rows += [Row((capital(WAYS[way]),), heading=True)] if findings else []
        rows += [Row((finding.name, finding.rests_on[0], finding.text)) for finding in findings]
    columns = (Column("finding", words=True), Column("value"), Column("in words", words=True, spare=True))
    return Table("", columns, rows)


def overall(part: Part, kind: str) -> Table:
    """Return confidence and accuracy without and with markers."""
    columns = [Column("marker", words=True), *(Column(HEADINGS[name]) for name in OVERALL)]
    rows = []
    for way, title in {NONE: "no marker", **WAYS}.items():
        cells = [part.measured.get(name, type=kind, augmentation=way) for name in OVERALL]
        rows += [Row((title, *cells))] if any(cells) else []
    known = [place for place in range(len(columns)) if any(row.cells[place] for row in rows)]
    return Table("Confidence without and with markers", columns, rows).picked(known)


def disparity_table(part: Part, kind: str, way: str) -> Table:
    """Return the disparities of a type and augmentation by attribute, the largest first.

    Markers without a side come last, with the mean gap of he and she: max - min over 18 subgroups says nothing of them.
    """
    measured, at = part.measured, {"type": kind, "augmentation": way}
    widest = {
        attribute: measured.get("confidence_disparity", attribute=attribute, **at)
        for attribute in subgroups(part).markers(kind, way)
    }
    known = {attribute: row.value for attribute, row in widest.items() if row is not None}
    rows = []
    for attribute in sorted(known, key=lambda name: (name == NON_DEMOGRAPHIC, -known[name])):
        metrics = [f"{name}_disparity" for name in MEASURES]
        if attribute == NON_DEMOGRAPHIC:
            metrics = [main_disparity(attribute), "", "", ""]
        cells = [measured.get(metric, attribute=attribute, **at) for metric in metrics]
        first, p = cells[0], None
        shown: list[Content] = list(cells)
        if first is not None and attribute != NON_DEMOGRAPHIC:
            p = first.estimate.p_corrected
            shown[0] = Cell(first, strong=True, after="*") if is_detected(first.estimate) else first
        rows.append(Row((row_title(attribute), *shown, p)))
    columns = [Column("attribute", words=True), *(Column(HEADINGS[name], "lower") for name in MEASURES)]
    columns.append(Column("corrected p", digits=4))
    notes = (
        "Largest - smallest mean of gender × marker. p belongs to the first column. *: the identities differ: p <"
        f" {DETECTED} {CORRECTED} of the run, and an interval that does not include 0.",
    )
    title = titled("Confidence disparity by attribute", kind, way)
    return Table(title, columns, rows, "disparities", part.about(kind, augmentation=way), notes)


def extremes(part: Part, kind: str, way: str) -> Iterator[Finding]:
    """Yield the identities with the lowest and highest mean confidence, where there are enough of them."""
    identities = subgroups(part)
    marked = [sub for sub in identities.marked(kind, way) if sub.marker and sub.gender]
    rows = [(row, sub) for sub in marked if (row := identities.confidence(kind, sub)) is not None]
    ordered = sorted(rows, key=lambda pair: pair[0].value)
    if len(ordered) > 5:
        least, most = (
            ", ".join(f"{sub.marker} {sub.gender} {row.value:.3f}" for row, sub in three)
            for three in (ordered[:3], ordered[:-4:-1])
        )
        rests_on = [row for row, _ in (*ordered[:3], *ordered[:-4:-1])]
        text = f"Mean confidence is lowest for {least}; highest for {most}. This order is not tested."
        yield Finding(text, rests_on, TOPIC, kind, "note")


def compared(comparison: Comparison) -> Section | None:
    """Return the radars of all runs in one drawing, for each dataset, task, type and augmentation that two share."""
    shown = []
    for dataset, task in all_parts(comparison.runs):
        parts = parts_of(comparison.runs, dataset, task)
        named = {part.run.name: part for part in parts if subgroups(part).kinds}
        if len(named) > 1:
            first = subgroups(next(iter(named.values())))
            charts = [radars(named, kind, way) for kind in first.kinds for way in first.ways(kind)]
            shown.append(Section(f"{dataset} · {task}", charts))
    intro = "Mean confidence by identity, a line for each run; bands are intervals, squares have no marker."
    return Section("Identities", shown, "identities", intro=intro) if shown else None
