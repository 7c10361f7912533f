"""The real WinoBias and SynthBias: their counts, their pairs, and their faults."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_counts import kinds, lines_with

from equipoise.datasets.dataset import Dataset, count_by
from equipoise.datasets.synthbias import load_synthbias
from equipoise.datasets.winobias import load_winobias


@pytest.fixture(scope="module")
def winobias(real_data) -> Dataset:
    return load_winobias(real_data("winobias"))


@pytest.fixture(scope="module")
def synthbias(real_data) -> Dataset:
    return load_synthbias(real_data("synthbias"))


def test_winobias_has_all_lines_and_1564_pairs(winobias: Dataset) -> None:
    assert (len(winobias.examples), winobias.sets) == (3168, 1564)
    assert count_by(winobias.examples, "type") == {"type1": 1584, "type2": 1584}
    assert count_by(winobias.examples, "split") == {"dev": 1584, "test": 1584}
    assert count_by(winobias.examples, "stereotype") == {"anti": 1584, "pro": 1584}
    assert all(example.gold is not None and example.stereotype is not None for example in winobias.examples)
    assert all(example.answerable == (example.groups["type"] == "type2") for example in winobias.examples)
    assert all(example.groups["stereotype"] == example.id.rsplit("-", 1)[1] for example in winobias.examples)


def test_winobias_faults_stand_where_the_reference_says(winobias: Dataset) -> None:
    assert kinds(winobias) == {
        "two pronouns": 87,
        "not a minimal pair": 40,
        "occupation named twice": 12,
        "brackets differ": 6,
        "repeated sentence": 6,
        "pronoun without brackets": 5,
        "referent first": 4,
        "third occupation": 2,
    }
    unpaired = {
        "type1.txt.dev": (92, 212),
        "type1.txt.test": (157, 255, 279, 289, 296),
        "type2.txt.dev": (90, 102, 119, 171, 176, 207, 208, 209),
        "type2.txt.test": (92, 103, 307, 382, 384),
    }
    assert lines_with(winobias, "not a minimal pair") == {(f, line) for f, lines in unpaired.items() for line in lines}
    brackets = {("type1.txt.dev", 162), ("type2.txt.dev", 190), ("type2.txt.dev", 215)}
    assert lines_with(winobias, "brackets differ") == brackets
    assert lines_with(winobias, "pronoun without brackets") == {
        ("type1.txt.test", 255),
        ("type2.txt.dev", 190),
        ("type2.txt.dev", 215),
        ("type2.txt.dev", 236),
    }
    repeated = {("type1.txt.test", 1), ("type2.txt.test", 1), ("type2.txt.test", 2)}
    assert lines_with(winobias, "repeated sentence") == repeated
    assert lines_with(winobias, "referent first") == {("type2.txt.test", 231), ("type2.txt.test", 232)}
    assert lines_with(winobias, "third occupation") == {("type2.txt.dev", 72)}


def test_winobias_pairs_are_of_opposite_gender_and_one_form(winobias: Dataset) -> None:
    check_pairs(winobias)


def test_synthbias_counts(synthbias: Dataset) -> None:
    assert (len(synthbias.examples), synthbias.sets) == (31728, 15864)
    assert count_by(synthbias.examples, "type") == {"type1": 14120, "type2": 17608}
    assert kinds(synthbias) == {
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


def check_pairs(dataset: Dataset) -> None:
    members = defaultdict(list)
    for example in dataset.examples:
        members[example.set_id].append(example)
    for pair in members.values():
        if len(pair) > 1:
            assert sorted(example.groups["gender"] for example in pair) == ["female", "male"]
            assert len({(e.groups["form"], e.candidates, e.gold, e.groups["type"]) for e in pair}) == 1
            assert pair[0].groups["form"]


def content(dataset: Dataset) -> Counter[tuple[object, ...]]:
    return Counter(
        (e.text, e.candidates, e.gold, e.answerable, e.stereotype, *sorted(e.groups.items()), *e.slots.items())
        for e in dataset.examples
    )


def pair_texts(dataset: Dataset) -> Counter[tuple[str, ...]]:
    texts = defaultdict(list)
    for example in dataset.examples:
        texts[example.set_id].append(example.text)
    return Counter(tuple(sorted(members)) for members in texts.values())


def test_as_published_keeps_the_detached_s_of_140_lines(real_data: Callable[[str], Path]) -> None:
    folder = real_data("winobias")
    joined, published = load_winobias(folder), load_winobias(folder, as_published=True)
    changed = [(a, b) for a, b in zip(joined.examples, published.examples, strict=True) if a.text != b.text]
    assert len(changed) == 140 and joined.sets == published.sets == 1564
    assert all(b.text.replace(" 's", "'s") == a.text and a.candidates == b.candidates for a, b in changed)
