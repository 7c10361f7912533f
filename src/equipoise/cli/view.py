"""`equipoise view`."""

from __future__ import annotations

import os
import secrets
import threading
from pathlib import Path
from typing import Annotated

import typer

from ..records import EquipoiseError
from .console import printable, progress_bar
from .parameters import Quiet

TOKEN = "EQUIPOISE_VIEW_TOKEN"
SHORTEST = 16


def view(
    folder: Annotated[Path, typer.Argument(help="A folder that holds runs, at any depth.")] = Path("runs"),
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; others than this machine reach only another one.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen at; 0 for any free one.")] = 8717,
    quiet: Quiet = False,
) -> None:
    """Look at all runs of a folder in a browser.

    A list follows runs that are still going; each run has its page, and chosen runs are compared. The address that is
    printed has a token in it: who has the address can read the runs, nobody else can. Set EQUIPOISE_VIEW_TOKEN to keep
    the same one.
    """
    from ..serving import listening, serve_at
    from ..view.app import Viewer, view_app
    from ..view.guard import Door
    from ..view.index import Index

    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    if len(token) < SHORTEST or not token.replace("-", "").replace("_", "").isalnum():
        raise EquipoiseError(f"{TOKEN} needs at least {SHORTEST} letters and digits, such as a random word")
    index = Index(folder)
    with progress_bar(quiet=quiet) as progress:
        index.look(progress)
    try:
        door = listening(host, port)
    except OSError as error:
        reason = str(error.strerror).lower()
        raise EquipoiseError(f"{host}:{port} cannot be used ({reason}); choose another --port") from None
    viewer = Viewer(index)
    threading.Thread(target=viewer.judge, daemon=True).start()
    shown = f"[{host}]" if ":" in host else host
    typer.echo(printable(f"Open http://{shown}:{door.getsockname()[1]}/{token}/ in a browser. Ctrl-C ends it."))
    serve_at(door, view_app(viewer, Door(token, {"localhost", host.lower()})))
