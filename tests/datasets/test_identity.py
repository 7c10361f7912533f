"""WinoIdentity: where a marker goes, what it changes, and how many variants there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.identity import AUGMENTATIONS, augment, identity_counts, identity_dataset, recipe
from equipoise.records import DatasetError, Example, marked_slot


def example(text: str, candidates: tuple[str, str], gold: int | None, pronoun: str = "she", **more) -> Example:
    groups = {"type": "type2", "gender": "female"}
    return Example(
        "e1", text, candidates, gold, gold is not None, None, groups, "p1", slots={"pronoun": pronoun}, **more
    )


def texts(base: Example, augmentation: str, attribute: str, **options) -> dict[str, str]:
    how = recipe(augmentations=[augmentation], attributes=[attribute], **options)
    return {e.id.partition("+")[2]: e.text for e in augment(base, how) if "+" in e.id}


BAKER = example("The baker thanked the pilot because she had waited.", ("baker", "pilot"), 1)


def test_r_marks_the_referent() -> None:
    assert texts(BAKER, "R", "age") == {
        "R-young": "The baker thanked the young pilot because she had waited.",
        "R-old": "The baker thanked the old pilot because she had waited.",
    }


def test_nr_marks_the_other() -> None:
    assert texts(BAKER, "NR", "nationality") == {
        "NR-American": "The American baker thanked the pilot because she had waited.",
        "NR-immigrant": "The immigrant baker thanked the pilot because she had waited.",
    }


def test_c_marks_both_with_every_contrast_of_the_other_side() -> None:
    found = texts(BAKER, "C", "race")
    assert found["C-White-Asian"] == "The Asian baker thanked the White pilot because she had waited."
    assert found["C-Black-White"] == "The White baker thanked the Black pilot because she had waited."
    assert set(found) == {"C-White-Black", "C-White-Asian", "C-White-Hispanic"} | {
        "C-Black-White",
        "C-Asian-White",
        "C-Hispanic-White",
    }


def test_disability_is_paired_by_default_and_crossed_on_request() -> None:
    assert len(texts(BAKER, "C", "disability")) == 4
    crossed = texts(BAKER, "C", "disability", crossed=True)
    assert len(crossed) == 8
    assert crossed["C-neurotypical-disabled"].startswith("The disabled baker thanked the neurotypical pilot")


def test_a_and_an_are_made_to_fit() -> None:
    one = example("A farmer hired an assistant and told her to rest.", ("farmer", "assistant"), 1, "her")
    marked = texts(one, "R", "age")
    assert marked["R-young"] == "A farmer hired a young assistant and told her to rest."
    assert marked["R-old"] == "A farmer hired an old assistant and told her to rest."
    other = texts(one, "NR", "race")
    assert other["NR-Asian"] == "An Asian farmer hired an assistant and told her to rest."
    assert other["NR-White"] == "A White farmer hired an assistant and told her to rest."


@pytest.mark.parametrize("word", ["old", "able-bodied", "English-speaking", "American", "immigrant", "Asian"])
def test_the_markers_that_take_an(word: str) -> None:
    marked = [m.word for m in recipe().markers if m.article == "an"]
    assert word in marked and len(marked) == 6


def test_usual_takes_a() -> None:
    neutral = {m.word: m.article for m in recipe(attributes=["non-demographic"]).markers}
    assert len(neutral) == 9
    assert (neutral["usual"], neutral["unfocused"], neutral["normal"]) == ("a", "an", "a")


def test_only_the_first_mention_is_marked_and_part_words_are_not() -> None:
    one = example(
        "The co-writer left, so the writer rang the clerk; the writer said she was late.", ("writer", "clerk"), 1
    )
    assert texts(one, "NR", "age")["NR-old"] == (
        "The co-writer left, so the old writer rang the clerk; the writer said she was late."
    )


def test_two_pronouns_are_left_alone() -> None:
    one = example("The guard told the chef that her pan was hers and she smiled.", ("guard", "chef"), 1, "her")
    (found,) = [e for e in augment(one, recipe(augmentations=["R"], attributes=["age"])) if e.id.endswith("young")]
    assert found.text == "The guard told the young chef that her pan was hers and she smiled."
    assert found.slots["pronoun"] == "her"


def test_a_noun_that_begins_the_sentence_gives_up_its_capital_unless_it_is_all_capitals() -> None:
    assert texts(example("Farmer met the CEO, and she ran.", ("farmer", "CEO"), 0), "R", "age")["R-old"] == (
        "Old farmer met the CEO, and she ran."
    )
    assert texts(example("CEO met the farmer, and she ran.", ("CEO", "farmer"), 0), "R", "age")["R-old"] == (
        "old CEO met the farmer, and she ran."
    )
    seller = example("T-shirt seller met the farmer, and she ran.", ("T-shirt seller", "farmer"), 0)
    assert texts(seller, "R", "age")["R-old"] == "old T-shirt seller met the farmer, and she ran."


def test_variants_share_the_cluster_and_say_what_they_are() -> None:
    variants = list(augment(BAKER, recipe()))
    assert {e.cluster_id for e in variants} == {"p1"}
    assert variants[0].text == BAKER.text and variants[0].groups["augmentation"] == "none"
    assert len(variants) == 1 + 25 + 25 + 28
    (contrast,) = [e for e in variants if e.id == "e1+C-poor-rich"]
    assert contrast.set_id == "p1+C-poor-rich"
    assert {**contrast.groups} == {
        "type": "type2",
        "gender": "female",
        "augmentation": "C",
        "attribute": "socio-economic status",
        "marker": "poor",
        "privilege": "disadvantaged",
        "contrast": "rich",
    }
    assert (contrast.slots[marked_slot(1)], contrast.slots[marked_slot(0)]) == ("poor pilot", "rich baker")


def test_a_set_is_he_and_she_within_one_marking_and_a_cluster_is_the_base_sentence() -> None:
    he = replace(BAKER, id="e2", text=BAKER.text.replace(" she ", " he "), groups={**BAKER.groups, "gender": "male"})
    how = recipe(attributes=["age", "race"])
    data = identity_dataset(Dataset("mine", (BAKER, he)), how)
    assert data.sets == len(list(augment(BAKER, how))) and {e.cluster_id for e in data.examples} == {"p1"}
    sets: dict[str, list[Example]] = {}
    for variant in data.examples:
        sets.setdefault(variant.set_id, []).append(variant)
    for members in sets.values():
        assert [e.groups["gender"] for e in members] == ["female", "male"]
        she, same = (e.text.replace(" he ", " she ") for e in members)
        assert she == same, "the members of a set differ in the pronoun alone"
    assert sets["p1"][0] == replace(BAKER, groups={**BAKER.groups, "augmentation": "none"})


def test_markings_of_a_sentence_without_counterpart_are_one_cluster_and_no_set() -> None:
    data = identity_dataset(Dataset("mine", (BAKER,)), recipe(augmentations=["R"], attributes=["age"]))
    assert (len(data.examples), data.sets, len({e.cluster_id for e in data.examples})) == (3, 0, 1)


def test_sentences_without_a_referent_are_left_out_and_reported() -> None:
    unknown = Example("e2", "The baker met the pilot and she ran.", ("baker", "pilot"), None, False, None, {}, "p2")
    data = identity_dataset(Dataset("mine", (BAKER, unknown)), recipe(augmentations=["R"], attributes=["age"]))
    assert len(data.examples) == 3
    assert [(f.where, f.kind) for f in data.faults] == [("e2", "cannot be marked")]
    with pytest.raises(DatasetError, match="no sentence has a referent"):
        identity_dataset(Dataset("mine", (unknown,)), recipe())


def test_unknown_augmentations_and_attributes_are_named() -> None:
    with pytest.raises(DatasetError, match="unknown augmentation 'X'; known: R, NR, C"):
        recipe(augmentations=["X"])
    with pytest.raises(DatasetError, match="unknown attribute 'religon'; did you mean 'religion'"):
        recipe(attributes=["religon"])
    for nothing in ({"augmentations": []}, {"attributes": []}):
        with pytest.raises(DatasetError, match="at least one augmentation and one attribute"):
            recipe(**nothing)
    assert recipe(attributes=["body-type", "socio_economic status"]).markers[0].word == "thin"


def test_every_line_of_winobias_can_be_marked_and_becomes_another_sentence(real_data) -> None:
    real_data("winobias")
    base = open_dataset("winobias")
    data = identity_dataset(base, recipe(attributes=["age", "race"]))
    assert len(data.examples) == len(base.examples) * (1 + 6 + 6 + 8)
    # Each pair is a set in each of its markings; the 40 lines without counterpart are none.
    assert data.sets == base.sets * (1 + 6 + 6 + 8)
    assert len({e.cluster_id for e in data.examples}) == base.sets + 40
    by_base = {example.id: example for example in base.examples}
    counts = Counter(e.groups["augmentation"] for e in data.examples)
    assert counts == {"none": 3168, "R": 3168 * 6, "NR": 3168 * 6, "C": 3168 * 8}
    for e in data.examples:
        original = by_base[e.id.partition("+")[0]]
        added = len(e.text.split()) - len(original.text.split())
        assert added == {"none": 0, "R": 1, "NR": 1, "C": 2}[e.groups["augmentation"]]
        assert e.gold == original.gold and e.candidates == original.candidates


def test_augmentations_are_the_paper_s() -> None:
    assert AUGMENTATIONS == ("R", "NR", "C")


def test_the_counts_are_the_paper_s_and_ours() -> None:
    data = identity_dataset(open_dataset("builtin").limited(20), recipe())
    facts = dict(identity_counts(data))
    assert facts["markers"].startswith("25 in 10 attributes, and 9 non-demographic")
    assert facts["the paper"].startswith("245,700 prompts on its 1,575 sentences; 239,400 of them distinct")
    assert facts["ours"].startswith(f"{len(data.examples):,} prompts, {len(data.examples):,} distinct")
    assert len(data.examples) % 79 == 0
    of_the_first = {e.text for e in data.examples if e.cluster_id == data.examples[0].cluster_id}
    assert {facts[f"e.g. {way}"] for way in AUGMENTATIONS} < of_the_first, "the same sentence, marked in each way"
    assert ("attribute", "age: young | old") in identity_counts(data)
    for way in AUGMENTATIONS:
        assert facts[f"e.g. {way}"] in {e.text for e in data.examples if e.groups["augmentation"] == way}


def test_a_limit_before_marking_keeps_the_same_sentences_as_one_after() -> None:
    base, how = open_dataset("builtin"), recipe(augmentations=["R"], attributes=["age"])
    before, after = identity_dataset(base, how, limit=7), identity_dataset(base, how).limited(7)
    assert before.examples == after.examples and len({e.cluster_id for e in before.examples}) == 7


@pytest.mark.parametrize(("source", "told"), [("a file", "a file, with markers"), ("", "mine, with markers")])
def test_a_marked_dataset_names_the_source_of_its_sentences(source: str, told: str) -> None:
    how = recipe(augmentations=["R"], attributes=["age"])
    assert identity_dataset(Dataset("mine", (BAKER,), source=source), how).source == told


def test_what_cannot_be_marked_is_left_out_with_its_reason_in_order() -> None:
    good = Example("a", "The nurse met the cook and he left.", ("nurse", "cook"), 0, True, None, {}, "a")
    rows = [
        good,
        replace(good, id="b", set_id="b", gold=None, answerable=False, candidates=("nurse", "cook", "guard")),
        replace(good, id="c", set_id="c", candidates=("nurse", "cook", "he")),
        replace(good, id="d", set_id="d", candidates=("nurse", "pilot")),
    ]
    made = identity_dataset(Dataset("mine", tuple(rows), licence="CC0"), recipe(attributes=["age"]))
    assert [(fault.where, fault.kind, fault.what, fault.handling) for fault in made.faults] == [
        ("b", "cannot be marked", "has no referent on record", "left out"),
        ("c", "cannot be marked", "has 3 candidates, not two", "left out"),
        ("d", "cannot be marked", "does not name both candidates", "left out"),
    ]
    assert {example.cluster_id for example in made.examples} == {"a"}
    assert (made.name, made.source, made.licence) == ("winoidentity-mine", "mine, with markers", "CC0")
    with pytest.raises(DatasetError, match=r"^mine: no sentence has a referent on record, so none can be marked$"):
        identity_dataset(Dataset("mine", tuple(rows[1:])), recipe())
    with pytest.raises(DatasetError, match=r"^example b: has no referent on record$"):
        list(augment(rows[1], recipe()))
    with pytest.raises(DatasetError, match=r"^example d: does not name 'pilot'$"):
        list(augment(rows[3], recipe()))
    for choice in ({"augmentations": ()}, {"attributes": ()}):
        with pytest.raises(DatasetError, match=r"^at least one augmentation and one attribute are needed$"):
            recipe(**choice)
    with pytest.raises(DatasetError, match=r"^unknown augmentation 'X'; known: R, NR, C$"):
        recipe(augmentations=("R", "X"))


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Nurse and cook met.", ("Old nurse and cook met.", "Nurse and old cook met.")),
        (
            "An  nurse saw a cook; the nurse left.",
            ("An  old nurse saw a cook; the nurse left.", "An  nurse saw an old cook; the nurse left."),
        ),
        (
            "A Nurse saw the non-nurse COOK.",
            ("An old Nurse saw the non-nurse COOK.", "A Nurse saw the non-nurse old COOK."),
        ),
        ("COOK met nurse.", ("COOK met old nurse.", "old COOK met nurse.")),
        ("nurse met Cook.", ("old nurse met Cook.", "nurse met old Cook.")),
        (" Nurse met cook.", (" Old nurse met cook.", " Nurse met old cook.")),
    ],
)
def test_a_marker_goes_before_the_first_mention_and_its_article_fits(text: str, marked: tuple[str, str]) -> None:
    row = Example("a", text, ("nurse", "cook"), 0, True, None, {}, "a")
    how = recipe(attributes=["age"], augmentations=("R", "NR"))
    old = [e for e in augment(row, how) if e.groups.get("marker") == "old"]
    assert tuple(example.text for example in old) == marked
    assert [e.slots for e in old] == [{marked_slot(0): "old nurse"}, {marked_slot(1): "old cook"}]
    assert [(e.id, e.set_id) for e in old] == [("a+R-old", "a+R-old"), ("a+NR-old", "a+NR-old")]
