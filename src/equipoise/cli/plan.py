"""`equipoise plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import RunOptions
from ..records import EquipoiseError
from .console import listing, print_out
from .parameters import with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..suites.sizes import Planned, Wish

USUAL = ("flip_rate", "flip_bias", "ucerf", "accuracy", "accuracy_gap", "certainty_gap")
"""What a width is planned for where no metric is named."""


@with_options(
    "level",
    unset=False,
    model="As for `equipoise audit`: the time is that of this model.",
    data="As for `equipoise audit`: builtin, winobias, the path of a table, …",
    task="As for `equipoise audit`: next-word, mcq, …",
)
def plan(
    detect: Annotated[
        list[str] | None,
        typer.Option("--detect", help="A difference to detect: flip_bias[type=type1]=0.05. Repeatable."),
    ] = None,
    power: Annotated[
        float, typer.Option("--power", help="How often --detect is to succeed.", min=0.05, max=0.99)
    ] = 0.8,
    width: Annotated[
        list[str] | None,
        typer.Option("--width", help="The width of an interval: 0.02, or ucerf[type=type2]=0.02. Repeatable."),
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option("--require", help="What --until is to settle; needs --if-true. Repeatable.")
    ] = None,
    if_true: Annotated[
        list[float] | None, typer.Option("--if-true", help="The true value of each --require, in their order.")
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option("--like", help="Take the spread of sets from this run. Default: a planted, biased model."),
    ] = None,
    **choices: Any,
) -> None:
    """Say how many sets, prompts and seconds something needs.

    Nothing is asked. A difference is detected where the interval of a full audit leaves 0 out; for UCerF, accuracy and
    shares, a bound that far from the value. A requirement is settled as `audit --until` settles it: half of such audits
    need fewer sets than told.
    """
    from ..runs import Run
    from ..settings import Settings
    from ..suites.sizes import planned

    wishes = _wishes(detect or [], width or [], require or [], if_true or [])
    asked, settings = RunOptions.taken(choices), Settings.taken(choices)
    show_plans(planned(asked, settings, wishes, power=power, like=Run(like) if like else None))


def _wishes(
    detect: Sequence[str], width: Sequence[str], require: Sequence[str], if_true: Sequence[float]
) -> list[Wish]:
    from ..metrics.requirement import parse_amount, parse_requirement
    from ..suites.sizes import Wish

    if len(require) != len(if_true):
        raise EquipoiseError(f"every --require needs its --if-true: there are {len(require)} and {len(if_true)}")
    wishes = [Wish("detect", amount, amount.bound) for amount in map(parse_amount, detect)]
    for text in width:
        usual = "=" not in text
        named = [f"{metric}={text}" for metric in USUAL] if usual else [text]
        wishes += [Wish("width", amount, amount.bound, usual=usual) for amount in map(parse_amount, named)]
    wishes += [Wish("require", parse_requirement(text), 0.0, true) for text, true in zip(require, if_true, strict=True)]
    if not wishes:
        raise EquipoiseError("plan for what? Give --detect flip_bias=0.05, --width 0.02, or --require with --if-true")
    return wishes


def show_plans(rows: Sequence[Planned]) -> None:
    """Print a table of what is needed, and the power at other numbers of sets."""
    from ..report import plan_text
    from ..suites.status import duration

    table = [
        (
            row.wish,
            row.where,
            "–" if row.sets is None else f"{row.sets:,}",
            f"{row.prompts:,}",
            "not known" if row.seconds is None else duration(max(1.0, row.seconds)),
            row.answer,
        )
        for row in rows
    ]
    print_out(listing(("for", "of", "sets", "prompts", "time", "possible"), table))
    for row in rows:
        if row.powers:
            print_out(plan_text(row.wish, row.where, row.powers))
