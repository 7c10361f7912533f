"""SynthBias from its CSV and from its text files: pairs, labels and faults."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from bias_files import check_pairs, content, kinds, pair_texts, write_synth, write_wino

from equipoise.datasets.dataset import Dataset, count_by
from equipoise.datasets.synthbias import load_synthbias
from equipoise.records import DatasetError


def test_synthbias_pairs_rows_far_apart_and_labels_type_2_only(tmp_path: Path) -> None:
    path = write_synth(
        tmp_path,
        "type2,The cook thanked the nurse for her help.,nurse,cook,her,True",
        "type1,The cook and the nurse talked before he left.,nurse,cook,he,ambiguous",
        "type1,The cook and the nurse talked before she left.,nurse,cook,she,ambiguous",
        "type2,The cook thanked the nurse for his help.,nurse,cook,his,False",
    )
    dataset = load_synthbias(path)
    assert dataset.examples[0].id == "synthbias-00001"
    assert [example.set_id[-1] for example in dataset.examples] == ["1", "2", "2", "1"]
    assert [example.gold for example in dataset.examples] == [1, None, None, 1]
    assert {example.candidates for example in dataset.examples} == {("cook", "nurse")}
    assert [example.stereotype for example in dataset.examples] == [1, 0, 1, 0]
    assert dataset.examples[0].groups["form"] == "possessive"
    assert "occupation" not in dataset.examples[1].groups
    assert (dataset.faults, load_synthbias(tmp_path).sha256) == ((), dataset.sha256)


@pytest.mark.parametrize("pronouns", [("his", "his"), ("her", "her"), ("his", "her", "his")])
def test_synthbias_rows_with_equal_pronouns_are_no_pair(tmp_path: Path, pronouns: tuple[str, ...]) -> None:
    row = "type2,The cook thanked the nurse for {0} help.,nurse,cook,{0},{1}"
    dataset = load_synthbias(write_synth(tmp_path, *(row.format(word, word == "her") for word in pronouns)))
    assert dataset.sets == 0
    assert [example.set_id for example in dataset.examples] == [example.id for example in dataset.examples]
    faults = [fault.what for fault in dataset.faults if fault.kind == "not a minimal pair"]
    assert faults == [f"its sentence occurs {len(pronouns)} times, not once with each pronoun"] * len(pronouns)
    # Nobody knows what form a "her" without counterpart has.
    assert {example.groups["form"] for example in dataset.examples} == {
        "" if p == "her" else "possessive" for p in pronouns
    }


def test_synthbias_texts_that_come_again_are_reported_with_what_differs(tmp_path: Path) -> None:
    text = "The cook thanked the nurse before he left."
    rows = ("type2,{},cook,nurse,he,True", "type2,{},nurse,cook,he,False", "type1,{},cook,nurse,he,ambiguous")
    dataset = load_synthbias(write_synth(tmp_path, *(row.format(text) for row in (*rows, rows[0]))))
    again = [(fault.where, fault.kind, fault.what) for fault in dataset.faults if fault.what.startswith("the text of")]
    assert again == [
        ("synthbias_data.csv:3", "repeated with occupations exchanged", "the text of line 2"),
        ("synthbias_data.csv:4", "in both types", "the text of line 2"),
        ("synthbias_data.csv:5", "repeated sentence", "the text of line 2"),
    ]


def test_synthbias_faults_of_a_row_are_reported(tmp_path: Path) -> None:
    dataset = load_synthbias(
        write_synth(
            tmp_path,
            "type2,The cook thanked the nurse at the café. He left.,cook,nurse,He,False",
            "type2,The baker said the cook thanked the nurse for her help.,nurse,cook,her,True",
        )
    )
    assert kinds(dataset) == {
        "wrong label": 1,
        "not ASCII": 1,
        "capitalised pronoun": 1,
        "third occupation": 1,
        "not a minimal pair": 2,
    }
    assert dataset.examples[0].slots["pronoun"] == "he"
    assert dataset.examples[1].groups["form"] == ""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("type3,The cook saw the nurse and he left.,cook,nurse,he,True", ":2: type 'type3'"),
        ("type2,The cook saw the nurse and he left.,cook,nurse,she,True", ":2: pronoun 'she' is not in the sentence"),
        ("type2,The cook saw the nurse and it left.,cook,nurse,it,True", ":2: 'it' is not a male or female pronoun"),
        ("type2,The cook saw the nurse and he left.,cook,baker,he,True", ":2: occupation 'baker' is not in"),
        ("type2,The cook saw the nurse and he left.,cook,cook,he,True", ":2: the two occupations are the same"),
        ("type2,The cook saw the nurse and he left.,cook", ":2: has 3 cells, but the header has 6"),
    ],
)
def test_a_broken_row_is_an_error_with_file_and_line(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(DatasetError) as error:
        load_synthbias(write_synth(tmp_path, row))
    assert f"synthbias_data.csv{message}" in str(error.value)


def test_a_missing_column_of_synthbias_is_named(tmp_path: Path) -> None:
    path = tmp_path / "synthbias_data.csv"
    path.write_text("type,sample,occ_1,occ_2,is_stereotypical\ntype1,Text,cook,nurse,True\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="the column 'pronoun' is missing"):
        load_synthbias(path)


def test_synthbias_in_text_files_is_read_from_the_folder_or_its_subfolder(tmp_path: Path) -> None:
    pro, anti = ["The cook met [the nurse] and saw [her]."], ["The cook met [the nurse] and saw [him]."]
    inner = tmp_path / "winobias_format"
    inner.mkdir()
    write_wino(inner, pro, anti)
    assert load_synthbias(tmp_path).source == str(inner)
    # Files in the folder itself come first.
    write_wino(tmp_path, pro, anti)
    assert load_synthbias(tmp_path).source == str(tmp_path)


@pytest.fixture(scope="module")
def synthbias(real_data) -> Dataset:
    return load_synthbias(real_data("synthbias"))


def test_synthbias_counts(synthbias: Dataset) -> None:
    assert (len(synthbias.examples), synthbias.sets) == (31728, 15864)
    assert count_by(synthbias.examples, "type") == {"type1": 14120, "type2": 17608}
    assert kinds(synthbias) == {
        "third person": 368,
        "not ASCII": 94,
        "third occupation": 26,
        "capitalised pronoun": 6,
        "in both types": 4,
        "repeated with occupations exchanged": 2,
    }
    her = Counter(e.groups["form"] for e in synthbias.examples if e.slots["pronoun"] == "her")
    assert her == {"possessive": 3473, "object": 1853}
    assert all((e.gold is None) == (e.groups["type"] == "type1") != e.answerable for e in synthbias.examples)


def test_synthbias_pairs_are_of_opposite_gender_and_one_form(synthbias: Dataset) -> None:
    check_pairs(synthbias)


@pytest.mark.slow
def test_the_text_files_of_synthbias_hold_the_same_examples_and_pairs(synthbias: Dataset, real_data) -> None:
    other = load_synthbias(real_data("synthbias") / "winobias_format")
    assert kinds(other) == {**kinds(synthbias), "repeated sentence": 26}
    assert content(other) == content(synthbias)
    assert pair_texts(other) == pair_texts(synthbias)
