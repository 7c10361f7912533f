"""`equipoise audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ..options import OutputOptions, RunOptions
from .config import Config, PrintConfig, config_text
from .console import listing, print_out, progress_bar, tell
from .parameters import AUDIT, was_given, with_options
from .plan import show_plans
from .results import check_trackers, end_gate, log_run, show_run, write_page

if TYPE_CHECKING:
    from ..suites.costs import Cost, Expectation

ROUGH = "(rough)"


@with_options(*AUDIT, unset=False)
def audit(context: typer.Context, config: Config = None, print_config: PrintConfig = False, **choices: Any) -> None:
    """Audit a model on sentences with each pronoun. It measures how much the answers and their certainty differ.

    Rerunning the same command continues where it was interrupted.
    """
    if print_config:
        typer.echo(config_text(context.params), nl=False)
        return
    asked, output = RunOptions.taken(choices), OutputOptions.taken(choices)
    check_trackers(output.log)
    from ..run import audit as run_audit
    from ..settings import Settings
    from ..suites.rates import Meter, remember

    # Left as it is, the task may follow what a server can do.
    task = asked.task if was_given(context, "task") else RunOptions.task
    settings = Settings.taken(choices)
    settings.check_use(asked)
    if output.dry_run:
        from ..suites.costs import expect

        _show_costs(expect(asked, settings))
        if settings.until:
            from ..suites.sizes import planned, wishes_of

            show_plans(planned(asked, settings, wishes_of(settings.requirements)))
        return
    with progress_bar(quiet=output.quiet) as progress:
        meter = Meter(progress)
        place: dict[str, Any] = {"out": asked.out, "replace": asked.replace}
        run = run_audit(asked.model, asked.data, task, progress=meter, **place, **vars(settings))
    remember(asked.model, settings.engine, meter)
    write_page(run, no_html=output.no_html)
    show_run(run, quiet=output.quiet, as_json=output.json)
    log_run(run, output.log, quiet=output.quiet)
    if settings.requirements:
        from ..verdict.gate import gate

        end_gate(gate(run), quiet=output.quiet or output.json)


def _show_costs(expected: Expectation) -> None:
    """Print the prompts of each dataset and task, about how long they take, and how many narrow intervals need."""
    from ..suites.costs import WIDTHS

    widths = [f"prompts at width {width:g}" for width in WIDTHS]
    rows = [_cost_row(cost) for cost in expected.costs]
    print_out(listing(("data", "base sentences", "prompts", "texts", "time", *widths), rows))
    if expected.reasons is None:
        typer.echo(
            "Whether the model thinks before it answers is not known before it is loaded; a thinking model writes a "
            "text for each question, too."
        )
    any_rough = any(ROUGH in cell for row in rows for cell in row)
    rough = "A rough time is within a factor of about three; after one audit it is measured. " if any_rough else ""
    tell(
        f"{rough}The prompts at a width (--until-width) are estimated for an accuracy of 0.75 and two types of"
        " equal size; flips and UCerF need fewer."
    )


def _cost_row(cost: Cost) -> tuple[str, ...]:
    from ..suites.status import duration

    how = "(measured)" if cost.measured else ROUGH
    time = "not known" if cost.seconds is None else f"{duration(max(1.0, cost.seconds))} {how}"
    counts = (f"{cost.sentences:,}", f"{cost.prompts:,}", f"{cost.texts:,}")
    return (f"{cost.dataset} · {cost.task}", *counts, time, *(f"{prompts:,}" for prompts in cost.at_widths))
