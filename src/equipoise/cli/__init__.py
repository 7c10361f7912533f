"""In: what a user types.
Out: one call into the library, and its result printed; no logic, and nothing heavy imported before it is needed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from io import TextIOWrapper

import typer

from ..cache import tidy_cache
from ..garbage import collect_rarely
from ..interruption import ignore
from . import (
    ask,
    audit,
    build,
    config,
    data,
    doctor,
    exports,
    leaderboard,
    lists,
    measurement,
    plan,
    report,
    reports,
    study,
    suite,
    survey,
    tune,
    view,
)
from .errors import clear_errors
from .help import PanelCommand, grouped, help_alone, with_help_all

GROUPS = {
    "Start": ("ask", "audit", "init", "doctor"),
    "Read": ("report", "view", "compare", "leaderboard", "measure", "verify"),
    "Decide": ("plan", "gate", "suite"),
    "Study": ("study",),
    "Data": ("data", "build", "import", "export"),
    "Improve": ("tune",),
    "List": ("list",),
}
"""Heading of `equipoise --help` -> its commands, those first that most people need."""

app = typer.Typer(
    name="equipoise",
    cls=grouped(GROUPS),
    help="Measure whether a language model is as sure of itself for one group of people as for another.",
    epilog='Start with `equipoise ask "The nurse told the farmer that she was late."`, then `equipoise audit`. '
    "`equipoise COMMAND --help` says more.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "audit": audit.audit,
    "ask": ask.ask,
    "init": config.init,
    "doctor": doctor.doctor,
    "report": report.report,
    "view": view.view,
    "measure": measurement.measure,
    "compare": reports.compare,
    "plan": plan.plan,
    "gate": reports.gate,
    "suite": suite.suite,
    "leaderboard": leaderboard.leaderboard,
    "verify": leaderboard.verify,
    "import": measurement.import_results,
    "tune": tune.tune,
}
for name, command in COMMANDS.items():
    app.command(name, cls=PanelCommand)(with_help_all(name, command))
for step in (survey.survey, survey.simulate, survey.links, survey.backup, survey.restore):
    build.app.command(step.__name__)(step)
for name, group in {"study": study, "data": data, "build": build, "export": exports, "list": lists}.items():
    group.app.callback(invoke_without_command=True)(help_alone)
    app.add_typer(group.app, name=name)


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from .. import __version__

        typer.echo(__version__)
        raise typer.Exit
    help_alone(context)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # An arrow that an old terminal cannot show must not be a reason to fail.
            stream.reconfigure(errors="replace")
    collect_rarely()
    try:
        with clear_errors():
            tidy_cache()
            code = app(standalone_mode=False)
        sys.exit(code)
    finally:
        ignore()
        # The process is about to end: walking through every object of torch once more would take a second.
        gc.freeze()
