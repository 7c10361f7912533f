"""Asks another task through the model's chat template: the question as the user, the answer's beginning as the model.

The papers' prompts are raw text. In a chat, the last unfinished sentence of such a prompt becomes the beginning of the
assistant's answer, so that the same continuations are scored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..records import Example, Message, Outcomes, Prompt, Score
from .answers import Scorer, Task, Writer

COMPLETE = "Complete the sentence: {beginning} …"
_SENTENCE_END = re.compile(r"""[.!?]["')\]]*\s+|\n\s*""")


@dataclass(frozen=True)
class Chat:
    """A task in a chat; `system` is the system prompt, "" for the template's own."""

    task: Task
    system: str = ""

    @property
    def name(self) -> str:
        return f"{self.task.name}-chat"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {**self.task.settings, "chat": True, "system": self.system, "complete": COMPLETE}

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        def chat_scorer(prompts: Sequence[Prompt]) -> Sequence[Score]:
            return scorer([in_chat(prompt, self.system) for prompt in prompts])

        return self.task.run(examples, scorer=chat_scorer, writer=writer)


def in_chat(prompt: Prompt, system: str = "") -> Prompt:
    """Return the prompt as a conversation that ends in the beginning of the assistant's answer."""
    turns = (Message("system", system),) if system else ()
    if not isinstance(prompt.context, str):
        return replace(prompt, context=(*turns, *prompt.context))
    before, beginning = split_beginning(prompt.context)
    # "Answer:" after a list of options needs no instruction; half a sentence does.
    asked = [before] if beginning.endswith(":") else [before, COMPLETE.format(beginning=beginning)]
    question = "\n".join(part for part in asked if part)
    return replace(prompt, context=(*turns, Message("user", question), Message("assistant", beginning)))


def split_beginning(text: str) -> tuple[str, str]:
    """Return what precedes the last unfinished sentence of a text, and that sentence."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text.rstrip())]
    cut = ends[-1] if ends else 0
    return text[:cut].strip(), text[cut:].strip()
