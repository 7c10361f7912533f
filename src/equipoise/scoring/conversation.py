"""How a conversation becomes text: the rules for scoring and for writing, in process and over servers.

A chat template is a program of the model's. What it is given (turns, time) and what is expected of its text is decided
here, so that a model is asked the same whoever renders it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from ..records import Message, ModelError

QUESTION = (Message("user", "a"),)
WITH_SYSTEM = (Message("system", "b"), *QUESTION)

CLOCK = "strftime_now"
"""The function by which a template prints the time."""

NEEDS_SYSTEM = "the model's chat template requires a system prompt; set chat and system"

_MARK = "Qzx"
MARKED = (Message("assistant", _MARK), *QUESTION)
"""An answer that is found again in the text. It is not the last turn, which servers render in ways of their own."""

End = Literal["answer", "closed", "continued"]
"""How a rendered conversation ends: where the answer begins, after the last turn, or within the last turn."""

ENDS: Mapping[End, Mapping[str, bool]] = {
    "answer": {"add_generation_prompt": True},
    "closed": {"add_generation_prompt": False},
    "continued": {"continue_final_message": True},
}
"""What transformers calls them."""

Render = Callable[[Sequence[Message], End], str]
"""Returns a conversation as text; ModelError where the template fails."""


def local_time() -> str:
    """Return the time now, as templates print it: local, to the second."""
    return datetime.now().isoformat(timespec="seconds")


def end_of(messages: Sequence[Message]) -> End:
    """Return how a conversation is rendered: an answer that has begun is continued, else one begins."""
    return "continued" if messages[-1].role == "assistant" else "answer"


def opening_question(render: Render) -> tuple[Message, ...]:
    """Return the shortest conversation that the template takes: a question, after a system prompt if it needs one."""
    try:
        render(QUESTION, "answer")
        return QUESTION
    except ModelError:
        render(WITH_SYSTEM, "answer")
        return WITH_SYSTEM


def answer_header(answer: str, closed: str, marked: str) -> str:
    """Return what opens the assistant's turn where a template leaves that out, so that the model need not write it.

    `answer` and `closed` are the same question rendered with and without the beginning of an answer, `marked` with
    MARKED after it.
    """
    if answer != closed or not marked.startswith(closed):
        return ""
    header = marked[len(closed) : marked.rfind(_MARK)]
    # A template that only puts a space before an answer needs no header: the space belongs to the answer's first word.
    return header.rstrip(" ") if header.strip() else ""


def check_system(messages: Sequence[Message], text: str) -> None:
    """Refuse a rendered conversation that has lost its system prompt: the run would record what was never asked."""
    for message in messages:
        if message.role == "system" and message.content.strip() not in text:
            raise ModelError("the model's chat template leaves the system prompt out; ask without system")


def template_error(error: Exception) -> ModelError:
    """Return what to say of a template that fails."""
    reason = " ".join(str(error).split())[:200]
    return ModelError(f"the model's chat template fails: {type(error).__name__}: {reason}")
