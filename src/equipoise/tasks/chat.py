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
from ..records import Context, Example, Message, Outcomes, Prompt, Sampling, Score
from ..records.thinking import split_thought, think_block
from .task import Scorer, Task, Writer, thinks

COMPLETE = "Complete the sentence: {beginning} …"
_SENTENCE_END = re.compile(r"""[.!?]["')\]]*\s+|\n\s*""")


@dataclass(frozen=True)
class Chat:
    """A task in a chat; `system` is the system prompt, "" for the template's own.

    What the task has scored and what it has written is the same conversation: both get the system prompt.

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

        return self.task.run(examples, scorer=chat_scorer, writer=_ChatWriter(writer, self.system))

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


@dataclass(frozen=True)
class _ChatWriter:
    """Lets the model write in a conversation that begins with the system prompt."""

    writer: Writer
    system: str

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers."""
        return thinks(self.writer)

    def __call__(
        self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None, /
    ) -> Mapping[Context, str]:
        chats: dict[Context, Context] = {context: with_system(context, self.system) for context in contexts}
        drawn = () if sampling is None else (sampling,)
        texts = self.writer(list(chats.values()), max_new_tokens, *drawn)
        return {context: texts[chat] for context, chat in chats.items()}


def with_system(context: Context, system: str) -> Context:
    """Return a context as a conversation that begins with the system prompt, if there is one."""
    turns = (Message("user", context),) if isinstance(context, str) else context
    return (Message("system", system), *turns) if system else turns


def without_system(context: Context) -> Context:
    """Return a conversation without its system prompt: what a task itself asked."""
    is_begun = not isinstance(context, str) and context[0].role == "system"
    return context[1:] if is_begun else context


def _turns(chat: Prompt) -> tuple[Message, ...]:
    if isinstance(chat.context, str):
        raise AssertionError("a chat is made of turns")
    return chat.context


def _begun(thought: str, chat: Prompt) -> Message:
    return Message("assistant", thought + _turns(chat)[-1].content)


def in_chat(prompt: Prompt, system: str = "") -> Prompt:
    """Return the prompt as a conversation that ends in the beginning of the assistant's answer."""
    if not isinstance(prompt.context, str):
        return replace(prompt, context=with_system(prompt.context, system))
    before, beginning = split_beginning(prompt.context)
    # "Answer:" after a list of options needs no instruction; half a sentence does.
    asked = [before] if beginning.endswith(":") else [before, COMPLETE.format(beginning=beginning)]
    question = "\n".join(part for part in asked if part)
    turns = (Message("user", question), Message("assistant", beginning))
    return replace(prompt, context=with_system(turns, system))


def split_beginning(text: str) -> tuple[str, str]:
    """Return what precedes the last unfinished sentence of a text, and that sentence."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text.rstrip())]
    cut = ends[-1] if ends else 0
    return text[:cut].strip(), text[cut:].strip()
