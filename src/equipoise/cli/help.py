"""Help that fits a screen: commands under headings, the options that most people need, and the rest on request."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..options import OUTPUT, PANELS
from ..records import EquipoiseError

OLD_COMMANDS = {
    "figures": "report RUN --as figures",
    "tables": "report RUN --as tables",
    "card": "report RUN --as card",
    "identities": "report RUN --as identities",
    "reliability": "report RUN --as reliability",
    "estimators": "study estimators",
    "sensitivity": "study wording",
    "drawn": "study temperature",
    "calibrate": "study calibration",
    "paper": "study paper",
    "push": "export hub",
    "metrics": "list metrics",
    "engines": "list engines",
    "tasks": "list tasks",
    "schema": "list schema",
}
"""Commands that had a name of their own -> how they are called now."""


COMMON: Mapping[str, Mapping[str, str]] = {
    "audit": {
        "model": "smollm2 (the default), NAME on a hub, a folder or FILE.gguf",
        "data": "builtin, another name (`equipoise data list`) or your table",
        "task": "next-word, mcq, cloze, … (`equipoise list tasks`)",
        "limit": "at most this many base sentences",
        "server": "address of a model server: http://127.0.0.1:8000/v1",
        "device": "auto, cpu, cuda, cuda:1 or all",
        "by": "break down by this group: gender, occupation, …",
        "config": "a file with options (`equipoise init` writes one)",
        "out": "the run folder; by default under runs/",
    },
    "ask": {
        "sentences": '"The nurse told the farmer that she was late."',
        "model": "as for `equipoise audit`: smollm2, NAME, a folder, FILE.gguf",
        "task": "next-word, mcq, cloze, … (`equipoise list tasks`)",
        "candidates": "whom the pronoun may mean: nurse,farmer",
        "groups": 'words for the one in brackets ("The [old] nurse …"): old,young',
        "pronouns": "by default he,she,they",
        "server": "address of a model server: http://127.0.0.1:8000/v1",
        "chat": "ask through the model's chat template",
        "json": "print the answers as JSON",
    },
    "view": {
        "folder": "the folder that holds the runs, at any depth",
        "model": "a model to ask sentences of in the page",
        "server": "address of a model server: http://127.0.0.1:8000/v1",
        "task": "how it is asked: next-word, mcq, cloze, …",
        "require": "a limit to draw into histories: 'ucerf[type=type2] >= 0.80'",
        "config": "a file with a table [gate], for the same",
        "export": "write static pages into this folder instead",
        "host": "address to listen at; by default this machine only",
        "port": "port to listen at; 0 for any free one",
    },
    "report": {
        "runs": "run folders",
        "kind": "page, figures, tables, card, certificate, identities, reliability",
        "out": "where to write; by default into the run folder",
        "formats": "of figures: pdf, svg, png; of tables: markdown, latex, csv",
        "where": "a part of the run: occupation=nurse",
        "every": "print every metric, not only the leading ones",
        "no_sentences": "leave the sentences out of the page",
        "as_json": "print the measurements as JSON",
        "quiet": "print nothing but errors",
    },
    "paper": {
        "name": "ucerf, winoidentity or gender-ece",
        "model": "as for `equipoise audit`; repeatable",
        "run": "make the tables from this run, and ask no model; repeatable",
        "limit": "at most this many base sentences of each dataset",
        "out": "the folder; by default runs/paper-NAME",
        "only": "only cells with this model, data or task",
        "jobs": "number of models that run at the same time",
        "dry_run": "check everything, print the cells, and stop",
        "quiet": "print nothing but errors",
    },
    "tune": {
        "model": "smollm2, a folder with safetensors weights, or a hub's NAME",
        "out": "folder of the adapter",
        "data": "grammar (our own sets), synthbias, or your table",
        "method": "lora (an adapter) or full (all weights)",
        "target": "base (the model's own average) or labels (of the data)",
        "weight": "weight of the UCerF loss; 0 trains the task only",
        "steps": "maximum number of steps",
        "device": "auto, cpu, cuda or cuda:N",
        "quiet": "print nothing but errors",
    },
}
"""Command -> its arguments and the eight options that most people need, each in a few words that fit a line."""

HELP_ALL = "help_all"


def grouped(groups: Mapping[str, Sequence[str]]) -> type[TyperGroup]:
    """Return a group of commands whose help lists them under headings, and that knows the old names."""

    class Grouped(TyperGroup):
        """Commands under headings; each with the first sentence of its help."""

        def format_options(self, ctx: Any, formatter: Any) -> None:
            """Write the commands, each beside its heading; `--version` and completion are in the reference."""
            width = max(map(len, groups)) + 2
            formatter.write_paragraph()
            for heading, commands in groups.items():
                for number, name in enumerate(commands):
                    command = self.get_command(ctx, name)
                    sentence = (command.help or "").split("\n")[0].partition(". ")[0] if command is not None else ""
                    formatter.write(f"  {'' if number else heading:<{width}}{name:<13}{sentence.rstrip('.')}.\n")

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """Return the command that the words call; an old name is an error that says the new one."""
            if args and args[0] in OLD_COMMANDS:
                raise EquipoiseError(f"`equipoise {args[0]}` is now `equipoise {OLD_COMMANDS[args[0]]}`")
            return super().resolve_command(ctx, args)

    return Grouped


class PanelCommand(TyperCommand):
    """A command whose help shows the options that most people need, and with --help-all all of them in panels."""

    @property
    def common(self) -> Mapping[str, str]:
        """The parameters that --help shows, with a few words about each; none where it shows all."""
        return COMMON.get(self.name or "", {})

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the common options, or all of them, panel by panel."""
        params = self.get_params(ctx)
        if not self.common:
            super().format_options(ctx, formatter)
        elif ctx.meta.get(HELP_ALL):
            _write_panels(params, ctx, formatter)
        else:
            self._write_common(params, formatter)

    def _write_common(self, params: Sequence[Any], formatter: Any) -> None:
        flags = {param.name: param.opts[0] for param in params}
        lines = [(flags[name], words) for name, words in self.common.items()]
        with formatter.section("What most people need"):
            formatter.write_dl([*lines, ("--help-all", f"all {len(params) - len(lines) - 2} other options, in panels")])


def _show_all(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:
        context.meta[HELP_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


def help_alone(context: typer.Context) -> None:
    """Print the help of a group that is called without a command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def with_help_all(name: str, function: Callable[..., None]) -> Callable[..., None]:
    """Return the command's function, with `--help-all` where `--help` shows only some of its options."""
    if name not in COMMON:
        return function
    option = typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options, in panels.")
    kind = Annotated[bool, option]
    signature = inspect.signature(function, eval_str=True)
    made = inspect.Parameter(HELP_ALL, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)

    def command(**values: Any) -> None:
        values.pop(HELP_ALL)
        function(**values)

    command.__doc__ = function.__doc__
    parameters = [*signature.parameters.values(), made]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {known.name: known.annotation for known in parameters}
    return command


def _write_panels(params: Sequence[Any], ctx: Any, formatter: Any) -> None:
    panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
    for parameter in params:
        record = parameter.get_help_record(ctx)
        if record is not None:
            panels[getattr(parameter, "rich_help_panel", None) or OUTPUT].append(record)
    for panel, records in panels.items():
        if records:
            with formatter.section(panel):
                formatter.write_dl(records)
