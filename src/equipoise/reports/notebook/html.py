"""How runs and comparisons show themselves in a notebook: what they say, a table and a picture."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

from ...metrics import METRICS
from ...records import EquipoiseError
from ...runs import Part, Run
from ...runs.measurements import KINDS, metric_named
from ..behaviour.verdicts import part_verdicts
from ..comparison.compare import Comparison, Tested
from ..comparison.verdicts import better_run, pair_verdicts

COMPARED = ("sentences", "metric", "difference", "interval", "n", "p, corrected", "better")


def run_html(run: Run) -> str:
    """Return the run as HTML; names and sentences of the run cannot become code."""
    parts = Markup("").join(_part(part) for part in run.parts)
    picture = _picture("flips", run, "share of sets whose answer changes")
    return str(Markup("<div><h4>{}</h4>{}{}</div>").format(run.name, parts, picture))


def comparison_html(comparison: Comparison) -> str:
    """Return the comparison as HTML: a sentence for each pair of runs, every tested difference, and a picture."""
    sentences = Markup("").join(
        Markup("<p><b>{}</b>, {}: {}</p>").format(verdict.runs, verdict.data, verdict.sentence)
        for verdict in pair_verdicts(comparison)
        if verdict.sentence
    )
    tests = comparison.tests
    # What is the same in every row is in the sentences above.
    varies = [len({value(test) for test in tests}) > 1 for value in (_runs, _part_of)]
    head = (*(name for name, shown in zip(("runs", "data"), varies, strict=True) if shown), *COMPARED)
    rows = []
    for test in tests:
        difference = test.difference
        where = [value(test) for value, shown in zip((_runs, _part_of), varies, strict=True) if shown]
        interval = f"[{difference.low:+.3f}, {difference.high:+.3f}]"
        numbers = (f"{difference.value:+.3f}", interval, f"{difference.n:,}", f"{test.corrected:.4f}")
        rows.append((*where, test.kind, metric_named(test.metric).label, *numbers, better_run(test)))
    picture = _picture("differences", comparison, "differences of the runs with intervals")
    title = " · ".join(comparison.names)
    return str(Markup("<div><h4>{}</h4>{}{}{}</div>").format(title, sentences, _table(head, rows), picture))


def _runs(test: Tested) -> str:
    return test.runs


def _part_of(test: Tested) -> str:
    return test.part


def _part(part: Part) -> Markup:
    sentences = Markup("").join(Markup("<p>{}</p>").format(sentence) for sentence in part_verdicts(part))
    rows = []
    for kind in part.measured.kinds:
        for name, metric in METRICS.items():
            estimate = part.measured.get(name, type=kind) if metric.leading else None
            if estimate is not None:
                interval = f"[{estimate.low:.3f}, {estimate.high:.3f}]"
                numbers = (f"{estimate.value:.3f}", interval, f"{estimate.n:,}")
                rows.append((metric.label, KINDS.get(kind, kind or "all"), *numbers))
    table = _table(("metric", "sentences", "value", "interval", "n"), rows)
    return Markup("<h5>{} · {}</h5>{}{}").format(part.dataset, part.task, sentences, table)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(cells, "td") for cells in rows)
    return Markup(f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>")


def _picture(kind: str, shown: Any, words: str) -> Markup:
    """Return a figure as an image, or nothing where it cannot be drawn (also without matplotlib)."""
    try:
        from .figures import Plots, draw_differences

        figure: Any = Plots(shown).flips() if kind == "flips" else draw_differences(shown)
        png = figure._repr_png_()
    except (EquipoiseError, ModuleNotFoundError):
        return Markup("")
    image = base64.b64encode(png).decode()
    return Markup('<img alt="{}" src="data:image/png;base64,{}">').format(words, image)
