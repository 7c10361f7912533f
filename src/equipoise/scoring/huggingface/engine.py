"""Scores prompts with a causal model of transformers: in packed prefix trees, or how else the model allows.

Batches are tokenised and packed by a thread while the device works. Rows of consecutive batches fill passes of a fixed
shape on a GPU; a batch is handed on as soon as all its rows are done.
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
from ..engine import identity_key, neighbours
from ..packing.prefetch import ahead
from ..packing.prefix_tree import Row, Sequences, alone, forks, pack
from ..packing.shape import Shape
from ..reductions import REDUCTIONS, first_token_mass, reductions
from .cpu import lay_out
from .model import config_sha256, window
from .passes import WAYS, Passes, Way
from .writing import write

BRANCH_TOKENS = 8
"""Tokens of a continuation up to which a prompt's cache is worth more than a pass without steps."""

COMPILE_PROMPTS = 20_000
"""From so many prompts on, compiling the model's layers for a GPU pays for itself."""

REASONS = (" the shop was closed", " the rain had come")
TRIAL = tuple(
    Prompt("trial", "", "", f"The {one} told the {other} that {pronoun} had to leave early, because", REASONS)
    for one in ("baker", "painter", "farmer", "clerk")
    for other in ("neighbour", "driver", "judge", "cook")
    for pronoun in ("he", "she")
)
"""What a model is tried on before packed rows are trusted: a tree that branches often and fills a row."""

TRIAL_TOKENS = 512


@dataclass
class _Batch:
    """A batch under way: its prompts, and what is known of its sequences so far.

    That is a row for every predicted token: its log-probability and, where asked for, the sums over the vocabulary.
    """

    prompts: Sequence[Prompt]
    questions: Sequence[Question]
    rows: Sequence[Row]
    way: Way
    answers: list[NDArray[np.float64]] = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.answers = [np.empty((0, 1))] * sum(len(question.sequences) for question in self.questions)
        self.left = len(self.rows)

    def take(self, row: Row, values: NDArray[np.float64]) -> None:
        """Put the row's predictions into the places of their sequences."""
        for owner, part in zip(row.owners.tolist(), np.split(values, np.cumsum(row.counts)[:-1]), strict=True):
            self.answers[owner] = part
        self.left -= 1

    def by_question(self) -> Iterator[list[NDArray[np.float64]]]:
        """Yield what is known of each question, a table a sequence."""
        places = iter(self.answers)
        for question in self.questions:
            yield [next(places) for _ in question.sequences]


class _Running(NamedTuple):
    """A pass that was given to the device: the values it will have, and whose they are."""

    values: torch.Tensor
    counts: NDArray[np.int64]
    rows: Sequence[tuple[_Batch, Row]]


class HuggingFaceEngine:
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
        self._name = name
        self._weights = dict(weights)
        self._parameters = sum(parameter.numel() for parameter in model.parameters())
        if model.get_output_embeddings() is None:
            raise ModelError(f"{name} has no language-model head, so it cannot score text")
        self._way: Way | None = None
        self._otherwise: Way = "padded"
        self._window = window(model.config)
        self._longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._compiled = compiled
        self._reduced = reduced
        self._prompts = 0
        self._passes = Passes(model, reduced=reduced)
        self.device = self._passes.device
        self.dtype = self._passes.dtype
        self.notes: list[str] = []

    @property
    def shape(self) -> Shape:
        """How much is computed at once."""
        return self._passes.shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        self._passes.shape = shape

    @property
    def name(self) -> str:
        return self._name

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
    def description(self) -> Mapping[str, Any]:
        return {
            **self._weights,
            "architecture": type(self._model).__name__,
            "parameters": self._parameters,
            "scoring": "not used" if self._way is None else WAYS[self._way],
            "shape": self.shape._asdict(),
        }

    def expect(self, prompts: int) -> None:
        """Take note of how much there is to score: it decides whether compiling pays."""
        self._prompts = max(self._prompts, prompts)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        self.expect(len(prompts))
        return neighbours(prompts, size=self.shape.prompts)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        if self._way is None:
            self._prepare()
        for batch in self._finished(ahead(self._planned(iter(batches)))):
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
        """Return the scores from one plain pass a candidate: no packing, padding or batch. The reference for tests."""
        identity = identity_key(self)
        scores = []
        for prompt in prompts:
            (question,) = self._encoder.questions([prompt])
            pairs = zip(question.sequences, question.starts, strict=True)
            tables = [self._passes.plain(sequence, start) for sequence, start in pairs]
            scores.append(self._score(prompt.key(identity), question, tables))
        return scores

    def _planned(self, batches: Iterator[Sequence[Prompt]]) -> Iterator[_Batch]:
        """Yield the batches tokenised and arranged in rows; runs in a thread of its own, and touches no device."""
        for prompts in batches:
            questions = self._encoder.questions(prompts)
            way = self._way_of(prompts, questions)
            yield _Batch(prompts, questions, self._arranged(questions, way), way)

    def _way_of(self, prompts: Sequence[Prompt], questions: Sequence[Question]) -> Way:
        """Return how these questions are scored; a prompt too long for the model is an error."""
        lengths = [max(map(len, question.sequences)) - 1 for question in questions]
        longest = max(lengths)
        if self._longest and longest > self._longest:
            name = prompts[lengths.index(longest)].example_id
            raise ModelError(f"the prompt of {name} has {longest} tokens; {self.name} takes at most {self._longest}")
        way = self._way or "padded"
        if way == "packed" and self._window and longest > self._window:
            # A given mask replaces the model's own, and with it the window that the model was trained with.
            way = self._otherwise
            note = f"{self.name} looks {self._window} tokens back; where prompts are longer, {WAYS[way]} are used"
            self.notes += [note] if note not in self.notes else []
        # Branches are computed token by token: worth it for a few tokens, and where there are any.
        said = [len(one) - start for q in questions for one, start in zip(q.sequences, q.starts, strict=True)]
        return "padded" if way == "cached" and not 1 < max(said) <= BRANCH_TOKENS else way

    def _arranged(self, questions: Sequence[Question], way: Way, *, at_least: int = 0) -> list[Row]:
        sequences = Sequences.of(
            [sequence for question in questions for sequence in question.sequences],
            [start for question in questions for start in question.starts],
        )
        if way == "packed":
            return pack(sequences, row_tokens=max(at_least, self.shape.row_tokens))
        return forks(sequences) if way == "cached" else alone(sequences)

    def _finished(self, planned: Iterator[_Batch]) -> Iterator[_Batch]:
        """Yield the batches in order as they are done; passes run across their borders."""
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
            # The newest passes stay with the device; what it has done meanwhile is fetched.
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
        """Return whether a pass of these rows can take one more: of its kind, and within what memory allows."""
        before, first = rows[0]
        packed = batch.way == "packed"
        most = self.shape.rows if packed else self.shape.padded_rows
        predicted = sum(len(one.nodes) for _, one in rows) + len(row.nodes)
        # Only packed passes look the same whatever is in them; others keep to a batch, so that a run that was killed
        # computes what it would have computed.
        fits = before.way == "packed" if packed else before is batch and first.stem == row.stem
        return fits and len(rows) < most and predicted <= self.shape.predictions

    def _started(self, rows: Sequence[tuple[_Batch, Row]]) -> list[_Running]:
        """Return the rows as passes given to the device: one, or more and smaller ones where memory ran out."""
        try:
            counts, values = self._passes.run([row for _, row in rows], rows[0][0].way)
            return [_Running(values, counts, rows)]
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if len(rows) == 1:
                raise ModelError(
                    f"{self.name} does not fit into the memory of {self.device} beside one row of "
                    f"{len(rows[0][1])} tokens; use a smaller dtype, or another --device"
                ) from None
            self.shape = self.shape.halved()
            self.notes.append(f"memory ran out: passes now have at most {self.shape.rows} rows")
        middle = len(rows) // 2
        return [*self._started(rows[:middle]), *self._started(rows[middle:])]

    def _fetch(self, running: _Running) -> None:
        """Wait for a pass, and give its values to the batches they belong to."""
        values = running.values.cpu().numpy().astype(np.float64)
        # A probability of one rounds to a log-probability a little above zero.
        values[:, 0] = np.minimum(values[:, 0], 0.0)
        for (batch, row), part in zip(running.rows, np.split(values, np.cumsum(running.counts)[:-1]), strict=True):
            batch.take(row, part)

    def _prepare(self) -> None:
        """Find out, once, whether packed rows give this model's plain answers; compile it where that pays.

        The trial is the same whatever is asked first, so that a run that is resumed goes on as it began.
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
            self._otherwise = "cached"
        self._way = self._otherwise if fault else "packed"
        if fault:
            self.notes.append(f"{fault}; {WAYS[self._way]} are used")
        elif self.shape.fixed and self._pays():
            self._passes.compile()
            self._passes.sparse = self._passes.may_be_sparse
            self._passes.sparse &= not self._fault("packed", trial, some, plain)

    def _pays(self) -> bool:
        """Return whether to compile: if asked to, or if there are enough prompts."""
        return self._compiled == "always" or (self._compiled == "auto" and self._prompts >= COMPILE_PROMPTS)

    def _fault(self, way: Way, trial: Sequence[Question], some: slice, plain: NDArray[np.float64]) -> str:
        """Return why this way, as it would be run now, does not give the plain answers; "" where it does."""
        try:
            found = _flat(self._tried(trial, way)[some])
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # what a model makes of a mask it does not expect is anybody's guess
            return f"{self.name} cannot run {WAYS[way]} ({type(error).__name__})"
        # In low precision single values differ by tenths; a mask or position that is ignored changes far more.
        difference = np.abs(found - plain)
        exact = float(difference.max()) <= 1e-3 if self.dtype == torch.float32 else float(difference.mean()) <= 0.2
        return "" if exact else f"{self.name} answers {WAYS[way]} otherwise (by {float(difference.max()):.2g} nats)"

    def _tried(self, questions: Sequence[Question], way: Way) -> list[list[NDArray[np.float64]]]:
        """Return the tables of the questions, in rows long enough for the trial's tree to branch."""
        batch = _Batch((), questions, self._arranged(questions, way, at_least=TRIAL_TOKENS), way)
        for row in batch.rows:
            counts, values = self._passes.run([row], way)
            self._fetch(_Running(values, counts, [(batch, row)]))
        return list(batch.by_question())

    @torch.inference_mode()
    def _check_causal(self, sequence: Sequence[int]) -> None:
        """Refuse a model whose answers change with what comes after: it fills gaps, and knows no next word."""
        ids, place = torch.tensor([sequence], device=self.device), len(sequence) // 2
        whole, part = (self._model(input_ids=each, use_cache=False).logits for each in (ids, ids[:, : place + 1]))
        tolerance = 4e-3 if self.dtype == torch.float32 else 1.0
        if float((whole[0, place] - part[0, place]).float().abs().mean()) > tolerance:
            raise ModelError(f"{self.name} is no causal language model: what comes after a word changes its answer")

    def generate(self, prompts: Sequence[Context], max_new_tokens: int) -> list[str]:
        """Return what the model says next to each prompt, token by token the most probable; chat by its template."""
        return write(self._model, self._encoder, self._passes.tensor, prompts, max_new_tokens)


def _flat(answers: Sequence[Sequence[NDArray[np.float64]]]) -> NDArray[np.float64]:
    """Return all log-probabilities of the questions' tables."""
    return np.concatenate([table[:, 0] for answer in answers for table in answer])
