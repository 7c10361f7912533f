"""The viewer as a web app: which address shows what."""

# No postponed annotations here: FastAPI reads them.
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from ..comparing.comparison import compare
from ..records import EquipoiseError
from ..report import comparison_page, run_page
from ..runs.run import Run
from ..serving import App
from . import pages
from .guard import Door, Guard, report_policy
from .index import FINISHED, Entry, Index
from .making import Made, Maker

MOST_COMPARED = 12
"""Runs of one comparison: more make a page that nobody reads."""

REPORT = "report.html"


@dataclass
class Viewer:
    """What the viewer serves: the runs below a folder, and the pages that were made of them."""

    index: Index
    maker: Maker = field(default_factory=Maker)
    ended: threading.Event = field(default_factory=threading.Event)

    def judge(self) -> None:
        """Find the verdicts that folders do not have, until the viewer ends."""
        while not self.ended.is_set():
            if not self.index.judge_next():
                self.ended.wait(1.0)

    def chosen(self, slugs: Iterable[str]) -> list[Entry]:
        """Return the finished runs of these names, each once, in the order given; an unknown one is an error."""
        entries = []
        for slug in dict.fromkeys(slugs):
            entry = self.index.get(slug)
            if entry is None or entry.state != FINISHED:
                raise HTTPException(404, "This run is not here, or is not finished.")
            entries.append(entry)
        return entries


def view_app(viewer: Viewer, door: Door) -> App:
    """Return the viewer as an ASGI app, guarded."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    for add in (_add_files, _add_list, _add_runs, _add_comparisons, _add_problems):
        add(app, viewer)
    return Guard(app, door)


def _add_files(app: FastAPI, viewer: Viewer) -> None:
    style, script = pages.style_file(), pages.script_file()

    @app.get("/view.css")
    async def style_sheet() -> Response:
        return Response(style, media_type="text/css")

    @app.get("/view.js")
    async def code() -> Response:
        return Response(script, media_type="text/javascript")


def _add_list(app: FastAPI, viewer: Viewer) -> None:
    def shown() -> Response:
        entries = viewer.index.entries()
        return HTMLResponse(
            pages.list_page(entries, here="index", kicker=viewer.index.folder.name, seen=viewer.index.version)
        )

    app.get("/")(shown)
    app.get("/index.html")(shown)

    @app.get("/rows.json")
    def rows(seen: int = 0) -> Response:
        # A viewer that was started again counts from the beginning: then everything is new.
        version = viewer.index.version
        changed, gone = viewer.index.since(seen if seen <= version else 0)
        rows = [{"slug": entry.slug, "html": pages.rows_of(entry)} for entry in changed]
        return JSONResponse({"seen": str(viewer.index.version), "rows": rows, "gone": gone})


def _add_runs(app: FastAPI, viewer: Viewer) -> None:
    @app.get("/run-{slug}.html")
    def run(slug: str) -> Response:
        (entry,) = viewer.chosen([slug])
        made = viewer.maker.page(("run", slug, entry.changed), lambda: stored_page(entry.folder))
        links = [
            ("All runs", "index.html"),
            ("History of this model", pages.address("history.html", model=entry.model)),
            ("Compare with another run", pages.address("index.html", run=slug)),
            ("Ask about a case", pages.address("ask.html", from_run=slug)),
        ]
        return _shown(made, links, pages.TRUSTED, f"The page of {entry.model} is being made.")


def stored_page(folder: Path) -> bytes:
    """Return the page that is in a run's folder; where it is not of this version, the page as it is made now."""
    run = Run(folder)
    if REPORT in run.manifest.files:
        content = run.folder.content(REPORT, run.manifest)
        if pages.is_ours(content):
            return content
    return run_page(run).encode("utf-8", "replace")


def _shown(made: Made | None, links: Sequence[tuple[str, str]], scripts: Sequence[str], waiting: str) -> Response:
    """Return a page that was made, with the viewer's links; or one that says that it takes a while, or why not."""
    if made is None:
        return HTMLResponse(pages.message_page("One moment", waiting, refresh=1))
    if made.fault:
        return HTMLResponse(pages.message_page("This cannot be shown", made.fault), status_code=409)
    policy = {"content-security-policy": report_policy(scripts)}
    return HTMLResponse(pages.with_bar(made.page, links), headers=policy)


def _add_comparisons(app: FastAPI, viewer: Viewer) -> None:
    @app.get("/compare.html")
    def comparison(request: Request) -> Response:
        entries = viewer.chosen(request.query_params.getlist("run"))
        if not 2 <= len(entries) <= MOST_COMPARED:
            text = f"Choose between two and {MOST_COMPARED} finished runs in the list, then compare them."
            return HTMLResponse(pages.message_page("Compare", text), status_code=422)
        key = ("compare", *((entry.slug, entry.changed) for entry in entries))
        made = viewer.maker.page(key, lambda: compared_page([entry.folder for entry in entries]))
        slugs = [("run", entry.slug) for entry in entries]
        links = [
            ("All runs", "index.html"),
            ("Change the choice", pages.address("index.html", *slugs)),
            ("These runs over time", pages.address("history.html", *slugs)),
        ]
        return _shown(made, links, pages.MADE_SCRIPTS, f"{len(entries)} runs are being compared.")


def compared_page(folders: Sequence[Path]) -> bytes:
    """Return the page of a comparison, with the cases on which the runs differ."""
    try:
        made = compare(folders, progress=False)
    except EquipoiseError:
        # Runs that were asked different sentences: those that all were asked, if any.
        made = compare(folders, intersect=True, progress=False)
    return comparison_page(made, sentences=True).encode("utf-8", "replace")


def _add_problems(app: FastAPI, viewer: Viewer) -> None:
    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        known = error.detail if error.detail not in ("Not Found", "Method Not Allowed") else "This page does not exist."
        return HTMLResponse(pages.message_page("Not found", str(known)), status_code=error.status_code)

    @app.exception_handler(EquipoiseError)
    async def failed(request: Request, error: EquipoiseError) -> Response:
        return HTMLResponse(pages.message_page("This cannot be shown", str(error)), status_code=409)
