"""`equipoise study`: what results depend on besides the model."""

from __future__ import annotations

import typer

from . import calibration, estimators, sources, temperature, wording

app = typer.Typer(help="Study estimators, wordings, calibration or suites.", rich_markup_mode=None)
app.command("estimators")(estimators.estimators)
app.command("wording")(wording.wording)
app.command("temperature")(temperature.temperature)
app.command("calibration")(calibration.calibrate)
app.command("suite")(sources.suite_sources)


@app.callback(invoke_without_command=True)
def _main(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
