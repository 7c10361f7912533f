"""What only the holder of the administrator's token may see and do."""

# No postponed annotations here: FastAPI reads them.
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd
from fastapi import Cookie, Depends, FastAPI, Form, Header, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from ....runs.csv_files import to_csv
from ...verdict.cleaning import SIMULATED_LINE
from ...verdict.summary import RaterSummary, Summary
from ...verdict.votes import WITHDRAWN
from ..database.connection import hashed
from ..database.survey import STATUSES, SurveyDatabase
from ..panel import PaymentMap
from .guard import ADDRESS, Attempts
from .pages import Link, Pages, SurveyOptions, check_csrf, csrf_of

SESSION_S = 12 * 3600.0
SUMMARY_AGE_S = 2.0
PAYMENT_COLUMNS = (
    *("rater", "panel", "panel_id", "study", "submission", "entered_at"),
    *("state", "answers", "median_seconds", "agreement"),
)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Which raters to reject: too fast, in too little agreement, or inattentive; None leaves a rule out."""

    seconds: float | None = None
    agreement: float | None = None
    wrong_checks: int | None = None
    least_answers: int = 5

    def raters(self, summary: Summary) -> list[RaterSummary]:
        """Return the raters that a rule rejects; those with few answers are judged by attention checks alone."""
        return [rater for rater in summary.raters if rater.state != WITHDRAWN and self._rejects(rater)]

    def _rejects(self, rater: RaterSummary) -> bool:
        if self.wrong_checks is not None and rater.checks_wrong >= max(1, self.wrong_checks):
            return True
        if rater.answers < max(1, self.least_answers):
            return False
        fast = self.seconds is not None and (rater.median_seconds or 0) < self.seconds
        apart = self.agreement is not None and rater.agreement is not None and rater.agreement < self.agreement
        return fast or apart


class Sessions:
    """The administrator's sessions, in memory: a restart ends them."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    def begin(self) -> str:
        """Return a new session."""
        session = secrets.token_urlsafe(32)
        self._ends[hashed(session)] = time.monotonic() + SESSION_S
        return session

    def __contains__(self, session: str) -> bool:
        return self._ends.get(hashed(session), 0.0) > time.monotonic()

    def end(self, session: str) -> None:
        """End a session."""
        self._ends.pop(hashed(session), None)


def add_administration(
    app: FastAPI, database: SurveyDatabase, options: SurveyOptions, pages: Pages, payments: PaymentMap | None
) -> None:
    """Add the administration pages."""
    sessions, attempts = Sessions(), Attempts()

    def is_token(request: Request, token: str) -> bool:
        """Return whether it is the token: the right one always works, wrong ones are limited by address."""
        if hmac.compare_digest(token.encode(), options.admin_token.encode()):
            return True
        address = str(request.scope.get(ADDRESS, "unknown"))
        if not attempts.failed(address):
            raise HTTPException(429, "Too many failed logins. Wait a while, then try again.")
        return False

    def administrator(
        request: Request, admin: Annotated[str, Cookie()] = "", authorization: Annotated[str, Header()] = ""
    ) -> str:
        if admin in sessions:
            return admin
        bearer = authorization.removeprefix("Bearer ")
        if bearer != authorization and is_token(request, bearer):
            return bearer
        raise HTTPException(403, "This page is for the administrator. Log in at /admin.")

    Administrator = Annotated[str, Depends(administrator)]

    def overview(session: str, links: Sequence[str] = ()) -> Response:
        summary = database.results.summary(max_age_s=SUMMARY_AGE_S)
        values: dict[str, Any] = {"csrf": csrf_of(session), "summary": summary, "links": links}
        values |= {"state": database.status, "statuses": STATUSES, "has_panel": payments is not None}
        values["simulated"] = options.simulated or bool(summary.simulated)
        return pages.page("admin.html", wide=True, title="Survey administration", **values)

    @app.get("/admin")
    def admin_page(admin: Annotated[str, Cookie()] = "") -> Response:
        return overview(admin) if admin in sessions else pages.page("login.html", title="Survey administration")

    @app.post("/admin/login")
    def login(request: Request, token: Annotated[str, Form(max_length=500)]) -> Response:
        if not is_token(request, token):
            return pages.page("login.html", status=403, notice="That is not the token.", title="Survey administration")
        session = sessions.begin()
        response = RedirectResponse("/admin", status_code=303)
        response.set_cookie(
            "admin", session, httponly=True, samesite="strict", secure=options.secure_cookie, path="/admin"
        )
        return response

    @app.post("/admin/logout")
    def logout(who: Administrator, csrf: Annotated[str, Form()] = "") -> Response:
        check_csrf(who, csrf, options.texts)
        sessions.end(who)
        return RedirectResponse("/admin", status_code=303)

    @app.post("/admin/invite")
    def invite(who: Administrator, csrf: Annotated[str, Form()], count: Annotated[int, Form(ge=1, le=200)]) -> Response:
        check_csrf(who, csrf, options.texts)
        return overview(who, [f"{options.site.public}/enter/{token}" for token in database.raters.invite(count)])

    @app.post("/admin/status")
    def status(who: Administrator, csrf: Annotated[str, Form()], status: Annotated[str, Form()]) -> Response:
        check_csrf(who, csrf, options.texts)
        if status not in STATUSES:
            raise HTTPException(422, "A survey is open, paused or closed.")
        database.set_status(status)
        return RedirectResponse("/admin", status_code=303)

    _add_decisions(app, database, options, pages, Administrator)
    _add_exports(app, database, payments, Administrator)


def _add_decisions(
    app: FastAPI, database: SurveyDatabase, options: SurveyOptions, pages: Pages, Administrator: Any
) -> None:
    """Add withdrawing, restoring and rejecting raters; each shows what it will do and asks first."""

    def preview(session: str, action: str, heading: str, raters: Sequence[RaterSummary]) -> Response:
        values: dict[str, Any] = {"csrf": csrf_of(session), "action": action, "raters": raters}
        return pages.page("confirm.html", wide=True, heading=heading, title=heading, **values)

    def known(rater: str) -> RaterSummary:
        for line in database.results.summary().raters:
            if line.id == rater:
                return line
        raise HTTPException(404, f"Unknown rater {rater[:40]!r}.")

    @app.get("/admin/reject")
    def ask_reject(
        who: Administrator, seconds: str = "", agreement: str = "", wrong_checks: str = "", least_answers: str = "5"
    ) -> Response:
        try:
            rule = Rejection(
                float(seconds) if seconds.strip() else None,
                float(agreement) / 100 if agreement.strip() else None,
                int(wrong_checks) if wrong_checks.strip() else None,
                int(least_answers),
            )
        except ValueError:
            raise HTTPException(422, "The rules are numbers.") from None
        raters = rule.raters(database.results.summary())
        if not raters:
            links = [Link("/admin", "Back to the administration")]
            return pages.message("No rater is rejected by these rules", links=links)
        return preview(who, "/admin/withdraw", "Withdraw all answers of these raters?", raters)

    def add_decision(path: str, heading: str, decide: Callable[[str], int]) -> None:
        @app.get(path)
        def ask(who: Administrator, rater: str) -> Response:
            return preview(who, path, heading, [known(rater)])

        @app.post(path)
        def do(
            who: Administrator, csrf: Annotated[str, Form()], rater: Annotated[list[str], Form(max_length=500)]
        ) -> Response:
            check_csrf(who, csrf, options.texts)
            for id in rater:
                decide(id)
            database.results.forget()
            return RedirectResponse("/admin", status_code=303)

    add_decision("/admin/withdraw", "Withdraw all answers of this rater?", database.raters.withdraw)
    add_decision("/admin/restore", "Count the answers of this rater again?", database.raters.restore)


def _add_exports(app: FastAPI, database: SurveyDatabase, payments: PaymentMap | None, Administrator: Any) -> None:
    """Add the answers and, apart from them, the panel ids."""

    @app.get("/admin/answers.csv")
    def answers(who: Administrator) -> Response:
        first_line = f"# {SIMULATED_LINE}\n" if database.results.summary(max_age_s=SUMMARY_AGE_S).simulated else ""
        return _sheet(database.results.export_columns, database.results.export_rows(), first_line)

    @app.get("/admin/payments.csv")
    def pay(who: Administrator) -> Response:
        if payments is None:
            raise HTTPException(404, "No panel is set up for this survey.")
        facts = {
            line.id: (line.state, line.answers, line.median_seconds, line.agreement)
            for line in database.results.summary().raters
        }
        people = [(*person, *facts.get(str(person[0]), (None,) * 4)) for person in payments.people()]
        return _sheet(PAYMENT_COLUMNS, people)


def _sheet(columns: Sequence[str], rows: Sequence[Sequence[object]], first_line: str = "") -> Response:
    content = to_csv(pd.DataFrame(rows, columns=list(columns), dtype=object))
    return Response(first_line.encode() + content, media_type="text/csv")
