"""A dataset of a run, to be compared with another that has the same rows: a sentence and its neutral form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from ...datasets.neutral import family, row_name
from ...records import EquipoiseError
from ...runs.run import Run

IDS = ("id", "example_id", "set_id")


class RowRun(Run):
    """A run on one of its datasets, under the name that the dataset shares with its neutral forms.

    Rows are named without the dataset: "genderlex-00017" and "genderlex-someone-00017" are both row 00017.
    """

    def __init__(self, path: str | Path, dataset: str) -> None:
        super().__init__(path)
        if dataset not in self.manifest.datasets:
            known = ", ".join(self.manifest.datasets)
            raise EquipoiseError(f"the run in {path} has no dataset {dataset!r}; it has {known}")
        self.only = dataset

    @cached_property
    def measurements(self) -> pd.DataFrame:
        """Every metric for every group, with its interval."""
        return self._renamed("measurements.csv")

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """What the model made of each item."""
        return self._renamed("outcomes.parquet")

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """D and certainty of each member, and U, of every counterfactual set."""
        return self._renamed("pairs.parquet")

    @cached_property
    def examples(self) -> pd.DataFrame:
        """What was asked."""
        return self._renamed("examples.parquet")

    def _renamed(self, name: str) -> pd.DataFrame:
        table = self.frame(name)
        table = table[table["dataset"] == self.only].assign(dataset=family(self.only))
        ids = {name: [row_name(str(id), self.only) for id in table[name]] for name in IDS if name in table}
        return table.assign(**ids)


def joined_clusters(columns: Sequence[pd.Series]) -> list[str]:
    """Return the clusters of rows that share one in any of the columns: they are resampled together."""
    numbers = np.arange(len(columns[0]))
    while True:
        before = numbers.copy()
        for column in columns:
            numbers = pd.Series(numbers).groupby(column.to_numpy()).transform("min").to_numpy()
        if np.array_equal(before, numbers):
            return [str(number) for number in numbers]
