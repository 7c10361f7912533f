"""The sentences that ship with the package keep every promise made about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.datasets import load_synthbias, load_winobias
from equipoise.datasets.builtin import Sentence, faults, load_builtin, sentences
from equipoise.datasets.occupations import OCCUPATIONS, side
from equipoise.datasets.pronouns import pronoun_in_form
from equipoise.datasets.sentence_rules import broken_rules
from equipoise.records import DatasetError

ALL = sentences()
RESOLVABLE = [sentence for sentence in ALL if sentence.type == "type2"]
AMBIGUOUS = [sentence for sentence in ALL if sentence.type == "type1"]


def test_there_are_at_least_240_of_each_type_and_none_breaks_a_rule() -> None:
    assert len(RESOLVABLE) >= 240
    assert len(AMBIGUOUS) >= 240
    assert list(faults(ALL)) == []


def test_every_occupation_is_referent_and_other_at_least_five_times() -> None:
    referents = Counter(sentence.referent for sentence in RESOLVABLE)
    others = Counter(s.second if s.referent == s.first else s.first for s in RESOLVABLE)
    mentioned = Counter(name for s in AMBIGUOUS for name in (s.first, s.second))
    assert set(OCCUPATIONS) == set(referents) == set(others) == set(mentioned)
    assert min(referents.values()) >= 5
    assert min(others.values()) >= 5
    assert min(mentioned.values()) >= 10


def test_position_and_form_do_not_give_the_answer_away() -> None:
    for form in ("subject", "object", "possessive"):
        some = [sentence for sentence in RESOLVABLE if sentence.form == form]
        first = sum(sentence.referent == sentence.first for sentence in some)
        assert len(some) >= 60
        assert 0.4 <= first / len(some) <= 0.6
        assert sum(sentence.form == form for sentence in AMBIGUOUS) >= 60


def test_each_sentence_pairs_a_male_and_a_female_stereotyped_occupation_at_least_ten_points_apart() -> None:
    for sentence in ALL:
        shares = [OCCUPATIONS[name].female_share for name in (sentence.first, sentence.second)]
        assert {side(sentence.first), side(sentence.second)} == {"male", "female"}, sentence.id
        assert abs(shares[0] - shares[1]) > 10, sentence.id


def test_the_referent_is_as_often_male_as_female_stereotyped() -> None:
    male = sum(side(sentence.referent) == "male" for sentence in RESOLVABLE)
    assert 0.45 <= male / len(RESOLVABLE) <= 0.55


def test_the_sentences_are_no_template_grid() -> None:
    def frame(text: str) -> str:
        for name in sorted(OCCUPATIONS, key=len, reverse=True):
            text = re.sub(rf"\b{name}\b", "X", text, flags=re.IGNORECASE)
        return text.lower()

    frames = Counter(frame(sentence.text) for sentence in ALL)
    openings = Counter(" ".join(frame(sentence.text).split()[:3]) for sentence in ALL)
    assert max(frames.values()) == 1
    assert max(openings.values()) <= len(ALL) / 20


def test_every_pronoun_is_given_on_request_and_verbs_agree() -> None:
    names = ("he", "she", "they", "xe", "ze", "ey", "fae", "ve/ver/vis/verself")
    binary, everyone = load_builtin(), load_builtin(pronouns=names)
    assert len(binary.examples) == 2 * len(ALL)
    assert {fault.kind for fault in everyone.faults} == {"plural reading"}
    assert everyone.sets == len(ALL) - len(everyone.faults)
    assert len(everyone.examples) == len(names) * everyone.sets
    verbs: dict[str, set[str]] = {}
    for example in everyone.examples:
        gender, form = example.groups["gender"], example.groups["form"]
        assert example.slots["pronoun"] in example.text.lower()
        assert (example.stereotype is None) == (gender not in ("male", "female"))
        if form == "subject":
            verb = re.search(rf"\b{example.slots['pronoun']} (?:still |usually )?(\w+)", example.text)
            assert verb
            verbs.setdefault(gender, set()).add(verb[1])
    assert verbs["xe"] == verbs["male"] == verbs["ve"]
    assert {"was", "is", "has", "does", "spends"} <= verbs["xe"]
    assert {"were", "are", "have", "do", "spend"} <= verbs["neutral"]
    assert not {"was", "is", "has", "does", "spends", "were"} & (verbs["neutral"] - {"were"})


def test_they_is_not_asked_where_it_can_mean_both_together() -> None:
    dataset = load_builtin(pronouns=("he", "they"))
    texts = {sentence.id: sentence for sentence in ALL}
    left_out = {fault.where for fault in dataset.faults}
    assert len(left_out) == 40 and all(texts[id].type == "type1" and " and " in texts[id].text for id in left_out)
    for example in dataset.examples:
        first, second = (re.escape(name) for name in example.candidates)
        together = rf"\b[Tt]he {first}\b[^,.;]* and the {second}\b"
        assert example.answerable or not re.search(together, example.text), example.text


def test_the_validator_sees_each_kind_of_mistake() -> None:
    good = "While the farmer slept, the nurse read his letter."
    assert broken_rules(good, ("farmer", "nurse")) == []
    for bad in (
        "While the farmer slept, the nurse and the cook read his letter.",
        "While the farmer slept, she read his letter to the nurse.",
        "While the farmer slept, the nurse read the letter.",
        "The nurse read his letter while the farmer slept.",
        "While the farmer slept, the nurse read his letter to the farmer.",
    ):
        assert broken_rules(bad, ("farmer", "nurse")), bad
    mistaken = [*ALL, replace(ALL[0], id="copy")]
    assert any(fault.kind == "repeated" for fault in faults(mistaken))
    assert any(fault.kind == "balance" for fault in faults(RESOLVABLE[:100]))


@pytest.mark.parametrize("pronouns", [("he",), ("he", "he"), ("he", "him"), ("he", "xyz")])
def test_pronouns_that_cannot_be_compared_are_refused(pronouns: tuple[str, ...]) -> None:
    with pytest.raises(DatasetError):
        load_builtin(pronouns=pronouns)


@pytest.mark.slow
def test_no_sentence_repeats_one_of_winobias_or_synthbias(real_data: Callable[[str], Path]) -> None:
    def words(text: str) -> str:
        return " ".join(re.findall(r"[a-z]+", text.lower()))

    published = {
        words(example.text)
        for dataset in (load_winobias(real_data("winobias")), load_synthbias(real_data("synthbias")))
        for example in dataset.examples
    }
    ours = {words(s.with_pronoun(pronoun_in_form(s.form, g))) for s in ALL for g in ("male", "female")}
    assert not ours & published


def made(
    text: str, first: str = "nurse", second: str = "driver", *, type: str = "type2", referent: str = "nurse"
) -> Sentence:
    return Sentence("s1", type, text, first, second, referent, False)


def test_every_broken_rule_and_a_wrong_order_is_a_fault_of_its_sentence() -> None:
    sound = made("The nurse thanked the driver before {subject} left.", type="type1", referent="")
    assert list(faults([sound])) == []
    again = replace(sound, id="s2", text="the Nurse thanked the driver before {object} left.")
    late = replace(sound, id="s3", text="Before {possessive} bus came, the driver met the nurse.")
    assert [(f.where, f.kind, f.what, f.handling) for f in faults([sound, again, late])] == [
        ("s3", "rule", "has the pronoun before an occupation", "kept"),
        ("s3", "rule", "has the pronoun before an occupation", "kept"),
        ("s3", "order", "the driver is mentioned first", "kept"),
        (
            "builtin.csv",
            "repeated",
            "a sentence occurs 2 times: the nurse thanked the driver before  lef…",
            "kept",
        ),
    ]


def balanced(first: int, total: int, *, times: int = 5) -> list[Sentence]:
    """Return sentences with each occupation that often as referent and as other, the referent first in some."""
    names = list(OCCUPATIONS)
    made_of = []
    for number in range(total):
        referent, other = names[number % 40], names[(number + 1) % 40]
        if number >= 40 * times:
            referent = names[0]
        pair = (referent, other) if number < first else (other, referent)
        form = ("subject", "object", "possessive")[number % 3]
        text = f"The {pair[0]} met the {pair[1]} {number} times before {{{form}}} cat ran."
        made_of.append(Sentence(f"s{number}", "type2", text, *pair, referent, False))
    return made_of


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (90, []),
        (110, []),
        (89, ["the referent is mentioned first in 44%"]),
        (111, ["the referent is mentioned first in 56%"]),
    ],
)
def test_the_referent_is_first_in_about_half(first: int, expected: list[str]) -> None:
    assert [fault.what for fault in faults(balanced(first, 200)) if fault.kind == "balance"] == expected


def test_an_occupation_or_a_form_that_is_rare_is_a_fault() -> None:
    few = balanced(100, 199)
    assert [fault.what for fault in faults(few) if fault.kind == "balance"] == [
        f"{list(OCCUPATIONS)[39]} is the referent 4 times",
        f"{next(iter(OCCUPATIONS))} is the other 4 times",
    ]
    forms = ["subject"] * 40 + ["object"] * 39 + ["possessive"] * 121
    changed = [
        replace(sentence, text=re.sub(r"\{\w+\}", f"{{{form}}}", sentence.text))
        for sentence, form in zip(balanced(100, 200), forms, strict=True)
    ]
    found = [fault for fault in faults(changed) if fault.kind == "balance"]
    assert [(f.where, f.what, f.handling) for f in found] == [
        ("builtin.csv", "only 39 sentences have a pronoun in object form", "kept")
    ]


def test_a_plural_pronoun_that_can_mean_both_leaves_a_sentence_out() -> None:
    dataset = load_builtin(pronouns=("he", "they"))
    assert {(fault.kind, fault.handling) for fault in dataset.faults} == {("plural reading", "left out")}
    left = {fault.where for fault in dataset.faults}
    by_id = {sentence.id: sentence for sentence in sentences()}
    for fault in dataset.faults:
        assert fault.what.startswith("with they: ") and fault.what.endswith("can mean both people together")
        assert by_id[fault.where].type == "type1"
    assert not left & {example.set_id.removeprefix("builtin-") for example in dataset.examples}
    assert len(left) + dataset.sets == len(by_id)
