"""The viewer as a web app: which address shows what."""

# No postponed annotations here: FastAPI reads them.
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from ..asking import Question
from ..datasets.markers import read_markers
from ..metrics.requirement import Requirement
from ..records import EquipoiseError
from ..serving import App
from . import pages
from .ask_box import FIRST, AskBox, case_of, question_of, table_of, worst_cases
from .comparisons import MOST_COMPARED, compared_page
from .guard import Door, Guard, report_policy
from .histories import history_page, models_with_histories
from .index import FINISHED, RUNNING, STOPPED, Entry, Index
from .making import Made, Maker
from .run_pages import stored_page

MOST_MOMENTS = 60
"""Runs of one history."""


@dataclass
class Viewer:
    """What the viewer serves: the runs below a folder, and the pages that were made of them."""

    index: Index
    limits: Sequence[Requirement] = ()
    box: AskBox | None = None
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
    for add in (_add_files, _add_list, _add_runs, _add_comparisons, _add_histories, _add_asking, _add_problems):
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
        # The version first: what changes meanwhile comes with the next news.
        version, going = viewer.index.version, viewer.index.get(slug)
        if going is not None and going.state in (RUNNING, STOPPED):
            return HTMLResponse(pages.going_page(going, version))
        (entry,) = viewer.chosen([slug])
        made = viewer.maker.page(("run", slug, entry.changed), lambda: stored_page(entry.folder))
        links = [
            ("All runs", "index.html"),
            ("History of this model", pages.address("history.html", model=entry.model)),
            ("Compare with another run", pages.address("index.html", run=slug)),
            ("Ask about a case", pages.address("ask.html", from_run=slug)),
        ]
        return _shown(made, links, pages.TRUSTED, f"The page of {entry.model} is being made.")


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


def _add_histories(app: FastAPI, viewer: Viewer) -> None:
    @app.get("/histories.html")
    def histories() -> Response:
        models = {
            model: (pages.address("history.html", model=model), runs)
            for model, runs in models_with_histories(viewer.index.entries()).items()
        }
        return HTMLResponse(pages.drawn_page("histories.html", "History", here="history", models=models))

    @app.get("/history.html")
    def over_time(request: Request, model: str = "") -> Response:
        slugs = request.query_params.getlist("run")
        entries = viewer.chosen(slugs) if slugs else models_with_histories(viewer.index.entries()).get(model, [])
        if not 2 <= len(entries) <= MOST_MOMENTS:
            text = f"A history needs between two and {MOST_MOMENTS} finished runs of a model: choose them in the list."
            return HTMLResponse(pages.message_page("History", text), status_code=422)
        key = ("history", *((entry.slug, entry.changed) for entry in entries))
        title = model or " · ".join(dict.fromkeys(entry.model for entry in entries))
        made = viewer.maker.page(key, lambda: history_page(title, entries, viewer.limits).encode("utf-8", "replace"))
        last = [("run", entry.slug) for entry in sorted(entries, key=lambda entry: (entry.date, entry.place))[-2:]]
        links = [
            ("All runs", "index.html"),
            ("All histories", "histories.html"),
            ("Compare the last two", pages.address("compare.html", *last)),
        ]
        return _shown(made, links, pages.MADE_SCRIPTS, "The runs are being put in order, and the last two compared.")


def _add_asking(app: FastAPI, viewer: Viewer) -> None:
    markers = {
        name: [marker.word for marker in attribute.markers]
        for name, attribute in read_markers().items()
        if attribute.demographic
    }

    @app.get("/ask.html")
    def ask_page(request: Request, from_run: str = "", case: str = "", find: str = "") -> Response:
        given = {name: request.query_params.get(name, "") for name in ("sentence", "pronouns", "candidates", "groups")}
        question = question_of({**given, "sentence": given["sentence"] or FIRST})
        shown: dict[str, Any] = {"here": "ask", "able": viewer.box is not None, "markers": markers, "find": find}
        entries = [entry for entry in viewer.index.entries() if entry.state == FINISHED]
        if from_run:
            (source,) = viewer.chosen([from_run])
            shown |= {"source": source, "cases": worst_cases(source.folder, find)}
            # A page's link to a case names its set, its part and its variant.
            question = case_of(source.folder, unquote(case.partition(",")[0])) or question if case else question
        page = pages.drawn_page("ask.html", "Ask", question=question, entries=entries[:MOST_MOMENTS], **shown)
        return HTMLResponse(page)

    async def answered(request: Request, asked: Callable[[AskBox, Question], dict[str, Any]]) -> Response:
        if viewer.box is None or viewer.box.state:
            return JSONResponse({"text": viewer.box.state if viewer.box else "No model is loaded."}, status_code=503)
        try:
            question = question_of(json.loads(await request.body()))
            return JSONResponse(await run_in_threadpool(asked, viewer.box, question))
        except (EquipoiseError, ValueError, RecursionError) as error:
            return JSONResponse({"text": f"{str(error)[:1].upper()}{str(error)[1:]}"}, status_code=422)

    @app.post("/ask.json")
    async def asked(request: Request) -> Response:
        return await answered(request, AskBox.answer)

    @app.post("/tokens.json")
    async def token_by_token(request: Request) -> Response:
        return await answered(request, AskBox.tokens)

    @app.post("/table.csv")
    async def table(request: Request) -> Response:
        try:
            return Response(table_of(await request.body()), media_type="text/csv; charset=utf-8")
        except EquipoiseError as error:
            return JSONResponse({"text": str(error)}, status_code=422)


def _add_problems(app: FastAPI, viewer: Viewer) -> None:
    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        known = error.detail if error.detail not in ("Not Found", "Method Not Allowed") else "This page does not exist."
        return HTMLResponse(pages.message_page("Not found", str(known)), status_code=error.status_code)

    @app.exception_handler(EquipoiseError)
    async def failed(request: Request, error: EquipoiseError) -> Response:
        return HTMLResponse(pages.message_page("This cannot be shown", str(error)), status_code=409)
