"""Distribution functions of scipy, imported with the first call: a report needs none, and importing takes 0.2 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def load() -> None:
    """Import what the functions are of now: before a process is copied, since each copy would import it for itself."""
    import scipy.special  # noqa: F401


def _called(name: str) -> Callable[..., Any]:
    """Return a function of scipy.special."""

    def call(*arguments: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*arguments)

    return call


ndtr, ndtri = _called("ndtr"), _called("ndtri")
stdtr, stdtrit = _called("stdtr"), _called("stdtrit")
bdtr, betaincinv, chdtrc = _called("bdtr"), _called("betaincinv"), _called("chdtrc")
