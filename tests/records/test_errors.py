"""Every error of ours can be caught as one."""

from __future__ import annotations

import pytest

from equipoise.records import (
    DatasetError,
    EquipoiseError,
    ModelError,
    OtherRunError,
    RunError,
    TaskNotPossible,
    UndefinedMetric,
)


def test_the_message_is_the_sentence_alone_and_the_names_are_kept_beside_it() -> None:
    error = EquipoiseError("level must lie between 0 and 1", "level", "seed")
    assert (str(error), error.names) == ("level must lie between 0 and 1", ("level", "seed"))
    assert str(EquipoiseError()) == "" and EquipoiseError("sentence").names == ()


@pytest.mark.parametrize("error", [DatasetError, ModelError, RunError, UndefinedMetric])
def test_every_error_of_ours_is_one_the_user_can_mend(error: type[Exception]) -> None:
    assert issubclass(error, EquipoiseError)


def test_another_run_says_what_to_do_and_keeps_what_differs() -> None:
    error = OtherRunError("out has a run of gpt2")
    assert error.fact == "out has a run of gpt2" and error.names == () and isinstance(error, RunError)
    assert str(error) == "out has a run of gpt2; choose another out, or set replace to delete that run"
    assert issubclass(TaskNotPossible, ModelError) and ModelError("x").example_ids == ()
