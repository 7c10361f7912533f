"""In: what a user types.
Out: one call into the library, and its result printed; no logic, and nothing heavy imported before it is needed.
"""

from __future__ import annotations

import gc
import sys
from io import TextIOWrapper

import typer

from ..cache import tidy_cache
from ..interruption import ignore
from . import (
    ask,
    audit,
    build,
    calibration,
    config,
    data,
    drawn,
    estimators,
    exports,
    identity,
    leaderboard,
    listings,
    measurement,
    reports,
    sensitivity,
    suite,
    survey,
    tune,
)
from .errors import clear_errors
from .parameters import PanelCommand, grouped

GROUPS = {
    "Start": ("ask", "audit", "init", "doctor"),
    "Read": ("report", "compare", "leaderboard", "figures", "tables", "identities", "reliability", "card"),
    "Decide": ("gate", "verify", "suite", "paper"),
    "Study": ("measure", "estimators", "sensitivity", "drawn"),
    "Data": ("data", "build", "import", "export", "push"),
    "Improve": ("tune", "calibrate"),
    "List": ("metrics", "engines", "tasks", "schema"),
}
"""Heading of `equipoise --help` -> its commands, those first that most people need."""

app = typer.Typer(
    name="equipoise",
    cls=grouped(GROUPS),
    help="Measure whether a language model is as sure of itself for one group of people as for another.",
    epilog='Start with `equipoise ask "The nurse told the farmer that she was late."`, then `equipoise audit`.',
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit", cls=PanelCommand)(audit.audit)
app.command("ask", cls=PanelCommand)(ask.ask)
app.command("init")(config.init)
app.command("doctor")(listings.doctor)
app.command("report")(measurement.report)
app.command("measure")(measurement.measure)
app.command("metrics")(listings.metrics)
app.command("engines")(listings.engines)
app.command("tasks")(listings.tasks)
app.command("schema")(listings.schema)
app.command("compare")(reports.compare)
app.command("estimators")(estimators.estimators)
app.command("sensitivity")(sensitivity.sensitivity)
app.command("drawn")(drawn.drawn)
app.command("figures")(reports.figures)
app.command("tables")(reports.tables)
app.command("gate")(reports.gate)
app.command("suite")(suite.suite)
app.command("paper")(suite.paper)
app.command("leaderboard")(leaderboard.leaderboard)
app.command("verify")(leaderboard.verify)
app.command("reliability")(calibration.reliability)
app.command("calibrate")(calibration.calibrate)
app.command("import")(measurement.import_results)
app.add_typer(exports.app, name="export")
app.command("card")(exports.card)
app.command("push")(exports.push)
app.command("tune")(tune.tune)
app.command("identities")(identity.identities)
app.add_typer(data.app, name="data")
for step in (survey.survey, survey.simulate, survey.links, survey.backup):
    build.app.command(step.__name__)(step)
app.add_typer(build.app, name="build")


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from .. import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # An arrow that an old terminal cannot show must not be a reason to fail.
            stream.reconfigure(errors="replace")
    # Nearly everything is freed by its reference count; looking for cycles a hundred times less often saves a tenth.
    gc.set_threshold(100 * gc.get_threshold()[0])
    try:
        with clear_errors():
            tidy_cache()
            code = app(standalone_mode=False)
        sys.exit(code)
    finally:
        ignore()
        # The process is about to end: walking through every object of torch once more would take a second.
        gc.freeze()
