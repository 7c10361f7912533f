"""An engine that remembers computes only what is new in a prompt, and gives the scores of one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from exactness import plain_scores
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.options import EngineOptions
from equipoise.records import Prompt, Score
from equipoise.scoring.huggingface import prefixes
from equipoise.scoring.huggingface.loading import open_in_memory
from equipoise.scoring.packing import prefix_tree


def prompts(word: str) -> list[Prompt]:
    start = "The driver told the nurse that"
    return [Prompt(who, "task", "", f"{start} {who} was {word} and", (" late", " a cook")) for who in ("he", "she")]


def engine_of() -> Any:
    tokenizer = make_tokenizer()
    engine = open_in_memory((make_model("LlamaConfig", len(tokenizer), **LLAMA), tokenizer), EngineOptions())
    engine.remember()
    return engine


def values(scores: Sequence[Score]) -> list[float]:
    return [value for score in scores for tokens in score.token_logprobs for value in tokens]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list that grows by the nodes of each row that are computed, and by those that predict."""
    sizes: list[tuple[int, int]] = []
    recall = prefixes.Prefixes.recall

    def counted(self: prefixes.Prefixes, row: prefix_tree.Row) -> prefixes.Recall:
        found = recall(self, row)
        sizes.append((len(found.fresh), len(row.nodes)))
        return found

    monkeypatch.setattr(prefixes.Prefixes, "recall", counted)
    return sizes


@pytest.mark.parametrize("start_cost", [10, prefix_tree.START_COST])
def test_a_changed_word_computes_what_follows_it_and_nothing_else(
    computed: list[tuple[int, int]], start_cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix_tree, "START_COST", start_cost)  # many segments, or one
    engine = engine_of()
    (_,) = engine.score([prompts("old")])
    whole, _ = computed[-1]
    for word in ("tired", "young", "old"):
        (scores,) = engine.score([prompts(word)])
        np.testing.assert_allclose(values(scores), values(plain_scores(engine, prompts(word))), atol=1e-5)
        fresh, predicting = computed[-1]
        assert fresh < whole
    # All of a sentence that was asked before is known; what predicts is computed again.
    assert fresh == predicting


def test_an_engine_that_was_not_told_to_remember_does_not(computed: list[tuple[int, int]]) -> None:
    tokenizer = make_tokenizer()
    engine = open_in_memory((make_model("LlamaConfig", len(tokenizer), **LLAMA), tokenizer), EngineOptions())
    (_,) = engine.score([prompts("old")])
    assert not computed and engine._passes.prefixes is None


def test_a_model_whose_answers_change_with_it_goes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = prefixes.Recall.joined

    def doubled(self: prefixes.Recall, *given: Any) -> tuple[Any, ...]:
        return tuple(2 * part for part in joined(self, *given))

    monkeypatch.setattr(prefixes.Recall, "joined", doubled)
    engine = engine_of()
    (scores,) = engine.score([prompts("old")])
    assert engine._passes.prefixes is None and engine.description["scoring"] == "packed prefix trees"
    np.testing.assert_allclose(values(scores), values(plain_scores(engine, prompts("old"))), atol=1e-5)


def test_the_oldest_rows_go(monkeypatch: pytest.MonkeyPatch, computed: list[tuple[int, int]]) -> None:
    engine = engine_of()
    (_,) = engine.score([prompts("old")])
    monkeypatch.setattr(prefixes, "KEPT_NODES", computed[-1][0] + 5)
    for word in ("tired", "young"):
        (_,) = engine.score([prompts(word)])
    kept = engine._passes.prefixes._rows
    assert len(kept) == 1 and kept[0].source is None
    assert all(pair[0].shape[2] == len(kept[0].places) for pair in kept[0].pairs.values())


def test_parents_follow_from_depths() -> None:
    depths = np.array([0, 1, 2, 2, 1, 2, 0, 1])
    assert list(prefixes._parents(depths)) == [-1, 0, 1, 1, 0, 4, -1, 6]
    assert list(prefixes._parents(np.array([], dtype=int))) == []


def test_nodes_are_alike_with_the_same_tokens_before_them() -> None:
    #         a  ab  abc  b
    places = {(-1, 1): 0, (0, 2): 1, (1, 3): 2, (-1, 2): 3}
    others = {(-1, 2): 0, (-1, 1): 1, (1, 2): 2, (2, 9): 3, (0, 3): 4}
    assert prefixes._alike(places, others) == {0: 1, 1: 2, 3: 0}
    assert prefixes._alike(places, places) == {0: 0, 1: 1, 2: 2, 3: 3} and prefixes._alike(places, {}) == {}


def row_of(*sequences: tuple[int, ...]) -> prefix_tree.Row:
    starts = [len(sequence) - 1 for sequence in sequences]
    (row,) = prefix_tree.pack(prefix_tree.Sequences.of(sequences, starts), row_tokens=100)
    return row


def test_the_row_that_shares_most_is_recalled_and_few_rows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = prefixes.Prefixes()
    first, second = kept.recall(row_of((1, 2, 3, 4, 5))), kept.recall(row_of((1, 2, 9, 4, 5)))
    assert first.fresh.tolist() == [0, 1, 2, 3] and first.source is None and len(first.known) == 0
    kept.keep(first)
    kept.keep(second)
    again = kept.recall(row_of((1, 2, 9, 7, 5)))
    assert again.source is second and again.known.tolist() == [0, 1, 2] and again.origins.tolist() == [0, 1, 2]
    assert again.fresh.tolist() == [3]
    # A node that predicts is computed again, for only its keys and values are kept.
    assert kept.recall(row_of((1, 2, 9))).fresh.tolist() == [1]
    monkeypatch.setattr(prefixes, "KEPT_NODES", 8)
    kept.keep(again)
    assert list(kept._rows) == [second, again] and again.source is None
    monkeypatch.setattr(prefixes, "KEPT_NODES", 7)
    kept.keep(first)
    assert list(kept._rows) == [first]


def test_keys_of_known_and_fresh_nodes_are_put_together() -> None:
    import torch

    source = prefixes.Recall({}, np.array([0, 1]), np.array([], int), np.array([], int), None)
    before = torch.arange(12.0).reshape(1, 2, 3, 2)
    assert source.joined(0, before, before + 100)[0] is before
    recall = prefixes.Recall(
        {(-1, number): number for number in range(4)}, np.array([1, 3]), np.array([0, 2]), np.array([2, 0]), source
    )
    fresh = torch.full((1, 2, 2, 2), -1.0)
    key, value = recall.joined(0, fresh, fresh * 2)
    for node, expected in ((0, before[:, :, 2]), (1, fresh[:, :, 0]), (2, before[:, :, 0]), (3, fresh[:, :, 1])):
        assert torch.equal(key[:, :, node], expected)
    assert torch.equal(value[:, :, 0], before[:, :, 2] + 100) and recall.pairs[0] == (key, value)
