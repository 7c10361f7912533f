"""`equipoise doctor`, `metrics`, `engines`, `tasks` and `schema`: what is here, what can be named, what is written."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from ..options import RunOptions
from .console import listing, plain_table, print_out

PROBLEM = 1
"""Exit code where something stops an audit."""


def doctor(
    model: Annotated[str, typer.Argument(help="The model that you want to audit.")] = RunOptions.model,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check this machine before an audit. Looks at versions, devices, memory, free space, the model and the datasets.

    Exit code 0 when an audit can run, 1 when something stops it; each finding says what to do.
    """
    from ..doctor import examine

    checks = examine(model)
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        rows = [(check.status, check.name, check.finding, check.advice) for check in checks]
        print_out(plain_table(("", "what", "found", "what to do"), rows))
    problems = [check for check in checks if check.status == "problem"]
    if problems:
        typer.echo(f"{len(problems)} of {len(checks)} checks found a problem that stops an audit", err=True)
        raise typer.Exit(PROBLEM)


def metrics() -> None:
    """List all metrics, and what each one measures."""
    from ..catalog import find, names
    from ..metrics import METRICS

    metrics = [find(name, METRICS, kind="metric") for name in names(METRICS, kind="metric")]
    rows = [(metric.name, metric.better, metric.taken_over, metric.summary) for metric in metrics]
    print_out(listing(("metric", "better", "taken over", "what it is"), rows))


def engines() -> None:
    """List the engines: the kinds of models, by prefix."""
    from ..scoring.opening import list_engines

    print_out(plain_table(("engine", "what it is"), [(f"{scheme}:", line) for scheme, line in list_engines()]))


def tasks() -> None:
    """List the tasks: the ways to ask about a sentence."""
    from ..catalog import names, summary
    from ..tasks import TASKS

    rows = [(name, summary(name, TASKS, kind="task")) for name in names(TASKS, kind="task")]
    print_out(plain_table(("task", "what it asks"), rows))


def schema() -> None:
    """Print the JSON Schema of measurements. It describes the output of `--json` and the columns of the CSV file."""
    from importlib import resources

    text = resources.files("equipoise.runs").joinpath("measurements.schema.json").read_text(encoding="utf-8")
    typer.echo(text, nl=False)
