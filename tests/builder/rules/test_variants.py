"""Variants with any pronouns and with identity markers, and the filter for them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from kept_texts import assert_kept

from equipoise.builder.rules.filters import MARKED, NOT_BEFORE_BOTH, FilterOptions, filter_drafts
from equipoise.builder.rules.variants import Swapped, swapped, variants_of
from equipoise.builder.steps import Draft
from equipoise.builder.wordlist import HE, SHE, THEY, occupations
from equipoise.datasets import open_dataset
from equipoise.datasets.agreement import Unresolved
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.markers import read_markers
from equipoise.datasets.pronouns import pronoun_sets
from equipoise.records import Example

SETS = pronoun_sets(["he", "she", "they", "xe", "ve/ver/vis/verself"])
AGE = read_markers()["age"]
WORDS = occupations()


def texts(text: str, *sets: object) -> list[str]:
    return [variant.text for variant in variants_of(text, "cook", sets)[1]]


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("The cook met the nurse, and he left.", ["she left.", "they left.", "xe left.", "ve left."]),
        (
            "The cook met the nurse, and he was late.",
            ["she was late.", "they were late.", "xe was late.", "ve was late."],
        ),
        ("The cook knew that he often needs help.", ["she often needs help.", "they often need help."]),
        ("The cook knew that she carries a bag.", ["he carries a bag.", "they carry a bag."]),
        ("The cook knew that she hasn't eaten.", ["he hasn't eaten.", "they haven't eaten."]),
        ("The cook met the nurse on her way.", ["his way.", "their way.", "xyr way.", "vis way."]),
        ("The cook thanked the nurse and hugged her.", ["hugged him.", "hugged them.", "hugged xem.", "hugged ver."]),
        ("The cook hurt himself.", ["hurt herself.", "hurt themself.", "hurt xemself.", "hurt verself."]),
    ],
)
def test_every_set_of_pronouns(text: str, others: list[str]) -> None:
    made = texts(text, *SETS)
    for ending, written in zip(others, made, strict=False):
        assert written.endswith(ending), (written, ending)
    assert len(made) == 4 and len({*made, text}) == 5


def test_back_from_they() -> None:
    assert texts("The cook said that they were tired.", HE, THEY) == ["The cook said that he was tired."]
    assert texts("The cook said that they left early.", THEY, SHE) == ["The cook said that she left early."]


@pytest.mark.parametrize(
    "text",
    [
        "The cook said that he's tired.",  # is, or has
        "The cook was sure that she was late and was sorry.",  # a second verb
        "The cook brought her lunch.",  # object or possessive
    ],
)
def test_what_is_not_certain_is_not_guessed(text: str) -> None:
    with pytest.raises(Unresolved):
        texts(text, HE, SHE, THEY)


def test_they_need_can_be_present_only() -> None:
    with pytest.raises(Unresolved, match="present or past"):
        texts("The cook said that they put it there.", THEY, HE)


def test_markers_are_swapped_and_articles_fit() -> None:
    text = "An old cook met the nurse before he left."
    _, variants = variants_of(text, "cook", (HE, SHE), AGE, "old")
    assert [(v.marker, v.group, v.text) for v in variants] == [
        ("young", "male", "A young cook met the nurse before he left."),
        ("", "male", "A cook met the nurse before he left."),
        ("old", "female", "An old cook met the nurse before she left."),
        ("young", "female", "A young cook met the nurse before she left."),
        ("", "female", "A cook met the nurse before she left."),
    ]


def draft(text: str, marker: str = "", raw: str = "") -> Draft:
    return Draft("d", "type1", "cook", "nurse", text, raw or text, "r", marker)


@pytest.mark.parametrize(
    ("text", "marker", "kept"),
    [
        ("The old cook met the nurse before he left.", "old", True),
        ("The cook met the nurse before he left.", "old", False),
        ("The cook met the old nurse before he left.", "old", False),
        ("The old cook met the young nurse before he left.", "old", False),
        ("The old cook met the nurse before he left.", "", False),
        ("The cook met the nurse before he left.", "", True),
    ],
)
def test_a_marked_draft_has_its_marker_and_no_other(text: str, marker: str, kept: bool) -> None:
    options = FilterOptions(markers={word.word: AGE for word in AGE.markers})
    result = filter_drafts([draft(text, marker)], WORDS, options)
    assert bool(result.kept) is kept
    if not kept:
        assert any(reason.startswith(MARKED) for reason in result.rejected[0].reasons)
    else:
        assert result.kept[0].label("cook", marker) == f"{marker} cook".strip()


def test_pronouns_that_were_not_chosen_are_rejected() -> None:
    sentence = draft("The cook met the nurse before xe left.")
    assert not filter_drafts([sentence], WORDS, FilterOptions()).kept
    (kept,) = filter_drafts([sentence], WORDS, FilterOptions(pronouns=pronoun_sets(["xe", "they"]))).kept
    assert [version.group for version in kept.versions()] == ["xe", "neutral"]


@pytest.mark.parametrize(
    ("text", "strict", "as_the_paper"),
    [
        ("The cook met the nurse before he left.", True, True),
        ("The cook found that he had met the nurse there.", False, True),  # between the two
        ("When he left, the cook met the nurse there.", False, False),
    ],
)
def test_the_papers_rule_for_the_place_of_the_pronoun(text: str, strict: bool, as_the_paper: bool) -> None:
    assert bool(filter_drafts([draft(text)], WORDS, FilterOptions()).kept) is strict
    options = FilterOptions(pronoun_rule=NOT_BEFORE_BOTH)
    assert bool(filter_drafts([draft(text)], WORDS, options).kept) is as_the_paper


def test_near_duplicates_can_be_kept() -> None:
    both = [draft("The cook met the nurse before he left."), draft("The cook saw the nurse before he left.")]
    assert len(filter_drafts(both, WORDS, FilterOptions()).kept) == 1
    assert len(filter_drafts(both, WORDS, FilterOptions(near_words=-1)).kept) == 2


@pytest.mark.slow
def test_published_pairs(real_data) -> None:
    real_data("synthbias")
    told = {one.pronoun: one for one in swapped(open_dataset("synthbias"))}
    her = told.pop("her")
    assert her.pairs == 5326
    assert her.share >= 0.99
    assert her.aside / her.pairs < 0.012
    assert all(one.other == 0 for one in told.values())
    assert sum(one.aside for one in told.values()) == 3  # "thanked his afterwards": errors of the dataset


def test_pairs_that_no_rule_was_made_for(real_data) -> None:
    real_data("winobias")
    (her,) = (one for one in swapped(open_dataset("winobias")) if one.pronoun == "her")
    assert her.share >= 0.98


WITH_MARKERS = (
    ("A young cook met the nurse and he ran.", "cook", "young"),
    ("An old engineer met the nurse and she ran.", "engineer", "old"),
    ("The nurse met an  OLD  cook as he ran.", "cook", "old"),
)


def test_every_version_with_a_marker_is_as_it_was_kept() -> None:
    told = {}
    for text, target, marker in WITH_MARKERS:
        form, versions = variants_of(text, target, (HE, SHE, THEY), AGE, marker)
        told[text] = {"form": form, "versions": [(v.text, v.pronoun, v.group, v.marker) for v in versions]}
    assert_kept("builder/variants", told)
    with pytest.raises(Unresolved, match=r"^'old cook' is not in the sentence$"):
        variants_of("The young cook met the nurse and he ran.", "cook", (HE, SHE), AGE, "old")
    with pytest.raises(Unresolved, match=r"^has 2 of the chosen pronouns; exactly one can be swapped$"):
        variants_of("The cook said that he saw her.", "cook", (HE, SHE))
    with pytest.raises(Unresolved, match=r"^'his' has no noun after it: its counterpart can be 'hers'$"):
        variants_of("The cook said that the hat was his.", "cook", (HE, SHE))
    with pytest.raises(Unresolved, match=r"^a verb that agrees with the pronoun comes before it$"):
        variants_of("The cook left, and only then was he told.", "cook", (HE, THEY))


def test_counterparts_are_counted_by_pronoun() -> None:
    def pair(number: int, first: str, second: str, one: str = "he", other: str = "she") -> list[Example]:
        texts = ((first, one), (second, other))
        return [
            Example(
                f"{number}-{word}",
                text,
                ("cook", "nurse"),
                None,
                False,
                None,
                {},
                f"s{number}",
                slots={"pronoun": word},
            )
            for text, word in texts
        ]

    rows = [
        *pair(1, "The cook met the nurse as he ran.", "The cook met the nurse as she ran."),
        *pair(2, "The cook met the nurse as he ran.", "The cook met the nurse when she ran."),
        *pair(3, "The cook met the nurse as he saw them.", "The cook met the nurse as she saw them."),
        *pair(4, "The cook met the nurse as he sat.", "The cook met the nurse as she sat.")[:1],
        replace(pair(5, "x", "y")[0], slots={}),
        replace(pair(5, "x", "y")[1], slots={}),
    ]
    he, she = swapped(Dataset("mine", tuple(rows)))
    assert (he.pronoun, he.pairs, he.equal, he.other, he.aside, he.share) == ("he", 3, 1, 1, 1, 0.5)
    assert (she.pronoun, she.pairs, she.equal, she.other, she.aside) == ("she", 3, 1, 1, 1)
    assert math.isnan(Swapped("x", 1, 0, 0, 1).share)
