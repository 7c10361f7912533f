"""`equipoise view`."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import EngineOptions, QuestionOptions, RunOptions, options_of
from ..records import EquipoiseError
from .config import required
from .console import progress_bar, tell
from .parameters import AUDIT, Quiet, was_given, with_options

if TYPE_CHECKING:
    from ..metrics.requirement import Requirement
    from ..view.ask_box import AskBox
    from ..view.index import Index

TOKEN = "EQUIPOISE_VIEW_TOKEN"
SHORTEST = 16


@with_options(*options_of(EngineOptions, QuestionOptions), unset=False)
def view(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder that holds runs, at any depth.")] = Path("runs"),
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; others than this machine reach only another one.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen at; 0 for any free one.")] = 8717,
    model: Annotated[
        str, typer.Option("--model", help="A model to ask sentences of in the page; none is loaded without it.")
    ] = "",
    task: Annotated[str, typer.Option("--task", help=AUDIT["task"].help)] = AUDIT["task"].default[0],
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require", help="A limit to draw into histories, such as 'ucerf[type=type2] >= 0.80'. Repeatable."
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A file with a table [gate], whose limits are drawn into histories.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write the pages into this folder, for any web server, instead of serving them."),
    ] = None,
    quiet: Quiet = False,
    **choices: Any,
) -> None:
    """Look at all runs of a folder in a browser.

    A list follows runs that are still going; each run has its page, and chosen runs are compared. The address that is
    printed has a token in it: who has the address can read the runs, nobody else can. Set EQUIPOISE_VIEW_TOKEN to keep
    the same one.
    """
    from ..metrics.requirement import parse_requirement
    from ..view.index import Index

    index = Index(folder)
    limits = [parse_requirement(text) for text in (*(require or ()), *(required(config) if config else ()))]
    if export is not None:
        _write(index, export, limits, quiet=quiet)
        return
    from ..serving import listening, serve_at
    from ..view.app import Viewer, view_app
    from ..view.guard import Door

    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    if len(token) < SHORTEST or not token.replace("-", "").replace("_", "").isalnum():
        raise EquipoiseError(f"{TOKEN} needs at least {SHORTEST} letters and digits, such as a random word")
    with progress_bar(quiet=quiet) as progress:
        index.look(progress)
    try:
        door = listening(host, port)
    except OSError as error:
        reason = str(error.strerror).lower()
        raise EquipoiseError(f"{host}:{port} cannot be used ({reason}); choose another --port") from None
    asked = task if was_given(context, "task") else RunOptions.task
    viewer = Viewer(index, limits, _box(model, asked, choices) if model or choices.get("server") else None)
    threading.Thread(target=viewer.judge, daemon=True).start()
    shown = f"[{host}]" if ":" in host else host
    tell(f"Open http://{shown}:{door.getsockname()[1]}/{token}/ in a browser. Ctrl-C ends it.")
    serve_at(door, view_app(viewer, Door(token, {"localhost", host.lower()})))


def _write(index: Index, out: Path, limits: Sequence[Requirement], *, quiet: bool) -> None:
    from ..view.export import export

    with progress_bar(quiet=quiet) as progress:
        index.look(progress)
        number = export(index, out, limits, progress=progress)
    if not quiet:
        tell(f"{number:,} files are in {out}/. Open index.html there, or serve the folder.")


def _box(model: str, task: Any, choices: Mapping[str, Any]) -> AskBox:
    from ..scoring.opening import open_engine
    from ..settings import Settings
    from ..view.ask_box import AskBox

    options = Settings(**choices).engine
    return AskBox(lambda: open_engine(model or AUDIT["model"].default, options), task, **choices)
