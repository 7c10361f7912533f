"""Asks another task through the model's chat template: the question as the user, the answer's beginning as the model.

The papers' prompts are raw text. In a chat, the last unfinished sentence of such a prompt becomes the beginning of the
assistant's answer, so that the same continuations are scored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..options import AnswerOptions
from ..records import Example, Message, Outcomes, Prompt, Score
from ..records.thinking import split_thought, think_block
from .task import Scorer, Task, Writer, thinks

COMPLETE = "Complete the sentence: {beginning} …"
_SENTENCE_END = re.compile(r"""[.!?]["')\]]*\s+|\n\s*""")


@dataclass(frozen=True)
class Chat:
    """A task in a chat; `system` is the system prompt, "" for the template's own.

    A thinking model first writes at most `budget` tokens in its think block. The block is closed, and the answer is
    scored after it.
    """

    task: Task
    system: str = ""
    budget: int = AnswerOptions.reasoning_tokens

    @property
    def name(self) -> str:
        return f"{self.task.name}-chat"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {**self.task.settings, "chat": True, "system": self.system, "complete": COMPLETE}

    def run(self, examples: Sequence[Example], *, scorer: Scorer, writer: Writer) -> Outcomes:
        def chat_scorer(prompts: Sequence[Prompt]) -> Sequence[Score]:
            chats = [in_chat(prompt, self.system) for prompt in prompts]
            return scorer(self._after_thought(prompts, chats, writer) if thinks(writer) else chats)

        return self.task.run(examples, scorer=chat_scorer, writer=writer)

    def _after_thought(self, prompts: Sequence[Prompt], chats: Sequence[Prompt], writer: Writer) -> list[Prompt]:
        """Return the chats with the model's reasoning before the answer's beginning; a task's own chats stay."""
        asked = {place for place, prompt in enumerate(prompts) if isinstance(prompt.context, str)}
        questions = {place: tuple(_turns(chats[place])[:-1]) for place in asked}
        texts = writer([questions[place] for place in sorted(asked)], self.budget)
        thought = {place: think_block(split_thought(texts[turns])[0]) for place, turns in questions.items()}
        return [
            replace(chat, context=(*questions[place], _begun(thought[place], chat))) if place in asked else chat
            for place, chat in enumerate(chats)
        ]


def _turns(chat: Prompt) -> tuple[Message, ...]:
    if isinstance(chat.context, str):
        raise AssertionError("a chat is made of turns")
    return chat.context


def _begun(thought: str, chat: Prompt) -> Message:
    return Message("assistant", thought + _turns(chat)[-1].content)


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
