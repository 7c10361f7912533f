"""The reasoning of thinking models: what they write in a think block before they answer."""

from __future__ import annotations

from .answers import Writer

OPEN, CLOSE = "<think>", "</think>"


def thinks(writer: Writer) -> bool:
    """Return whether the model reasons before it answers: not where the writer does not say so."""
    return bool(getattr(writer, "thinks", False))


def split_thought(text: str) -> tuple[str, str]:
    """Return the reasoning of a written text and the answer after it, "" where the budget ended before."""
    thought, _, answer = text.strip().removeprefix(OPEN).partition(CLOSE)
    return thought.strip(), answer.strip()


def think_block(thought: str) -> str:
    """Return the reasoning as a block that is closed, as models write it."""
    return f"{OPEN}\n{thought}\n{CLOSE}\n\n"
