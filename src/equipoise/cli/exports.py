"""`equipoise export`: questions for other tools, and a run or a dataset for a hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import RunOptions
from ..records import EquipoiseError
from ..records.scripts import printable
from .console import tell
from .parameters import Quiet, with_options

if TYPE_CHECKING:
    from ..exports.hub import Upload

app = typer.Typer(help="Write tasks for other tools, or upload to a hub.", rich_markup_mode=None)

Out = Annotated[Path, typer.Option("--out", help="The folder to write into.")]
ASKED = ("data", "task", "limit", "orders", "columns")
"""The options of `audit` that say what is written."""


@app.command("lm-eval")
@with_options(*ASKED, unset=False)
def lm_eval(out: Out = Path("tasks"), quiet: Quiet = False, **choices: Any) -> None:
    """Write tasks for lm-evaluation-harness, with UCerF, flips and equalized odds as metrics.

    `equipoise import` reads its logs back.
    """
    from ..exports.task_folders import write_lm_eval_tasks

    names = _written(write_lm_eval_tasks, out, choices)
    if not quiet:
        command = f"lm_eval run --include_path {out} --tasks {','.join(names)} --log_samples --output_path logs"
        tell(f"to run them:   {command} --model hf --model_args pretrained=MODEL,dtype=float32")
        typer.echo("to read back:  equipoise import --format lm-eval logs")


@app.command("inspect")
@with_options(*ASKED, unset=False)
def inspect(out: Out = Path("tasks"), quiet: Quiet = False, **choices: Any) -> None:
    """Write tasks for inspect, with UCerF, flips and equalized odds as metrics.

    `equipoise import` reads its logs back.
    """
    from ..exports.task_folders import write_inspect_tasks

    files = _written(write_inspect_tasks, out, choices)
    if not quiet:
        tell(f"to run them:   inspect eval {' '.join(map(str, files))} --model hf/MODEL")
        typer.echo("to read back:  equipoise import --format inspect logs")


def _written(write: Callable[..., Any], out: Path, choices: Mapping[str, Any]) -> list[Any]:
    """Write every dataset as every task, and return what the writer returned."""
    from ..settings import Settings
    from ..tasks import open_tasks

    asked, settings = RunOptions.taken(choices), Settings.taken(choices)
    tasks = open_tasks(asked.task, settings.task)
    datasets = settings.datasets(asked.data, tasks)
    return [write(dataset, task, settings.task, out) for dataset in datasets for task in tasks]


@app.command("hub")
def hub(
    folder: Annotated[Path, typer.Argument(help="A run folder, or a folder with a dataset of yours.")],
    to: Annotated[str, typer.Option("--to", help="The repository, as owner/name; it is made if it does not exist.")],
    sentences: Annotated[
        bool,
        typer.Option("--sentences", help="Also upload the sentences of the run, if their licence allows it."),
    ] = False,
    public: Annotated[bool, typer.Option("--public", help="Make a new repository public.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before uploading.")] = False,
    quiet: Quiet = False,
) -> None:
    """Upload a run or a dataset to the Hugging Face hub. It shows what would be sent, and asks first.

    The sentences of a run stay on this machine unless --sentences is given.
    """
    from ..exports.hub import push as push_files

    upload = _upload(folder, to, sentences=sentences)
    if not quiet or not yes:
        for name, _ in upload.files:
            tell(f"  {name}")
    question = f"Upload {len(upload.files)} files ({upload.size / 1e6:.1f} MB) to {to}?"
    if not yes and not typer.confirm(printable(question)):
        raise EquipoiseError("nothing was uploaded")
    address = push_files(upload, private=not public)
    if not quiet:
        tell(f"uploaded: {address}")


def _upload(folder: Path, to: str, *, sentences: bool) -> Upload:
    """Return what to upload: a run with its card and page, or all files of a dataset's folder."""
    from ..exports.card import run_card
    from ..exports.hub import Upload, dataset_files, run_files
    from ..report import run_page
    from ..run import load

    if not folder.is_dir():
        raise EquipoiseError(f"{folder} is not a folder")
    if not (folder / "manifest.json").is_file():
        return Upload(to, tuple(dataset_files(folder)))
    run = load(folder)
    page = run_page(run, sentences=sentences).encode()
    files = [("README.md", run_card(run).encode()), ("report.html", page), *run_files(folder, sentences=sentences)]
    return Upload(to, tuple(files))
