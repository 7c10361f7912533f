"""The identity of an engine is one string, and batches end where prompts share least."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from tiny import make_engine

from equipoise.records import Example, ModelError, Prompt, TaskNotPossible
from equipoise.scoring.engine import (
    EVERY,
    PRONOUNS,
    EngineDefaults,
    EngineElsewhere,
    _border,
    _shared,
    facts_of,
    identity_key,
    in_order,
    left_out,
    neighbours,
    noted,
)
from equipoise.scoring.planted import PlantedEngine


def test_the_identity_is_one_string_whatever_the_order_of_its_parts() -> None:
    class Swapped(PlantedEngine):
        @property
        def identity(self) -> dict[str, object]:
            return dict(reversed(list(super().identity.items())))

    assert identity_key(Swapped()) == identity_key(PlantedEngine())
    assert identity_key(PlantedEngine(bias=0.25)) != identity_key(PlantedEngine())


def test_the_first_batch_is_small_and_batches_end_between_sentences() -> None:
    prompts = [
        Prompt(f"{number}-{pronoun}", "t", "", f"{number:04} said that {pronoun} was late", (" a",))
        for number in range(1500)
        for pronoun in ("he", "she", "they")
    ]
    batches = neighbours(prompts[::-1], size=2048)
    assert sorted(place for batch in batches for place in batch) == list(range(len(prompts)))
    # The second ends where 0599 becomes 0600: there the texts share less than at its full size.
    assert [len(batch) for batch in batches] == [6, 1794, 1800, 900]
    # The three prompts of a sentence are in one batch.
    assert all(len({prompts[::-1][place].context[:4] for place in batch}) * 3 == len(batch) for batch in batches)
    assert neighbours([], size=128) == []
    assert [len(batch) for batch in neighbours(prompts[:300], size=128)] == [6, 114, 120, 60]
    for size in range(1, 6):
        sizes = [len(batch) for batch in neighbours(prompts[:20], size=size)]
        assert sum(sizes) == 20 and all(1 <= number <= size for number in sizes)


def test_what_is_noted_of_examples_elsewhere() -> None:
    def example(id: str, gender: str, pronoun: str) -> Example:
        return Example(
            id, "A text.", ("a", "b"), None, False, None, {"gender": gender}, "s", slots={"pronoun": pronoun}
        )

    several = [example("1", "male", "he"), example("2", "female", "she"), example("3", "male", "he")]
    several.append(example("4", "neutral", "he"))
    assert [one.id for one in noted(several, PRONOUNS)] == ["3", "2", "4"]
    assert noted(several, EVERY) == several and noted(several, "") == []


class Plain(EngineDefaults):
    """An engine that leaves all as it is."""

    name = "plain"
    identity: ClassVar[dict[str, Any]] = {"b": 2, "a": [1]}


def test_what_most_engines_leave_as_it_is() -> None:
    engine = Plain()
    assert (engine.description, engine.notes, engine.tasks, engine.texts_at_once) == ({}, (), (), 16)
    assert engine.prepare([]) is None and engine.remember() is None  # type: ignore[func-returns-value]
    prompts = [Prompt(str(number), "t", "", "", ("a",)) for number in range(4097)]
    assert engine.batches(prompts) == [list(range(4096)), [4096]]
    with pytest.raises(TaskNotPossible, match=r"^plain does not show its tokens; a model that is loaded here does$"):
        engine.token_texts(prompts)
    with pytest.raises(TaskNotPossible, match=r"^plain cannot write text; use a task that only scores, such as next-"):
        engine.generate(["a"], 3)
    assert identity_key(engine) == hashlib.sha256(b'{"a": [1], "b": 2}').hexdigest()  # type: ignore[arg-type]


def test_facts_of_an_engine_for_another_process() -> None:
    facts = {"name": "plain", "identity": Plain.identity, "description": {}, "neighbours": None}
    assert facts_of(Plain()) == {**facts, "in_order": True, "texts_at_once": 16, "prepares": ""}
    assert facts_of(PlantedEngine())["prepares"] == EVERY
    assert facts_of(make_engine())["prepares"] == PRONOUNS

    class Grouped(Plain):
        def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
            return [[0]]

    assert facts_of(Grouped())["in_order"] is False
    shaped = Plain()
    shaped.shape = type("Shape", (), {"prompts": 7})  # type: ignore[attr-defined]
    assert facts_of(shaped)["neighbours"] == 7


def test_an_engine_elsewhere_is_what_its_process_says() -> None:
    about = {**facts_of(Plain()), "description": {"mode": "a"}}
    engine = EngineElsewhere(about, 3)
    assert (engine.name, engine.identity, engine.notes, engine.texts_at_once) == ("plain", Plain.identity, [], 48)
    engine._update({"mode": "b"}, ["one", "two"])
    engine._update({"mode": "c"}, ["two", "three"])
    assert engine.notes == ["one", "two", "three"] and engine._about["description"] == {"mode": "c"}
    assert about["description"] == {"mode": "a"}
    fault = ModelError("too long")
    with pytest.raises(ModelError), engine._noting():
        raise fault
    assert len(engine.notes) == 3
    fault.example_ids = ("a", "b")
    with pytest.raises(ModelError), engine._noting():
        raise fault
    note = "a, b left out with the other sentences of the set: too long"
    assert engine.notes[3:] == [note] == [left_out(fault)]


@given(st.integers(0, 40), st.integers(1, 12))
def test_batches_in_order_hold_every_prompt_once(count: int, size: int) -> None:
    batches = in_order(count, size=size)
    assert [place for batch in batches for place in batch] == list(range(count))
    assert all(len(batch) == size for batch in batches[:-1]) and all(0 < len(batch) <= size for batch in batches)


@given(st.text("ab", max_size=5), st.text("ab", max_size=5))
def test_how_much_two_texts_share(text: str, other: str) -> None:
    shared = _shared(text, other)
    assert (text[:shared] == other[:shared] and text[: shared + 1] != other[: shared + 1]) or shared == min(
        len(text), len(other)
    )


def test_a_batch_ends_at_the_latest_place_of_the_shortest_shared_beginning() -> None:
    texts = ["aa", "ab", "b", "ba", "bb", "bba"]
    order = list(range(6))
    assert [_border(texts, order, latest, 2) for latest in (6, 7, 5, 4, 3, 2)] == [6, 6, 4, 2, 2, 2]
    assert _border(["a", "a", "a", "a"], [0, 1, 2, 3], 3, 2) == 3


def test_batches_of_drawn_prompts_are_as_they_were_kept() -> None:
    rng = random.Random(3)
    rows: dict[str, Any] = {}
    for count, size in ((40, 16), (300, 64), (2600, 4096), (2600, 600)):
        texts = ["".join(rng.choice("abc") for _ in range(rng.randint(1, 9))) for _ in range(count)]
        batches = neighbours([Prompt(str(n), "t", "", text, ("x",)) for n, text in enumerate(texts)], size=size)
        rows[f"{count} in {size}"] = [[len(batch), batch[:3], batch[-1]] for batch in batches]
        assert sorted(place for batch in batches for place in batch) == list(range(count))
    assert_kept("scoring/neighbours", json.loads(json.dumps(rows)))
