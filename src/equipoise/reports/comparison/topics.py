"""Calibration and identities of several runs, drawn upon each other where the runs have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...runs.measurements import kind_title
from ...runs.run import Run, all_parts
from ..calibration import views as calibration_views
from ..calibration.charts import reliability_chart
from ..calibration.reliability import reliability_table
from ..calibration.values import reliability_values
from ..identities import views as identity_views
from ..identities.charts import ideal_of, radar_chart, scale_of
from ..identities.values import radar_values
from ..page.rendering import Panel, Section, panels

SHAPES = "●◆■▲"


def calibrations(runs: Sequence[Run]) -> Section | None:
    """Return a reliability diagram with a line for each run, for each dataset with a human label."""
    intro = (
        "On the diagonal what a model says comes true; above it, it happens more often than the model says. Lines are"
        " intervals, bars count sentences."
    )
    body = panels(intro, _diagrams(runs))
    return None if body is None else Section("calibration", "Calibration", body)


def _diagrams(runs: Sequence[Run]) -> Iterator[Panel]:
    for dataset, task in all_parts(runs):
        parts = [part for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]
        calibrated = [part for part in parts if calibration_views.is_calibrated(part.measured)]
        diagrams = [(part, calibration_views.reliability(part)) for part in calibrated]
        known = [(part, diagram) for part, diagram in diagrams if diagram is not None]
        if len(known) < 2:
            continue
        lines = []
        for part, _ in known:
            table = reliability_table(part.outcomes, level=part.run.level)
            lines.append((part.run.name, table[table["group"] == "all"]))
        title = f"{dataset} · {task}"
        view = calibration_views.Reliability(title, known[0][1].side, lines, apart=False, left_out=())
        words = [f"{part.run.name}: {' '.join(calibration_views.in_words(part.measured))}" for part, _ in known]
        yield Panel(title, reliability_chart(view), " ".join(words), reliability_values(view))


def identities(runs: Sequence[Run]) -> Section | None:
    """Return the radars of all runs upon each other, for each type and augmentation."""
    intro = (
        "Mean confidence by identity, a line for each run; bands are intervals, squares have no marker. The dotted ring"
        f" is 0, undecided. {', '.join(f'{SHAPES[at % 4]} {run.name}' for at, run in enumerate(runs))}."
    )
    body = panels(intro, _radars(runs))
    return None if body is None else Section("identities", "Identities", body)


def _radars(runs: Sequence[Run]) -> Iterator[Panel]:
    for dataset, task in all_parts(runs):
        frames = {
            run.name: part.identities
            for run in runs
            for part in run.parts
            if (part.dataset, part.task) == (dataset, task) and identity_views.has_markers(part.identities)
        }
        if len(frames) < 2:
            continue
        first = next(iter(frames.values()))
        for kind in identity_views.kinds_of(first):
            for way in identity_views.ways_of(first):
                every = list(identity_views.radars(frames, kind, way))
                values = [value for radar in every for row in radar.series.values() for value in row]
                scale = scale_of(values, ideal=ideal_of(kind))
                for radar in every:
                    title = f"{radar.attribute}: {dataset} · {task}, {kind_title(kind)}, {identity_views.WAYS[way]}"
                    drawn = radar_chart(radar, scale, ideal=ideal_of(kind))
                    yield Panel(title, drawn, values=radar_values(radar))
