"""Scores prompts with a causal model of transformers: in packed prefix trees, or in another mode the model supports.

Batches are tokenised and packed by a thread while the device works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...records import Context, Example, ModelError, Prompt, Sampling, Score
from ..encoding import Encoder, Question
from ..engine import EngineDefaults, EngineOptions, identity_key, neighbours
from ..packing.prefetch import prefetch
from ..packing.shape import Shape
from ..pronoun_pieces import neopronouns, split_notes
from ..reductions import REDUCTIONS, first_token_mass, reductions
from .cpu import lay_out
from .model import config_sha256, evaluating, is_encoder, window
from .passes import MODES, Mode, Passes
from .schedule import Batch, Schedule, arrange
from .trial import PROMPTS, Trial
from .writing import texts_at_once, write

IDENTIFYING = {"weights": "sha256", "adapter": "adapter_sha256", "merged": "adapter_merged", "quantize": "quantize"}
"""What identifies the weights: names in the identity, and in the description of the weights."""

BRANCH_TOKENS = 8
"""Longest continuation, in tokens, for which reusing a prompt's cache is faster than a plain pass."""

COMPILE_PROMPTS = 20_000
"""Number of prompts from which compiling the model's layers for a GPU saves time."""


class HuggingFaceEngine(EngineDefaults):
    """A causal language model of transformers."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        weights: Mapping[str, str],
        options: EngineOptions | None = None,
        borrowed: bool = False,
    ) -> None:
        """Take a model. `weights` says where they come from, and their hash; a `borrowed` model is left as it is."""
        options = options or EngineOptions()
        if model.get_output_embeddings() is None:
            raise ModelError(f"{name} has no language-model head, so it cannot score text")
        if is_encoder(model.config):
            kind = model.config.model_type
            raise ModelError(
                f"{name} is not a causal language model: {kind} is an encoder, which predicts masked words"
            )
        self._model = model
        self._borrowed = borrowed
        self._encoder = Encoder(tokenizer, bos=options.bos)
        self.name = name
        self._weights = dict(weights)
        self._parameters = sum(parameter.numel() for parameter in model.parameters())
        self._mode: Mode | None = None
        self._fallback: Mode = "padded"
        self._window = window(model.config)
        self._longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._reduced = options.reductions
        self._prompts = 0
        self._notes: list[str] = []
        self._pronouns: dict[str, int] = {}
        self._passes = Passes(model, reduced=self._reduced)
        self._schedule = Schedule(self._passes, name=name, notes=self._notes)
        self.compiled = "never" if borrowed else "auto"
        self.device = self._passes.device
        self.dtype = self._passes.dtype

    @property
    def shape(self) -> Shape:
        """How much is computed at once."""
        return self._passes.shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        self._passes.shape = shape

    @property
    def layers(self) -> list[Any]:
        """The layers of the model, from the first to the last."""
        lists = [module for module in self._model.modules() if isinstance(module, torch.nn.ModuleList)]
        return list(max(lists, key=len, default=()))

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "engine": "huggingface",
            **{name: self._weights[key] for name, key in IDENTIFYING.items() if key in self._weights},
            "config": config_sha256(self._model.config),
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": self.device.type,
            **({"reductions": list(REDUCTIONS)} if self._reduced else {}),
            **self._encoder.identity,
        }

    @property
    def notes(self) -> Sequence[str]:
        return [*self._notes, *split_notes(self._pronouns)]

    def prepare(self, examples: Iterable[Example]) -> None:
        """Find out into how many tokens each neopronoun is split, for a note."""
        self._pronouns |= self._encoder.pieces(neopronouns(examples))

    @property
    def description(self) -> Mapping[str, Any]:
        return {
            **self._weights,
            "architecture": type(self._model).__name__,
            "parameters": self._parameters,
            "scoring": "not used" if self._mode is None else MODES[self._mode],
            # How many rows run at once depends on free memory, and so is not part of the record.
            "shape": {"prompts": self.shape.prompts, "row_tokens": self.shape.row_tokens},
        }

    @property
    def texts_at_once(self) -> int:
        return texts_at_once(self.device)

    def expect(self, prompts: int) -> None:
        """Take note of how many prompts there are to score: this decides whether to compile."""
        self._prompts = max(self._prompts, prompts)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        self.expect(len(prompts))
        return neighbours(prompts, size=self.shape.prompts)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        with evaluating(self._model):
            if self._mode is None:
                self._choose_mode()
            for batch in self._schedule.finished(prefetch(self._planned(iter(batches)))):
                answers = zip(batch.prompts, batch.questions, batch.by_question(), strict=True)
                yield [self._score(prompt.key(identity), question, tables) for prompt, question, tables in answers]

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        with evaluating(self._model):
            return write(self._passes, self._encoder, contexts, max_new_tokens, sampling)

    def score_one_by_one(self, prompts: Iterable[Prompt]) -> list[Score]:
        """Return the scores from one plain pass for each candidate, without packing, padding or batches: for tests."""
        identity = identity_key(self)
        scores = []
        with evaluating(self._model):
            for prompt in prompts:
                (question,) = self._encoder.questions([prompt])
                pairs = zip(question.sequences, question.starts, strict=True)
                tables = [self._passes.plain(sequence, start) for sequence, start in pairs]
                scores.append(self._score(prompt.key(identity), question, tables))
        return scores

    def _score(self, key: str, question: Question, tables: Sequence[NDArray[np.float64]]) -> Score:
        """Return the score of a question whose sequences have these tables."""
        logprobs = tuple(tuple(table[:, 0].tolist()) for table in tables)
        if not self._reduced:
            return Score(key, logprobs, flags=question.flags)
        firsts = [sequence[start] for sequence, start in zip(question.sequences, question.starts, strict=True)]
        mass = first_token_mass(zip(firsts, (values[0] for values in logprobs), strict=True))
        _, nats, overlap = tables[0][0].tolist()
        return Score(key, logprobs, reductions(nats, overlap, self._passes.vocabulary, mass), question.flags)

    def _planned(self, batches: Iterator[Sequence[Prompt]]) -> Iterator[Batch]:
        """Yield the batches tokenised and arranged in rows; runs in its own thread, without the device."""
        for prompts in batches:
            questions = self._encoder.questions(prompts)
            mode = self._mode_of(prompts, questions)
            rows = arrange(questions, mode, row_tokens=self.shape.row_tokens)
            yield Batch(prompts, questions, rows, mode)

    def _mode_of(self, prompts: Sequence[Prompt], questions: Sequence[Question]) -> Mode:
        """Return the mode in which these questions are scored; a prompt too long for the model is an error."""
        lengths = [max(map(len, question.sequences)) - 1 for question in questions]
        longest = max(lengths)
        if self._longest and longest > self._longest:
            example = prompts[lengths.index(longest)].example_id
            raise ModelError(f"the prompt of {example} has {longest} tokens; {self.name} takes at most {self._longest}")
        mode = self._mode or "padded"
        if mode == "packed" and self._window and longest > self._window:
            # Our mask replaces the model's, and with it the window that the model was trained with.
            mode = self._fallback
            note = f"{self.name} looks {self._window} tokens back; where prompts are longer, {MODES[mode]} are used"
            self._notes += [note] if note not in self._notes else []
        # Branches are computed token by token: worth it for two tokens or a few more.
        tails = [len(ids) - start for q in questions for ids, start in zip(q.sequences, q.starts, strict=True)]
        return "padded" if mode == "cached" and not 1 < max(tails) <= BRANCH_TOKENS else mode

    def _choose_mode(self) -> None:
        """Find out once whether packed rows give the model's plain answers; compile the model where that saves time."""
        trial = Trial(self._passes, self._schedule, self._encoder.questions(PROMPTS), name=self.name)
        trial.check_causal()
        if self.device.type == "cpu" and not self._borrowed and "quantize" not in self._weights:
            with torch.inference_mode():
                lay_out(self._model, trial.sequence)
        fault = trial.fault("packed")
        if (fault or self._window) and not trial.fault("cached"):
            self._fallback = "cached"
        self._mode = self._fallback if fault else "packed"
        if fault:
            self._notes.append(f"{fault}; {MODES[self._mode]} are used")
        elif self.shape.fixed and self._worth_compiling():
            self._passes.compile()
            self._passes.sparse = self._passes.may_be_sparse
            self._passes.sparse &= not trial.fault("packed")

    def _worth_compiling(self) -> bool:
        """Return whether to compile: on request, or when there are enough prompts."""
        return self.compiled == "always" or (self.compiled == "auto" and self._prompts >= COMPILE_PROMPTS)
