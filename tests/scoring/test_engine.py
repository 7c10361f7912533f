"""The identity of an engine is one string, and batches end where prompts share least."""

from __future__ import annotations

from equipoise.records import Prompt
from equipoise.scoring.engine import identity_key, neighbours
from equipoise.scoring.planted import PlantedEngine


def test_the_identity_is_one_string_whatever_the_order_of_its_parts() -> None:
    class Swapped(PlantedEngine):
        @property
        def identity(self) -> dict[str, object]:
            return dict(reversed(list(super().identity.items())))

    assert identity_key(Swapped()) == identity_key(PlantedEngine())
    assert identity_key(PlantedEngine(bias=0.25)) != identity_key(PlantedEngine())


def test_batches_grow_and_end_between_sentences() -> None:
    prompts = [
        Prompt(f"{number}-{pronoun}", "t", "", f"{number:04} said that {pronoun} was late", (" a",))
        for number in range(1500)
        for pronoun in ("he", "she", "they")
    ]
    batches = neighbours(prompts[::-1], size=2048)
    assert sorted(place for batch in batches for place in batch) == list(range(len(prompts)))
    # The fourth ends where the number becomes 1000: there the texts share nothing.
    assert [len(batch) for batch in batches] == [510, 510, 1020, 960, 1500]
    # The three prompts of a sentence are in one batch.
    assert all(len({prompts[::-1][place].context[:4] for place in batch}) * 3 == len(batch) for batch in batches)
    assert neighbours([], size=128) == []
    assert [len(batch) for batch in neighbours(prompts[:300], size=128)] == [120, 120, 60]
