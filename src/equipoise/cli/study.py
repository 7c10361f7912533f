"""`equipoise study`: what results depend on besides the model, and what papers found."""

from __future__ import annotations

import typer

from . import calibration, estimators, sources, suite, temperature, wording
from .help import PanelCommand, with_help_all

app = typer.Typer(help="Study what results depend on, or repeat a paper.", rich_markup_mode=None)
app.command("estimators")(estimators.estimators)
app.command("wording")(wording.wording)
app.command("temperature")(temperature.temperature)
app.command("calibration")(calibration.calibrate)
app.command("suite")(sources.suite_sources)
app.command("paper", cls=PanelCommand)(with_help_all("paper", suite.paper))


@app.callback(invoke_without_command=True)
def _main(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
