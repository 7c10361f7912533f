"""What a user may choose about an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from .catalog import find
from .datasets import DatasetOptions, open_dataset
from .datasets.conditions import conditions
from .datasets.identity import AUGMENTATIONS, recipe
from .datasets.neutral import check_word
from .measuring.measure import Plan
from .metrics import METRICS
from .records import EquipoiseError, RunError
from .scoring.engine import EngineOptions
from .tasks import Shots, TaskOptions, read_wordings
from .uncertainty import ESTIMATORS, P_TRUE, PERPLEXITY

_ASKED = (
    *("token_aggregate", "answer_space", "reasoning_tokens", "answer_turn", "samples", "temperature", "answer_tokens"),
    *("chat", "system", "both"),
)
"""The choices of how to ask that are handed on as they are."""


@dataclass(frozen=True)
class Settings:
    """What a user may choose about an audit; every field can be given to `audit` by name."""

    limit: int | None = None
    where: Sequence[str] = ()
    seeds: int = 1
    seed: int = 0
    metrics: Sequence[str] = tuple(METRICS)
    estimators: Sequence[str] = (PERPLEXITY.name,)
    by: Sequence[str] | None = None
    disparity: str = "range"
    resamples: int = 2000
    level: float = 0.95
    pronouns: Sequence[str] = ("he", "she")
    columns: Mapping[str, str] = field(default_factory=dict)
    as_published: bool = False
    neutral: str = ""
    questions: Sequence[str] = ()
    wordings: str | None = None
    shots: str | None = None
    chat: bool = False
    system: str = ""
    augment: Sequence[str] = AUGMENTATIONS
    attributes: Sequence[str] | None = None
    base: str = "winobias"
    markers: str | None = None
    crossed: bool = False
    precision: float | None = None
    joint: bool = False
    drop_settled: bool = False
    reasoning_tokens: int = 128
    answer_turn: str = "assistant"
    token_aggregate: str = "sum"
    answer_space: str = "joined"
    both: bool = False
    device: str = "auto"
    dtype: str = "auto"
    bos: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    allow_pickle: bool = False
    reductions: bool = False
    adapter: str | None = None
    merge_adapter: bool = False
    quantize: str | None = None
    server: str | None = None
    samples: int = 0
    temperature: float = 1.0
    answer_tokens: int = 32
    concurrency: int = 16
    timeout: float = 120.0
    cluster: str | None = None
    workers: int = 0
    worker_cores: int = 1
    dropout: float = 0.0
    passes: int = 20

    def __post_init__(self) -> None:
        for name in ("seeds", "resamples"):
            if getattr(self, name) < 1:
                raise EquipoiseError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.limit is not None and self.limit < 1:
            raise EquipoiseError(f"limit must be at least 1, not {self.limit}")
        if self.seed < 0:
            raise EquipoiseError(f"seed must not be negative, it is {self.seed}")
        if not 0 < self.level < 1:
            raise EquipoiseError(f"level must lie between 0 and 1, not {self.level}")
        if self.disparity not in ("range", "pairwise", "deviation"):
            raise EquipoiseError(f"disparity must be range, pairwise or deviation, not {self.disparity!r}")
        if self.wordings and self.questions:
            raise EquipoiseError("questions and wordings both word the question; give one of them")
        conditions(self.where)
        if self.neutral:
            check_word(self.neutral)

    @classmethod
    def again(cls, earlier: Mapping[str, Any], **choices: Any) -> Self:
        """Return the settings of an earlier run, with other choices in their place; metrics are added to its own."""
        try:
            cls(**earlier)
        except (TypeError, ValueError, EquipoiseError):
            raise RunError("the run has settings that this version does not know; run its audit again") from None
        # Asking for one metric must not lose the others: their rows are what reports and gates read.
        metrics = dict.fromkeys([*earlier.get("metrics", _USUAL.metrics), *choices.get("metrics", ())])
        return cls(**{**earlier, **choices, "metrics": list(metrics)})

    @property
    def asked(self) -> dict[str, str]:
        """The choices that decide what is asked, where they are not the usual ones: they name the run folder."""
        chosen = {option.name: getattr(self, option.name) for option in fields(self) if option.name not in _NOT_ASKED}
        usual = {option.name: getattr(_USUAL, option.name) for option in fields(self)}
        return {name: _label(value) for name, value in chosen.items() if _label(value) != _label(usual[name])}

    @property
    def plan(self) -> Plan:
        """What to measure."""
        return Plan(
            metrics=[find(name, METRICS, kind="metric") for name in self.metrics],
            estimators=[find(name, ESTIMATORS, kind="estimator") for name in self.estimators],
            by=self.by,
            disparity=self.disparity,
            resamples=self.resamples,
            level=self.level,
            seed=self.seed,
        )

    @property
    def dataset(self) -> DatasetOptions:
        """How to read the datasets."""
        marking = recipe(
            augmentations=self.augment, attributes=self.attributes, markers=self.markers, crossed=self.crossed
        )
        chosen = (self.pronouns, self.columns, self.limit, self.base, marking, self.as_published)
        return DatasetOptions(*chosen, where=self.where, neutral=self.neutral)

    @property
    def engine(self) -> EngineOptions:
        """How to load the model."""
        chosen = {option.name: getattr(self, option.name) for option in fields(EngineOptions)}
        # Without a server only open answers are sampled, by their task.
        chosen["samples"] = self.samples if self.server else 0
        # An estimator over the whole vocabulary cannot do without them.
        needed = any(column.startswith("vocab") for column in self._columns_needed)
        return EngineOptions(**{**chosen, "reductions": self.reductions or needed})

    @property
    def _columns_needed(self) -> set[str]:
        """The columns that the estimators read in place of the candidates."""
        return {find(name, ESTIMATORS, kind="estimator").reduction for name in self.estimators}

    @property
    def task(self) -> TaskOptions:
        """How to ask."""
        seeds = tuple(range(self.seed, self.seed + self.seeds))
        shots = Shots(open_dataset(self.shots).examples) if self.shots else Shots()
        chosen = {option.name: getattr(self, option.name) for option in fields(TaskOptions) if option.name in _ASKED}
        questions = read_wordings(self.wordings) if self.wordings else tuple(self.questions)
        # A server's samples stand for probabilities that it does not give.
        drawn = 0 if self.server else self.samples
        chosen["p_true"] = P_TRUE in self._columns_needed
        return TaskOptions(seeds, questions=questions, shots=shots, drawn_reasonings=drawn, **chosen)


_NOT_ASKED = (
    *("metrics", "estimators", "by", "disparity", "resamples", "level", "reductions"),
    *("device", "trust_remote_code", "allow_pickle", "server", "concurrency", "timeout"),
    *("cluster", "workers", "worker_cores"),
)
"""Choices that change how a run is measured or made, but not what the model is asked."""
_USUAL = Settings()


def _label(value: object) -> str:
    """Return a choice as a part of a folder's name."""
    if isinstance(value, Mapping):
        return "+".join(f"{key}={entry}" for key, entry in value.items())
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
