"""The survey as a web app: puts routes, pages and guard together."""

# No postponed annotations here: FastAPI reads them.
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from .... import packaged
from ....serving import App
from ..database.connection import Unavailable
from ..database.raters import UnknownRater
from ..database.survey import SurveyDatabase
from ..panel import PaymentMap
from .administration import add_administration
from .doors import add_doors
from .guard import Guard
from .pages import Link, Pages, SurveyOptions, hiding_rules
from .rating import add_rating

THREADS = 40
"""Requests worked on at once; most of them wait for the disk, and share its flush."""


def survey_app(database: SurveyDatabase, options: SurveyOptions, payments: PaymentMap | None = None) -> App:
    """Return the survey as an ASGI app, guarded."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    pages = Pages(options, quota=database.asking.quota)
    database.work.checks = [question.key for question in options.checks]
    for add in (add_doors, add_rating, add_administration):
        add(app, database, options, pages, payments)
    _add_plain(app, database, options)
    _add_problems(app, options, pages)
    return Guard(app, options.limits, options.site)


def _add_plain(app: FastAPI, database: SurveyDatabase, options: SurveyOptions) -> None:
    """Add the style sheet and the health check."""
    style = packaged.text(__package__, "pages", "survey.css")
    style += hiding_rules(options.texts)

    @app.get("/survey.css")
    async def survey_css() -> Response:
        return Response(style, media_type="text/css")

    @app.get("/health")
    def health() -> Response:
        alive = database.store.is_alive()
        content = {"status": "ok" if alive else "database unavailable"}
        return JSONResponse(content, status_code=200 if alive else 503)


def _add_problems(app: FastAPI, options: SurveyOptions, pages: Pages) -> None:
    """Turn every failure into a page that says what to do."""
    t = options.texts

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        text = t("problem.missing_page") if error.status_code in (404, 405) and error.detail in _PLAIN else error.detail
        return pages.problem(str(text), status=error.status_code)

    @app.exception_handler(RequestValidationError)
    async def misfilled(request: Request, error: RequestValidationError) -> Response:
        return pages.problem(t("problem.form"), status=422)

    @app.exception_handler(UnknownRater)
    async def unknown(request: Request, error: UnknownRater) -> Response:
        return pages.problem(str(error), status=404)

    @app.exception_handler(Unavailable)
    async def unavailable(request: Request, error: Unavailable) -> Response:
        where = request.url.path if request.method == "GET" else "/work"
        link = Link(where, t("problem.retry_now"))
        page = pages.message(
            t("problem.retry_heading"), t("problem.retry"), links=[link], status=503, refresh=f"5; url={where}"
        )
        page.headers["retry-after"] = "5"
        return page


_PLAIN = ("Not Found", "Method Not Allowed")
