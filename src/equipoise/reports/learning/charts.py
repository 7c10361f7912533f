"""Learning curves as SVG: losses by step, and values on the validation sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..palette import style_sheet
from ..svg.drawing import WIDTH, Axis, element, group, legend, line, mark, path, picture, text
from ..svg.values import Values
from .curves import Curves, Point

TOP, BOTTOM, LEFT = 14.0, 170.0, 46.0
LINE_HEIGHT = 16.0

STYLE = (
    "text{font:12px sans-serif;fill:#333}.axis{stroke:#666}.grid{stroke:#ddd}.curve{fill:none;stroke-width:1.6}"
    ".kept{stroke:#666;stroke-dasharray:4 3}"
)
"""What `curves.svg` needs beside the tones, as no page surrounds it."""


@dataclass(frozen=True)
class Chart:
    """A chart of several lines over the steps, by their names in the legend."""

    title: str
    caption: str
    lines: Mapping[str, Sequence[Point]]
    kept: int
    bounds: tuple[float, float] | None = None

    @property
    def height(self) -> float:
        return BOTTOM + 40 + LINE_HEIGHT * len(self.lines)

    @property
    def values(self) -> Values:
        """The numbers of the chart, a row for each step."""
        steps = sorted({step for points in self.lines.values() for step, _ in points})
        known = {name: dict(points) for name, points in self.lines.items()}
        rows = [
            (f"{step:g}", *(f"{known[name][step]:.3f}" if step in known[name] else "–" for name in self.lines))
            for step in steps
        ]
        return Values(("step", *self.lines), rows)

    def drawing(self) -> Markup:
        """Return the chart."""
        return picture(self.height, self.title, self.caption, self.parts())

    def parts(self) -> list[Markup]:
        """Return the axes, the lines with their marks, the step that was kept, and the legend."""
        points = [point for several in self.lines.values() for point in several]
        across = Axis(0.0, max(max(step for step, _ in points), 1.0), LEFT, WIDTH - 12.0)
        low, high = self.bounds or _bounds([value for _, value in points])
        up = Axis(low, high, BOTTOM, TOP)
        parts = [across.below(BOTTOM), up.beside(LEFT, grid_to=WIDTH - 12.0)]
        parts.append(line(across(self.kept), TOP, across(self.kept), BOTTOM, "kept"))
        for number, several in enumerate(self.lines.values()):
            places = [(across(step), up(value)) for step, value in several]
            parts.append(path(places, f"curve s{number}"))
            parts += [mark(x, y, number, size=2.6) for x, y in places]
        parts.append(text(WIDTH - 12.0, BOTTOM + 30, "step", anchor="end", class_="tick"))
        parts.append(legend(list(self.lines), LEFT, BOTTOM + 34, gap=LINE_HEIGHT))
        return parts


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis over all values, with some room."""
    low, high = min(values), max(values)
    room = max(0.06 * (high - low), 0.01)
    return low - room, high + room


def charts(curves: Curves) -> list[Chart]:
    """Return the charts of a run: what it minimised, and what came of it on sentences that it was not trained on."""
    count = curves.validation_sets
    asked = "on the validation sets" if count is None else f"on {count:,} validation sets"
    losses = {"task": "task", "UCerF": "ucerf", "UCerF, unanswerable": "ucerf_unanswerable", "leash": "leash"}
    fair = {"UCerF": "ucerf", "UCerF signed, unanswerable": "signed", "accuracy": "accuracy"}
    flips = {"flips": "flips", "flips, unanswerable": "flips_unanswerable"}
    guards = {"certainty": "certainty", "candidate mass": "mass", "first person chosen": "first"}
    outside = {
        "accuracy": "outside_accuracy",
        "right person mentioned first": "outside_first",
        "right person mentioned second": "outside_second",
    }
    step = f"The dashed line is step {curves.kept}, whose weights were kept."
    if curves.refused:
        step = "No step passed the guards; the dashed line is the base model."
    size = max(1, len(curves.steps) // 20)
    means = f"Means over {size} steps, each of other sentences." if size > 1 else "Each step asks other sentences."

    def of(title: str, names: Mapping[str, str], bounds: tuple[float, float] | None = None) -> Chart:
        lines = {label: points for label, name in names.items() if (points := curves.values(name))}
        return Chart(title, step, lines, curves.kept, bounds)

    made = [
        Chart("Losses", f"{means} {step}", {label: curves.losses(n) for label, n in losses.items()}, curves.kept),
        of(f"Alike and right {asked}", fair),
        of("Accuracy on built-in sentences, never trained on", outside),
        of(f"Share of sets that flip {asked}", flips),
        of(f"What the guards watch {asked}", guards, (0.0, 1.0)),
        Chart("Perplexity of neutral text", step, {"perplexity": curves.values("perplexity")}, curves.kept),
    ]
    return [chart for chart in made if any(chart.lines.values())]


def figure(several: Sequence[Chart]) -> Markup:
    """Return all charts one under another as a picture of its own."""
    gap, y, parts = 26.0, 24.0, []
    for chart in several:
        heading = text(LEFT, 0, chart.title, class_="label")
        parts.append(group([heading, group(chart.parts(), transform="translate(0 6)")], transform=f"translate(0 {y})"))
        y += chart.height + gap
    style = element("style", Markup(STYLE + style_sheet()))
    background = element("rect", width="100%", height="100%", fill="#fff")
    titles = "; ".join(chart.title for chart in several)
    return picture(y, "Learning curves", titles, [style, background, *parts], width=WIDTH + 10, class_="figure")
