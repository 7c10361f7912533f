"""The time that a chat template prints is the run's, in process and from the source that a server shows."""

from __future__ import annotations

import pytest
from tiny import make_tokenizer

from equipoise.records import Message, ModelError
from equipoise.scoring.encoding import Encoder
from equipoise.scoring.huggingface.templates import render_template, stopped_clock

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
CLOCK = "{{ strftime_now('%d %b %Y, %H:%M:%S') }}" + TURNS
TIME = "2020-02-03T04:05:06"
QUESTION = (Message("user", "Who is it?"),)


def encoder(template: str, time: str = TIME) -> Encoder:
    return Encoder(make_tokenizer(chat=template), time=time)


def test_the_time_is_the_run_s_and_in_its_identity() -> None:
    text = encoder(CLOCK)._text(QUESTION)[0]
    assert text == "03 Feb 2020, 04:05:06<|user|>Who is it?<|assistant|>"
    later = encoder(CLOCK, "2020-02-03T04:05:07")
    assert encoder(CLOCK).identity["chat_time"] == TIME != later.identity["chat_time"]
    assert "chat_time" not in encoder(TURNS).identity
    assert render_template(CLOCK, {}, QUESTION, "closed", TIME) + "<|assistant|>" == text
    turns = [message._asdict() for message in QUESTION]
    shown = make_tokenizer(chat=CLOCK).apply_chat_template(turns, tokenize=False)
    assert not str(shown).startswith("03 Feb 2020"), "the clock of others goes on"


def test_a_template_that_fails_is_named_in_one_sentence() -> None:
    with pytest.raises(ModelError, match=r"the model's chat template fails: TemplateError: not so"):
        render_template("{{ raise_exception('not so') }}", {}, QUESTION, "answer", TIME)


def test_every_end_of_a_conversation_and_every_variable_reach_the_template() -> None:
    template = "{{ bos }}" + TURNS + "{% if add_generation_prompt %}[answer]{% endif %}"
    turns = (*QUESTION, Message("assistant", "The"))
    shown = {
        end: render_template(template, {"bos": "B"}, turns, end, TIME) for end in ("answer", "closed", "continued")
    }
    assert shown["closed"] == "B<|user|>Who is it?<|assistant|>The"
    assert shown["answer"] == f"{shown['closed']}[answer]" and shown["continued"] == shown["closed"]


def test_a_clock_is_stopped_within_its_block_alone() -> None:
    with stopped_clock(CLOCK, TIME):
        assert render_template(CLOCK, {}, QUESTION, "closed", "1999-01-01T00:00:00").startswith("01 Jan 1999")
        assert render_template(CLOCK, {}, QUESTION, "closed", TIME).startswith("03 Feb 2020")
    with stopped_clock(TURNS, "no time at all"):
        pass  # a template without a clock needs none
