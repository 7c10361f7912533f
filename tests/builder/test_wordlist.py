"""The words of a dataset: the paper's pairs, and a list of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.builder.rules.filters import (
    FilterOptions,
    filter_drafts,
)
from equipoise.builder.steps import Draft
from equipoise.builder.wordlist import occupations, read_wordlist
from equipoise.records import DatasetError

WORDS = occupations()


def test_pairs_of_the_paper() -> None:
    assert len(WORDS.pairs()) == 395
    assert all(abs(male.share - female.share) > 10 for male, female in WORDS.pairs())


def test_a_list_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("word,side,share\nplumber,male,3\nflorist,female,80\npilot,male,75\n")
    words = read_wordlist(path)
    assert [(male.name, female.name) for male, female in words.pairs()] == [("plumber", "florist")]
    sentence = Draft("d", "type1", "plumber", "florist", "The plumber met the florist before she left.", "", "test")
    assert len(filter_drafts([sentence], words, FilterOptions()).kept) == 1
    path.write_text("word,side\nplumber,male\nflorist,feminine\n")
    with pytest.raises(DatasetError, match=r"words.csv:3: side 'feminine'"):
        read_wordlist(path)
