"""Sets of pronouns: ours, written out, or from a user's file; and where they can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.datasets import DatasetOptions, open_dataset
from equipoise.datasets.pronouns import FORMS, KNOWN, group_of, pronoun_sets
from equipoise.records import DatasetError


def test_the_seven_sets_have_all_forms() -> None:
    assert list(KNOWN) == ["he", "she", "they", "xe", "ze", "ey", "fae"]
    assert [KNOWN["xe"].in_form(form) for form in FORMS] == ["xe", "xem", "xyr", "xemself"]
    assert [chosen.plural for chosen in KNOWN.values()] == [False, False, True, False, False, False, False]
    assert (group_of("him"), group_of("Their"), group_of("xyr"), group_of("it")) == ("male", "neutral", "xe", None)


def test_a_users_file_adds_sets(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[ve]\nobject = "ver"\npossessive = "vis"\nreflexive = "verself"\n', encoding="utf-8")
    he, ve = pronoun_sets(["he", str(path)])
    assert (he.group, ve.in_form("possessive"), ve.group, ve.plural) == ("male", "vis", "ve", False)
    assert pronoun_sets(["he", "ve/ver/vis/verself"])[1] == ve


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[ve]\nobject = 1\n", r"mine.toml: \[ve\] needs a word as object, not '1'"),
        ('[ve]\nsubject = "ve"\n', r"mine.toml: \[ve\] has 'subject'; it can have object"),
        ("ve = 3\n", "mine.toml: 've' is not a section"),
        ("[ve\n", "mine.toml: is not TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        pronoun_sets(["he", str(path)])


def test_an_unknown_name_says_which_are_known() -> None:
    with pytest.raises(DatasetError, match="unknown pronouns 'xyz'; known: he, she, they, xe, ze, ey, fae, subject/"):
        pronoun_sets(["he", "xyz"])


def test_a_slot_takes_every_pronoun_and_its_verb_agrees(tmp_path: Path) -> None:
    path = tmp_path / "slots.csv"
    path.write_text("text,form,candidates\nThe cook met the pilot when {pronoun} was late.,subject,cook|pilot\n")
    dataset = open_dataset(path, DatasetOptions(pronouns=["he", "they", "xe"]))
    ends = [example.text.split("when ")[1] for example in dataset.examples]
    assert ends == ["he was late.", "they were late.", "xe was late."]
    assert dataset.sets == 1
    assert [example.groups["gender"] for example in dataset.examples] == ["male", "neutral", "xe"]
    path.write_text("text,form,candidates\nThe cook met the pilot when {pronoun}'s late.,subject,cook|pilot\n")
    with pytest.raises(DatasetError, match=r"slots.csv:2: a contraction"):
        open_dataset(path, DatasetOptions(pronouns=["he", "they"]))


def test_a_neopronoun_in_a_row_needs_no_group(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,pronoun,candidates\nThe cook saw the pilot and xe ran.,xe,cook|pilot\n")
    assert open_dataset(path).examples[0].groups["gender"] == "xe"


def test_winogender_takes_neopronouns_in_place_of_he(real_data: Callable[[str], Path]) -> None:
    real_data("winogender")
    dataset = open_dataset("winogender", DatasetOptions(pronouns=["he", "she", "they", "fae"]))
    assert (len(dataset.examples), dataset.sets) == (960, 240)
    texts = {example.id: example for example in dataset.examples}
    for id, example in texts.items():
        if id.endswith("-fae"):
            male = texts[id.removesuffix("fae") + "male"]
            assert example.set_id == male.set_id and example.gold == male.gold
            words = zip(example.text.lower().split(), male.text.lower().split(), strict=True)
            changed = {(new.strip(".,;"), old.strip(".,;")) for new, old in words if new != old}
            assert changed <= {("fae", "he"), ("faer", "him"), ("faer", "his")} and changed
