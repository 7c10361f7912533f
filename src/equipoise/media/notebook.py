"""What a notebook shows: sections as HTML, and charts as matplotlib figures that show themselves and can be changed."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ..records import EquipoiseError
from ..records.showing import Chart, Finding, Section, Shown
from .cells import StrongText, plain
from .page.charts import described, svg

Figure = Any
"""Of matplotlib, which only media/figure.py imports."""


def html(title: str, sections: Iterable[Section]) -> str:
    """Return sections as HTML; names and sentences of a run cannot become code."""
    return str(Markup("<div><h4>{}</h4>{}</div>").format(title, _joined(_section(section) for section in sections)))


def _section(section: Section) -> Markup:
    head = Markup("<h5>{}</h5>").format(section.title) if section.title else Markup("")
    return head + _joined(_section(entry) if isinstance(entry, Section) else draw(entry) for entry in section.shown)


def draw(shown: Shown) -> Markup:
    """Return a finding as a paragraph, a table, or a chart as a picture."""
    if isinstance(shown, Finding):
        tag = "<p><b>{}</b></p>" if shown.topic == "verdict" else "<p>{}</p>"
        return Markup("") if shown.short else Markup(tag).format(shown.text)
    if isinstance(shown, Chart):
        # As an image: the style inside a picture would else be that of the whole notebook.
        picture = base64.b64encode(svg(shown, alone=True).encode()).decode()
        source = f"data:image/svg+xml;base64,{picture}"
        return Markup('<img alt="{}" src="{}" width="560">').format(f"{shown.title}. {described(shown)}", source)
    table = plain(shown, every=False)
    head = _line("th", (column.title for column in table.columns))
    body = _joined(_line("td", row) for row in table.rows)
    return Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(head, body)


def _line(tag: str, cells: Iterable[str]) -> Markup:
    bold = Markup("<b>{}</b>").format
    shown = (bold(cell) if isinstance(cell, StrongText) else cell for cell in cells)
    inside = _joined(Markup(f"<{tag}>{{}}</{tag}>").format(cell) for cell in shown)
    return Markup("<tr>{}</tr>").format(inside)


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


@dataclass(frozen=True)
class Plots:
    """The charts of a run by topic: `run.plot.scale()`, `run.plot.radar(type="type1", augmentation="R")`.

    Each is a matplotlib Figure. Of several charts of a topic the first is drawn that is about what is asked for.
    `dir(run.plot)` lists the topics.
    """

    charts: Callable[[], Iterator[Chart]]

    def __repr__(self) -> str:
        return f"<Plots of a run: {', '.join(dir(self))}>"

    def __dir__(self) -> list[str]:
        return sorted({chart.topic.replace("-", "_") for chart in self.charts()})

    def __getattr__(self, topic: str) -> Callable[..., Figure]:
        if topic.startswith("_"):
            raise AttributeError(topic)

        def plot(*, width: str | float = "page", **about: str) -> Figure:
            """Return the chart of this topic as a figure of that width, by name or in inches."""
            return figure(self.find(topic.replace("_", "-"), about), width)

        return plot

    def find(self, topic: str, about: dict[str, str]) -> Chart:
        """Return the first chart of a topic that is about what is asked for."""
        charts = list(self.charts())
        of_topic = [chart for chart in charts if chart.topic == topic]
        if not of_topic:
            known = ", ".join(sorted({chart.topic.replace("-", "_") for chart in charts}))
            raise EquipoiseError(f"there is nothing to draw for {topic!r}; this run has {known}")
        for chart in of_topic:
            if all(chart.about.get(name) == value for name, value in about.items()):
                return chart
        known = "; ".join(", ".join(f"{name}={value}" for name, value in c.about.items() if value) for c in of_topic)
        asked = ", ".join(f"{name}={value}" for name, value in about.items())
        raise EquipoiseError(f"no {topic} chart is about {asked}; there is {known}")


def figure(chart: Chart, width: str | float = "page") -> Figure:
    """Return the chart as a figure that a notebook shows, whatever backend matplotlib has there."""
    from .figure import figure as drawn_figure
    from .figure import saved

    drawn: Figure = drawn_figure(chart, width, title=True)

    def png() -> bytes:
        return saved(drawn, dpi=110)

    drawn._repr_png_ = png
    return drawn
