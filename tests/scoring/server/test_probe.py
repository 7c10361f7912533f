"""Whatever a server does wrong is found out before the first prompt."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from served import CHOICES, PROMPTS, assert_true, opened, scored

from equipoise.records import Message, ModelError


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["echo ignored", "shifted", "nulls", "other tokens", "own answers"])
@pytest.mark.parametrize("bos", [False, True])
def test_wrong_log_probabilities_of_given_text_are_found_and_candidates_walked_instead(
    serve: Any, fault: str, bos: bool
) -> None:
    engine = opened(serve(fault, bos=bos))
    assert engine.description["capabilities"]["given text"].startswith("no: ")
    assert engine.description["scoring"] == "next-token log-probabilities, whole vocabulary"
    assert_true(scored(engine, PROMPTS), PROMPTS, bos=bos)
    assert "scored by a server: next-token log-probabilities, whole vocabulary" in engine.notes


@pytest.mark.parametrize("fault", ["sharpened", "too much mass", "no logprobs"])
def test_what_cannot_be_trusted_is_refused_with_the_reason(serve: Any, fault: str) -> None:
    server = serve(fault)
    server.refuse["/v1/chat/completions"] = [404] * 9
    with pytest.raises(ModelError, match=r"no log-probabilities that can be trusted .*next tokens: no: .*set samples"):
        opened(server)


def test_a_chat_that_thinks_is_sampled_after_its_reasoning_or_refused(serve: Any) -> None:
    server = serve("chat only", "no tokenize", "thinks")
    with pytest.raises(ModelError, match=r"the model reasons before it answers.*set samples"):
        opened(server)
    engine = opened(server, samples=40, reasoning_tokens=9)
    (score,) = scored(engine, CHOICES[:1])
    assert 9 + 8 in [body.get("max_tokens") for body in server.bodies] and score.flags == ("sampled",)
    assert math.fsum(np.exp(score.logprobs)) > 3 * 0.5 / 42, "answers after the reasoning name letters"
    (text,) = engine.generate([(Message("user", "Who?"),)], 5)
    assert 9 + 5 in [body.get("max_tokens") for body in server.bodies] and text.split()[0] in (
        "A",
        "B",
        "C",
        "The",
        "",
    ), "the answer alone"
