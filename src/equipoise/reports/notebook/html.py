"""How a run shows itself in a notebook: its headline, its leading metrics and a picture."""

from __future__ import annotations

import base64

from markupsafe import Markup, escape

from ...metrics import METRICS
from ...records import EquipoiseError
from ...runs import Part, Run
from ...runs.measurements import KINDS
from ..behaviour.verdicts import part_verdicts


def run_html(run: Run) -> str:
    """Return the run as HTML; names and sentences of the run cannot become code."""
    parts = Markup("").join(_part(part) for part in run.parts)
    return str(Markup("<div><h4>{}</h4>{}{}</div>").format(run.name, parts, _picture(run)))


def _part(part: Part) -> Markup:
    sentences = Markup("").join(Markup("<p>{}</p>").format(sentence) for sentence in part_verdicts(part))
    rows = []
    for kind in part.measured.kinds:
        for name, metric in METRICS.items():
            measurement = part.measured.get(name, type=kind) if metric.leading else None
            if measurement is not None:
                interval = f"[{measurement.low:.3f}, {measurement.high:.3f}]"
                cells = (
                    metric.label,
                    KINDS.get(kind, kind or "all"),
                    f"{measurement.value:.3f}",
                    interval,
                    f"{measurement.n:,}",
                )
                rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "<tr><th>metric</th><th>sentences</th><th>value</th><th>interval</th><th>n</th></tr>"
    table = Markup(f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>")
    return Markup("<h5>{} · {}</h5>{}{}").format(part.dataset, part.task, sentences, table)


def _picture(run: Run) -> Markup:
    """Return the flips as an image, or nothing where they cannot be drawn."""
    try:
        from .figures import Plots

        png = Plots(run).flips()._repr_png_()  # type: ignore[attr-defined]
    except EquipoiseError:
        return Markup("")
    return Markup('<img alt="share of sets whose answer changes" src="data:image/png;base64,{}">').format(
        base64.b64encode(png).decode()
    )
