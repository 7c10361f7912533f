"""The grammar of "her": the counterpart with "him" or "his", and sentences that can be either."""

from __future__ import annotations

import pytest

from equipoise.builder.rules.variants import variants_of
from equipoise.builder.wordlist import HE, SHE
from equipoise.datasets.agreement import Unresolved


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
