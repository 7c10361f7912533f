"""In: a model, and counterfactual sets that are not part of any evaluation.
Out: a differentiable UCerF, and adapters tuned with it.
"""

from .objective import ucerf_loss, ucerf_values

__all__ = ["ucerf_loss", "ucerf_values"]
