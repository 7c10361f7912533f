"""How raters come in: by a personal link, or from a panel with its id for them."""

# No postponed annotations here: FastAPI reads them.
import secrets
from typing import Annotated, Any

from fastapi import Cookie, FastAPI, Form, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from ...verdict.votes import FAILED, INVITED, PASSED, TESTING, WITHDRAWN
from ..database.survey import SurveyDatabase
from ..panel import PaymentMap, Visit, is_signed, visit_of
from .pages import LOCALES, Link, Pages, SurveyOptions

CODE_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without those that look alike; twelve of them hold 59 bits."""

_BACK = {TESTING: "back.testing", PASSED: "back.passed", FAILED: "back.ended", WITHDRAWN: "back.ended"}


def new_code() -> str:
    """Return a code with which a rater can go on in another browser."""
    letters = [secrets.choice(CODE_LETTERS) for _ in range(12)]
    return "-".join("".join(letters[start : start + 4]) for start in (0, 4, 8))


def add_doors(
    app: FastAPI, database: SurveyDatabase, options: SurveyOptions, pages: Pages, payments: PaymentMap | None
) -> None:
    """Add the start page, the personal links and the panel's door."""
    t = options.texts

    def begin(session: str) -> Response:
        response = RedirectResponse("/work", status_code=303)
        response.set_cookie(
            "session", session, httponly=True, samesite="lax", secure=options.secure_cookie, max_age=30 * 86_400
        )
        return response

    def known_locale(locale: str) -> str:
        return locale if options.asks_locale and locale in LOCALES else ""

    def welcome_back(action: str, text: str, hidden: dict[str, str] | None = None, **more: Any) -> Response:
        values: dict[str, Any] = {"title": t("back.heading"), "hidden": hidden or {}, "asks_code": False}
        return pages.page("back.html", action=action, text=text, **{**values, **more})

    @app.get("/")
    def home(session: Annotated[str, Cookie()] = "") -> Response:
        if session and database.raters.in_session(session):
            return RedirectResponse("/work", status_code=303)
        return pages.message(t("home.heading"), t("home.text"))

    @app.get("/enter/{invitation}")
    def invited(invitation: str) -> Response:
        state = database.raters.state_of(invitation)
        if state is None:
            raise HTTPException(404, t("problem.invitation"))
        action = f"/enter/{invitation}"
        if state != INVITED:
            return welcome_back(action, t(_BACK[state]))
        return pages.page("enter.html", action=action, by_panel=False, hidden={}, code="")

    @app.post("/enter/{invitation}")
    def enter(
        invitation: str,
        agree: Annotated[str, Form()] = "",
        locale: Annotated[str, Form()] = "",
        session: Annotated[str, Cookie()] = "",
    ) -> Response:
        state = database.raters.state_of(invitation)
        if session and state != INVITED and database.raters.is_session_of(session, invitation):
            # This browser is in already; a new session would make the forms in its other tabs invalid.
            return RedirectResponse("/work", status_code=303)
        if state == INVITED and agree != "yes":
            raise HTTPException(422, t("problem.no_consent"))
        begun = database.raters.enter(invitation, locale=known_locale(locale))
        if begun is None:
            raise HTTPException(404, t("problem.invitation"))
        return begin(begun)

    def checked(visit: Visit | None) -> Visit:
        if not options.panel.enabled or payments is None or visit is None:
            raise HTTPException(404, t("problem.no_panel"))
        if not visit.key:
            raise HTTPException(422, t("problem.bad_id"))
        signed = is_signed(options.panel, visit)
        if options.panel.key and not signed and options.panel.allowed is None:
            raise HTTPException(403, t("problem.bad_signature"))
        if options.panel.allowed is not None and visit.key not in options.panel.allowed and not signed:
            raise HTTPException(403, t("problem.not_allowed"))
        return visit

    @app.get("/panel")
    def from_panel(request: Request, session: Annotated[str, Cookie()] = "") -> Response:
        visit = visit_of(request.query_params)
        if visit is not None and visit.preview and options.panel.enabled:
            return pages.message(t("enter.heading"), t("enter.preview"), links=[Link("/", t("problem.home"))])
        visit = checked(visit)
        # As they came: the form sends the same parameters again, and they are checked again.
        hidden = {name: value for name, value in request.query_params.items() if name != "code"}
        known = database.raters.has_entered(visit.key)
        if known is None:
            return pages.page("enter.html", action="/panel", by_panel=True, hidden=hidden, code=new_code())
        visitor = database.raters.in_session(session) if session else None
        if visitor is not None and visitor.id == known.id:
            return RedirectResponse("/work", status_code=303)
        if is_signed(options.panel, visit):
            return welcome_back("/panel", t(_BACK[known.state]), hidden)
        return welcome_back("/panel", t("back.code"), hidden, asks_code=True)

    @app.post("/panel")
    async def enter_from_panel(request: Request) -> Response:
        form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
        return await run_in_threadpool(entered_from_panel, form)

    def entered_from_panel(form: dict[str, str]) -> Response:
        visit = visit_of(form)
        if visit is not None and visit.preview:
            raise HTTPException(403, t("enter.preview"))
        visit = checked(visit)
        again = database.raters.has_entered(visit.key) is not None
        if not again and form.get("agree") != "yes":
            raise HTTPException(422, t("problem.no_consent"))
        assert payments is not None
        session = database.raters.enter_from_panel(
            visit.key,
            payments.rater_of(visit),
            locale=known_locale(form.get("locale", "")),
            code=form.get("code", "")[:40],
            again=is_signed(options.panel, visit),
        )
        if session is None:
            hidden = {name: value for name, value in form.items() if name not in ("code", "agree", "locale")}
            notice = t("back.wrong_code") if form.get("code") and "agree" not in form else ""
            return welcome_back("/panel", t("back.code"), hidden, asks_code=True, notice=notice, status=409)
        return begin(session)
