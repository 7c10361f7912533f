"""`equipoise export`: a dataset and a task in the format of another tool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .audit import Quiet, Several, column_map
from .console import printable

app = typer.Typer(help="Write tasks for other tools. `equipoise import` reads their logs back.", rich_markup_mode=None)

Data = Annotated[Several, typer.Option("--data", help="A dataset's name or path; repeatable. By default builtin.")]
Tasks = Annotated[Several, typer.Option("--task", help="next-word, mcq, …; repeatable. By default next-word.")]
Out = Annotated[Path, typer.Option("--out", help="The folder to write into.")]
Limit = Annotated[int | None, typer.Option("--limit", help="Use at most N base sentences, spread evenly.")]
Seeds = Annotated[int, typer.Option("--seeds", help="Option orders for each sentence (mcq).")]
Columns = Annotated[Several, typer.Option("--columns", help="Column map of a table: text=sentence,gold=answer.")]


@app.callback(invoke_without_command=True)
def _main(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("lm-eval")
def lm_eval(
    data: Data = None,
    task: Tasks = None,
    out: Out = Path("tasks"),
    limit: Limit = None,
    seeds: Seeds = 1,
    columns: Columns = None,
    quiet: Quiet = False,
) -> None:
    """Write tasks for lm-evaluation-harness, with UCerF, flips and equalized odds as metrics."""
    from ..exports.task_folders import write_lm_eval_tasks

    names = _written(write_lm_eval_tasks, data, task, out, {"limit": limit, "seeds": seeds}, columns)
    if not quiet:
        command = f"lm_eval run --include_path {out} --tasks {','.join(names)} --log_samples --output_path logs"
        typer.echo(printable(f"to run them:   {command} --model hf --model_args pretrained=MODEL,dtype=float32"))
        typer.echo("to read back:  equipoise import --format lm-eval logs")


@app.command("inspect")
def inspect(
    data: Data = None,
    task: Tasks = None,
    out: Out = Path("tasks"),
    limit: Limit = None,
    seeds: Seeds = 1,
    columns: Columns = None,
    quiet: Quiet = False,
) -> None:
    """Write tasks for inspect, with UCerF, flips and equalized odds as metrics."""
    from ..exports.task_folders import write_inspect_tasks

    files = _written(write_inspect_tasks, data, task, out, {"limit": limit, "seeds": seeds}, columns)
    if not quiet:
        typer.echo(printable(f"to run them:   inspect eval {' '.join(map(str, files))} --model hf/MODEL"))
        typer.echo("to read back:  equipoise import --format inspect logs")


def _written(
    write: Callable[..., Any], data: Several, task: Several, out: Path, choices: dict[str, Any], columns: Several
) -> list[Any]:
    """Write every dataset as every task, and return what the writer returned."""
    from ..datasets import open_dataset
    from ..settings import Settings
    from ..tasks import open_task

    settings = Settings(**choices, columns=column_map(columns or []))
    datasets = [open_dataset(name, settings.dataset) for name in data or ["builtin"]]
    tasks = [open_task(name, settings.task) for name in task or ["next-word"]]
    return [write(dataset, asked, settings.task, out) for dataset in datasets for asked in tasks]
