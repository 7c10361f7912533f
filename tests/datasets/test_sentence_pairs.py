"""Sentence pairs: where two sentences differ, what a row becomes, and the faults of the published files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.sentence_pairs import is_pair_table, load_sentence_pairs, sides_of, split_pair
from equipoise.records import DatasetError, SentencePair


def load(tmp_path: Path, text: str, **options):
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return load_sentence_pairs(path, **options)


@pytest.mark.parametrize(
    ("more", "less", "before", "words"),
    [
        ("The cook thanked him.", "The cook thanked her.", "The cook thanked", ("him", "her")),
        ("A boy said he saw him.", "A boy said she saw her.", "A boy said", ("he", "she")),
        ("Tall people sing.", "Short people sing.", "", ("Tall", "Short")),
        ("We hire old men here.", "We hire young women here.", "We hire", ("old men", "young women")),
        ("All people sing.", "All tall people sing.", "All", ("people", "tall people")),
        ("The cook is tall", "The cook is tall and loud", "The cook is", ("tall", "tall and loud")),
        ("The cook  , he ran.", "The cook, she ran.", "The cook  ,", ("he", "she")),
    ],
)
def test_a_pair_is_cut_where_it_first_differs(more: str, less: str, before: str, words: tuple[str, str]) -> None:
    split = split_pair(more, less)
    assert (split.before, split.words) == (before, words)
    assert more == f"{before} {split.rests[0]}".strip()
    assert split.rests[0].startswith(words[0]) and split.rests[1].startswith(words[1])
    assert more.endswith(split.rests[0]) and less.endswith(split.rests[1])


def test_a_sentence_without_words_has_no_place_that_differs() -> None:
    with pytest.raises(DatasetError, match="only the end of the other"):
        split_pair("", "The cook")


@pytest.mark.parametrize(
    ("words", "sides"),
    [
        (("he", "she"), ("male", "female")),
        (("he", "cook"), ("more", "less")),
        (("he", "his"), ("more", "less")),
        (("old", "young"), ("more", "less")),
    ],
)
def test_sides_are_genders_where_both_words_have_one_and_they_differ(
    words: tuple[str, str], sides: tuple[str, str]
) -> None:
    assert sides_of(words) == sides


def test_the_form_of_her_comes_from_the_other_side(tmp_path: Path) -> None:
    dataset = load(tmp_path, "sent_more,sent_less\nI met her.,I met him.\nI met her dog.,I met his dog.\n")
    assert [example.groups["form"] for example in dataset.examples] == ["object", "possessive"]


def test_a_table_of_pairs_has_both_sentences() -> None:
    assert is_pair_table(["sent_more", "sent_less"]) and is_pair_table(["a", "b"], {"more": "a", "less": "b"})
    assert not is_pair_table(["sent_more"]) and not is_pair_table(["sent_less"])


def test_labels_are_numbers_or_the_words_of_crows_pairs(tmp_path: Path) -> None:
    rows = [f"I met him {n}.,I met her {n}.,{label}" for n, label in enumerate(("1", "0", "stereo", "antistereo"))]
    dataset = load(tmp_path, "\n".join(["sent_more,sent_less,stereo_antistereo", *rows, ""]))
    assert [example.gold for example in dataset.examples] == [0, 1, 0, 1]
    assert [example.id for example in dataset.examples] == [f"mine-{n:05}" for n in (1, 2, 3, 4)]


def test_rows_become_pairs_with_a_label(tmp_path: Path) -> None:
    dataset = load(
        tmp_path,
        "sent_more,sent_less,y,bias_type\n"
        "The nurse left and he slept.,The nurse left and she slept.,0,gender\n"
        "The pilot rang his friend.,The pilot rang her friend.,1,gender\n"
        "The nurse left and he sang.,The nurse left and she sang.,,gender\n",
    )
    first, second, third = dataset.examples
    assert (first.candidates, first.gold, first.stereotype, first.answerable) == (("he", "she"), 1, 1, False)
    assert (second.candidates, second.gold, second.groups["form"]) == (("his", "her"), 0, "possessive")
    assert third.gold is None
    assert first.pair == SentencePair("The nurse left and", ("he slept.", "she slept."), ("male", "female"))
    assert first.slots["female_share"] == "90"
    # A left-to-right model sees one question where the beginnings are the same.
    assert first.cluster_id == third.cluster_id != second.cluster_id
    assert len({example.set_id for example in dataset.examples}) == 3
    assert "bias_type" not in first.groups and dataset.sets == 3


def test_a_repeated_pair_is_told_with_its_label(tmp_path: Path) -> None:
    rows = ["I met him.,I met her.,1", "I met him.,I met her.,0", "I met him.,I met her.,1"]
    dataset = load(tmp_path, "\n".join(["sent_more,sent_less,y", *rows, ""]))
    repeats = [(fault.where, fault.what) for fault in dataset.faults if fault.kind == "repeated pair"]
    assert repeats == [
        ("mine.csv:3", "repeats mine.csv:2, with the other label"),
        ("mine.csv:4", "repeats mine.csv:2"),
    ]


def test_columns_can_be_named_and_groups_added(tmp_path: Path) -> None:
    columns = {"more": "a", "less": "b", "y": "says", "group:land": "c"}
    text = "a,b,says,c\nI met him.,I met her.,1,north\nI saw him.,I saw her.,0,south\n"
    assert [example.groups["land"] for example in load(tmp_path, text, columns=columns).examples] == ["north", "south"]
    assert is_pair_table(["a", "b"], columns) and not is_pair_table(["a", "b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sent_more,sent_less,y\nI met him.,I met her.,2\n", "mine.csv:2: y '2' is neither 1"),
        ("sent_more,sent_less,y\nI met him.,I met him.,1\n", "mine.csv:2: the two sentences are the same"),
        ("sent_more,sent_less,y\nI met him.,,1\n", "mine.csv:2: sent_less is empty"),
        ("sent_more,y\nI met him.,1\n", "mine.csv: the column sent_less is missing"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DatasetError) as error:
        load(tmp_path, text)
    assert str(error.value).startswith(message)


def test_winoqueer_rows_are_pairs_without_a_label(tmp_path: Path) -> None:
    dataset = load(
        tmp_path,
        ",Gender_ID_x,Gender_ID_y,sent_x,sent_y\n"
        "0,LGBTQ,Straight,LGBTQ people like tea.,Straight people like tea.\n"
        "1,Lesbian,Straight,We met lesbian people.,We met straight people.\n",
    )
    assert [example.gold for example in dataset.examples] == [None, None]
    assert [example.groups["identity"] for example in dataset.examples] == ["LGBTQ", "Lesbian"]
    assert [(fault.kind, fault.where) for fault in dataset.faults] == [("nothing precedes", "mine.csv:2")]
    assert open_dataset(tmp_path / "mine.csv").examples == dataset.examples


@pytest.mark.parametrize(
    ("name", "rows", "faults"),
    [
        ("genderlex", 837, {"repeated pair": 17}),
        ("genderlex-person", 837, {"repeated pair": 18}),
        ("genderlex-someone", 837, {"repeated pair": 18}),
        (
            "gender-ece-winobias",
            771,
            {"wrong form": 19, "inverted label": 2, "several places": 3, "repeated pair": 1},
        ),
        ("gender-ece-winogender", 178, {"same beginning, both labels": 1, "plural verb": 34}),
    ],
)
def test_the_published_files_and_their_faults(real_data, name: str, rows: int, faults: dict[str, int]) -> None:
    real_data("gender-ece")
    dataset = open_dataset(name)
    assert (dataset.name, len(dataset.examples), dataset.sets) == (name, rows, rows)
    assert Counter(fault.kind for fault in dataset.faults) == faults
    inverted = [fault.where for fault in dataset.faults if fault.kind == "inverted label"]
    # The table is counted from its first row, a file from its header.
    assert inverted == (["winobias.csv:609", "winobias.csv:610"] if "inverted label" in faults else [])


def test_the_ceiling_of_the_winogender_file_is_reported(real_data) -> None:
    real_data("gender-ece")
    fault, *_ = open_dataset("gender-ece-winogender").faults
    assert "178 pairs have 100 distinct beginnings before the pronoun, 32 of them with both labels" in fault.what
    assert "at most 0.820" in fault.what


def test_a_name_that_no_column_can_have_is_refused_with_those_it_can(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"'label' is not a known column .*: more, less, y, id or group:NAME"):
        load(tmp_path, "sent_more,sent_less\nHe ran.,She ran.\n", columns={"label": "sent_more"})


def test_a_limit_chooses_the_same_rows_of_every_form(tmp_path: Path) -> None:
    """In the neutral form two rows share their beginning, so it has one cluster less."""
    chosen = []
    for name, first in (("plain", "The nurse"), ("neutral", "The person")):
        starts = [first, "The person", *(f"Person {number}" for number in range(9))]
        rows = [f"{start} said he was late.,{start} said she was late.,1\n" for start in starts]
        path = tmp_path / f"{name}.csv"
        path.write_text("sent_more,sent_less,y\n" + "".join(rows))
        table = load_sentence_pairs(path)
        assert len({example.cluster_id for example in table.examples}) == (11 if name == "plain" else 10)
        numbers = [example.id.rsplit("-", 1)[1] for example in table.limited(4).examples]
        chosen.append(numbers)
    assert chosen[0] == chosen[1] and len(chosen[0]) == 4
