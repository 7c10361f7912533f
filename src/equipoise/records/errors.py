"""Errors that a user can fix or should know of: wrong input, and values that are not defined."""

from __future__ import annotations


class EquipoiseError(Exception):
    """A mistake that the user can fix; the message is one sentence with the fact they need.

    `names` are the arguments that the sentence speaks of: the command line names its options in their place.
    """

    def __init__(self, sentence: str = "", *names: str) -> None:
        super().__init__(sentence)
        self.names = names


class DatasetError(EquipoiseError):
    """A dataset file that cannot be read as what it claims to be; names file and line."""


class ModelError(EquipoiseError):
    """A model that cannot be found, loaded or scored; `example_ids` are those that it fails on, if it fails on few."""

    example_ids: tuple[str, ...] = ()


class TaskNotPossible(ModelError):
    """A task that this model can never be asked, such as one that writes: a suite leaves the cell out."""


class RunError(EquipoiseError):
    """A run folder that cannot be written, read or continued."""


class OtherRunError(RunError):
    """A folder that holds another run than the one asked for; `fact` says what differs."""

    def __init__(self, fact: str) -> None:
        super().__init__(f"{fact}; choose another out, or set replace to delete that run")
        self.fact = fact


class MovedFolderError(RunError):
    """A run folder that is not at its place any more while a command writes into it."""

    def __init__(self, folder: object) -> None:
        lost = f"the run folder {folder} was moved or removed while this command wrote into it"
        super().__init__(f"{lost}; the answers are in it: put it back, and run the command again")


class UndefinedMetric(EquipoiseError):
    """A metric that has no value on these items; never replaced by 0, 0.5 or NaN."""
