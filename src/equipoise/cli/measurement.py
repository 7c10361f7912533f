"""`equipoise measure` and `import`: a run or a part of it measured again, and the results of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..records import EquipoiseError
from .console import progress_bar
from .parameters import AUDIT, Json, NoHtml, Quiet, flag, with_options
from .results import show_run, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..runs import Run

Folder = Annotated[Path, typer.Argument(help="A run folder.")]
PartOut = Annotated[
    Path | None, typer.Option("--out", help="With --where: the folder of the part; by default beside the run's.")
]


@with_options(
    *("estimators", "by", "disparity", "level", "resamples", "where"),
    metrics="Measure this metric too; the others are kept.",
)
def measure(
    folder: Folder,
    out: PartOut = None,
    no_html: NoHtml = False,
    quiet: Quiet = False,
    as_json: Json = False,
    **choices: Any,
) -> None:
    """Measure a run again, without the model. Use it for other estimators, groups, levels or metrics.

    With --where, a part of the run is measured into a new run folder; the run itself does not change.
    """
    where = choices.pop("where", None)
    if where or out:
        run = part_of(folder, where, out, quiet=quiet, **choices)
    else:
        from ..run import remeasure

        with progress_bar(quiet=quiet) as progress:
            run = remeasure(folder, progress=progress, **choices)
    write_page(run, no_html=no_html)
    show_run(run, quiet=quiet, as_json=as_json)


def part_of(folder: Path, where: Sequence[str] | None, out: Path | None, *, quiet: bool, **choices: Any) -> Run:
    """Return the part of the run that was asked for; the run itself where none was."""
    if not where:
        if out is not None:
            raise EquipoiseError("--out is the folder of a part of the run: it needs --where")
        from ..run import load

        return load(folder)
    from ..subset import subset_run

    with progress_bar(quiet=quiet) as progress:
        return subset_run(folder, where, out=out, progress=progress, **choices)


@with_options("metrics", "by", "level", "resamples")
def import_results(
    files: Annotated[
        list[Path],
        typer.Argument(help="Result files (or folders of logs) of one model; several datasets make one run."),
    ],
    format: Annotated[
        Literal["general", "gender-ece", "lm-eval", "inspect"],
        typer.Option(
            "--format",
            help="general: a row for each item and candidate (item, candidate, logprob, gold, …); gender-ece: the "
            "paper's per-item CSVs; lm-eval and inspect: logs of tasks that `equipoise export` wrote.",
        ),
    ] = "general",
    model: Annotated[str, typer.Option("--model", help="The model's name; by default from the file.")] = "",
    dataset: Annotated[str, typer.Option("--dataset", help="The dataset's name; by default from the file.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; by default under runs/.")] = None,
    replace: Annotated[bool, flag(AUDIT["replace"])] = False,
    no_html: NoHtml = False,
    quiet: Quiet = False,
    as_json: Json = False,
    **choices: Any,
) -> None:
    """Import results of other tools. Every metric, table and figure then works on them, without a model.

    For example: equipoise import --format gender-ece winobias/GPT-J-6B.results.csv
    """
    from ..run import import_results as run_import

    with progress_bar(quiet=quiet) as progress:
        choices |= {"format": format, "model": model, "dataset": dataset, "out": out, "replace": replace}
        run = run_import(files, progress=progress, **choices)
    write_page(run, no_html=no_html)
    show_run(run, quiet=quiet, as_json=as_json)
