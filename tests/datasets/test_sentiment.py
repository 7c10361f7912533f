"""The sentences about people's moods: balanced, minimal sets, free of what gives the answer away."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from equipoise import audit
from equipoise.datasets import open_dataset, sentiment
from equipoise.datasets.sentiment import MoodSentence, mood_sentences, people, sentiment_faults
from equipoise.records import Example


def test_there_are_480_sets_over_four_attributes_and_three_moods() -> None:
    dataset = open_dataset("sentiment")
    assert (len(dataset.examples), dataset.sets, dataset.faults) == (1320, 480, ())
    assert dataset.licence == "CC0-1.0"
    kinds = Counter((e.groups["swapped"], e.groups["type"], e.groups.get("mood", "")) for e in dataset.examples)
    sizes = {"gender": 2, "age": 2, "origin": 3, "religion": 4}
    for attribute, size in sizes.items():
        for kind, mood in (("resolvable", "positive"), ("resolvable", "negative"), ("neutral", "")):
            assert kinds[attribute, kind, mood] == 40 * size
    assert len({example.cluster_id for example in dataset.examples}) == 120


def test_the_texts_of_a_set_differ_in_the_people_only() -> None:
    phrases = {
        attribute: {group: list(words) for group, words in groups.items()} for attribute, groups in people().items()
    }
    sets: dict[str, list[Example]] = defaultdict(list)
    for example in open_dataset("sentiment").examples:
        sets[example.set_id].append(example)
    for members in sets.values():
        attribute = members[0].groups["swapped"]
        blanked = set()
        for example in members:
            names = sorted(phrases[attribute][example.groups["group"]], key=len, reverse=True)
            found = next(name for name in names if name.lower() in example.text.lower())
            place = example.text.lower().index(found.lower())
            blanked.add(example.text[:place] + "_" + example.text[place + len(found) :])
            assert example.slots == {"statement": "The mood of this sentence is"}
        assert len(blanked) == 1 and len({example.groups["group"] for example in members}) == len(members)
        assert len({(example.gold, example.candidates) for example in members}) == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("She thanked {person} for the evening.", "pronoun 'she'"),
        ("The evening was very pleasant.", "0 slots"),
        ("{person} ran.", "has 2 words"),
        ("{person} walked past the church on Tuesday.", "says 'church' besides the person"),
        ("{person} walked past the school on Tuesday", "full stop"),
    ],
)
def test_a_sentence_that_breaks_a_rule_is_a_fault(text: str, what: str) -> None:
    sentences = mood_sentences()
    changed = [MoodSentence(sentences[0].id, "positive", text), *sentences[1:]]
    assert any(what in fault.what for fault in sentiment_faults(changed) if fault.kind == "rule")


def test_an_imbalance_or_a_repeat_is_a_fault() -> None:
    sentences = mood_sentences()
    assert {fault.kind for fault in sentiment_faults(sentences[1:])} == {"balance"}
    assert "repeated" in {fault.kind for fault in sentiment_faults([*sentences, sentences[0]])}


def test_a_model_that_is_right_and_treats_all_alike_has_ucerf_1(tmp_path) -> None:
    run = audit(
        "planted:strength=3,bias=0", "sentiment", task=["next-word", "mcq"], by=[], out=tmp_path / "run", resamples=20
    )
    rows = run.measurements.set_index(["task", "metric", "group"])["value"]
    for task in ("next-word", "mcq"):
        assert rows[task, "ucerf", "type=resolvable"] == rows[task, "accuracy", "all"] == pytest.approx(1)
    assert len(run.outcomes["probs"].iloc[-1]) == 2  # no "None of the above"


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("{person} smiled all day long.", []),
        ("{person} smiled all day.", ["has 4 words"]),
        (f"{{person}} smiled{' very' * 17} much.", []),
        (f"{{person}} smiled{' very' * 18} much.", ["has 21 words"]),
        ("It smiled all day long.", ["has 0 slots for the person"]),
        ("{person} and {person} smiled all day.", ["has 2 slots for the person"]),
        ("{person} saw his old dog.", ["has the pronoun 'his', which may not fit every person"]),
        ("{person} met a young man today.", ["says 'man' besides the person"]),
        (
            "{person} saw the Mosque and church.",
            ["says 'mosque' besides the person", "says 'church' besides the person"],
        ),
        ("{person} smiled all day long", ["does not end with a full stop"]),
    ],
)
def test_every_rule_of_a_sentence_is_checked(text: str, broken: list[str]) -> None:
    rules = [fault for fault in sentiment_faults([MoodSentence("s", "positive", text)]) if fault.kind == "rule"]
    assert [fault.what for fault in rules] == broken
    assert all((fault.where, fault.handling) == ("s", "kept") for fault in rules)


def test_moods_begin_alike_and_are_equally_many() -> None:
    def faults(*rows: tuple[str, str]) -> list[tuple[str, str, str]]:
        sentences = [MoodSentence(str(n), mood, text) for n, (mood, text) in enumerate(rows)]
        return [(f.where, f.kind, f.what) for f in sentiment_faults(sentences)]

    texts = ("{person} came to us %s today.", "Today %s we met {person} there.")
    even = [(mood, text % mood[:3]) for mood in ("positive", "negative", "neutral") for text in texts]
    assert faults(*even) == []
    odd = ("sentiment.csv", "balance", "2 sentences are negative, 1 of them begin with the person")
    assert odd not in faults(*even)
    many = faults(*even, ("negative", texts[0] % "neg"))
    assert many == [
        ("sentiment.csv", "repeated", "2 sentences are '{person} came to us neg today.'"),
        ("sentiment.csv", "balance", "2 sentences are positive, 1 of them begin with the person"),
        ("sentiment.csv", "balance", "3 sentences are negative, 2 of them begin with the person"),
        ("sentiment.csv", "balance", "2 sentences are neutral, 1 of them begin with the person"),
    ]
    changed = [*even[:2], ("negative", texts[0] % "xx"), *even[2:3], *even[4:]]
    assert faults(*changed) == [
        ("sentiment.csv", "balance", "2 sentences are negative, 2 of them begin with the person")
    ]
    assert ("7", "rule", "has the mood 'glum'") in faults(*even, *even[:1], ("glum", "{person} came to our house."))


def test_a_sentence_begins_with_a_capital_whoever_it_is_about() -> None:
    assert MoodSentence("s", "positive", "{person} saw {person}.").about("the cook") == "The cook saw the cook."


@pytest.mark.parametrize(
    ("groups", "fault"),
    [
        ({"old": ("a", "b"), "young": ("c", "d")}, False),
        ({"old": ("a", "b"), "young": ("c",)}, True),
        ({"old": ("a", "b")}, True),
    ],
)
def test_every_attribute_has_groups_with_lists_of_one_length(
    groups: dict[str, tuple[str, ...]], fault: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentiment, "people", lambda: {"age": groups})
    found = [(one.where, one.kind, one.what, one.handling) for one in sentiment_faults(())]
    what = "the groups of age have lists of different length"
    assert found == ([("sentiment.toml", "balance", what, "kept")] if fault else [])
