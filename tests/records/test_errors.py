"""Every error of ours can be caught as one."""

from __future__ import annotations

import pytest

from equipoise.records import (
    DatasetError,
    EquipoiseError,
    ModelError,
    RunError,
    UndefinedMetric,
)


@pytest.mark.parametrize("error", [DatasetError, ModelError, RunError, UndefinedMetric])
def test_every_error_of_ours_is_one_the_user_can_mend(error: type[Exception]) -> None:
    assert issubclass(error, EquipoiseError)
