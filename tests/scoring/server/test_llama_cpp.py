"""A real llama.cpp server with the default model: probed, and close to the same model in process."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from server_llama_cpp import served
from threads import apart

from equipoise.options import EngineOptions
from equipoise.records import Message, Prompt
from equipoise.scoring.opening import open_engine
from equipoise.scoring.server.api import Api, served_models
from equipoise.scoring.server.http_client import Client, Limits
from equipoise.scoring.server.methods import ChatLetter, without_beginning
from equipoise.scoring.server.tokens import ServerTokens

SAME = 0.01
"""The share by which a server's answers to one question may differ: what it keeps of earlier prompts is rounded."""

PROMPTS = [
    Prompt(f"{who}-{pronoun}", "next-word", "", text.format(who, pronoun, pronoun), (" nurse", f" {who}"))
    for who in ("carpenter",)
    for pronoun in ("he", "she")
    for text in ('The {} thanked the nurse because {} was kind. The pronoun "{}" refers to the',)
]


@pytest.fixture(scope="module")
def url(default_model_folder: Path) -> Iterator[str]:
    with served() as address:
        yield address


@pytest.mark.slow
def test_candidates_are_walked_and_close_to_the_same_model_in_process(url: str, default_engine: Any) -> None:
    engine: Any = open_engine("smollm2", EngineOptions(server=url))
    assert engine.description["capabilities"]["given text"].startswith("no: ")  # echo is ignored silently
    assert engine.description["scoring"] == "next-token log-probabilities, whole vocabulary"
    (served,), (local,) = list(engine.score([PROMPTS])), list(default_engine.score([PROMPTS]))
    for left, right in zip(served, local, strict=True):
        assert [len(tokens) for tokens in left.token_logprobs] == [len(tokens) for tokens in right.token_logprobs]
        np.testing.assert_allclose(left.logprobs, right.logprobs, atol=0.5)  # llama.cpp quantises activations
    (text,) = engine.generate([(Message("user", "What is the capital of France? Answer in one word."),)], 9)
    assert "Paris" in text
    turn = (Message("user", "What is the capital of France?"), Message("assistant", "The capital of France is"))
    ((score,),) = engine.score([[Prompt("chat", "next-word", "", turn, (" Paris", " banana"))]])
    assert score.logprobs[0] > score.logprobs[1] + 3


@pytest.mark.slow
def test_candidates_whose_tokens_end_within_a_character_are_scored(url: str, default_engine: Any) -> None:
    text = "医生感谢护士，因为他帮了很大的忙。"
    prompt = Prompt("zh", "next-word", "", f'{text} The pronoun "他" refers to the', (" 医生", " 护士"))
    engine: Any = open_engine("smollm2", EngineOptions(server=url))
    ((served,),), ((local,),) = list(engine.score([[prompt]])), list(default_engine.score([[prompt]]))
    for left, right in zip(served.token_logprobs, local.token_logprobs, strict=True):
        np.testing.assert_allclose(left, right, atol=1.0)  # of improbable tokens, where quantised activations tell


@pytest.mark.slow
def test_answers_are_drawn_from_all_tokens_whatever_the_server_s_own_settings(url: str) -> None:
    async def asked() -> tuple[dict[int, float], list[str | None], bool | None]:
        async with Client(url, Limits(attempts=1)) as client:
            (name,) = await served_models(client)
            api = Api(client, name)
            ids = await api.tokenize("The doctor told the nurse that she", special=False)
            texts = await api.write(ids, tokens=1, temperature=1.0, count=100)
            return await api.next_tokens(ids, 100), texts, api.draws_whole

    table, texts, is_whole = apart(lambda: asyncio.run(asked()))
    best = max(table.values())
    likely = sum(math.exp(value) for value in table.values() if value > best + math.log(0.05))
    assert is_whole and likely < 0.85
    # llama.cpp's own min_p of 0.05 leaves 11 words.
    assert len(set(texts)) > 15


@pytest.mark.slow
@pytest.mark.parametrize("top", [2, 5, 20])
def test_the_limits_of_a_chat_s_top_k_hold_the_probabilities_of_the_whole_vocabulary(url: str, top: int) -> None:
    prompts = [
        Prompt(
            text, "mcq", "", f"{text}\n A.the nurse\n B.the cook\n C.None of the above\n Answer:", (" A", " B", " C")
        )
        for text in ("Who is kind?", "Choose the right option. Who sings?", "Reply with one letter: who is tall?")
    ]

    async def asked() -> None:
        client = Client(url, Limits())
        api = Api(client, (await served_models(client))[0])
        tokens = await ServerTokens.open(api, bos="auto")
        for prompt in prompts:
            score = await ChatLetter(api, top).score(prompt, "key")
            everything = await api.next_tokens(await tokens.context(without_beginning(prompt.context)), 10**6)
            assert score.limits is not None and score.flags == ("bounded",)
            for letter, low, high in zip("ABC", score.limits.low, score.limits.high, strict=True):
                spellings = [await api.tokenize(text, special=False) for text in (letter, f" {letter}")]
                true = sum(math.exp(everything[token]) for (token,) in spellings)
                assert low * (1 - SAME) - SAME <= true <= high * (1 + SAME) + SAME
                assert 0 <= high - low <= 2 / top

    apart(lambda: asyncio.run(asked()))
