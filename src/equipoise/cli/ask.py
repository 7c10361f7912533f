"""`equipoise ask`."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from ..options import EngineOptions, QuestionOptions, RunOptions, options_of
from ..options.option import ASK
from ..records import EquipoiseError
from .console import print_out, progress_bar
from .parameters import AUDIT, flag, was_given, with_options


@with_options(*options_of(EngineOptions, QuestionOptions), unset=False)
def ask(
    context: typer.Context,
    sentences: Annotated[
        list[str] | None,
        typer.Argument(
            help='"The nurse told the farmer that she was late."; without any, lines of standard input.',
            rich_help_panel=ASK,
        ),
    ] = None,
    model: Annotated[str, typer.Option("--model", help=AUDIT["model"].help, rich_help_panel=ASK)] = AUDIT[
        "model"
    ].default,
    task: Annotated[str, typer.Option("--task", help=AUDIT["task"].help, rich_help_panel=ASK)] = AUDIT["task"].default[
        0
    ],
    candidates: Annotated[
        str,
        typer.Option(help="Whom the pronoun may mean, where they are not found: nurse,farmer.", rich_help_panel=ASK),
    ] = "",
    groups: Annotated[
        str,
        typer.Option(help='Words for the place of one in brackets: "The [old] nurse …".', rich_help_panel=ASK),
    ] = "",
    pronouns: Annotated[
        str, typer.Option("--pronouns", help=AUDIT["pronouns"].help, rich_help_panel=ASK)
    ] = "he,she,they",
    quiet: Annotated[bool, flag(AUDIT["quiet"])] = False,
    json: Annotated[bool, flag(AUDIT["json"])] = False,
    **choices: Any,
) -> None:
    """Ask a model about one sentence with each pronoun.

    It draws whom the model means with each of them, and says how sure it is.
    """
    from ..asking import ask as ask_model
    from ..report import asked_text

    texts = sentences or _piped()
    if sentences and len(sentences) > 1 and not any(" " in text for text in sentences):
        raise EquipoiseError(f"put the sentence in quotes: equipoise ask {shlex.quote(' '.join(sentences))}")
    choices |= {"pronouns": pronouns, "candidates": candidates, "groups": groups}
    with progress_bar(quiet=quiet or json) as progress:
        asked = ask_model(
            texts, model, task if was_given(context, "task") else RunOptions.task, progress=progress, **choices
        )
    if json:
        columns = ["text", "gender", "candidates", "probs", "certainty", "candidate_mass", "predicted"]
        kept = asked.frame[[name for name in columns if name in asked.frame]]
        typer.echo(kept.to_json(orient="records", indent=2, double_precision=15))
        return
    print_out(asked_text(asked.run, asked.sentences, asked.left_out))


def _piped() -> list[str]:
    """Return the lines of standard input; an error where nobody typed or piped any."""
    lines = [] if sys.stdin.isatty() else [line.strip() for line in sys.stdin]
    if not any(lines):
        raise EquipoiseError('type a sentence: equipoise ask "The nurse told the farmer that she was late."')
    return [line for line in lines if line]
