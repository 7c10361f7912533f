"""Monte Carlo dropout: a model asked several times, each time with other parts of it silenced (Gal & Ghahramani 2016).

Dropout acts on what each layer adds to the residual stream, whether or not the model was trained with any. A pass
silences the same channels for all tokens and prompts, so that it is one thinned network: its answers do not depend on
what else is in a batch, and prompts still share their prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ...options import EngineOptions
from ...records import Example, ModelError, Prompt, Score
from ..engine import PRONOUNS, EngineDefaults, identity_key
from ..ensemble import mixture
from ..packing.shape import Shape
from .engine import HuggingFaceEngine

KIND = "channels of each layer's contribution, one mask for each layer and pass"


class DropoutEngine(EngineDefaults):
    """A model whose answer is the mean over passes with dropout."""

    prepares = PRONOUNS

    def __init__(self, engine: HuggingFaceEngine, *, share: float, passes: int, seed: int) -> None:
        self._engine = engine
        self._share, self._passes, self._seed = share, passes, seed
        self._layers = engine.layers
        if not self._layers:
            raise ModelError(f"{engine.name} has no list of layers, so dropout cannot be put into it")
        # A compiled layer would keep the masks of its first pass.
        engine.compiled = "never"
        self.name = engine.name

    @property
    def identity(self) -> Mapping[str, Any]:
        dropout = {"share": self._share, "passes": self._passes, "seed": self._seed, "kind": KIND}
        return {**self._engine.identity, "dropout": dropout}

    @property
    def description(self) -> Mapping[str, Any]:
        return self._engine.description

    @property
    def notes(self) -> Sequence[str]:
        note = f"each answer is the mean of {self._passes} passes with dropout {self._share:g} (seed {self._seed})"
        return [*self._engine.notes, note]

    @property
    def shape(self) -> Shape:
        """How much is computed at once."""
        return self._engine.shape

    def expect(self, prompts: int) -> None:
        """Take note of how many prompts there are to score."""
        self._engine.expect(prompts)

    def prepare(self, examples: Sequence[Example]) -> None:
        self._engine.prepare(examples)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return self._engine.batches(prompts)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            answers = []
            for number in range(self._passes):
                with self._thinned(number):
                    answers.append(next(iter(self._engine.score([batch]))))
            yield [mixture(prompt.key(identity), scores) for prompt, *scores in zip(batch, *answers, strict=True)]

    @contextmanager
    def _thinned(self, number: int) -> Iterator[None]:
        """Silence the channels of one pass, and take the masks out again at the end."""
        hooks = [
            layer.register_forward_hook(_Mask(self._share, (self._seed, number, place)), with_kwargs=True)
            for place, layer in enumerate(self._layers)
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


class _Mask:
    """A hook that silences a share of the channels of what a layer adds, and scales up the others."""

    def __init__(self, share: float, seeds: tuple[int, ...]) -> None:
        self._share, self._seeds = share, seeds
        self._mask: torch.Tensor | None = None

    def __call__(self, layer: Any, arguments: tuple[Any, ...], named: Mapping[str, Any], output: Any) -> Any:
        before = arguments[0] if arguments else named["hidden_states"]
        after = output[0] if isinstance(output, tuple) else output
        if self._mask is None or self._mask.device != after.device:
            self._mask = _kept(self._share, self._seeds, after.shape[-1]).to(after.device, after.dtype)
        thinned = before + (after - before) * self._mask
        return (thinned, *output[1:]) if isinstance(output, tuple) else thinned


def _kept(share: float, seeds: tuple[int, ...], width: int) -> torch.Tensor:
    """Return 0 for silenced channels and 1 / (1 - share) for the others; the same seeds give the same mask."""
    seed = 0
    for number in seeds:
        seed = (seed * 1_000_003 + number + 1) % 2**63
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(width, generator=generator) >= share).float() / (1 - share)


def with_dropout(engine: Any, options: EngineOptions) -> DropoutEngine:
    """Return the engine with the dropout of the options; only a model that is loaded here can have it."""
    if not isinstance(engine, HuggingFaceEngine):
        raise ModelError(f"dropout needs a model of transformers that is loaded here; {engine.name} is not one")
    return DropoutEngine(engine, share=options.dropout, passes=options.passes, seed=options.seed)
