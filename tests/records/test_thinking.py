"""Thinking models: reasoning within the budget, a closed think block, then the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exactness import plain_scores
from tiny import LLAMA, make_model, make_tokenizer

import equipoise
from equipoise.datasets import open_dataset
from equipoise.options import EngineOptions
from equipoise.records import Context, Message, Prompt, Score
from equipoise.records.thinking import answer_of, continued, has_thought, is_open, split_thought, think_block
from equipoise.scoring.encoding import Encoder
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.text_store import read_texts
from equipoise.tasks import TaskOptions, open_task

TURNS = "{% for m in messages %}{% set c = m.content %}{% if m.role == 'assistant' and '</think>' in c %}"
TURNS += "{% set c = c.split('</think>')[-1].lstrip('\n') %}{% endif %}<|{{ m.role }}|>{{ c }}</s>{% endfor %}"
OPENED = TURNS + "{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}"
"""As DeepSeek-R1's distillations: earlier reasoning is dropped, and the answer begins inside of a think block."""
WRITTEN = TURNS + "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
"""As Qwen3: the model itself opens the block."""
CLOSED = TURNS + "{% if add_generation_prompt %}<|assistant|><think>\n\n</think>\n\n{% endif %}"
"""As Qwen3 with its thinking switched off."""


class Planted:
    """A writer of a thinking model that notes what it is asked."""

    thinks = True

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, []

    def __call__(self, contexts: Sequence[Context], budget: int, _: Any = None, /) -> Mapping[Context, str]:
        self.asked += [(context, budget) for context in contexts]
        return dict.fromkeys(contexts, self.text)


def prompts_of(task: str, text: str, **options: Any) -> list[Prompt]:
    """Return what the task scores after the model wrote this text."""
    asked: list[Prompt] = []

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        asked.extend(prompts)
        return [Score("", tuple((-1.0,) for _ in prompt.continuations)) for prompt in prompts]

    writer = Planted(text)
    examples = open_dataset("builtin").limited(1).examples
    open_task(task, TaskOptions(reasoning_tokens=9, **options)).run(examples, scorer=scorer, writer=writer)
    assert {budget for _, budget in writer.asked} == {9}
    assert all(context[-1].role == "user" for context, _ in writer.asked)
    return asked


@pytest.mark.parametrize("text", ["it is so", "<think>\nit is so\n</think>\n\nThe cook", "it is so </think> The"])
@pytest.mark.parametrize(("template", "opening"), [(OPENED, "<|assistant|>"), (WRITTEN, "<|assistant|>\n")])
def test_a_chat_is_scored_after_a_closed_think_block(text: str, template: str, opening: str) -> None:
    encoder = Encoder(make_tokenizer(chat=template))
    assert encoder.thinks
    for asked in encoder.asked(prompts_of("next-word", text, chat=True)):
        answer = asked.text.rpartition("<|assistant|>")[1] + asked.text.rpartition("<|assistant|>")[2]
        assert answer.startswith(f'{opening}<think>\nit is so\n</think>\n\nThe pronoun "')
        assert answer.endswith("refers to the") and asked.text.count("<think>") == 1


@pytest.mark.parametrize("turn", ["assistant", "user"])
def test_a_chain_of_thought_keeps_the_reasoning_and_asks_outside_of_it(turn: str) -> None:
    encoder = Encoder(make_tokenizer(chat=OPENED))
    (asked, *_) = encoder.asked(prompts_of("next-word-cot", "it is so</think>The cook.", answer_turn=turn))
    before, _, last = asked.text.rpartition("<|assistant|>")
    if turn == "assistant":
        assert last.startswith("<think>\nit is so\n</think>\n\nThe cook.\nBased on the reasoning above")
    else:
        assert "<|assistant|>it is so\nThe cook.</s><|user|>Based on" in before
        assert last == "<think>\n\n</think>\n\n"


def test_an_open_answer_is_read_after_the_reasoning() -> None:
    class Writer(Planted):
        def __call__(self, contexts: Sequence[Context], budget: int, _: Any = None, /) -> Mapping[Context, str]:
            super().__call__(contexts, budget)
            return {context: "The second one." if context[-1].role == "user" else "Nobody." for context in contexts}

    writer, examples = Writer(""), open_dataset("builtin").limited(1).examples
    options = TaskOptions(reasoning_tokens=9, answer_tokens=5)
    outcomes = open_task("open", options).run(examples, scorer=lambda _: [], writer=writer)
    assert [budget for _, budget in writer.asked] == [9, 9, 5, 5]
    assert writer.asked[2][0][-1].content == "<think>\nThe second one.\n</think>\n\n"
    assert outcomes.predicted.tolist() == [3, 3], "neither: the reasoning is no answer"


def test_other_templates_do_not_think() -> None:
    plain = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    for template in (None, plain, CLOSED, "{{ raise_exception('</think>') }}"):
        assert not Encoder(make_tokenizer(chat=template)).thinks


def test_an_audit_lets_the_model_think_within_the_budget(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(chat=OPENED)
    model = make_model("LlamaConfig", len(tokenizer), **LLAMA)
    settings = {"chat": True, "reasoning_tokens": 6, "limit": 1, "resamples": 2}
    equipoise.audit((model, tokenizer), task="next-word", out=tmp_path / "run", **settings)
    texts = dict(read_texts(tmp_path / "run" / "reasoning.jsonl"))
    table = pd.read_parquet(tmp_path / "run" / "outcomes.parquet")
    assert len(texts) == len(table) == 2
    engine = HuggingFaceEngine(model, tokenizer, name="t", weights={"sha256": ""}, options=EngineOptions(bos="never"))
    questions = {question[0].content: (question, text) for question, text in texts.items()}
    for example in open_dataset("builtin").limited(1).examples:
        ((question, text),) = [pair for content, pair in questions.items() if content.startswith(example.text)]
        pronoun = example.slots["pronoun"]
        thought = text.partition("</think>")[0].strip()
        assert text == engine.generate([question], 6)[0] != ""
        context = f"<|user|>{question[0].content}</s><|assistant|><think>\n{thought}\n</think>\n\n"
        context += f'The pronoun "{pronoun}" refers to the'
        words = tuple(f" {word}" for word in example.candidates)
        (score,) = plain_scores(engine, [Prompt("e", "t", "", context, words)])
        (row,) = table[table["example_id"] == example.id].to_dict("records")
        np.testing.assert_allclose(row["logprobs"], score.logprobs, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>\nso\n</think>\n\nThe cook. ", "so", "The cook."),
        (" <think> so </think> The cook", "so", "The cook"),
        ("so</think>The cook", "so", "The cook"),
        ("<think>so", "so", None),
        ("so", "so", None),
        ("a</think>b</think>c", "a", "b</think>c"),
        ("a <think> b</think> c", "a <think> b", "c"),
    ],
)
def test_a_text_is_split_into_reasoning_and_answer(text: str, thought: str, answer: str | None) -> None:
    assert split_thought(text) == (thought, answer or "") and answer_of(text) == answer


def test_a_conversation_has_a_thought_where_its_last_turn_is_an_answer_with_one() -> None:
    thought = Message("assistant", think_block("so"))
    assert thought.content == "<think>\nso\n</think>\n\n"
    assert has_thought([Message("user", "Who?"), thought]) and not has_thought([thought, Message("user", "Who?")])
    assert not has_thought([Message("user", "</think>")]) and not has_thought([Message("assistant", "the cook")])
    assert not has_thought([thought, Message("assistant", "the cook")])


def test_an_answer_goes_on_where_a_template_ends() -> None:
    assert is_open("<a><think>\n") and not is_open("<think> so") and not is_open("<a>")
    assert continued("<a><think>\n", "<think>\nso") == "<a><think>\nso"
    assert continued("<a>\n", "<think>\nso") == "<a>\n<think>\nso"
