"""Scores prompts with a causal model of transformers: in packed prefix trees, or in another mode the model supports.

Batches are tokenised and packed by a thread while the device works.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from ...options import EngineOptions
from ...records import Context, Example, ModelError, Prompt, Sampling, Score
from ..encoding import Asked, Encoder, neopronouns, split_notes
from ..engine import PRONOUNS, EngineDefaults, identity_key, left_out, neighbours
from ..nesting import stops
from ..packing.planners import PlannerPool, prefetch, processes
from ..packing.rules import Mode, RowPlan, Rules
from ..packing.shape import SMALL_ROW_TOKENS, Shape
from ..reductions import REDUCTIONS, first_token_mass, reductions
from .cpu import lay_out
from .head import is_widened
from .known_trials import circumstances, has_passed, remember
from .model import config_sha256, gpus, is_encoder, is_on_one_gpu, window
from .norms import fuse_norms
from .passes import MODES, Passes
from .prefixes import Prefixes
from .recorded import Recorder
from .schedule import Batch, Schedule
from .trial import PROMPTS, Trial, check_tokenizer
from .writing import texts_at_once, write

IDENTIFYING = {"weights": "sha256", "adapter": "adapter_sha256", "merged": "adapter_merged", "quantize": "quantize"}
"""What identifies the weights: names in the identity, and in the description of the weights."""

COMPILE_WORK = 7.6e14
"""Prompts times parameters from which compiling a model's layers saves time on a GPU (docs/decisions/gpu-runs.md)."""

COMPILE_EXTRA = 1_000_000_000
"""Parameters to add to a model's: what compiling saves where the model is so small that the GPU waits for Python."""

POOL_PROMPTS = 8192
"""Number of prompts from which several processes plan for a GPU, and passes of a small model are recorded."""


class HuggingFaceEngine(EngineDefaults):
    """A causal language model of transformers."""

    prepares = PRONOUNS

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
        self._on_own_gpu = not borrowed and is_on_one_gpu(model)
        self._fused = fuse_norms(model) if self._on_own_gpu else 0
        self._encoder = Encoder(tokenizer, bos=options.bos, time=options.chat_time)
        self.name = name
        self._weights = dict(weights)
        self._parameters = sum(parameter.numel() for parameter in model.parameters())
        self._mode: Mode | None = None
        self._fallback: Mode = "padded"
        self._window = window(model.config)
        self._longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._reduced = options.whole_vocabulary
        self._remembers = False
        self._prompts = 0
        self._first: frozenset[str] | None = None
        self._pool: PlannerPool | None = None
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
        return self._passes.layers

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "engine": "huggingface",
            **{name: self._weights[key] for name, key in IDENTIFYING.items() if key in self._weights},
            "config": config_sha256(self._model.config),
            "dtype": str(self.dtype).removeprefix("torch."),
            **({"head": "float32"} if is_widened(self._model.get_output_embeddings()) else {}),
            **({"norms": "fused"} if self._fused else {}),
            "device": self.device.type,
            **({"reductions": list(REDUCTIONS)} if self._reduced else {}),
            **self._encoder.identity,
        }

    @property
    def notes(self) -> Sequence[str]:
        return [*self._notes, *split_notes(self._pronouns)]

    def prepare(self, examples: Sequence[Example]) -> None:
        """Find out into how many tokens each neopronoun is split, for a note."""
        self._pronouns |= self._encoder.pieces(neopronouns(examples))
        self._open_pool(len(examples))  # its processes start while prompts are made of the examples

    @property
    def description(self) -> Mapping[str, Any]:
        return {
            **self._weights,
            "architecture": type(self._model).__name__,
            "parameters": self._parameters,
            "scoring": "not used" if self._mode is None else MODES[self._mode],
            # How many rows run at once depends on free memory, and so is not part of the record.
            "shape": {"prompts": self.shape.prompts, "row_tokens": self.shape.row_tokens},
            **({"thinks": True} if self._encoder.thinks else {}),
        }

    @property
    def texts_at_once(self) -> int:
        return texts_at_once(self.device)

    def expect(self, prompts: int) -> None:
        """Take note of how many prompts there are to score: this decides whether to compile."""
        self._prompts = max(self._prompts, prompts)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        self.expect(len(prompts))
        self._open_pool(len(prompts))  # its processes start while the prompts are sorted
        batches = neighbours(prompts, size=self.shape.prompts)
        if self._first is None and batches:
            self._first = frozenset(str(prompts[place].context) for place in batches[0])
        return batches

    def remember(self) -> None:
        self._remembers = True

    def token_texts(self, prompts: Sequence[Prompt]) -> list[list[list[str]]]:
        return self._encoder.token_texts(prompts)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        with self._passes.in_use():
            if self._mode is None:
                self._choose_mode()
            batches = iter(batches)
            if self._mode == "packed" and self._worth_compiling() and not self._passes.compiled:
                # The first batch is not compiled, so that scores come soon. It is always the same one: a run that
                # was killed and resumed computes every batch in the way that it would have done otherwise.
                head = list(islice(batches, 1))
                if head and self._first and str(head[0][0].context) in self._first:
                    yield from self._scores(head)
                else:
                    batches = chain(head, batches)
                self._compile()
            elif self._worth_recording() and self._passes.recorder is None:
                self._passes.recorder = Recorder(self._model)
            yield from self._scores(batches)

    def _scores(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in self._schedule.finished(prefetch(self._planned(iter(batches)))):
            yield self._scored(batch, identity)

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        with self._passes.in_use():
            return write(self._passes, self._encoder, contexts, max_new_tokens, sampling, self._longest)

    def _scored(self, batch: Batch, identity: str) -> list[Score]:
        """Return the score of each prompt of a batch whose values are known."""
        plan = batch.plan
        summaries = self._summaries(batch) if self._reduced else [{} for _ in batch.prompts]
        answered = zip(batch.prompts, batch.logprobs(), summaries, plan.flags, plan.nested, strict=True)
        return [
            Score(prompt.key(identity), logprobs, summary, flags, None, stops(logprobs, nested) if nested else ())
            for prompt, logprobs, summary, flags, nested in answered
        ]

    def _summaries(self, batch: Batch) -> list[dict[str, float]]:
        """Return the summaries over the vocabulary of each prompt, where its first token is predicted."""
        firsts = iter(batch.plan.firsts)
        masses = [first_token_mass([(next(firsts), tokens[0]) for tokens in logprobs]) for logprobs in batch.logprobs()]
        return [
            reductions(nats, overlap, self._passes.vocabulary, mass)
            for (nats, overlap), mass in zip(batch.sums(), masses, strict=True)
        ]

    def _planned(self, batches: Iterator[Sequence[Prompt]]) -> Iterator[Batch]:
        """Yield the batches tokenised and arranged in rows; runs in its own thread, without the device."""
        rules = self._rules()
        waiting: deque[Sequence[Prompt]] = deque()

        def asked() -> Iterator[list[Asked]]:
            for prompts in batches:
                waiting.append(prompts)
                yield self._encoder.asked(prompts)

        def plan_here(batch: Sequence[Asked]) -> RowPlan:
            try:
                return rules.plan(batch, self._encoder.ids)
            except ModelError as error:
                self._note(left_out(error))
                raise

        pool = self._open_pool(self._prompts)
        for plan in pool.plans(asked(), rules, plan_here) if pool else map(plan_here, asked()):
            if plan.mode != rules.mode == "packed":
                beyond = f"{self.name} looks {self._window} tokens back; where prompts are longer"
                self._note(f"{beyond}, {MODES[plan.mode]} are used")
            yield Batch(waiting.popleft(), plan)

    def _rules(self) -> Rules:
        mode, row_tokens = self._mode or "padded", self.shape.row_tokens
        return Rules(self.name, mode, self._fallback, self._window, self._longest, row_tokens)

    def _open_pool(self, prompts: int) -> PlannerPool | None:
        """Return the processes that plan, where the device is fast and there are enough prompts to plan."""
        if self._pool is None and self.device.type == "cuda" and prompts >= POOL_PROMPTS:
            serialized, count = self._encoder.serialized, processes(len(gpus()))
            self._pool = PlannerPool(serialized, count) if serialized and count else None
        return self._pool

    def _choose_mode(self) -> None:
        """Find out once whether packed rows give the model's plain answers; an earlier process may have done so."""
        facts = self._circumstances()
        if has_passed(facts):
            if self._lays_out:
                lay_out(self._model, None)
            self._mode, self._passes.prefixes = "packed", Prefixes() if self._recalls else None
            return
        check_tokenizer(self._encoder, self._model, self.name)
        trial = Trial(self._passes, self._schedule, self._encoder.questions(PROMPTS), name=self.name)
        trial.check_causal()
        laid_out = self._lays_out and lay_out(self._model, trial.sequence)
        fault = flaw = trial.fault("packed")
        if fault and self._passes.segmented:
            self._passes.attend_densely()
            fault = trial.fault("packed")
        if (fault or self._window) and not trial.fault("cached"):
            self._fallback = "cached"
        self._mode = self._fallback if fault else "packed"
        if self._recalls and not fault:
            # The second time, all but the nodes that predict are known.
            self._passes.prefixes = Prefixes()
            flaw = flaw or trial.fault("packed") or trial.fault("packed")
            self._passes.prefixes = None if flaw else Prefixes()
        if fault:
            self._notes.append(f"{fault}; {MODES[self._mode]} are used")
        if not flaw and laid_out == self._lays_out:
            remember(facts)

    @property
    def _lays_out(self) -> bool:
        """Whether the weights are rearranged for the processor."""
        return self.device.type == "cpu" and not self._borrowed and "quantize" not in self._weights

    @property
    def _recalls(self) -> bool:
        """Whether what a model computed of a prefix is kept for the next batch."""
        return self._remembers and self._passes.segmented

    def _circumstances(self) -> dict[str, Any] | None:
        """Return what the outcome of the trial depends on; None where it is not remembered."""
        if self._borrowed or self._window:
            return None
        chosen = {"row_tokens": self.shape.row_tokens, "segmented": self._passes.segmented, "recalls": self._recalls}
        return circumstances(self._model, self.identity, **chosen)

    def _worth_compiling(self) -> bool:
        """Return whether to compile: on request, or when there is enough work."""
        enough = self._prompts * (self._parameters + COMPILE_EXTRA) >= COMPILE_WORK
        return self.shape.fixed and (self.compiled == "always" or (self.compiled == "auto" and enough))

    def _worth_recording(self) -> bool:
        """Return whether to record passes: where a GPU waits for Python, and there is enough work."""
        small = self.shape.fixed and self.shape.row_tokens == SMALL_ROW_TOKENS
        enough = self._prompts >= POOL_PROMPTS
        return self._on_own_gpu and small and enough and self.compiled != "never" and not self._passes.compiled

    def _compile(self) -> None:
        """Compile the model's layers, with block-sparse attention where that gives the same answers."""
        self._passes.compile()
        trial = Trial(self._passes, self._schedule, self._encoder.questions(PROMPTS), name=self.name)
        fault = ""
        for sparse in [True, False] if self._passes.may_be_sparse else [False]:
            self._passes.sparse = sparse
            fault = trial.fault("packed")
            if not fault:
                return
        self._passes.decompile()
        self.compiled = "never"
        self._note(f"{fault} when it is compiled; it is used uncompiled")

    def _note(self, note: str) -> None:
        self._notes += [note] if note not in self._notes else []
