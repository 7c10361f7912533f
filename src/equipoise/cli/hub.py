"""`equipoise card` and `equipoise push`: a run for a model's README and for a repository of a hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..records import EquipoiseError
from .audit import Quiet
from .console import printable

if TYPE_CHECKING:
    from ..exports.hub import Upload


def card(
    folder: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path | None, typer.Option("--out", help="A file to write instead of printing.")] = None,
) -> None:
    """Print a section for a model card. It has the hub's model-index metadata."""
    from ..exports.card import model_card
    from ..run import load
    from ..runs.files import write_file

    text = model_card(load(folder))
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_file(out, text.encode())
        typer.echo(printable(f"{out} is written"))


def push(
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
            typer.echo(printable(f"  {name}"))
    question = f"Upload {len(upload.files)} files ({upload.size / 1e6:.1f} MB) to {to}?"
    if not yes and not typer.confirm(printable(question)):
        raise EquipoiseError("nothing was uploaded")
    address = push_files(upload, private=not public)
    if not quiet:
        typer.echo(printable(f"uploaded: {address}"))


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
