"""In: a model, and counterfactual sets that are not part of any evaluation.
Out: a differentiable UCerF, and adapters tuned with it.
"""

from .objective import TrainingError, ucerf_loss, ucerf_values
from .plan import Limits, Plan
from .questions import Questions, candidate_logprobs
from .training_sets import TrainingSet, open_training_sets, split_sets
from .tuning import tune

__all__ = [
    "Limits",
    "Plan",
    "Questions",
    "TrainingError",
    "TrainingSet",
    "candidate_logprobs",
    "open_training_sets",
    "split_sets",
    "tune",
    "ucerf_loss",
    "ucerf_values",
]
