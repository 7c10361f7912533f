"""Chat templates by the renderer of transformers: at a time that is given, and from the source that a server shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from transformers.utils.chat_template_utils import _compile_jinja_template, render_jinja_template

from ...records import Message
from ..conversation import CLOCK, ENDS, End, template_error


@contextmanager
def stopped_clock(template: str, time: str) -> Iterator[None]:
    """Make a template print one time (ISO 8601) while it renders; the rest of the process sees its own clock."""
    if CLOCK not in template:
        yield
        return
    # Variables of a template must be plain data, so that a function can only be put among its globals.
    names = _compile_jinja_template(template).globals
    before = names.get(CLOCK)
    names[CLOCK] = datetime.fromisoformat(time).strftime
    try:
        yield
    finally:
        names[CLOCK] = before


def render_template(
    template: str, variables: Mapping[str, Any], messages: Sequence[Message], end: End, time: str
) -> str:
    """Return a conversation by a template's source; `variables` are what it also sees, such as special tokens."""
    turns = [message._asdict() for message in messages]
    try:
        with stopped_clock(template, time):
            (text,), _ = render_jinja_template([turns], chat_template=template, **ENDS[end], **variables)
        return str(text)
    except Exception as error:  # a template is a program of its own
        raise template_error(error) from error
