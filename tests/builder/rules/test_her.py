"""The grammar of "her": the counterpart with "him" or "his", and sentences that can be either."""

from __future__ import annotations

import pytest
from kept_texts import assert_kept

from equipoise.builder.rules.her import WORDS, her_form, is_without_noun
from equipoise.builder.rules.variants import variants_of
from equipoise.builder.wordlist import HE, SHE
from equipoise.datasets.agreement import Unresolved
from equipoise.datasets.pronouns import pronouns_in


@pytest.mark.parametrize(
    ("text", "swapped_text"),
    [
        ("The cook met the nurse and saw her.", "The cook met the nurse and saw him."),
        ("The cook met the nurse and took her car.", "The cook met the nurse and took his car."),
        ("The cook thanked the nurse and praised her warmly.", "The cook thanked the nurse and praised him warmly."),
        ("The cook met the nurse on her very first day.", "The cook met the nurse on his very first day."),
        ("The cook told the nurse a joke and made her laugh.", "The cook told the nurse a joke and made him laugh."),
        ("The cook met the nurse and liked her laugh.", "The cook met the nurse and liked his laugh."),
        ("The cook met the nurse and helped her organize it.", "The cook met the nurse and helped him organize it."),
        ("The cook met the nurse and drove her home.", "The cook met the nurse and drove him home."),
        ("The cook invited the nurse to her home.", "The cook invited the nurse to his home."),
        ("The cook met the nurse while he waited.", "The cook met the nurse while she waited."),
        ("The cook met the nurse and lost his keys.", "The cook met the nurse and lost her keys."),
        ("The cook met the nurse and praised himself.", "The cook met the nurse and praised herself."),
        ("The cook met the nurse. HER car was gone.", "The cook met the nurse. His car was gone."),
    ],
)
def test_the_pronoun_of_the_other_gender(text: str, swapped_text: str) -> None:
    _, (counterpart,) = variants_of(text, "cook", (HE, SHE))
    assert counterpart.text == swapped_text


@pytest.mark.parametrize(
    "text",
    [
        "The cook met the nurse and brought her lunch.",
        "The cook met the nurse and made her coffee.",
        "The cook saw the nurse, and it helped her work.",
        "The cook and the nurse argued about her leaving early.",
        "The cook met the nurse while they waited.",
        "The cook met the nurse, and he saw her.",
        "The cook met the nurse.",
    ],
)
def test_what_can_be_either_is_not_guessed(text: str) -> None:
    with pytest.raises(Unresolved):
        variants_of(text, "cook", (HE, SHE))


def read(text: str) -> str:
    """Return the form of "her" in a text, or why it is open."""
    (her,) = (found for found in pronouns_in(text) if found.word == "her")
    try:
        return her_form(text, her)
    except Unresolved as error:
        return f"open, {error}"


KINDS = sorted(
    kind for kind in WORDS if kind not in ("causative", "perceiving", "judging", "helping", "giving", "going")
)
VERBS = {
    "plain": ["met"],
    "causative": ["made", "kept", "lets"],
    "perceiving": ["saw", "watched"],
    "judging": ["found", "calls"],
    "helping": ["helped"],
    "giving": ["gave", "brought"],
    "going": ["drove"],
}
OTHER = [
    "car",
    "home",
    "back",
    "own",
    "working",
    "tired",
    "smiling",
    "leaving",
    "being",
    "having",
    "writing",
    "dogmatic",
]
REST = ("", ".", " the pan.", " slowly.", " soup.", " soup from the pan.")


@pytest.mark.parametrize("verb", [verb for verbs in VERBS.values() for verb in verbs])
def test_the_words_around_her_decide_as_they_did(verb: str) -> None:
    words = [*OTHER, *(word for kind in KINDS for word in sorted(WORDS[kind])[:: max(len(WORDS[kind]) - 1, 1)][:2])]
    said = {}
    for word in dict.fromkeys(words):
        answers = [read(f"The cook {verb} her {word}{rest}") for rest in REST]
        answers.append(read(f"The cook {verb} her {word} very {word}."))
        answers.append(read(f"The cook {verb} her very {word}."))
        answers.append(read(f"The cook {verb} her very warmly {word} soup."))
        said[word] = "; ".join(dict.fromkeys(f"{answer}" for answer in answers)), "".join(a[1] for a in answers)
    assert_kept(f"builder/her/{verb}", said)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("her", "object"),
        ("Her car", "possessive"),
        ("They met her", "object"),
        ("They met her past work.", "open, 'her past work' can mean 'him' or 'his'"),
        ("They met her past.", "object"),
        ("They met her past", "object"),
        ("They met her past, too.", "object"),
        ("They met her very", "object"),
        ("They met her very kind.", "object"),
        ("They met her very kind cook.", "possessive"),
        ("They gave her own plan away.", "possessive"),
        # A verb that is also something of one's own: the end of the sentence decides.
        ("They made her plan.", "object"),
        ("They made her plan carefully.", "object"),
        ("They made her plan public.", "possessive"),
        ("They saw her plan.", "possessive"),
        ("They let her plan it.", "object"),
        ("They gave her three books.", "object"),
        ("They gave her three ideas.", "possessive"),
        ("They gave her good luck.", "object"),
        ("They gave her old plan to us.", "possessive"),
        ("They gave her lunch", "open, 'gave her lunch' can mean 'him' or 'his'"),
        ("They liked her leaving", "open, 'her leaving .' can mean 'him' or 'his'"),
    ],
)
def test_the_places_of_her(text: str, form: str) -> None:
    assert read(text) == form


@pytest.mark.parametrize(
    ("text", "alone"), [("It was his", True), ("His.", True), ("his and", True), ("his cat", False)]
)
def test_a_possessive_without_its_noun_is_seen(text: str, alone: bool) -> None:
    assert is_without_noun(text, pronouns_in(text)[0]) is alone
