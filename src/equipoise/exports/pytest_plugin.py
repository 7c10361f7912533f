"""A pytest fixture for the gate. In a conftest.py: `pytest_plugins = ["equipoise.exports.pytest_plugin"]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..verdict.gate import Check, gate, rows


@pytest.fixture
def equipoise_gate() -> Callable[..., list[Check]]:
    """Return a function like `equipoise.gate` that fails the test with a table of what failed.

    A run that was audited with `until` needs no requirements: `equipoise_gate(equipoise.audit(model, until=[…]))`.
    """

    def check(run: Any, *requirements: str, **options: Any) -> list[Check]:
        checks = gate(run, requirements, **options)
        failed = [check for check in checks if not check.passed]
        if failed:
            table = "\n".join("  ".join(row) for row in rows(failed))
            pytest.fail(f"{len(failed)} of {len(checks)} requirements on {run} failed:\n{table}", pytrace=False)
        return checks

    return check
