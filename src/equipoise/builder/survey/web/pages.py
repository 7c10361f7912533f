"""Renders the pages; everything put into them is escaped."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from importlib import resources
from typing import Any, NamedTuple

import jinja2
from fastapi import HTTPException
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from ..database.work import Question
from .texts import Texts

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


NOT_GIVEN = {"coherent": "", "first": "", "second": ""}


class Link(NamedTuple):
    """A way on from a page."""

    address: str
    label: str


class Pages:
    """The templates with what all of them need."""

    def __init__(self, texts: Texts, always: dict[str, Any]) -> None:
        loader = jinja2.FunctionLoader(_template)
        self._templates = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
        self.texts = texts
        shared = {
            "t": texts,
            "texts": texts,
            "locales": LOCALES,
            "wide": False,
            "notice": "",
            "refresh": "",
            "leave": False,
        }
        self._always = {**shared, "title": texts("survey.title"), **always}
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
        defaults: dict[str, Any] = {
            "given": NOT_GIVEN,
            "comment": "",
            "progress": None,
            "can_correct": False,
            "number": None,
        }
        return self.page("question.html", **{**defaults, **shown, **values})


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("pages", name).read_text(encoding="utf-8")


def csrf_of(session: str) -> str:
    """Return the token that forms of this session carry; nobody without its cookie can make it."""
    return hmac.new(session.encode(), b"csrf", "sha256").hexdigest()


def check_csrf(session: str, given: str, texts: Texts) -> None:
    """Raise a refusal unless the form belongs to this session."""
    if not hmac.compare_digest(csrf_of(session).encode(), given.encode()):
        raise HTTPException(403, texts("problem.csrf"))
