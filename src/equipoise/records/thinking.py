"""The think block of a thinking model: what it writes before its answer, opened by its template or by itself."""

from __future__ import annotations

from collections.abc import Sequence

from . import Message

THINK, THOUGHT = "<think>", "</think>"
"""What opens and closes the reasoning of a thinking model."""


def think_block(thought: str) -> str:
    """Return the reasoning as a block that is closed, as models write it."""
    return f"{THINK}\n{thought}\n{THOUGHT}\n\n"


def split_thought(text: str) -> tuple[str, str]:
    """Return the reasoning of a written text and the answer after it, "" where the budget ended before."""
    thought, _, answer = text.strip().removeprefix(THINK).partition(THOUGHT)
    return thought.strip(), answer.strip()


def answer_of(text: str) -> str | None:
    """Return what a model wrote after its reasoning; None where it did not come to the end of that."""
    return split_thought(text)[1] if THOUGHT in text else None


def has_thought(messages: Sequence[Message]) -> bool:
    """Return whether a conversation ends in an answer of the model's that begins with its reasoning."""
    return messages[-1].role == "assistant" and THOUGHT in messages[-1].content


def is_open(prompt: str) -> bool:
    """Return whether a template's text ends inside of a think block."""
    return prompt.rstrip().endswith(THINK)


def continued(prompt: str, answer: str) -> str:
    """Return a template's text up to the model's turn with an answer that begins with its reasoning.

    Templates drop the reasoning of earlier turns, and many that of the last, so it is put in place here.
    """
    return prompt.rstrip() + answer.removeprefix(THINK) if is_open(prompt) else prompt + answer
