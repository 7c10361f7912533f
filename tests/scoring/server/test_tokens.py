"""Prompts become the token ids of the server's own tokenizer and template."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from served import PROMPTS, assert_true, opened, scored

from equipoise.records import Message, Prompt
from equipoise.scoring.engine import identity_key


@pytest.mark.parametrize("bos", [False, True])
def test_given_text_is_scored_with_the_server_s_own_beginning_of_text(serve: Any, bos: bool) -> None:
    engine = opened(serve(bos=bos))
    assert (engine.name, engine.description["scoring"]) == ("toy", "log-probabilities of given text")
    scores = scored(engine, PROMPTS)
    assert_true(scores, PROMPTS, bos=bos)
    assert [score.prompt_key for score in scores] == [prompt.key(identity_key(engine)) for prompt in PROMPTS]
    without = opened(serve(bos=bos), bos="never")
    assert_true(scored(without, PROMPTS[:3]), PROMPTS[:3])
    assert (identity_key(without) == identity_key(engine)) == (not bos)


THOUGHT = "<think>\nit is so\n</think>\n\nIt is"


ASKED = (Message("user", "Who is it?"), Message("assistant", THOUGHT))


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize(("template", "fault"), [("text", ""), ("ids", ""), ("ids", "odd text")])
def test_a_thinking_model_is_scored_after_its_closed_reasoning(
    serve: Any, template: str, fault: str, bos: bool
) -> None:
    engine = opened(serve(fault, template=template, bos=bos))
    assert engine.description["thinks"] is True
    prompt = Prompt("e", "next-word", "", ASKED, (" the nurse", " a cook"))
    text = "<user>Who is it?<assistant>" + THOUGHT
    # The template of vLLM brings its own beginning of text; llama.cpp takes it away, and it is put back.
    assert_true(scored(engine, [prompt]), [replace(prompt, context=text)], bos=bos)
    assert identity_key(engine) != identity_key(opened(serve(bos=bos))), "the template is part of the identity"
