"""Equipoise: is a language model as sure of itself for one group of people as for another?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparing.comparison import compare
    from .run import audit, import_results, load, remeasure
    from .runs import Run
    from .verdict.gate import gate
    from .verdict.summary import summary

__version__ = "0.1.0"
__all__ = ["Run", "__version__", "audit", "compare", "gate", "import_results", "load", "remeasure", "summary"]


def __getattr__(name: str) -> Any:
    """Load the pipeline when it is first asked for: the bare import stays quick, and needs numpy and pandas at most."""
    if name in ("Run", "audit", "import_results", "load", "remeasure"):
        from . import run

        return getattr(run, name)
    if name == "compare":
        from .comparing.comparison import compare

        return compare
    if name == "gate":
        from .verdict.gate import gate

        return gate
    if name == "summary":
        from .verdict.summary import summary

        return summary
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, also those that are loaded when first asked for."""
    return sorted(__all__)
