"""Fresh sentences: millions are possible, those drawn are new, balanced and grammatical, and the same for a seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise import audit
from equipoise.datasets import fresh, open_dataset
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.fresh import constructions, load_fresh, population
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.datasets.pronouns import pronoun_in_form, pronouns_in
from equipoise.datasets.sentence_rules import broken_rules
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError
from equipoise.training.grammar import templates
from equipoise.verdict.summary import legend


@pytest.fixture(scope="module")
def drawn() -> Dataset:
    return load_fresh(count=2000, seed=7)


def test_there_are_millions_and_a_limit_and_a_seed_choose(drawn: Dataset) -> None:
    assert population() == drawn.population == 7_168_000
    assert drawn.sets == 2000 and len(drawn.examples) == 4000
    again = open_dataset("fresh", DatasetOptions(limit=2000, seed=7))
    assert again.sha256 == drawn.sha256 and again.listed
    other = load_fresh(count=2000, seed=8)
    common = {example.id for example in drawn.examples} & {example.id for example in other.examples}
    assert len(common) < 20


def test_both_types_and_positions_all_forms_and_all_occupations_are_there(drawn: Dataset) -> None:
    types = Counter(example.groups["type"] for example in drawn.examples)
    assert types == {"type1": 2000, "type2": 2000}
    resolvable = [example for example in drawn.examples if example.answerable]
    first = sum(example.groups["position"] == "first" for example in resolvable) / len(resolvable)
    assert 0.45 < first < 0.55
    assert {example.groups["occupation"] for example in resolvable} == set(OCCUPATIONS)
    forms = Counter(example.groups["form"] for example in drawn.examples)
    assert min(forms[form] for form in ("subject", "object", "possessive")) > 800
    openings = {re.split(r"\{(?:subject|object|possessive)\}", c.text)[0] for c in constructions()}
    assert len(openings) > 500


def test_the_referent_is_whom_the_text_names_there(drawn: Dataset) -> None:
    for example in drawn.examples:
        places = [example.text.find(f"the {name}") for name in example.candidates]
        places = [place if place >= 0 else example.text.find("The ") for place in places]
        assert places[0] < places[1]
        assert [word.word for word in pronouns_in(example.text)] == [example.slots["pronoun"]]


def test_every_construction_keeps_the_rules_of_sentences() -> None:
    for construction in constructions():
        text = construction.text.replace("{first}", "nurse").replace("{second}", "CEO")
        form = re.search(r"\{(subject|object|possessive)\}", text)
        assert form
        for gender in ("male", "female"):
            filled = text.replace(form[0], pronoun_in_form(form[1], gender))
            assert not broken_rules(filled, ("nurse", "CEO")), filled


def test_no_construction_is_in_the_training_grammar() -> None:
    def bare(text: str) -> str:
        return re.sub(r"\{\w+\}", "_", text).lower()

    assert not {bare(c.text) for c in constructions()} & {bare(template.text) for template in templates()}
    endings = {bare(template.ending) for template in templates()}
    assert not [c.text for c in constructions() if any(bare(c.text).endswith(ending) for ending in endings)]


@pytest.mark.slow
def test_no_sentence_is_in_winobias_or_synthbias(drawn: Dataset, real_data: Callable[[str], Path]) -> None:
    texts = {example.text.lower() for example in drawn.examples}
    for name in ("winobias", "synthbias"):
        assert real_data(name)
        assert not texts & {example.text.lower() for example in open_dataset(name).examples}


def test_verbs_agree_with_other_pronouns() -> None:
    sentences = load_fresh(count=400, pronouns=["he", "they", "xe"]).examples
    plural = [example.text for example in sentences if example.groups["gender"] == "neutral"]
    assert len(plural) == 400 and not [text for text in plural if re.search(r"\bthey (was|has|does)\b", text)]
    assert any("they were" in text for text in plural)


def test_more_than_there_are_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "_pairs", lambda: (("nurse", "driver"),))
    with pytest.raises(DatasetError, match="cannot make 6,000 different sentences"):
        load_fresh(count=12_000)


def test_intervals_say_that_they_are_about_the_population(tmp_path: Path) -> None:
    run = audit("planted", "fresh", limit=60, resamples=20, out=tmp_path / "run", metrics=["flip_rate"])
    assert "drawn at random from 7,168,000; intervals are about all of these" in legend(run)
    assert run.manifest.datasets["fresh"]["population"] == 7_168_000


def test_openings_and_endings_are_joined_with_one_comma() -> None:
    texts = [construction.text for construction in constructions()]
    assert not any(re.search(r",,|, ,| ,|  ", text) for text in texts)
    assert all(text.count("{first}") == text.count("{second}") == 1 for text in texts)
    assert all(text.index("{first}") < text.index("{second}") for text in texts)


def test_more_than_can_be_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.datasets.fresh.TRIES", 0)
    with pytest.raises(
        DatasetError,
        match=r"^fresh cannot make 1,000 different sentences of a type with these pronouns; ask for fewer$",
    ):
        load_fresh(count=2000)


@pytest.mark.parametrize("count", [1, 2, 7, 10])
def test_half_are_resolvable_and_the_odd_one_too(count: int) -> None:
    kinds = Counter(example.groups["type"] for example in load_fresh(count=count).examples)
    assert kinds == Counter({"type2": 2 * ((count + 1) // 2), "type1": 2 * (count // 2)}) - Counter()


def test_roles_become_places_and_the_referent_is_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = {"openings": ["{patient} met {agent},"], "agent": [", who ran.", "who sat."], "patient": ["and fell."]}
    content = {"either": {"openings": ["{first} saw {second}"], "endings": ["there."]}, "scenes": [scene]}
    monkeypatch.setattr(fresh, "_content", lambda: content)
    found = [(one.text, one.referent, one.kind) for one in constructions.__wrapped__()]
    assert found == [
        ("{first} saw {second} there.", None, "type1"),
        ("{first} met {second}, who ran.", 1, "type2"),
        ("{first} met {second}, who sat.", 1, "type2"),
        ("{first} met {second}, and fell.", 0, "type2"),
    ]
    assert [fresh._joined(*parts) for parts in (("a,", ", b"), ("a,", "b"), ("a", ", b"), ("a", "b"))] == [
        *("a, b", "a, b", "a, b", "a b"),
    ]


def test_every_pair_has_one_of_each_stereotype_in_either_order() -> None:
    pairs = fresh._pairs.__wrapped__()
    sides = [(OCCUPATIONS[first].side, OCCUPATIONS[second].side) for first, second in pairs]
    assert len(set(pairs)) == len(pairs) and set(sides) == {("male", "female"), ("female", "male")}
    assert {pair[::-1] for pair in pairs} == set(pairs) and pairs[1] == pairs[0][::-1]
    males = [name for name, known in OCCUPATIONS.items() if known.side == "male"]
    females = [name for name, known in OCCUPATIONS.items() if known.side == "female"]
    assert len(pairs) == 2 * len(males) * len(females) and pairs[0] == (males[0], females[0])
