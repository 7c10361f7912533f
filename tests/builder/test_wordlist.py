"""The words of a dataset: the paper's pairs, and a list of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.builder.rules.filters import (
    FilterOptions,
    filter_drafts,
)
from equipoise.builder.steps import Draft
from equipoise.builder.wordlist import HE, SHE, mentions_of, occupations, read_wordlist, set_of
from equipoise.datasets.pronouns import KNOWN, PronounSet
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


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("noun,side\nx,male\n", "w.csv: a word list needs the columns word and side, and has ['noun', 'side']"),
        ("word,kind\nx,male\n", "w.csv: a word list needs the columns word and side, and has ['word', 'kind']"),
        ("word,side\n ,male\n", "w.csv:2: the word '' is empty or a duplicate"),
        ("word,side\nx,male\nX,female\n", "w.csv:3: the word 'X' is empty or a duplicate"),
        ("word,side\nx,neutral\n", "w.csv:2: side 'neutral' is neither male nor female"),
        ("word,side\n ,neutral\n", "w.csv:2: the word '' is empty or a duplicate"),
        ("word,side,share\nx,neutral,few\n", "w.csv:2: side 'neutral' is neither male nor female"),
        ("word,side\nx,male\n", "w.csv: a two-sided list needs words of both sides"),
        ("word,side,share\nx,male,-1\n", "w.csv:2: share '-1' is not a percentage from 0 to 100"),
        ("word,side,share\nx,male,100.5\n", "w.csv:2: share '100.5' is not a percentage from 0 to 100"),
        ("word,side,share\nx,male,few\n", "w.csv:2: share 'few' is not a percentage from 0 to 100"),
    ],
)
def test_a_list_that_is_wrong_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(content)
    with pytest.raises(DatasetError) as error:
        read_wordlist(path)
    assert str(error.value) == reason


@pytest.mark.parametrize(("name", "share"), [("word", "share"), ("occupation", "female_share"), ("name", "share")])
def test_columns_have_several_names_and_shares_any_form(tmp_path: Path, name: str, share: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"{name},side,{share}\n Cook ,MALE,0\nnurse,Female, 100% \nguard,male,\nclerk,female,10\n")
    words = read_wordlist(path)
    assert (words.name, [(w.name, w.side, w.share) for w in words.words.values()]) == (
        "mine",
        [("Cook", "male", 0.0), ("nurse", "female", 100.0), ("guard", "male", None), ("clerk", "female", 10.0)],
    )
    assert list(words.words) == ["Cook", "nurse", "guard", "clerk"] and words.side("clerk") == "female"
    # Cook and clerk differ by 10 points, which is not more than 10; an unknown share goes with all.
    pairs = [(male.name, female.name) for male, female in words.pairs()]
    assert pairs == [("Cook", "nurse"), ("guard", "nurse"), ("guard", "clerk")]
    assert [m.name for m in words.find("The cook saw a Clerk.")] == ["Cook", "clerk"]
    assert len(words.pairs(9.9)) == 4


def test_pronouns_of_chosen_sets_are_found_and_named() -> None:
    sets = (KNOWN["xe"], SHE)
    found = mentions_of("Xemself, xe and HER heron met he-xe; she herself.", sets)
    assert [word.word for word in found] == ["xemself", "xe", "her", "she", "herself"]
    assert (found[0].start, found[0].end) == (0, 7)
    assert set_of("XEM", sets) == KNOWN["xe"] and set_of("he", sets) is None and set_of("her", (SHE, HE)) == SHE
    assert occupations().name == "occupations" and occupations().words["nurse"].share == 90.0


def test_the_longer_of_two_pronouns_is_found() -> None:
    own = PronounSet("xe", "xe'm", "xe'r", "xe'self", "xe")
    assert [found.word for found in mentions_of("Xe lost xe'r hat and xe'self.", (own,))] == ["xe", "xe'r", "xe'self"]
