"""In: a model, and counterfactual sets that are not part of any evaluation.
Out: a differentiable UCerF, and adapters tuned with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..datasets.exposure import trained_on as trained_on
    from .batches import Questions as Questions
    from .batches import candidate_logprobs as candidate_logprobs
    from .objective import TrainingError as TrainingError
    from .objective import ucerf_loss as ucerf_loss
    from .objective import ucerf_values as ucerf_values
    from .training_sets import TrainingSet as TrainingSet
    from .training_sets import open_training_sets as open_training_sets
    from .training_sets import split_sets as split_sets
    from .tune_plan import Limits as Limits
    from .tune_plan import Plan as Plan
    from .tuning import tune as tune

# Imported on first use: the loss needs torch only, not the packages that read datasets and models.
_HOMES = {
    "..datasets.exposure": ("trained_on",),
    ".batches": ("Questions", "candidate_logprobs"),
    ".objective": ("TrainingError", "ucerf_loss", "ucerf_values"),
    ".training_sets": ("TrainingSet", "open_training_sets", "split_sets"),
    ".tune_plan": ("Limits", "Plan"),
    ".tuning": ("tune",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(_MODULES)
