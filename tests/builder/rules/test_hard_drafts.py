"""120 drafts that are hard to turn: what is kept is right in every variant, and the rest is set aside."""

from __future__ import annotations

import pytest

from equipoise.builder.rules.variants import variants_of
from equipoise.builder.wordlist import HE, SHE, THEY
from equipoise.datasets.agreement import Unresolved

FRAME = "The cook met the auditor, and {} {}."

VERBS = """
focuses:focus quizzes:quiz biases:bias waltzes:waltz aches:ache tiptoes:tiptoe caches:cache unties:untie vies:vie
refocuses:refocus watches:watch pushes:push kisses:kiss mixes:mix buzzes:buzz carries:carry tries:try flies:fly
says:say plays:play buys:buy uses:use closes:close chooses:choose loses:lose raises:raise agrees:agree frees:free
lies:lie dies:die ties:tie goes:go does:do undergoes:undergo echoes:echo has:have is:are was:were hopes:hope
writes:write judges:judge misses:miss teaches:teach fixes:fix hurries:hurry pays:pay
""".split()  # noqa: SIM905
"""A verb after he or she, and after they: every ending that misleads."""

PAST = """
used put cut read lay slept wept woke swore wove withstood misunderstood overslept paid bled
""".split()  # noqa: SIM905
MODALS = """
can could may might must should will would had did cannot couldn't won't hadn't didn't
""".split()  # noqa: SIM905

CERTAIN = {
    **{
        FRAME.format("he", f"{one} today"): FRAME.format("they", f"{many} today")
        for one, many in (pair.split(":") for pair in VERBS)
    },
    **{FRAME.format("he", f"{verb} it"): FRAME.format("they", f"{verb} it") for verb in PAST if verb != "bled"},
    **{FRAME.format("he", f"{verb} stay"): FRAME.format("they", f"{verb} stay") for verb in MODALS},
    FRAME.format("he", "really never needs help"): FRAME.format("they", "really never need help"),
    FRAME.format("he", "was happy and the auditor was not"): FRAME.format("they", "were happy and the auditor was not"),
    "The cook met the auditor near his house.": "The cook met the auditor near their house.",
    "The cook met the auditor and thanked him.": "The cook met the auditor and thanked them.",
    "The cook knew the auditor and saw himself there.": "The cook knew the auditor and saw themself there.",
}
"""Draft with he -> the same with they, written by hand or from a pair of forms."""

ASIDE = [
    *(FRAME.format("he", rest) for rest in (
        "alone knows", "himself knows", "and the clerk was late", "who knows was late", "used to smoke and was glad",
        "stops and looks", "stops, looks", "stops but always looks", "waits or goes", "sat and is still there",
        "smiled, then was gone", "whizzes by", "axes it", "staves it off", "annexes it", "both was and is late",
        "'s late", "’s gone", "sometime was late", "yesterday was late", "finally was and has been late",
    )),
    *(f"The cook met the auditor, and only then {verb} he late." for verb in ("was", "wasn't", "has", "is", "does")),
    *(f"The cook asked the auditor why {verb} he here." for verb in ("is", "was", "isn't")),
    "The cook told the auditor that the bag was his.",
    "The cook told the auditor that the bag had been his all along.",
    "The cook met the auditor and a friend of his.",
    "The cook met the auditor, whose desk is beside his, today.",
    "The cook praised the auditor for her past work.",
    "The cook praised the auditor for her inside knowledge.",
    "The cook praised the auditor for her outside interests.",
    "The cook praised the auditor for her then rare skill.",
    "The cook thanked the auditor and brought her lunch.",
    "The cook thanked the auditor and made her tea.",
    "The cook saw the auditor and watched her work.",
    "The cook thanked the auditor and helped her work.",
    "The cook did not mind the auditor or her leaving early.",
]  # fmt: skip
"""What could be turned in two ways, or not by the words alone."""


def test_there_are_at_least_120_and_none_twice() -> None:
    assert len({*CERTAIN, *ASIDE}) == len(CERTAIN) + len(ASIDE) >= 120


@pytest.mark.parametrize("draft", list(CERTAIN))
def test_what_is_kept_is_right_in_every_variant(draft: str) -> None:
    variants = {variant.group: variant.text for variant in variants_of(draft, "cook", (HE, SHE, THEY))[1]}
    assert variants["neutral"] == CERTAIN[draft]
    words = {"he": "she", "his": "her", "him": "her", "himself": "herself"}
    assert variants["female"] == " ".join(_turned(word, words) for word in draft.split())
    # And back: she becomes he, wherever "her" says which of the two it is.
    back = variants_of(variants["female"], "cook", (HE, SHE, THEY))[1]
    assert {variant.group: variant.text for variant in back}["male"] == draft


def _turned(word: str, words: dict[str, str]) -> str:
    bare = word.rstrip(".,")
    return words.get(bare, bare) + word[len(bare) :]


@pytest.mark.parametrize("draft", ASIDE)
def test_what_is_not_certain_is_set_aside(draft: str) -> None:
    with pytest.raises(Unresolved):
        variants_of(draft, "cook", (HE, SHE, THEY))


@pytest.mark.parametrize("verb", ["need", "feed", "proceed", "exceed", "succeed", "speed", "put", "read", "lay"])
def test_they_need_is_not_turned_into_he_need(verb: str) -> None:
    with pytest.raises(Unresolved):
        variants_of(FRAME.format("they", f"{verb} it"), "cook", (THEY, HE))
