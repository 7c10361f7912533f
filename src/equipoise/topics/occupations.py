"""UCerF beside equalized odds of every occupation, by the share of women in it (UCerF paper, Fig. 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..datasets.occupations import OCCUPATIONS
from ..records import Measurement
from ..records.showing import Axis, Chart, Column, Dot, Panel, Row, Section, Table, cases_link
from ..runs.run import Part, Run
from ..verdict.summary import part_summary

Occupation = tuple[str, int | None, Measurement, Measurement | None]
"""Name, share of women, UCerF and equalized odds."""


def occupations(part: Part) -> Iterator[Chart]:
    """Yield UCerF beside equalized odds of every occupation that is a referent, for each type."""
    for kind in part.kinds:
        measured = part.measured
        # A run without perplexity has the UCerF of its own estimator, under its name.
        metric = measured.own("ucerf")
        rows: list[Occupation] = []
        for name in measured.values_of("occupation", kind):
            known = OCCUPATIONS.get(name) or OCCUPATIONS.get(name.lower())
            ucerf, odds = (measured.get(which, occupation=name, type=kind) for which in (metric, "eo_sum"))
            if ucerf is not None:
                rows.append((name, known.female_share if known else None, ucerf, odds))
        if len(rows) > 1:
            rows.sort(key=lambda row: (row[1] is None, row[1] or 0, row[0]))
            yield _chart(part, kind, metric, rows)


def _chart(part: Part, kind: str, metric: str, rows: Sequence[Occupation]) -> Chart:
    names = [name if share is None else f"{name} ({share}%)" for name, share, *_ in rows]
    columns = ((0, "UCerF (1: alike)", (0.0, 1.0), 1.0), (1, "eo_sum (0: alike)", (0.0, 2.0), 0.0))
    panels = []
    for tone, label, within, ideal in columns:
        dots = [
            Dot(value.estimate, float(place), tone, name, _cases(part, kind, name), small=True)
            for place, (name, _, *values) in enumerate(rows)
            if (value := values[tone]) is not None
        ]
        across = Axis.over([ideal, *(dot.x for dot in dots)], label, within=within)
        panels += [Panel(dots, across, Axis.of_names(names))] if dots else []
    estimator = metric.removeprefix("ucerf").strip("_").replace("_", "-")
    title = part.title(kind) + (f", UCerF by {estimator}" if estimator else "")
    caption = "In brackets: the share of women in the workforce."
    data, about = _table(part, kind, metric, rows), part.about(kind)
    return Chart(title, panels, "occupations", about, caption=caption, layout="beside", data=data)


def _cases(part: Part, kind: str, name: str) -> str:
    return cases_link(part=str(part), type=kind, group=f"occupation={name}")


def _table(part: Part, kind: str, metric: str, rows: Sequence[Occupation]) -> Table:
    titles = (
        Column("occupation", words=True),
        Column("women (%)"),
        Column(metric, "higher"),
        Column("eo_sum", "lower"),
    )
    title = f"{part.run.name} by occupation, {part.title(kind)}"
    return Table(title, titles, [Row(row) for row in rows], "occupations", part.about(kind))


def occupation_section(run: Run) -> Section | None:
    """Return UCerF against equalized odds by occupation; folded where no occupation differs from the rest."""
    shown: list[Chart | Section] = []
    for part in run.parts:
        verdict = part_summary(part).verdict
        findings = [f for f in (verdict.lead, *verdict.findings) if f is not None and f.topic == "occupations"]
        for chart in occupations(part):
            of_kind = [finding for finding in findings if finding.kind == chart.about["type"]]
            is_detected = any(finding.claim for finding in of_kind)
            why = of_kind[0].text if of_kind else "No occupation is told from the rest."
            shown.append(chart if is_detected else Section(f"{chart.title}. {why}", [chart], folded=True))
    intro = (
        "Occupations from the fewest to the most women in the workforce (U.S. Bureau of Labor Statistics). UCerF"
        " compares how sure and right the model is. Equalized odds only compares which answer it chose, over all"
        " sentences that name the occupation."
    )
    return Section("By occupation", shown, "occupations", "Occupations", intro) if shown else None
