"""Which names the columns of a user's table may have."""

from __future__ import annotations

import re

import pytest

from equipoise.datasets.columns import map_columns
from equipoise.records import DatasetError
from equipoise.runs.checked_tables import FLAGS, LISTS, NUMBERS, OPTIONAL_LISTS, TEXTS


def test_a_group_cannot_have_the_name_of_a_column_of_the_outcomes() -> None:
    tables = (TEXTS, NUMBERS, FLAGS, LISTS)
    taken = {name for table in tables for name in table["outcomes.parquet"]} | set(OPTIONAL_LISTS)
    taken |= {"candidate_mass", "certainty_renyi", "desirability", "vocab_bits", "token_probability", "p_true"}
    for name in sorted(taken):
        expected = f"group:{name} is a name that Equipoise uses itself"
        with pytest.raises(DatasetError, match=re.escape(expected)):
            map_columns("mine.csv", ["phrase", "pronoun", "candidates"], {"text": "phrase", f"group:{name}": "phrase"})
