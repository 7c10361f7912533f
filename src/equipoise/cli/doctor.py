"""`equipoise doctor`: can this machine run an audit?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from ..options import RunOptions
from .console import plain_table, print_out

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
