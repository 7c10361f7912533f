"""How raters come in: by a personal link, or from a panel with its id for them."""

# No postponed annotations here: FastAPI reads them.
from typing import Annotated

from fastapi import Cookie, FastAPI, Form, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from ...verdict.votes import FAILED, INVITED, PASSED, TESTING, WITHDRAWN
from ..database.survey import SurveyDatabase
from ..panel import PaymentMap, Visit, is_signed, visit_of
from .pages import LOCALES, Link, Pages, SurveyOptions

_BACK = {TESTING: "back.testing", PASSED: "back.passed", FAILED: "back.ended", WITHDRAWN: "back.ended"}


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
            return pages.page("back.html", action=action, text=t(_BACK[state]), title=t("back.heading"))
        return pages.page("enter.html", action=action, by_panel=False, hidden={})

    @app.post("/enter/{invitation}")
    def enter(invitation: str, agree: Annotated[str, Form()] = "", locale: Annotated[str, Form()] = "") -> Response:
        state = database.raters.state_of(invitation)
        if state == INVITED and agree != "yes":
            raise HTTPException(422, t("problem.no_consent"))
        session = database.raters.enter(invitation, locale=known_locale(locale))
        if session is None:
            raise HTTPException(404, t("problem.invitation"))
        return begin(session)

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
    def from_panel(request: Request) -> Response:
        visit = visit_of(request.query_params)
        if visit is not None and visit.preview and options.panel.enabled:
            return pages.message(t("enter.heading"), t("enter.preview"), links=[Link("/", t("problem.home"))])
        checked(visit)
        # As they came: the form sends the same parameters again, and they are checked again.
        return pages.page("enter.html", action="/panel", by_panel=True, hidden=dict(request.query_params))

    @app.post("/panel")
    async def enter_from_panel(request: Request) -> Response:
        form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
        visit = visit_of(form)
        if visit is not None and visit.preview:
            raise HTTPException(403, t("enter.preview"))
        visit = checked(visit)
        if form.get("agree") != "yes":
            raise HTTPException(422, t("problem.no_consent"))
        assert payments is not None
        rater = payments.rater_of(visit)
        again = is_signed(options.panel, visit)
        locale = known_locale(form.get("locale", ""))
        session = database.raters.enter_from_panel(visit.key, rater, locale=locale, again=again)
        if session is None:
            raise HTTPException(409, t("problem.entered_before"))
        return begin(session)
