"""The sentences in a reply, as models write them."""

from __future__ import annotations

import pytest

from equipoise.builder.draft.replies import sentences_of

TWO = ["[The cook] met the nurse and saw [her].", "The cook saw [the nurse], and [he] left."]


@pytest.mark.parametrize(
    "reply",
    [
        f"1. {TWO[0]}\n2. {TWO[1]}",
        f"Sure! Here are 2 sentences:\n\n1) {TWO[0]}\n\n2) {TWO[1]}\n\nI hope this helps!",
        f'1. "{TWO[0]}"\n2. “{TWO[1]}”',
        f"**1.** {TWO[0]}\n**2.** {TWO[1]}",
        f"1. **{TWO[0]}**\n2. *{TWO[1]}*",
        f"- {TWO[0]}\n- {TWO[1]}",
        f"```\n1. {TWO[0]}\n2. {TWO[1]}\n```",
        f'["{TWO[0]}", "{TWO[1]}"]',
        f"1: {TWO[0]} (the pronoun is clear)\n2: {TWO[1]} (so is this)",
        f"(1) {TWO[0]}\n(2) {TWO[1]}",
        f"1. {TWO[0][:18]}\n{TWO[0][18:].strip()}\n2. {TWO[1]}",
        f"1.\n{TWO[0]}\n2.\n{TWO[1]}",
        f"{TWO[0]}\n{TWO[1]}",
        f"  1.  {TWO[0]}\r\n  2.  {TWO[1]}\r\n",
    ],
)
def test_lists_as_models_write_them(reply: str) -> None:
    assert [" ".join(one.split()) for one in sentences_of(reply)] == TWO


def test_a_reply_that_ran_out_of_tokens_loses_its_half_sentence() -> None:
    cut = f"1. {TWO[0]}\n2. The cook saw the"
    assert sentences_of(cut, cut_off=True) == TWO[:1]
    assert len(sentences_of(cut)) == 2


@pytest.mark.parametrize("reply", ["", "I cannot help with that", "```\n```"])
def test_no_list_is_no_sentence(reply: str) -> None:
    assert sentences_of(reply) == []
