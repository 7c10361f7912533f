"""Every way to get a score from a server gives the right one, or says how far it is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from served import CHOICES, PROMPTS, expected, opened, scored

from equipoise.records import ModelError
from equipoise.scoring.server.methods import named


def test_a_candidate_outside_of_the_top_k_is_an_upper_bound_and_is_flagged(serve: Any) -> None:
    engine = opened(serve("echo ignored", top=20))
    assert engine.description["scoring"] == "next-token log-probabilities, top 20"
    scores = scored(engine, PROMPTS)
    exact = 0
    for score, prompt in zip(scores, PROMPTS, strict=True):
        true = [math.exp(math.fsum(values)) for values in expected(prompt)]
        assert score.limits is not None
        assert all(
            a - 1e-12 <= p <= b + 1e-12 for a, p, b in zip(score.limits.low, true, score.limits.high, strict=True)
        )
        assert 0.0 in score.limits.low
        for tokens, values in zip(score.token_logprobs, expected(prompt), strict=True):
            assert all(given >= value - 1e-9 for given, value in zip(tokens, values, strict=True))
            exact += sum(given == pytest.approx(value) for given, value in zip(tokens, values, strict=True))
        assert score.flags == ("bounded",)
    assert exact > 0


def test_a_token_within_a_character_is_asked_for_by_writing_another_one(serve: Any) -> None:
    server = serve("echo ignored", "half characters")
    engine = opened(server)
    prompts = [replace(PROMPTS[0], context=f"{number} {PROMPTS[0].context}") for number in range(40)]
    for score, prompt in zip(scored(engine, prompts), prompts, strict=True):
        for tokens, values in zip(score.token_logprobs, expected(prompt), strict=True):
            assert tokens == pytest.approx(values)
    forced = [body for body in server.bodies if "logit_bias" in body]
    proven = [body for body in forced if isinstance(body["prompt"][0], list)]
    assert len(proven) > 3, "beside a known question; the second one of a prompt is compared with the first"
    server.faults.add("takes no bias")
    with pytest.raises(ModelError, match="leaves out the log-probabilities of a token that ends within a character"):
        scored(engine, [replace(prompt, context=f"But {prompt.context}") for prompt in prompts])


def test_a_chat_server_can_do_multiple_choice_only(serve: Any) -> None:
    engine = opened(serve("chat only", "no tokenize"))
    assert engine.description["scoring"] == "first token of a chat answer, top 6"
    for score, prompt in zip(scored(engine, CHOICES), CHOICES, strict=True):
        rng = np.random.default_rng([0, sum(str(prompt.context).encode())])
        probs = rng.dirichlet(np.ones(6))
        assert np.exp(score.logprobs) == pytest.approx([probs[0] + probs[1], probs[2], probs[3]])
        assert score.flags == ()
    with pytest.raises(ModelError, match="toy offers only first token of a chat answer, top 6, which can do mcq, but"):
        scored(engine, PROMPTS)


def test_the_truth_is_within_the_limits_of_letters_outside_of_chat_s_top_k(serve: Any) -> None:
    missing = 0
    for score, prompt in zip(scored(opened(serve("chat only", "no tokenize", "few")), CHOICES), CHOICES, strict=True):
        probs = np.random.default_rng([0, sum(str(prompt.context).encode())]).dirichlet(np.ones(6))
        true = np.array([probs[0] + probs[1], probs[2], probs[3]])
        assert score.flags == ("bounded",) and score.limits is not None
        low, high = np.array(score.limits.low), np.array(score.limits.high)
        assert (low - 1e-12 <= true).all() and (true <= high + 1e-12).all()
        left, last = np.sort(probs)[:2].sum(), np.sort(probs)[2]
        assert (high - low <= min(left, 2 * last) + 1e-12).all() and (high > low).any()
        # What was seen is the value; a letter that was not seen has all that it may have.
        np.testing.assert_allclose(np.exp(score.logprobs), np.where(low > 0, low, high))
        missing += int((low == 0).sum())
    assert missing > 5


def test_sampled_answers_estimate_the_probabilities(serve: Any) -> None:
    server = serve("chat only", "no tokenize", "no logprobs")
    with pytest.raises(ModelError, match="set samples, such as 32"):
        opened(server)
    engine = opened(server, samples=400)
    assert engine.description["scoring"] == "400 sampled answers, drawn from all tokens"
    for score, prompt in zip(scored(engine, CHOICES[:6]), CHOICES, strict=False):
        probs = np.random.default_rng([0, sum(str(prompt.context).encode())]).dirichlet(np.ones(6))
        np.testing.assert_allclose(np.exp(score.logprobs), [probs[0] + probs[1], probs[2], probs[3]], atol=0.12)
        assert score.flags == ("sampled",) and math.fsum(np.exp(score.logprobs)) < 1
        assert score.limits is not None and sum(score.limits.counts) == 400
        np.testing.assert_allclose(np.exp(score.logprobs), (np.array(score.limits.counts[:3]) + 0.5) / 402)


def test_an_answer_names_the_candidate_that_it_begins_with() -> None:
    options = (" nurse", " nurse practitioner", " A")
    answers = ["Nurse practitioner.", " the nurse", "nurse, of course", "nurses", "A", "A.", "An apple", ""]
    assert [named(answer, options) for answer in answers] == [1, None, 0, None, 2, 2, None, None]
