"""Tries a model on a few fixed prompts: is it causal, and which modes give its plain answers?

The trial does not depend on the user's prompts, so a resumed run continues in the mode it began with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...records import ModelError, Prompt
from ..encoding import Encoder, Question
from ..packing.rules import Mode, planned
from .passes import MODES, Passes
from .schedule import Batch, Logprobs, Schedule

REASONS = (" the shop was closed", " the rain had come")
PROMPTS = tuple(
    Prompt("trial", "", "", f"The {speaker} told the {listener} that {pronoun} had to leave early, because", REASONS)
    for speaker in ("baker", "painter", "farmer", "clerk")
    for listener in ("neighbour", "driver", "judge", "cook")
    for pronoun in ("he", "she")
)
"""A tree that branches often and fills a row."""

ROW_TOKENS = 512

COMPARED = slice(None, None, 5)
"""The questions whose plain answers are computed."""

CAUSAL_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}
"""Share of the spread of the logits by which a causal model's answer may change with later tokens (rounding)."""

LOW_PRECISION_TOLERANCE = 0.3


class Trial:
    """A model's answers to the trial's questions."""

    def __init__(self, passes: Passes, schedule: Schedule, questions: Sequence[Question], *, name: str) -> None:
        self._passes = passes
        self._schedule = schedule
        self._questions = questions
        self._name = name
        self._plain: NDArray[np.float64] | None = None

    @property
    def sequence(self) -> Sequence[int]:
        """One sentence of the trial as token ids."""
        return self._questions[0].sequences[0]

    @torch.inference_mode()
    def check_causal(self) -> None:
        """Refuse a model whose answer at a token changes with the tokens after it, such as a masked model."""
        model, ids = self._passes.model, torch.tensor([self.sequence], device=self._passes.device)
        whole = model(input_ids=ids, use_cache=False).logits[0].float()
        tolerance = CAUSAL_TOLERANCE.get(self._passes.dtype, LOW_PRECISION_TOLERANCE)
        for place in (len(self.sequence) // 4, len(self.sequence) // 2):
            part = model(input_ids=ids[:, : place + 1], use_cache=False).logits[0, place].float()
            # Relative to the spread: a model with small weights has small logits, and small differences.
            if float((whole[place] - part).std()) > tolerance * float(part.std()):
                raise ModelError(
                    f"{self._name} is not a causal language model: its answer at a word depends on later words"
                )

    def fault(self, mode: Mode) -> str:
        """Return why this mode does not give the plain answers; "" where it does."""
        if self._plain is None:
            self._plain = _flat(self._answers(self._questions[COMPARED], "padded"))
        try:
            values = _flat(self._answers(self._questions, mode)[COMPARED])
        except ModelError:
            raise
        except Exception as error:  # a model may raise anything when it gets a mask it does not expect
            return f"{self._name} cannot run {MODES[mode]} ({type(error).__name__})"
        difference = np.abs(values - self._plain)
        # In low precision single values differ by tenths; an ignored mask or position changes far more.
        precise = self._passes.dtype == torch.float32
        exact = float(difference.max()) <= 1e-3 if precise else float(difference.mean()) <= 0.2
        if exact:
            return ""
        return f"{self._name} gives other answers in {MODES[mode]} (by {float(difference.max()):.2g} nats)"

    def _answers(self, questions: Sequence[Question], mode: Mode) -> list[Logprobs]:
        """Return the answers to the questions, in rows long enough for the trial's tree to branch."""
        batch = Batch((), planned(questions, mode, row_tokens=max(ROW_TOKENS, self._passes.shape.row_tokens)))
        self._schedule.one_by_one(batch)
        return list(batch.logprobs())


def check_tokenizer(encoder: Encoder, model: Any, name: str) -> None:
    """Refuse a tokenizer that knows no words, or gives numbers that the model has no token for."""
    try:
        rows = encoder.contexts([prompt.context for prompt in PROMPTS])
    except ModelError:  # a prompt without tokens
        rows = []
    if max(map(len, rows), default=0) < 2:  # one begins the text
        raise ModelError(f"the tokenizer of {name} knows no words; its files may be missing, such as tokenizer.json")
    largest, known = max(map(max, rows)), getattr(model.get_input_embeddings(), "num_embeddings", None)
    if known is not None and largest >= known:
        raise ModelError(
            f"{name} and its tokenizer do not belong together: it has {known:,} tokens, not {largest + 1:,}"
        )


def _flat(answers: Sequence[Logprobs]) -> NDArray[np.float64]:
    """Return all log-probabilities of the questions' answers."""
    return np.array([value for question in answers for tokens in question for value in tokens])
