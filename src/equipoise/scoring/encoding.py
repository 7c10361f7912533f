"""Prompts in, token ids out: the beginning-of-text rule, and the join of a prompt and its continuation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from ..files import sha256
from ..records import Context, Example, Message, ModelError, Prompt, TaskNotPossible
from ..records.prompts import NESTED, SPLIT_JOIN
from ..records.thinking import THOUGHT, continued, has_thought
from .conversation import (
    CLOCK,
    ENDS,
    MARKED,
    NEEDS_SYSTEM,
    End,
    answer_header,
    check_system,
    end_of,
    local_time,
    opening_question,
    template_error,
)
from .nesting import Nesting, nesting
from .pieces import Tokeniser


@dataclass(frozen=True)
class Question:
    """A prompt as token ids: one sequence for each continuation, which begins at `starts[i]`."""

    sequences: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    flags: tuple[str, ...]
    nested: Nesting = ()

    @classmethod
    def of(cls, sequences: Sequence[tuple[int, ...]], start: int, *, split: bool) -> Question:
        """Return the question of sequences that all begin at one place; `split` says that one had a split join."""
        nested = nesting(sequences)
        flags = ((SPLIT_JOIN,) if split else ()) + ((NESTED,) if nested else ())
        return cls(tuple(sequences), (start,) * len(sequences), flags, nested)


class Asked(NamedTuple):
    """A prompt as text: the example it is made from, the ids before the text, the text and its continuations."""

    example_id: str
    front: tuple[int, ...]
    text: str
    continuations: tuple[str, ...]


COMMON = ("male", "female", "neutral", "")
"""The groups of he, she and they, and of texts without a pronoun; every other group has pronouns of its own."""

Tokenise = Callable[[Sequence[str]], list[list[int]]]
"""Returns the ids of each text, without special tokens."""


class Encoder:
    """A tokenizer with fixed rules.

    `bos`: "auto" puts before a text what the tokenizer itself puts there, "always" the beginning-of-text token,
    "never" nothing. A chat template has its own, so nothing is put before it. `time` is what a template prints that
    tells the time, in ISO 8601; without it, the time now.
    """

    def __init__(self, tokenizer: Any, *, bos: str = "auto", time: str = "") -> None:
        if bos not in ("auto", "always", "never"):
            raise ModelError(f"bos must be auto, always or never, not {bos!r}")
        self._tokenizer = tokenizer
        self._bos = bos
        self._time = time or local_time()
        self._header: str | None = None
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        if self._backend is not None:
            self._backend.no_truncation()
            self._backend.no_padding()
        self._tokenise = None if self._backend is None else Tokeniser(self._backend)
        leading = _leading_specials(tokenizer)
        if bos == "always" and tokenizer.bos_token_id is None:
            raise ModelError("bos is always, but the tokenizer has no beginning-of-text token")
        self._front = {"auto": leading, "always": (tokenizer.bos_token_id,), "never": ()}[bos]

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything about the tokenizer that could change an answer."""
        return {
            "tokenizer": self._tokenizer_hash,
            "chat_template": sha256(self._template),
            "bos": self._bos,
            "leading_ids": list(self._front),
            **({"chat_time": self._time} if self._tells_time else {}),
        }

    @cached_property
    def _tokenizer_hash(self) -> str:
        # Writing a tokenizer out takes a tenth of a second, and every batch asks for the identity.
        return _tokenizer_hash(self._tokenizer)

    @property
    def _template(self) -> str:
        return str(getattr(self._tokenizer, "chat_template", None) or "")

    @property
    def _tells_time(self) -> bool:
        return CLOCK in self._template

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers: its chat template knows a think block and leaves it open."""
        try:
            return THOUGHT in self._template and THOUGHT not in self._render(opening_question(self._render), "answer")
        except ModelError:  # a broken template is reported when it is used
            return False

    @property
    def serialized(self) -> str | None:
        """The tokenizer as text that another process can read; None where it is not one of the tokenizers library."""
        return None if self._backend is None else str(self._backend.to_str())

    def asked(self, prompts: Sequence[Prompt]) -> list[Asked]:
        """Return the prompts as texts: a chat goes through the model's template."""
        asked = []
        for prompt in prompts:
            text, front = self._text(prompt.context)
            asked.append(Asked(prompt.example_id, front, text, prompt.continuations))
        return asked

    def questions(self, prompts: Sequence[Prompt]) -> list[Question]:
        """Return the prompts as token ids; a prompt and its continuation are joined before they are tokenised."""
        return encoded(self.asked(prompts), self.ids)

    def contexts(self, contexts: Sequence[Context]) -> list[list[int]]:
        """Return each context as token ids, with the beginning-of-text token where there is one."""
        texts = [self._text(context) for context in contexts]
        rows = [[*front, *ids] for (_, front), ids in zip(texts, self.ids([text for text, _ in texts]), strict=True)]
        if not all(rows):
            raise ModelError("a prompt has no token; the model's chat template may give no text, or try bos always")
        return rows

    def pieces(self, words: Sequence[str]) -> dict[str, int]:
        """Return into how many tokens each word is split where it follows a space."""
        return {word: len(ids) for word, ids in zip(words, self.ids([f" {word}" for word in words]), strict=True)}

    def token_texts(self, prompts: Sequence[Prompt]) -> list[list[list[str]]]:
        """Return the tokens of every continuation of each prompt as text."""

        def pieces(ids: Sequence[int], start: int) -> list[str]:
            # Some tokenizers leave out a space at the beginning: a token's text is what it adds to those before it.
            grown = [str(self._tokenizer.decode(list(ids[:end]))) for end in range(start, len(ids) + 1)]
            return [text[len(before) :] for before, text in pairwise(grown)]

        return [
            [pieces(ids, start) for ids, start in zip(question.sequences, question.starts, strict=True)]
            for question in self.questions(prompts)
        ]

    def texts(self, rows: Sequence[Sequence[int]], stops: Collection[int]) -> list[str]:
        """Return generated ids as text, up to the first token that ends it."""
        ends = [next((i for i, token in enumerate(row) if token in stops), len(row)) for row in rows]
        kept = [list(row[:end]) for row, end in zip(rows, ends, strict=True)]
        return [str(text).strip() for text in self._tokenizer.batch_decode(kept, skip_special_tokens=True)]

    def _text(self, context: Context) -> tuple[str, tuple[int, ...]]:
        if isinstance(context, str):
            return context, self._front
        if not self._template:
            raise TaskNotPossible(
                "the model has no chat template; use a task without chat, or answer_turn plain for a chain of thought"
            )
        return self._chat(context), ()

    def _chat(self, messages: Sequence[Message]) -> str:
        if has_thought(messages):
            return continued(self._chat(messages[:-1]), messages[-1].content)
        end = end_of(messages)
        try:
            text = self._render(messages, end)
        except ModelError:
            if messages[0].role != "system" and opening_question(self._render)[0].role == "system":
                raise ModelError(NEEDS_SYSTEM) from None
            raise
        check_system(messages, text)
        return text + self._answer_header() if end == "answer" else text

    def _render(self, messages: Sequence[Message], end: End) -> str:
        turns = [message._asdict() for message in messages]
        try:
            with self._clock():
                return str(self._tokenizer.apply_chat_template(turns, tokenize=False, **ENDS[end]))
        except Exception as error:  # a template is a program of its own
            raise template_error(error) from error

    def _clock(self) -> AbstractContextManager[None]:
        if not self._tells_time:
            return nullcontext()
        from .huggingface.templates import stopped_clock

        return stopped_clock(self._tokenizer.get_chat_template(), self._time)

    def _answer_header(self) -> str:
        """Return what opens the assistant's turn, "" where the template does that itself."""
        if self._header is None:
            question = opening_question(self._render)
            answer, closed = self._render(question, "answer"), self._render(question, "closed")
            self._header = answer_header(answer, closed, self._render((*question, *MARKED), "closed"))
        return self._header

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens."""
        if not texts:
            return []
        if self._tokenise is not None:
            return self._tokenise(texts)
        encoded = self._tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False)
        return [list(ids) for ids in encoded["input_ids"]]


def encoded(asked: Sequence[Asked], ids: Tokenise) -> list[Question]:
    """Return the prompts as token ids; a prompt and its continuation are joined before they are tokenised."""
    contexts = ids([prompt.text for prompt in asked])
    joined = iter(ids([prompt.text + continuation for prompt in asked for continuation in prompt.continuations]))
    return [
        _question(prompt, context, [next(joined) for _ in prompt.continuations], ids)
        for prompt, context in zip(asked, contexts, strict=True)
    ]


def _question(prompt: Asked, context: list[int], joined: Sequence[list[int]], ids: Tokenise) -> Question:
    if not prompt.front and not context:
        raise ModelError(f"the prompt of {prompt.example_id} has no token before its answer; try bos always")
    sequences, split = [], False
    for continuation, whole in zip(prompt.continuations, joined, strict=True):
        if not is_joined(context, whole):
            # The continuation merged into the prompt's last token: tokenise it separately, and flag that.
            split = True
            whole = context + ids([continuation])[0]
        if len(whole) == len(context):
            raise ModelError(f"the tokenizer has no tokens for the candidate {continuation!r}")
        sequences.append((*prompt.front, *whole))
    start = len(prompt.front) + len(context)
    return Question.of(sequences, start, split=split)


def is_joined(context: Sequence[int], ids: Sequence[int]) -> bool:
    """Return whether ids of a context and its continuation begin with the context's own ids, and go on."""
    return len(ids) > len(context) and list(ids[: len(context)]) == list(context)


def _leading_specials(tokenizer: Any) -> tuple[int, ...]:
    """Return what the tokenizer itself puts before a text (nothing, or its beginning-of-text token)."""
    plain = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    whole = list(tokenizer("a")["input_ids"])
    for length in range(len(whole) - len(plain) + 1):
        if whole[length : length + len(plain)] == plain:
            return tuple(whole[:length])
    raise ModelError("the tokenizer changes the text when it adds its special tokens, which is not supported")


def _tokenizer_hash(tokenizer: Any) -> str:
    """Return a hash of everything that decides how text becomes ids."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        return sha256(backend.to_str())
    return sha256(repr(sorted(tokenizer.get_vocab().items())) + type(tokenizer).__name__)


def neopronouns(examples: Iterable[Example]) -> list[str]:
    """Return the neopronouns that the examples ask about, each once, in their order."""
    asked = dict.fromkeys((e.groups.get("gender", ""), e.slots.get("pronoun", "")) for e in examples)
    return list(dict.fromkeys(word for group, word in asked if word and group not in COMMON))


def split_notes(pieces: Mapping[str, int]) -> list[str]:
    """Return a note that names the words of several tokens, given the tokens of each; nothing where there are none."""
    split = [f"{word} ({count})" for word, count in pieces.items() if count > 1]
    if not split:
        return []
    return [
        f"the tokenizer splits these pronouns into several tokens: {', '.join(split)}; the model may have seen them"
        " rarely, so differences to other pronouns may come from that"
    ]
