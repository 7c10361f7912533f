"""In: a model, and counterfactual sets that are not part of any evaluation.
Out: a differentiable UCerF, and adapters tuned with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .counterfactual_set import TrainingSet as TrainingSet
    from .folder import trained_on as trained_on
    from .objective import TrainingError as TrainingError
    from .objective import ucerf_loss as ucerf_loss
    from .objective import ucerf_values as ucerf_values
    from .plan import Limits as Limits
    from .plan import Plan as Plan
    from .questions import Questions as Questions
    from .questions import candidate_logprobs as candidate_logprobs
    from .training_sets import open_training_sets as open_training_sets
    from .training_sets import split_sets as split_sets
    from .tuning import tune as tune

# Imported on first use: the loss needs torch only, not the packages that read datasets and models.
_HOMES = {
    "Limits": "plan",
    "Plan": "plan",
    "Questions": "questions",
    "TrainingError": "objective",
    "TrainingSet": "counterfactual_set",
    "candidate_logprobs": "questions",
    "open_training_sets": "training_sets",
    "split_sets": "training_sets",
    "trained_on": "folder",
    "tune": "tuning",
    "ucerf_loss": "objective",
    "ucerf_values": "objective",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
