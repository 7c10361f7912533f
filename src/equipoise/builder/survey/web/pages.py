"""What all pages share: the options of a survey, its templates (everything put into them is escaped), form tokens."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jinja2
from fastapi import HTTPException
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from .... import packaged
from ...steps import BuildError
from ...verdict.votes import UNSURE
from ..database.work import Question
from ..entrance import EntranceTest, KnownQuestion
from ..panel import PanelOptions
from .guard import Limits, Site
from .texts import Texts, read_texts

LOCALES = (
    *("Australia", "Canada", "Ghana", "Hong Kong", "India", "Ireland", "Jamaica", "Kenya", "Malaysia", "New Zealand"),
    *("Nigeria", "Pakistan", "Philippines", "Singapore", "South Africa", "United Kingdom", "United States"),
    "elsewhere",
)
TOKEN_BITS = 128


@dataclass(frozen=True)
class SurveyOptions:
    """The entrance test, the administrator's token, panels, texts, what raters are asked beyond the questions."""

    test: EntranceTest
    admin_token: str
    panel: PanelOptions = field(default_factory=PanelOptions)
    texts: Texts = field(default_factory=read_texts)
    checks: tuple[KnownQuestion, ...] = ()
    asks_locale: bool = False
    allows_unsure: bool = False
    allows_comments: bool = True
    secure_cookie: bool = False
    simulated: bool = False
    limits: Limits = field(default_factory=Limits)
    site: Site = field(default_factory=Site)

    def __post_init__(self) -> None:
        check_token(self.admin_token)


def check_token(token: str) -> None:
    """Raise BuildError unless the token can hold 128 bits: 22 characters, of at least 10 kinds."""
    if len(token) < 22 or len(set(token)) < 10:
        raise BuildError(
            f"the administrator's token must have at least {TOKEN_BITS} bits: 22 random characters or more, such as "
            "`openssl rand -base64 24` prints"
        )


class Link(NamedTuple):
    """A way on from a page."""

    address: str
    label: str


class Pages:
    """The templates with what all of them need."""

    def __init__(self, options: SurveyOptions, *, quota: int) -> None:
        loader = jinja2.FunctionLoader(_template)
        self._templates = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
        self.texts = texts = options.texts
        self._always: dict[str, Any] = {"t": texts, "texts": texts, "title": texts("survey.title")}
        self._always |= {"locales": LOCALES, "wide": False, "notice": "", "refresh": "", "leave": False}
        self._always |= {"test_length": options.test.length, "pass_percent": round(100 * options.test.pass_share)}
        self._always |= {"quota": quota, "asks_locale": options.asks_locale, "allows_unsure": options.allows_unsure}
        self._always |= {"allows_comments": options.allows_comments, "simulated": options.simulated}
        # The same on every page: rendered once.
        guidelines = self._templates.get_template("guidelines_text.html").render(self._always)
        self._always["guidelines"] = Markup(guidelines)

    def page(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page."""
        return HTMLResponse(self._templates.get_template(name).render({**self._always, **values}), status_code=status)

    def message(
        self, title: str, *paragraphs: str, links: Sequence[Link] = (), code: str = "", status: int = 200, **more: Any
    ) -> HTMLResponse:
        """Return a page with a few sentences and a way on."""
        values = {"title": title, "paragraphs": paragraphs, "links": links, "code": code, **more}
        return self.page("message.html", status=status, **values)

    def problem(self, text: str, *, status: int) -> HTMLResponse:
        """Return a page about something that cannot be done, with ways back."""
        t = self.texts
        links = (Link("/work", t("problem.work")), Link("/", t("problem.home")))
        return self.message(t("problem.heading"), text, links=links, status=status)

    def ask(self, session: str, question: Question, *, step: str, action: str, **values: Any) -> HTMLResponse:
        """Return the form of a question."""
        shown = {"csrf": csrf_of(session), "question": question, "step": step, "action": action, "leave": True}
        defaults: dict[str, Any] = {"given": {}, "comment": "", "progress": None}
        defaults |= {"can_correct": False, "corrects": False}
        return self.page("question.html", **{**defaults, **shown, **values})


def _template(name: str) -> str:
    return packaged.text(__package__, "pages", name)


def csrf_of(session: str) -> str:
    """Return the token that forms of this session carry; nobody without its cookie can make it."""
    return hmac.new(session.encode(), b"csrf", "sha256").hexdigest()


def check_csrf(session: str, given: str, texts: Texts) -> None:
    """Raise a refusal unless the form belongs to this session."""
    if not hmac.compare_digest(csrf_of(session).encode(), given.encode()):
        raise HTTPException(403, texts("problem.csrf"))


def hiding_rules(texts: Texts) -> str:
    """Return the style that hides a question unless the reply it depends on is chosen, or nothing yet."""
    rules = []
    for question in texts.questions.questions:
        if question.when is None:
            continue
        name, reply = question.when
        other = next(known for known in texts.questions.questions if known.name == name)
        chosen = ", ".join(
            f"form:has([name={name}][value={choice}]:checked) .if-{question.name}"
            for choice in (*other.choices, UNSURE)
            if choice != reply
        )
        rules.append(f"{chosen} {{ display: none; }}")
    return "\n".join(rules) + "\n"
