"""Continuations that begin with one another share no probability, as adding up every text shows."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.options import EngineOptions
from equipoise.records import Prompt, Score
from equipoise.records.limits import ScoreLimits
from equipoise.records.prompts import NESTED, is_nested
from equipoise.scoring.ensemble import mixture
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.nesting import apart, nesting, stops
from equipoise.scoring.score_store import ScoreStore

Ids = tuple[int, ...]
VOCABULARY = 3
sequences = st.lists(
    st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=4).map(tuple), min_size=2, max_size=5
)


def conditional(before: Ids) -> np.ndarray:
    """Return a next-token distribution that depends on all that precedes."""
    weights = np.random.default_rng([7, *before]).random(VOCABULARY) + 0.05
    return np.asarray(weights / weights.sum())


def logprobs(ids: Ids) -> tuple[float, ...]:
    return tuple(math.log(conditional(ids[:place])[token]) for place, token in enumerate(ids))


@given(sequences.filter(lambda several: len(set(several)) == len(several)))
def test_every_text_counts_for_the_longest_continuation_that_it_begins_with(several: list[Ids]) -> None:
    """Brute force: all texts up to the longest continuation, each given to the longest one that it begins with."""
    values = [logprobs(ids) for ids in several]
    found = Score("", tuple(values), stops=stops(values, nesting(several)))
    longest = max(map(len, several))
    expected = dict.fromkeys(several, 0.0)
    for text in product(range(VOCABULARY), repeat=longest):
        begun = [ids for ids in several if text[: len(ids)] == ids]
        if begun:
            expected[max(begun, key=len)] += math.exp(math.fsum(logprobs(text)))
    # A continuation that always goes on keeps the least probability that a logarithm can show.
    assert np.exp(found.logprobs) == pytest.approx(np.array(list(expected.values())), abs=1e-9)
    assert is_nested(["".join(map(str, ids)) for ids in several]) == bool(nesting(several))


def test_limits_stay_around_the_probability() -> None:
    nested = nesting([(1,), (1, 2)])
    limits = apart(ScoreLimits((0.3, 0.0), (0.3, 0.1)), nested)
    assert limits.low == pytest.approx((0.2, 0.0)) and limits.high == pytest.approx((0.3, 0.1))
    unchanged = ScoreLimits((0.3,), (0.4,))
    assert apart(unchanged, ()) is unchanged


def test_a_model_s_answer_is_that_of_all_continuations_up_to_the_longer_one(tmp_path: Path) -> None:
    tokenizer = make_tokenizer()
    model = make_model("LlamaConfig", len(tokenizer), **LLAMA)
    engine = HuggingFaceEngine(model, tokenizer, name="tiny", weights={"sha256": ""}, options=EngineOptions())
    prompt = Prompt("e", "next-word", "", "The nurse told the", (" nurse", " nurse driver", " driver"))
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        (score,) = store.scorer(engine)([prompt])
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        assert store.scorer(engine)([prompt]) == [score], "what was kept is read back with its stops"
    assert NESTED in score.flags
    (question,) = engine._encoder.questions([prompt])
    start = question.starts[0]
    shorter, longer = (list(ids) for ids in question.sequences[:2])
    assert len(longer) == len(shorter) + 1

    def after(ids: list[int]) -> Any:
        with torch.inference_mode():
            return model(torch.tensor([ids])).logits[0, -1].double().softmax(dim=-1)

    alone = float(after(shorter[:start])[shorter[start]])
    others = after(shorter)
    kept = sum(float(others[token]) for token in range(len(others)) if token != longer[-1])
    assert math.exp(score.logprobs[0]) == pytest.approx(alone * kept, abs=1e-6)
    assert math.exp(score.logprobs[1]) == pytest.approx(alone * float(others[longer[-1]]), abs=1e-6)
    both = mixture("", [score, score])
    assert both.logprobs == pytest.approx(score.logprobs, abs=1e-9)
    plain = Prompt("e", "next-word", "", "The nurse told the", (" nurse", " driver"))
    assert prompt.key("") != plain.key("")


def test_of_continuations_in_one_another_each_holds_the_next() -> None:
    one, two, three, apart_from = (1,), (1, 2), (1, 2, 3), (4, 5)
    assert nesting([one, two, three]) == ((1,), (2,), ())
    assert nesting([three, apart_from, two, one]) == ((), (), (0,), (2,))
    assert nesting([one, (1, 2), (1, 3), (1, 3, 4)]) == ((1, 2), (), (3,), ())
    assert nesting([one, one]) == nesting([one]) == nesting([]) == nesting([one, apart_from]) == ()
    limits = apart(ScoreLimits((0.5, 0.2, 0.1), (0.6, 0.3, 0.2)), nesting([one, two, three]))
    assert limits.low == pytest.approx((0.2, 0.0, 0.1)) and limits.high == pytest.approx((0.4, 0.2, 0.2))
    assert apart(ScoreLimits((0.1, 0.0), (0.1, 0.5)), nesting([one, two])).low == (0.0, 0.0)
    assert apart(ScoreLimits((0.1, 0.5), (0.1, 0.5)), nesting([one, two])).high == (0.0, 0.5)
    assert stops(((0.0,), (0.0, 0.0)), nesting([one, two])) == (pytest.approx(math.log(1e-12)), 0.0)
