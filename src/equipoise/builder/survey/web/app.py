"""The annotation web app: routes and templates only. Server-rendered, no script, one cookie.

Who may do what is decided here; what is asked and stored, in `database.py`; size, rate and headers, in `guard.py`.
"""

# No postponed annotations here: FastAPI reads them, and some name what only a function knows.
import csv
import hmac
import io
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Annotated, Any

import jinja2
import uvicorn
from fastapi import Cookie, Depends, FastAPI, Form, Header, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from ...verdict.votes import FAILED, PASSED, TESTING, WITHDRAWN, Vote
from ..database.survey import Question, Rater, SurveyDatabase, hashed
from ..entrance import KnownQuestion, examples
from .guard import App, Guard, Limits

LOCALES = (
    *("Australia", "Canada", "Ghana", "Hong Kong", "India", "Ireland", "Jamaica", "Kenya", "Malaysia", "New Zealand"),
    *(
        "Nigeria",
        "Pakistan",
        "Philippines",
        "Singapore",
        "South Africa",
        "United Kingdom",
        "United States",
        "elsewhere",
    ),
)
_QUIETLY: Any = {"log_level": "warning", "access_log": False, "server_header": False}
STALE = "That sentence had been answered already, or others have settled it meanwhile; here is the next."


@dataclass(frozen=True)
class SurveyOptions:
    """What a survey is like: its entrance test, who may come in and how, and the administrator's token."""

    test: Sequence[KnownQuestion]
    admin_token: str
    pass_share: float = 0.8
    panel_code: str = ""
    asks_locale: bool = False
    secure_cookie: bool = False
    limits: Limits = field(default_factory=Limits)


def survey_app(database: SurveyDatabase, options: SurveyOptions) -> App:
    """Return the survey as an ASGI app, guarded."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    pages = _Pages(database, options)
    _add_doors(app, database, options, pages)
    _add_work(app, database, options, pages)
    _add_admin(app, database, options, pages)

    @app.get("/survey.css")
    def style() -> Response:
        text = resources.files(__package__).joinpath("pages", "survey.css").read_text(encoding="utf-8")
        return Response(text, media_type="text/css")

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return pages.message("That is not possible", str(error.detail), status=error.status_code)

    @app.exception_handler(RequestValidationError)
    async def misfilled(request: Request, error: RequestValidationError) -> Response:
        return pages.message("That is not possible", "The form is not filled in as it should be.", status=422)

    return Guard(app, options.limits)


class _Pages:
    """Renders the templates; everything put into them is escaped."""

    def __init__(self, database: SurveyDatabase, options: SurveyOptions) -> None:
        loader = jinja2.FunctionLoader(_template)
        self._templates = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
        self._always: dict[str, Any] = {
            "examples": examples(),
            "test_length": len(options.test),
            "pass_percent": round(100 * options.pass_share),
            "quota": database.asking.quota,
            "asks_locale": options.asks_locale,
            "locales": LOCALES,
            "title": "Whom does the pronoun mean?",
            "wide": False,
            "notice": "",
        }

    def page(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(name).render({**self._always, **values}), status_code=status)

    def message(self, title: str, *paragraphs: str, code: str = "", status: int = 200) -> HTMLResponse:
        return self.page("message.html", title=title, paragraphs=paragraphs, code=code, status=status)


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("pages", name).read_text(encoding="utf-8")


def csrf_of(session: str) -> str:
    """Return the token that forms of this session carry: nobody without its cookie can make it."""
    return hmac.new(session.encode(), b"csrf", "sha256").hexdigest()


def _check_csrf(session: str, given: str) -> None:
    if not hmac.compare_digest(csrf_of(session).encode(), given.encode()):
        raise HTTPException(403, "This form is not from this page; go back, reload it, and send it again.")


def _add_doors(app: FastAPI, database: SurveyDatabase, options: SurveyOptions, pages: _Pages) -> None:
    """Add how raters come in: by a personal link, or from a panel with its id for them."""

    def begin(session: str) -> Response:
        response = RedirectResponse("/work", status_code=303)
        response.set_cookie(
            "session", session, httponly=True, samesite="lax", secure=options.secure_cookie, max_age=30 * 86_400
        )
        return response

    @app.get("/")
    def home(session: Annotated[str, Cookie()] = "") -> Response:
        if session and database.rater(session):
            return RedirectResponse("/work", status_code=303)
        return pages.message("A survey about pronouns", "To take part, follow the personal link you were sent.")

    @app.get("/enter/{invitation}")
    def invited(invitation: str) -> Response:
        if not database.is_invited(invitation):
            raise HTTPException(404, "There is no such invitation; check that the link is whole.")
        return pages.page("enter.html", action=f"/enter/{invitation}", by_panel=False, panel_id="")

    @app.post("/enter/{invitation}")
    def enter(invitation: str, locale: Annotated[str, Form()] = "") -> Response:
        session = database.enter(invitation, locale=_known_locale(options, locale))
        if session is None:
            raise HTTPException(404, "There is no such invitation; check that the link is whole.")
        return begin(session)

    @app.get("/panel")
    def from_panel(PROLIFIC_PID: str = "", id: str = "") -> Response:
        panel_id = (PROLIFIC_PID or id).strip()
        if not options.panel_code or not 0 < len(panel_id) <= 100:
            raise HTTPException(404, "This survey is entered by a personal link, or from a panel with an id.")
        return pages.page("enter.html", action="/panel", by_panel=True, panel_id=panel_id)

    @app.post("/panel")
    def enter_from_panel(
        panel_id: Annotated[str, Form(max_length=100)], locale: Annotated[str, Form()] = ""
    ) -> Response:
        if not options.panel_code:
            raise HTTPException(404, "This survey is entered by a personal link.")
        session = database.enter_by_id(panel_id, locale=_known_locale(options, locale))
        if session is None:
            raise HTTPException(409, "This id has entered before; go on in the browser you began with, at /work.")
        return begin(session)


def _known_locale(options: SurveyOptions, locale: str) -> str:
    return locale if options.asks_locale and locale in LOCALES else ""


class _AnswerForm(BaseModel):
    """The fields of the question form, checked."""

    csrf: str = ""
    ticket: str = ""
    coherent: str = ""
    first: str = ""
    second: str = ""

    def vote(self) -> Vote:
        """Return the vote; an answer that is missing where it is needed is refused."""
        meanings = {"yes": True, "no": False}
        coherent = meanings.get(self.coherent)
        if coherent is False:
            return Vote(False, None, None)
        first, second = meanings.get(self.first), meanings.get(self.second)
        if coherent is None or first is None or second is None:
            raise HTTPException(422, "Please answer every question; go back to the sentence.")
        return Vote(True, first, second)


def _add_work(app: FastAPI, database: SurveyDatabase, options: SurveyOptions, pages: _Pages) -> None:
    """Add the entrance test and the sentences."""

    def entered(session: Annotated[str, Cookie()] = "") -> tuple[str, Rater]:
        rater = database.rater(session) if session else None
        if rater is None:
            raise HTTPException(403, "You have not entered this survey in this browser; follow your personal link.")
        return session, rater

    Entered = Annotated[tuple[str, Rater], Depends(entered)]

    @app.get("/work")
    def work(who: Entered, stale: bool = False) -> Response:
        session, rater = who
        if rater.state == TESTING:
            known = options.test[rater.trials]
            shown = Question(str(rater.trials), known.text, known.pronoun, known.first, known.second)
            step = f"Entrance test: question {rater.trials + 1} of {len(options.test)}"
            return _ask(pages, session, shown, step, "/test", "")
        if rater.state == FAILED:
            return pages.message(
                "Thank you",
                f"You had {rater.score:.0%} of the entrance test right; {options.pass_share:.0%} are needed.",
            )
        if rater.state == WITHDRAWN:
            return pages.message("Thank you", "This survey is over for you.")
        question = database.question(rater.id)
        if question is None:
            return pages.message(
                "That is all. Thank you!", f"You have answered {rater.answers:,} sentences.", code=options.panel_code
            )
        return _ask(pages, session, question, f"Sentence {rater.answers + 1:,}", "/answer", STALE if stale else "")

    @app.post("/test")
    def test(who: Entered, form: Annotated[_AnswerForm, Form()]) -> Response:
        session, rater = who
        _check_csrf(session, form.csrf)
        number = int(form.ticket) if form.ticket.isdecimal() and len(form.ticket) < 6 else -1
        if 0 <= number < len(options.test):
            right = form.vote() == options.test[number].answer
            database.take_trial(rater.id, number, right, of=len(options.test), pass_share=options.pass_share)
        return RedirectResponse("/work", status_code=303)

    @app.post("/answer")
    def answer(who: Entered, form: Annotated[_AnswerForm, Form()]) -> Response:
        session, rater = who
        _check_csrf(session, form.csrf)
        if rater.state != PASSED:
            raise HTTPException(403, "Sentences are answered after passing the entrance test.")
        stored = database.answer(rater.id, form.ticket, form.vote())
        return RedirectResponse("/work" if stored else "/work?stale=true", status_code=303)


def _ask(pages: _Pages, session: str, question: Question, step: str, action: str, notice: str) -> Response:
    return pages.page(
        "question.html",
        action=action,
        csrf=csrf_of(session),
        ticket=question.ticket,
        text=question.text,
        pronoun=question.pronoun,
        first=question.first,
        second=question.second,
        step=step,
        notice=notice,
    )


def _add_admin(app: FastAPI, database: SurveyDatabase, options: SurveyOptions, pages: _Pages) -> None:
    """Add what only the holder of the administrator's token may see and do."""
    sessions: set[str] = set()

    def administrator(admin: Annotated[str, Cookie()] = "", authorization: Annotated[str, Header()] = "") -> str:
        bearer = authorization.removeprefix("Bearer ")
        if hashed(admin) in sessions:
            return admin
        if bearer != authorization and hmac.compare_digest(bearer.encode(), options.admin_token.encode()):
            return bearer
        raise HTTPException(403, "This page is for the administrator; log in at /admin.")

    Administrator = Annotated[str, Depends(administrator)]

    def overview(session: str, links: Sequence[str] = ()) -> Response:
        return pages.page("admin.html", wide=True, csrf=csrf_of(session), summary=database.summary(), links=links)

    @app.get("/admin")
    def admin_page(admin: Annotated[str, Cookie()] = "") -> Response:
        return overview(admin) if hashed(admin) in sessions else pages.page("login.html")

    @app.post("/admin/login")
    def login(token: Annotated[str, Form(max_length=500)]) -> Response:
        if not hmac.compare_digest(token.encode(), options.admin_token.encode()):
            return pages.page("login.html", status=403, notice="That is not the token.")
        session = secrets.token_urlsafe(32)
        sessions.add(hashed(session))
        response = RedirectResponse("/admin", status_code=303)
        response.set_cookie(
            "admin", session, httponly=True, samesite="strict", secure=options.secure_cookie, path="/admin"
        )
        return response

    @app.post("/admin/withdraw")
    def withdraw(who: Administrator, csrf: Annotated[str, Form()], rater: Annotated[str, Form()]) -> Response:
        _check_csrf(who, csrf)
        database.withdraw(rater)
        return RedirectResponse("/admin", status_code=303)

    @app.post("/admin/invite")
    def invite(
        request: Request, who: Administrator, csrf: Annotated[str, Form()], count: Annotated[int, Form(ge=1, le=200)]
    ) -> Response:
        _check_csrf(who, csrf)
        return overview(who, [f"{request.base_url}enter/{token}" for token in database.invite(count)])

    @app.get("/admin/answers.csv")
    def answers(who: Administrator) -> Response:
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["sentence", "rater", "number", "coherent", "first", "second", "seconds", "withdrawn"])
        for answer in database.answers():
            row = [answer.sentence, answer.rater, answer.number, *answer.vote, answer.seconds, answer.withdrawn]
            table.writerow(row)
        return Response(out.getvalue(), media_type="text/csv")


def serve(app: App, *, host: str, port: int) -> None:
    """Serve the survey until interrupted."""
    uvicorn.run(app, host=host, port=port, **_QUIETLY)


@contextmanager
def serving(app: App) -> Iterator[str]:
    """Give the address of the survey, served from a thread on a free port of this machine only."""
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, **_QUIETLY))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        door.close()
