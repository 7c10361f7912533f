"""Equipoise: is a language model as sure of itself for one group of people as for another?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asking import ask
    from .comparing.comparison import compare
    from .run import audit, import_results, load, remeasure
    from .runs import Run
    from .verdict.gate import gate
    from .verdict.summary import summary

__version__ = "0.1.0"
__all__ = ["Run", "__version__", "ask", "audit", "compare", "gate", "import_results", "load", "remeasure", "summary"]


HOMES = {"ask": "asking", "compare": "comparing.comparison", "gate": "verdict.gate", "summary": "verdict.summary"}
"""Where public names are that are not in `run`."""


def __getattr__(name: str) -> Any:
    """Load the pipeline when it is first asked for: the bare import stays quick, and needs numpy and pandas at most."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{HOMES.get(name, 'run')}", __name__), name)


def __dir__() -> list[str]:
    """Return the public names, also those that are loaded when first asked for."""
    return __all__
