"""The filter: every rule on a sentence that breaks it, and what becomes of the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kept_texts import assert_kept

from equipoise.builder.rules.filters import (
    AFTER_BOTH,
    BRACKETS,
    DUPLICATE,
    ENDING,
    GENDERED,
    LENGTH,
    NEAR,
    NOT_BEFORE_BOTH,
    OPEN,
    TWIN,
    FilterOptions,
    drafts_of_dataset,
    filter_drafts,
    sentence_breaks,
    sentence_count,
)
from equipoise.builder.steps import Draft, Variant
from equipoise.builder.wordlist import WordList, occupations
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.markers import read_markers
from equipoise.datasets.occupations import Finder
from equipoise.datasets.sentence_rules import ONE_PRONOUN, PRONOUN_LAST, TARGET_PAIR, TWO_OCCUPATIONS, Break
from equipoise.records import Example

WORDS = occupations()


GOOD = "The cook waved at the nurse while he waited for the bus."


def draft(text: str, *, raw: str = "", kind: str = "type1", number: int = 0) -> Draft:
    return Draft(f"d{number}", kind, "cook", "nurse", text, raw or text, "test")


def rules_broken(*drafts: Draft, **options: object) -> list[set[str]]:
    found = filter_drafts(drafts, WORDS, FilterOptions(**options))
    reasons = {one.id: {reason.partition(":")[0] for reason in one.reasons} for one in (*found.rejected, *found.aside)}
    return [reasons.get(one.id, set()) for one in drafts]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("The cook waved at the baker while he waited for the bus.", TARGET_PAIR),
        ("The cooks waved at the nurse while he waited for the bus.", TARGET_PAIR),
        ("The cook waved at the nurse and the baker while he waited.", TWO_OCCUPATIONS),
        ("The cook and another cook waved at the nurse while he waited.", TWO_OCCUPATIONS),
        ("The cook waved at the nurse from the bus.", ONE_PRONOUN),
        ("The cook waved at the nurse while he lost his hat.", ONE_PRONOUN),
        ("While he waited for the bus, the cook waved at the nurse.", PRONOUN_LAST),
        ("The cook waved at the nurse while they waited for the bus.", GENDERED),
        ("The cook saw the nurse while he " + "walked and " * 20 + "waited.", LENGTH),
        ("Cook, nurse, he.", LENGTH),
        ("The cook waved at the nurse while he waited for", ENDING),
        ("The cook waved at the nurse and brought her lunch.", OPEN),
    ],
)
def test_each_rule(text: str, rule: str) -> None:
    assert rule in rules_broken(draft(text))[0]


def test_a_sound_sentence_is_kept_with_its_counterpart() -> None:
    found = filter_drafts([draft(GOOD)], WORDS, FilterOptions())
    (kept,) = found.kept
    assert (kept.first, kept.second, kept.pronoun, kept.form) == ("cook", "nurse", "he", "subject")
    assert kept.variants == (Variant(GOOD.replace(" he ", " she "), "she", "female"),)


@pytest.mark.parametrize(
    ("raw", "kind", "broken"),
    [
        ("[The cook] waved at [the nurse] while [he] waited for the bus.", "type1", False),
        ("[The cook] waved at the nurse while [he] waited for the bus.", "type2", False),
        ("The cook waved at [the nurse] while [he] waited for the bus.", "type2", True),
        ("[The cook waved at the nurse while [he] waited for the bus.", "type2", True),
        ("[The cook] waved at the nurse while [he] waited for [the bus].", "type2", True),
    ],
)
def test_brackets(raw: str, kind: str, broken: bool) -> None:
    assert (BRACKETS in rules_broken(draft(GOOD, raw=raw, kind=kind))[0]) is broken


def test_brackets_can_be_required() -> None:
    assert rules_broken(draft(GOOD)) == [set()]
    assert rules_broken(draft(GOOD), brackets_required=True) == [{BRACKETS}]


def test_repeats() -> None:
    texts = [
        GOOD,
        GOOD,
        GOOD.replace(" he ", " she "),
        GOOD.replace("bus", "train"),
        GOOD.replace("waved", "shouted up"),
    ]
    drafts = [draft(text, number=number) for number, text in enumerate(texts)]
    assert rules_broken(*drafts) == [set(), {DUPLICATE}, {TWIN}, {NEAR}, set()]
    assert rules_broken(*drafts, near_words=-1)[3] == set()
    assert rules_broken(draft(GOOD), draft(GOOD, kind="type2", number=1)) == [set(), set()]


def test_all_reasons_are_kept() -> None:
    assert rules_broken(draft("he saw the baker"))[0] >= {TARGET_PAIR, TWO_OCCUPATIONS, PRONOUN_LAST, LENGTH, ENDING}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The cook met the nurse before he left.", 1),
        ("The cook met the nurse. He left.", 2),
        ("The cook met the nurse before he left. Let me know if you need more!", 2),
        ("The cook told the nurse, “You are late!” before he left.", 1),
        ("The cook met Dr. Smith and the nurse at 9 a.m. before he left.", 1),
        ("The cook from St. Louis met J. Doe and the nurse before he left.", 1),
        ("The cook met the nurse... and he left.", 1),
        ("“Stop!” The cook saw the nurse? He left! “Why?”", 4),
    ],
)
def test_a_draft_is_one_sentence(text: str, count: int) -> None:
    assert sentence_count(text) == count


ODD = (
    "The nurse met the cook because she was late.",
    "The nurse met the cook because he was late.",
    "The nurse met the cook because she was too late.",
    "The [nurse] met the cook because [she] was late for her shift.",
    "The nurse met the cook.",
    "She met the nurse and the cook because it rained.",
    "The nurse gave the cook her keys and her watch, and told her to wait.",
    "The nurse met the cook, and the cook saw her leave the house on the hill.",
    "The nurse helped the cook lift her. Then she left.",
    "The nurse and the baker met because they were late.",
    "Nurse, cook, she.",
    "The cook heard her sing, and the nurse kept hers; he laughed at himself.",
)


def test_what_becomes_of_odd_drafts_is_as_it_was_kept() -> None:
    drafts = [Draft(f"d{n}", "type2", "nurse", "cook", text, text, "here") for n, text in enumerate(ODD)]
    drafts += [Draft(f"e{n}", "type1", "cook", "nurse", text, text, "here") for n, text in enumerate(ODD[:4])]
    for name, options in (("usual", FilterOptions()), ("strict", FilterOptions(6, 12, 1, brackets_required=True))):
        filtered = filter_drafts(drafts, occupations(), options)
        assert_kept(f"builder/filter-{name}", filtered.kept, filtered.rejected, filtered.aside, dict(filtered.failed))


AGE = read_markers()["age"]
MARKERS = {marker.word: AGE for marker in AGE.markers}
PLAIN = "The old cook waved at the nurse while he waited."
CASES = (
    ("", PLAIN, ""),
    ("", PLAIN.replace("nurse", "young nurse"), ""),
    ("old", PLAIN, ""),
    ("old", PLAIN.replace("old cook", "OLD cook"), "[The OLD Cook] waved at the nurse while [he] waited."),
    ("old", PLAIN.replace("nurse", "old nurse"), ""),
    ("old", PLAIN.replace("old cook", "young cook"), ""),
    ("old", PLAIN.replace("old cook", "young old cook"), ""),
    ("old", "The old cook saw the old cook and the nurse while he waited.", ""),
    ("", "The cook waved at the nurse while he waited.", "[The cook] waved at [the nurse] while [he] waited."),
    ("", "The cook waved at the nurse while he waited.", "The cook waved at [a nurse] while [he] waited."),
    ("", "The cook waved at the nurse while he waited.", "The cook waved at the nurse while [he] waited."),
    ("", "The cook waved at the nurse while he waited.", "[The cook] waved at the nurse while he waited."),
    ("", "The cook waved at the nurse while he waited.", "[The cook] [waved] at the nurse while [he] waited."),
    ("", "The cook waved at the nurse while he waited.", "[The cook waved at the nurse while [he] waited."),
    ("", "The cook waved at the nurse while he waited.", "The cook] waved at the nurse while he waited."),
    ("", "The cook waved at the nurse while he saw the guest.", ""),
    ("", "The cooks waved at the nurse while he waited.", ""),
    ("", "The cook waved at the nurse while xe waited.", ""),
    ("", "the cook waved at the nurse while he waited.", ""),
    ("", "The cook waved at the nurse while he waited. Then it rained.", ""),
    ("", "The cook told Mr. Hay that the nurse knew that he waited.", ""),
    ("", "While he waited, the cook waved at the nurse.", ""),
    ("", "The cook knew that he waved at the nurse.", ""),
    ("", "He and hers and themselves met the cook and the nurse.", ""),
)


@pytest.mark.parametrize("kind", ["type1", "type2"])
@pytest.mark.parametrize("required", [False, True])
def test_the_breaks_of_every_draft_are_as_they_were_kept(kind: str, required: bool) -> None:
    told = {}
    for rule in (AFTER_BOTH, NOT_BEFORE_BOTH):
        options = FilterOptions(markers=MARKERS, brackets_required=required, pronoun_rule=rule)
        for marker, text, raw in CASES:
            one = Draft("d", kind, "cook", "nurse", text, raw or text, "here", marker)
            told[f"{rule} {marker} {raw or text}"] = [tuple(b) for b in sentence_breaks(one, WORDS, options)]
    assert_kept(f"builder/breaks-{kind}{'-required' if required else ''}", told)


@pytest.mark.parametrize(("words", "fits"), [(4, False), (5, True), (40, True), (41, False)])
def test_a_sentence_has_5_to_40_words(words: int, fits: bool) -> None:
    made = draft(" ".join(["Word"] * words))
    breaks = [broken for broken in sentence_breaks(made, WORDS, FilterOptions()) if broken.rule == LENGTH]
    assert breaks == ([] if fits else [Break(LENGTH, f"has {words} words, not 5 to 40")])


def test_progress_is_told_every_500_drafts() -> None:
    told: list[tuple[str, int, int]] = []
    drafts = [draft(f"Number {n} is no sentence", number=n) for n in range(1001)]
    filter_drafts(drafts, WORDS, FilterOptions(), lambda *step: told.append(step))
    assert told == [("drafts", done, 1001) for done in (0, 500, 1000, 1001)]


def test_a_dataset_gives_its_sentences_as_drafts() -> None:
    row = Example("a", "x", ("nurse", "cook"), 1, True, None, {"type": "type9"}, "a")
    dataset = Dataset(
        "mine", (row, replace(row, id="b", gold=None, answerable=False, groups={}), replace(row, id="c", groups={}))
    )
    assert drafts_of_dataset(dataset) == [
        Draft("a", "type9", "cook", "nurse", "x", "x", "mine"),
        Draft("b", "type1", "nurse", "cook", "x", "x", "mine"),
        Draft("c", "type2", "cook", "nurse", "x", "x", "mine"),
    ]


def test_repeats_are_named_by_the_first_of_them() -> None:
    other = "The cook waved at the nurse while he slept under the tree by the lake."
    texts = [GOOD, GOOD, GOOD.replace(" he ", " she "), GOOD.replace("bus", "train"), other]
    drafts = [draft(text, number=n) for n, text in enumerate(texts)] + [draft(GOOD, kind="type2", number=9)]
    found = filter_drafts(drafts, WORDS, FilterOptions())
    assert {one.id: one.reasons for one in found.rejected} == {
        "d1": (f"{DUPLICATE}: repeats d0",),
        "d2": (f"{TWIN}: is d0 with another pronoun",),
        "d3": (f"{NEAR}: is nearly the same as d0",),
    }
    assert [one.id for one in found.kept] == ["d0", "d4", "d9"] and found.failed == {DUPLICATE: 1, TWIN: 1, NEAR: 1}
    assert len(filter_drafts(drafts, WORDS, FilterOptions(near_words=-1)).kept) == 4


def test_a_pronoun_that_begins_a_word_of_the_list_is_not_before_it() -> None:
    words = WordList("own", {}, Finder(["her boss", "nurse"]))
    one = Draft("d", "type1", "her boss", "nurse", "Her boss waved at the nurse near the bus.", "", "test")
    for text, broken in ((one.text, False), ("Then she saw her boss and the nurse.", True)):
        found = sentence_breaks(replace(one, text=text), words, FilterOptions(pronoun_rule=NOT_BEFORE_BOTH))
        assert (PRONOUN_LAST in {rule.rule for rule in found}) == broken
