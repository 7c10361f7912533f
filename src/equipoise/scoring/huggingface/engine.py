"""Scores prompts with a causal model of transformers: in packed prefix trees, or in another mode the model supports.

Batches are tokenised and packed by a thread while the device works. Rows of consecutive batches fill passes of a fixed
shape on a GPU. A batch is returned as soon as all its rows are done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...records import Context, ModelError, Prompt, Score
from ..encoding import Encoder, Question
from ..engine import EngineDefaults, identity_key, neighbours
from ..packing.prefetch import prefetch
from ..packing.prefix_tree import Row, Sequences, alone, forks, pack
from ..packing.shape import Shape
from ..reductions import REDUCTIONS, first_token_mass, reductions
from .cpu import lay_out
from .model import config_sha256, window
from .passes import MODES, Mode, Passes
from .writing import write

BRANCH_TOKENS = 8
"""Longest continuation, in tokens, for which reusing a prompt's cache is faster than a plain pass."""

COMPILE_PROMPTS = 20_000
"""Number of prompts from which compiling the model's layers for a GPU saves time."""

REASONS = (" the shop was closed", " the rain had come")
TRIAL = tuple(
    Prompt("trial", "", "", f"The {speaker} told the {listener} that {pronoun} had to leave early, because", REASONS)
    for speaker in ("baker", "painter", "farmer", "clerk")
    for listener in ("neighbour", "driver", "judge", "cook")
    for pronoun in ("he", "she")
)
"""Prompts that check whether a model can be packed: a tree that branches often and fills a row."""

TRIAL_TOKENS = 512


@dataclass
class _Batch:
    """A batch in progress: its prompts, and the values of its sequences so far.

    A sequence has a row for every predicted token: its log-probability and, on request, the sums over the vocabulary.
    """

    prompts: Sequence[Prompt]
    questions: Sequence[Question]
    rows: Sequence[Row]
    mode: Mode
    answers: list[NDArray[np.float64]] = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.answers = [np.empty((0, 1))] * sum(len(question.sequences) for question in self.questions)
        self.left = len(self.rows)

    def take(self, row: Row, values: NDArray[np.float64]) -> None:
        """Store the row's predictions with their sequences."""
        for owner, part in zip(row.owners.tolist(), np.split(values, np.cumsum(row.counts)[:-1]), strict=True):
            self.answers[owner] = part
        self.left -= 1

    def by_question(self) -> Iterator[list[NDArray[np.float64]]]:
        """Yield the tables of each question, one for each sequence."""
        tables = iter(self.answers)
        for question in self.questions:
            yield [next(tables) for _ in question.sequences]


class _Running(NamedTuple):
    """A pass that the device is computing: the values it will have, and the rows they belong to."""

    values: torch.Tensor
    counts: NDArray[np.int64]
    rows: Sequence[tuple[_Batch, Row]]


class HuggingFaceEngine(EngineDefaults):
    """A causal language model of transformers."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        weights: Mapping[str, str],
        bos: str = "auto",
        compiled: str = "auto",
        reduced: bool = False,
    ) -> None:
        self._model = model.eval()
        self._encoder = Encoder(tokenizer, bos=bos)
        self.name = name
        self._weights = dict(weights)
        self._parameters = sum(parameter.numel() for parameter in model.parameters())
        if model.get_output_embeddings() is None:
            raise ModelError(f"{name} has no language-model head, so it cannot score text")
        self._mode: Mode | None = None
        self._fallback: Mode = "padded"
        self._window = window(model.config)
        self._longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._compiled = compiled
        self._reduced = reduced
        self._prompts = 0
        self._passes = Passes(model, reduced=reduced)
        self.device = self._passes.device
        self.dtype = self._passes.dtype
        self._notes: list[str] = []

    @property
    def shape(self) -> Shape:
        """How much is computed at once."""
        return self._passes.shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        self._passes.shape = shape

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "engine": "huggingface",
            "weights": self._weights["sha256"],
            "config": config_sha256(self._model.config),
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": self.device.type,
            **({"reductions": list(REDUCTIONS)} if self._reduced else {}),
            **self._encoder.identity,
        }

    @property
    def notes(self) -> Sequence[str]:
        return self._notes

    @property
    def description(self) -> Mapping[str, Any]:
        return {
            **self._weights,
            "architecture": type(self._model).__name__,
            "parameters": self._parameters,
            "scoring": "not used" if self._mode is None else MODES[self._mode],
            "shape": self.shape._asdict(),
        }

    def expect(self, prompts: int) -> None:
        """Take note of how many prompts there are to score: this decides whether to compile."""
        self._prompts = max(self._prompts, prompts)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        self.expect(len(prompts))
        return neighbours(prompts, size=self.shape.prompts)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        if self._mode is None:
            self._choose_mode()
        for batch in self._finished(prefetch(self._planned(iter(batches)))):
            answers = zip(batch.prompts, batch.questions, batch.by_question(), strict=True)
            yield [self._score(prompt.key(identity), question, tables) for prompt, question, tables in answers]

    def _score(self, key: str, question: Question, tables: Sequence[NDArray[np.float64]]) -> Score:
        """Return the score of a question whose sequences have these tables."""
        logprobs = tuple(tuple(table[:, 0].tolist()) for table in tables)
        if not self._reduced:
            return Score(key, logprobs, flags=question.flags)
        firsts = [sequence[start] for sequence, start in zip(question.sequences, question.starts, strict=True)]
        mass = first_token_mass(zip(firsts, (values[0] for values in logprobs), strict=True))
        _, nats, overlap = tables[0][0].tolist()
        return Score(key, logprobs, reductions(nats, overlap, self._passes.vocabulary, mass), question.flags)

    def score_one_by_one(self, prompts: Iterable[Prompt]) -> list[Score]:
        """Return the scores from one plain pass for each candidate, without packing, padding or batches: for tests."""
        identity = identity_key(self)
        scores = []
        for prompt in prompts:
            (question,) = self._encoder.questions([prompt])
            pairs = zip(question.sequences, question.starts, strict=True)
            tables = [self._passes.plain(sequence, start) for sequence, start in pairs]
            scores.append(self._score(prompt.key(identity), question, tables))
        return scores

    def _planned(self, batches: Iterator[Sequence[Prompt]]) -> Iterator[_Batch]:
        """Yield the batches tokenised and arranged in rows; runs in its own thread, without the device."""
        for prompts in batches:
            questions = self._encoder.questions(prompts)
            mode = self._mode_of(prompts, questions)
            yield _Batch(prompts, questions, self._arranged(questions, mode), mode)

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

    def _arranged(self, questions: Sequence[Question], mode: Mode, *, at_least: int = 0) -> list[Row]:
        sequences = Sequences.of(
            [sequence for question in questions for sequence in question.sequences],
            [start for question in questions for start in question.starts],
        )
        if mode == "packed":
            return pack(sequences, row_tokens=max(at_least, self.shape.row_tokens))
        return forks(sequences) if mode == "cached" else alone(sequences)

    def _finished(self, planned: Iterator[_Batch]) -> Iterator[_Batch]:
        """Yield the batches in order as they are done; a pass may hold rows of several batches."""
        waiting: deque[_Batch] = deque()
        running: deque[_Running] = deque()
        rows: list[tuple[_Batch, Row]] = []
        for batch in planned:
            waiting.append(batch)
            for row in batch.rows:
                if rows and not self._room(rows, batch, row):
                    running += self._started(rows)
                    rows = []
                rows.append((batch, row))
            # The newest passes stay on the device; older ones are fetched.
            while len(running) > self.shape.in_flight:
                self._fetch(running.popleft())
            while waiting and not waiting[0].left:
                yield waiting.popleft()
        if rows:
            running += self._started(rows)
        while running:
            self._fetch(running.popleft())
        yield from waiting

    def _room(self, rows: Sequence[tuple[_Batch, Row]], batch: _Batch, row: Row) -> bool:
        """Return whether a pass of these rows has room for one more row of the same mode."""
        before, first = rows[0]
        packed = batch.mode == "packed"
        most = self.shape.rows if packed else self.shape.padded_rows
        predicted = sum(len(other.nodes) for _, other in rows) + len(row.nodes)
        # Only packed passes have the same shape whatever they hold. Others stay within a batch, so that a run that was
        # killed and resumed computes the same passes.
        fits = before.mode == "packed" if packed else before is batch and first.stem == row.stem
        return fits and len(rows) < most and predicted <= self.shape.predictions

    def _started(self, rows: Sequence[tuple[_Batch, Row]]) -> list[_Running]:
        """Start the rows on the device and return the passes: one, or several smaller ones where memory ran out."""
        try:
            counts, values = self._passes.run([row for _, row in rows], rows[0][0].mode)
            return [_Running(values, counts, rows)]
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if len(rows) == 1:
                raise ModelError(
                    f"{self.name} and one row of {len(rows[0][1])} tokens do not fit into the memory of {self.device}; "
                    "use a smaller dtype, or another device"
                ) from None
            self.shape = self.shape.halved()
            self._notes.append(f"memory ran out: passes now have at most {self.shape.rows} rows")
        middle = len(rows) // 2
        return [*self._started(rows[:middle]), *self._started(rows[middle:])]

    def _fetch(self, running: _Running) -> None:
        """Wait for a pass, and store its values with their batches."""
        values = running.values.cpu().numpy().astype(np.float64)
        # A probability of one rounds to a log-probability a little above zero.
        values[:, 0] = np.minimum(values[:, 0], 0.0)
        for (batch, row), part in zip(running.rows, np.split(values, np.cumsum(running.counts)[:-1]), strict=True):
            batch.take(row, part)

    def _choose_mode(self) -> None:
        """Find out once whether packed rows give the model's plain answers; compile the model where that saves time.

        The trial does not depend on the prompts, so a resumed run continues in the mode it began with.
        """
        trial = self._encoder.questions(TRIAL)
        self._check_causal(trial[0].sequences[0])
        if self.device.type == "cpu":
            with torch.inference_mode():
                lay_out(self._model, trial[0].sequences[0])
        some = slice(None, None, 5)
        plain = _flat(self._tried(trial[some], "padded"))
        fault = self._fault("packed", trial, some, plain)
        if (fault or self._window) and not self._fault("cached", trial, some, plain):
            self._fallback = "cached"
        self._mode = self._fallback if fault else "packed"
        if fault:
            self._notes.append(f"{fault}; {MODES[self._mode]} are used")
        elif self.shape.fixed and self._pays():
            self._passes.compile()
            self._passes.sparse = self._passes.may_be_sparse
            self._passes.sparse &= not self._fault("packed", trial, some, plain)

    def _pays(self) -> bool:
        """Return whether to compile: on request, or when there are enough prompts."""
        return self._compiled == "always" or (self._compiled == "auto" and self._prompts >= COMPILE_PROMPTS)

    def _fault(self, mode: Mode, trial: Sequence[Question], some: slice, plain: NDArray[np.float64]) -> str:
        """Return why this mode does not give the plain answers; "" where it does."""
        try:
            values = _flat(self._tried(trial, mode)[some])
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # a model may raise anything when it gets a mask it does not expect
            return f"{self.name} cannot run {MODES[mode]} ({type(error).__name__})"
        # In low precision single values differ by tenths; an ignored mask or position changes far more.
        difference = np.abs(values - plain)
        exact = float(difference.max()) <= 1e-3 if self.dtype == torch.float32 else float(difference.mean()) <= 0.2
        return (
            "" if exact else f"{self.name} gives other answers in {MODES[mode]} (by {float(difference.max()):.2g} nats)"
        )

    def _tried(self, questions: Sequence[Question], mode: Mode) -> list[list[NDArray[np.float64]]]:
        """Return the tables of the questions, in rows long enough for the trial's tree to branch."""
        batch = _Batch((), questions, self._arranged(questions, mode, at_least=TRIAL_TOKENS), mode)
        for row in batch.rows:
            counts, values = self._passes.run([row], mode)
            self._fetch(_Running(values, counts, [(batch, row)]))
        return list(batch.by_question())

    @torch.inference_mode()
    def _check_causal(self, sequence: Sequence[int]) -> None:
        """Refuse a model whose answer at a token changes with the tokens after it, such as a masked model."""
        ids, place = torch.tensor([sequence], device=self.device), len(sequence) // 2
        whole, part = (self._model(input_ids=given, use_cache=False).logits for given in (ids, ids[:, : place + 1]))
        tolerance = 4e-3 if self.dtype == torch.float32 else 1.0
        if float((whole[0, place] - part[0, place]).float().abs().mean()) > tolerance:
            raise ModelError(f"{self.name} is not a causal language model: its answer at a word depends on later words")

    def generate(self, contexts: Sequence[Context], max_new_tokens: int) -> list[str]:
        return write(self._model, self._encoder, self._passes.tensor, contexts, max_new_tokens)


def _flat(answers: Sequence[Sequence[NDArray[np.float64]]]) -> NDArray[np.float64]:
    """Return all log-probabilities of the questions' tables."""
    return np.concatenate([table[:, 0] for answer in answers for table in answer])
