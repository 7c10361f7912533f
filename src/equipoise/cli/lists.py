"""`equipoise list`: what can be named, and what is written."""

from __future__ import annotations

import typer

from .console import listing, plain_table, print_out

app = typer.Typer(help="List metrics, engines, tasks; print the schema.", rich_markup_mode=None)


@app.command("metrics")
def metrics() -> None:
    """List all metrics, and what each one measures."""
    from ..catalog import find, names
    from ..metrics import METRICS, Metric
    from ..records import EquipoiseError

    rows = []
    for name in names(METRICS, kind="metric"):
        try:
            metric: Metric = find(name, METRICS, kind="metric")
        except EquipoiseError as error:  # a plug-in that cannot be loaded
            rows.append((name, "", "", str(error)))
        else:
            rows.append((metric.name, metric.better, metric.taken_over, metric.summary))
    print_out(listing(("metric", "better", "taken over", "what it is"), rows))


@app.command("engines")
def engines() -> None:
    """List the engines: the kinds of models, by prefix."""
    from ..scoring.opening import list_engines

    print_out(plain_table(("engine", "what it is"), [(f"{scheme}:", line) for scheme, line in list_engines()]))


@app.command("tasks")
def tasks() -> None:
    """List the tasks: the ways to ask about a sentence."""
    from ..catalog import names, summary
    from ..tasks import TASKS

    rows = [(name, summary(name, TASKS, kind="task")) for name in names(TASKS, kind="task")]
    print_out(plain_table(("task", "what it asks"), rows))


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of measurements. It describes the output of `--json` and the columns of the CSV file."""
    from .. import packaged

    typer.echo(packaged.text("equipoise.runs", "measurements.schema.json"), nl=False)
