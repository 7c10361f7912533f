"""The entrance test, the sentences, correcting the last answer, and leaving."""

# No postponed annotations here: FastAPI reads them.
import random
import secrets
import time
from typing import Annotated, Any

from fastapi import Cookie, Depends, FastAPI, Form, HTTPException
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from ...verdict.votes import FAILED, PASSED, TESTING, WITHDRAWN, Vote
from ..database.raters import Rater
from ..database.survey import CLOSED, OPEN, SurveyDatabase
from ..database.work import OTHER, STALE, STORED, Progress, Question
from ..panel import Ending, PaymentMap
from .pages import Link, Pages, SurveyOptions, check_csrf, csrf_of

HANDED_OVER_S = 10.0
MOST_HANDED_OVER = 5000
NOTICES = {"taken", "answered", "corrected", "not_corrected", "incomplete"}
KIND_REFUSALS = {STALE: "taken", OTHER: "answered"}


class AnswerForm(BaseModel):
    """The fields of the question form; the replies are among the further fields, by the names of the questions."""

    model_config = ConfigDict(extra="allow")

    csrf: str = ""
    ticket: str = Field(default="", max_length=100)
    comment: str = Field(default="", max_length=2000)

    def replies(self) -> dict[str, str]:
        """Return what was chosen."""
        return {name: value for name, value in (self.model_extra or {}).items() if isinstance(value, str)}


class Rating:
    """What the pages for raters share."""

    def __init__(
        self, database: SurveyDatabase, options: SurveyOptions, pages: Pages, payments: PaymentMap | None
    ) -> None:
        self.database, self.options, self.pages, self._payments = database, options, pages, payments
        self.t, self.pool = options.texts, options.test.by_key()
        self.checks = {question.key: question for question in options.checks}
        self._next: dict[str, tuple[float, Progress]] = {}

    def vote(self, form: AnswerForm) -> Vote | None:
        """Return the vote, None if a reply is missing."""
        return self.t.questions.vote(form.replies(), unsure=self.options.allows_unsure)

    def comment(self, form: AnswerForm) -> str:
        """Return the comment, if comments are asked for."""
        return form.comment.strip() if self.options.allows_comments else ""

    def is_right(self, check: str, vote: Vote) -> bool:
        """Return whether this is the known answer to an attention check."""
        return check in self.checks and vote == self.checks[check].answer

    def hand_over(self, session: str, progress: Progress) -> None:
        """Keep the next question for the page that follows an answer, so that it need not be looked up again."""
        if progress.question is not None and len(self._next) < MOST_HANDED_OVER:
            self._next[session] = (time.monotonic(), progress)

    def handed_over(self, session: str) -> Response | None:
        """Return the page with the question that was kept for this session, once and only for a moment."""
        kept = self._next.pop(session, None)
        if kept is None or time.monotonic() - kept[0] > HANDED_OVER_S or self.database.status != OPEN:
            return None
        question = kept[1].question
        return self._ask(session, question, kept[1].answered, "") if question else None

    def test_question(self, session: str, rater: Rater, notice: str) -> Response:
        """Return the next question of the entrance test; the test is drawn when it begins."""
        keys = rater.questions
        if not keys:
            drawn = self.options.test.draw(random.Random(secrets.randbits(64)))
            keys = self.database.raters.set_questions(rater.id, [question.key for question in drawn])
        known = self.pool[keys[rater.trials]]
        question = Question(str(rater.trials), known.text, known.pronoun, known.first, known.second)
        step = self.t("question.test", number=rater.trials + 1, total=len(keys))
        progress = (rater.trials, len(keys))
        return self.pages.ask(session, question, step=step, action="/test", notice=notice, progress=progress)

    def sentence(self, session: str, rater: Rater, notice: str) -> Response:
        """Return the next sentence, or how the survey ends for this rater."""
        if (status := self.database.status) != OPEN:
            return self.ended(rater, closed=status == CLOSED)
        question = self.database.work.question(rater.id)
        if question is None:
            return self.finished(rater)
        if question.check and question.check not in self.checks:
            # The checks were changed since; this one counts neither for nor against the rater.
            self.database.work.drop(rater.id, question.ticket)
            return RedirectResponse("/work", status_code=303)
        return self._ask(session, question, rater.answers + rater.checks, notice)

    def known(self, question: Question) -> Question:
        """Return the question with its text; an attention check looks like any other."""
        check = self.checks.get(question.check)
        if check is None:
            return question
        return Question(question.ticket, check.text, check.pronoun, check.first, check.second, question.check)

    def _ask(self, session: str, question: Question, answered: int, notice: str) -> Response:
        total = self.database.asking.length(len(self.checks))
        name = "question.sentence_of" if total else "question.sentence"
        return self.pages.ask(
            session,
            self.known(question),
            step=self.t(name, number=f"{answered + 1:,}", total=f"{total:,}"),
            action="/answer",
            notice=notice,
            progress=(answered, total) if total else None,
            can_correct=answered > 0,
        )

    def finished(self, rater: Rater) -> Response:
        """Return the last page: with answers it is a completion, without any there was no work."""
        if rater.answers:
            text = self.t("end.answered", answers=f"{rater.answers:,}")
            quota = self.database.asking.quota
            more = () if quota and rater.answers >= quota else (Link("/work", self.t("end.again")),)
            return self._ending(self.t("end.heading"), text, self.options.panel.completed, rater, more)
        more = (Link("/work", self.t("end.again")),)
        ending = self.options.panel.no_work
        return self._ending(self.t("end.nothing_heading"), self.t("end.nothing"), ending, rater, more)

    def ended(self, rater: Rater, *, closed: bool) -> Response:
        """Return the page of a survey that is paused, or closed: then people are paid for what they did."""
        if not closed:
            link = Link("/work", self.t("problem.retry_now"))
            return self.pages.message(self.t("end.paused_heading"), self.t("end.paused"), links=[link], leave=True)
        ending = self.options.panel.completed if rater.answers else self.options.panel.no_work
        return self._ending(self.t("end.closed_heading"), self.t("end.closed"), ending, rater)

    def over(self, rater: Rater) -> Response:
        """Return the page of somebody who failed the test, or whose answers were withdrawn."""
        if rater.state == FAILED:
            score, needed = f"{rater.score or 0:.0%}", f"{self.options.test.pass_share:.0%}"
            text = self.t("end.failed", score=score, needed=needed)
            return self._ending(self.t("end.failed_heading"), text, self.options.panel.screened_out, rater)
        by_themselves = rater.withdrawn_by == "rater"
        heading, text = ("leave.done_heading", "leave.done_text") if by_themselves else ("end.over_heading", "end.over")
        return self._ending(self.t(heading), self.t(text), Ending(), rater)

    def _ending(self, heading: str, text: str, ending: Ending, rater: Rater, more: tuple[Link, ...] = ()) -> Response:
        panel_id = self._payments.panel_id(rater.id) if self._payments and ending.url else ""
        back = ending.link(panel_id) if ending.url else ""
        links = [*([Link(back, self.t("end.return"))] if back else []), *more] or [Link("/", self.t("problem.home"))]
        return self.pages.message(heading, text, links=links, code=ending.code, leave=rater.state == PASSED)


def add_rating(
    app: FastAPI, database: SurveyDatabase, options: SurveyOptions, pages: Pages, payments: PaymentMap | None
) -> None:
    """Add the pages of the entrance test and of the sentences."""
    rating, t = Rating(database, options, pages, payments), options.texts

    def entered(session: Annotated[str, Cookie()] = "") -> tuple[str, Rater]:
        rater = database.raters.in_session(session) if session else None
        if rater is None:
            raise HTTPException(403, t("problem.not_entered"))
        return session, rater

    Entered = Annotated[tuple[str, Rater], Depends(entered)]

    def on(notice: str = "") -> Response:
        return RedirectResponse(f"/work?notice={notice}" if notice else "/work", status_code=303)

    @app.get("/work")
    def work(session: Annotated[str, Cookie()] = "", notice: str = "") -> Response:
        if next_page := rating.handed_over(session):
            return next_page
        session, rater = entered(session)
        text = t(f"question.{notice}") if notice in NOTICES else ""
        if rater.state == TESTING:
            return rating.test_question(session, rater, text)
        if rater.state == PASSED:
            return rating.sentence(session, rater, text)
        return rating.over(rater)

    @app.post("/test")
    def test(who: Entered, form: Annotated[AnswerForm, Form()]) -> Response:
        session, rater = who
        check_csrf(session, form.csrf, t)
        number = int(form.ticket) if form.ticket.isdecimal() and len(form.ticket) < 6 else -1
        vote = rating.vote(form)
        if vote is None:
            return on("incomplete")
        if 0 <= number < len(rater.questions):
            key = rater.questions[number]
            right = key in rating.pool and vote == rating.pool[key].answer
            asked = (key, t.questions.as_text(vote))
            share = options.test.pass_share
            if not database.raters.take_trial(rater.id, number, right, asked=asked, pass_share=share):
                return on("answered")
        return on()

    @app.post("/answer")
    def answer(form: Annotated[AnswerForm, Form()], session: Annotated[str, Cookie()] = "") -> Response:
        # Without looking the session up first: storing the answer does that in its transaction.
        if not session:
            raise HTTPException(403, t("problem.not_entered"))
        check_csrf(session, form.csrf, t)
        vote = rating.vote(form)
        if vote is None:
            return on("incomplete")
        progress = database.work.answer(session, form.ticket, vote, rating.comment(form), rating.is_right)
        if progress is None:
            raise HTTPException(403, t("problem.not_entered"))
        if progress.state != PASSED:
            raise HTTPException(403, t("problem.test_first"))
        if progress.result == STORED:
            rating.hand_over(session, progress)
        # The same answer once more leads to the next page, as if the first had been the only one.
        return on(KIND_REFUSALS.get(progress.result, ""))

    _add_last(app, rating, Entered)
    _add_leave(app, rating, Entered)


def _add_last(app: FastAPI, rating: Rating, Entered: Any) -> None:
    """Add the page on which a rater corrects the last answer."""
    database, t = rating.database, rating.t

    @app.get("/last")
    def last(who: Entered) -> Response:
        session, rater = who
        answer = database.work.last_answer(rater.id) if rater.state == PASSED else None
        if answer is None:
            link = Link("/work", t("problem.work"))
            return rating.pages.message(t("last.heading"), t("last.none"), links=[link])
        given = dict(zip(t.questions.names, answer.vote, strict=True))
        values = {"given": given, "comment": answer.comment, "corrects": True}
        question = rating.known(answer.question)
        return rating.pages.ask(session, question, step=t("last.heading"), action="/last", **values)

    @app.post("/last")
    def correct(who: Entered, form: Annotated[AnswerForm, Form()]) -> Response:
        session, rater = who
        check_csrf(session, form.csrf, t)
        vote = rating.vote(form)
        ticket, comment = form.ticket, rating.comment(form)
        done = vote is not None and database.work.correct(rater.id, ticket, vote, comment, rating.is_right)
        notice = "corrected" if done else "incomplete" if vote is None else "not_corrected"
        return RedirectResponse(f"/work?notice={notice}", status_code=303)


def _add_leave(app: FastAPI, rating: Rating, Entered: Any) -> None:
    """Add the page on which a rater withdraws."""
    database, t = rating.database, rating.t

    @app.get("/leave")
    def leave(who: Entered) -> Response:
        session, rater = who
        if rater.state == WITHDRAWN:
            return rating.over(rater)
        return rating.pages.page("leave.html", csrf=csrf_of(session), answers=rater.answers, title=t("leave.heading"))

    @app.post("/leave")
    def withdraw(who: Entered, csrf: Annotated[str, Form()] = "") -> Response:
        session, rater = who
        check_csrf(session, csrf, t)
        if rater.state != WITHDRAWN:
            database.raters.leave(rater.id)
        return RedirectResponse("/work", status_code=303)
