"""What may be chosen about an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from .catalog import find
from .datasets.identity import AUGMENTATIONS, Recipe, recipe
from .measuring.measure import Plan
from .metrics import METRICS
from .metrics.calibration_table import CALIBRATION
from .records import EquipoiseError
from .scoring.engine import EngineOptions
from .tasks import TaskOptions
from .uncertainty import ESTIMATORS, PERPLEXITY


@dataclass(frozen=True)
class Settings:
    """What may be chosen about an audit; every field can be given to `audit` by name."""

    limit: int | None = None
    seeds: int = 1
    seed: int = 0
    metrics: Sequence[str] = (*METRICS, *CALIBRATION)
    estimators: Sequence[str] = (PERPLEXITY.name,)
    by: Sequence[str] | None = None
    disparity: str = "range"
    resamples: int = 2000
    level: float = 0.95
    pronouns: Sequence[str] = ("he", "she")
    columns: Mapping[str, str] = field(default_factory=dict)
    augment: Sequence[str] = AUGMENTATIONS
    attributes: Sequence[str] | None = None
    base: str = "winobias"
    markers: str | None = None
    crossed: bool = False
    precision: float | None = None
    reasoning_tokens: int = 128
    length: str = "sum"
    label: str = "joined"
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
    concurrency: int = 16
    timeout: float = 120.0

    def __post_init__(self) -> None:
        for name in ("seeds", "resamples"):
            if getattr(self, name) < 1:
                raise EquipoiseError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.seed < 0:
            raise EquipoiseError(f"seed must not be negative, it is {self.seed}")
        if not 0 < self.level < 1:
            raise EquipoiseError(f"level must lie between 0 and 1, not {self.level}")
        if self.disparity not in ("range", "pairwise", "deviation"):
            raise EquipoiseError(f"disparity must be range, pairwise or deviation, not {self.disparity!r}")

    def plan(self) -> Plan:
        """Return what to measure."""
        return Plan(
            metrics=[find(name, {**METRICS, **CALIBRATION}, kind="metric") for name in self.metrics],
            estimators=[find(name, ESTIMATORS, kind="estimator") for name in self.estimators],
            by=self.by,
            disparity=self.disparity,
            resamples=self.resamples,
            level=self.level,
            seed=self.seed,
        )

    def recipe(self) -> Recipe:
        """Return what WinoIdentity makes of a sentence."""
        return recipe(
            augmentations=self.augment, attributes=self.attributes, markers=self.markers, crossed=self.crossed
        )

    def engine_options(self) -> EngineOptions:
        """Return how to load the model."""
        chosen = {name.name: getattr(self, name.name) for name in fields(EngineOptions)}
        # An estimator over the whole vocabulary cannot do without them.
        needed = any(find(name, ESTIMATORS, kind="estimator").reduction for name in self.estimators)
        return EngineOptions(**{**chosen, "reductions": self.reductions or needed})

    def task_options(self) -> TaskOptions:
        """Return how to ask."""
        return TaskOptions(
            tuple(range(self.seed, self.seed + self.seeds)), self.length, self.label, self.reasoning_tokens
        )
