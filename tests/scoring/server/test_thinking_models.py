"""Thinking models behind a server: reasoning within a budget, a closed think block, then the score."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gguf_floats import write_floats
from server_llama_cpp import LlamaCpp
from server_proxy import Proxy

import equipoise
from equipoise.options import EngineOptions
from equipoise.records import Message, ModelError, Prompt
from equipoise.scoring.default_model import gguf_file
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.opening import open_engine
from equipoise.scoring.text_store import read_texts

pytestmark = pytest.mark.slow

TURN = "<|im_start|>{{ m.role }}\n{{ c }}<|im_end|>\n"
OPENED = "{{ bos_token }}{% for m in messages %}{% set c = m.content.split('</think>')[-1] %}" + TURN + "{% endfor %}"
OPENED += "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
"""As DeepSeek-R1's distillations: earlier reasoning is dropped, and the answer begins inside of a think block.

llama.cpp takes the token away that stands for `bos_token` here, because its tokenizer puts it before every text.
"""

WRITTEN = "{% for m in messages %}{% set c = m.content %}{% if m.role == 'assistant' and m.reasoning_content %}"
WRITTEN += "{% set c = '<think>\n' + m.reasoning_content + '\n</think>\n\n' + c %}{% endif %}" + TURN + "{% endfor %}"
WRITTEN += "{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking is defined and not "
WRITTEN += "enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
"""As Qwen3: the model opens the block, and llama.cpp returns what is in it as `reasoning_content`."""

LAYERS = 3


@pytest.fixture(scope="module")
def small(default_model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The first layers of the default model in float32, with a beginning-of-text token before every text."""
    pytest.importorskip("xllamacpp", reason="needs xllamacpp, of the dev extra")
    model = tmp_path_factory.mktemp("gguf") / "small.gguf"
    write_floats(gguf_file(), model, layers=LAYERS, bos=True)
    yield model
    model.unlink()


@pytest.fixture(scope="module")
def url(small: Path) -> Iterator[str]:
    """These layers behind llama.cpp."""
    server = LlamaCpp(small, template=OPENED, exact=True)
    yield f"http://127.0.0.1:{server.port}/v1"
    server.kill()


@pytest.fixture(scope="module")
def local(default_model_folder: Path) -> HuggingFaceEngine:
    """The same layers in process."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(default_model_folder, num_hidden_layers=LAYERS, dtype="float32")
    tokenizer = AutoTokenizer.from_pretrained(default_model_folder)
    tokenizer.chat_template = OPENED
    return HuggingFaceEngine(model.eval(), tokenizer, name="small", weights={"sha256": ""}, options=EngineOptions())


def test_the_same_reasoning_and_the_same_scores_as_in_process(url: str, local: HuggingFaceEngine) -> None:
    served: Any = open_engine("smollm2", EngineOptions(server=url))
    assert served.description["thinks"] is local.description["thinks"] is True
    question = (Message("user", "The nurse met the cook because she was ill. Who was ill?"),)
    (text,) = served.generate([question], 12)
    assert [text] == local.generate([question], 12) and text
    for answer in (f"<think>\n{text}\n</think>\n\nIt was the", "<think>\n\n</think>\n\nIt was the"):
        prompt = Prompt("e", "next-word", "", (*question, Message("assistant", answer)), (" nurse", " electrician"))
        ((there,),), ((here,),) = served.score([[prompt]]), local.score([[prompt]])
        assert [len(tokens) for tokens in there.token_logprobs] == [len(tokens) for tokens in here.token_logprobs]
        for left, right in zip(there.token_logprobs, here.token_logprobs, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-3)


def test_an_audit_of_a_served_model_keeps_its_reasoning(url: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"chat": True, "reasoning_tokens": 6, "limit": 1, "resamples": 2, "server": url}
    run = equipoise.audit(data="builtin", out=tmp_path / "run", **settings)
    assert run.manifest.engine["thinks"] is True
    texts = dict(read_texts(tmp_path / "run" / "reasoning.jsonl"))
    assert len(texts) == 2 and all(texts.values())


@pytest.fixture(scope="module")
def chat_only(small: Path) -> Iterator[str]:
    """A server of which only the chat can be reached, and whose model writes a think block and then a letter."""
    server = LlamaCpp(small, template=WRITTEN, grammar='root ::= "<think>\\n" [a-z ]{12,24} "</think>\\n\\n" [ABC]')
    proxy = Proxy(server.port, "/tokenize", "/apply-template", "/v1/completions")
    yield proxy.url
    proxy.close()
    server.kill()


def test_without_token_ids_the_first_token_is_not_the_answer(chat_only: str) -> None:
    with pytest.raises(ModelError, match=r"top_logprobs: no: the model reasons before it answers\); set samples"):
        open_engine("smollm2", EngineOptions(server=chat_only))


def test_sampled_answers_are_read_after_the_reasoning(chat_only: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"server": chat_only, "samples": 4, "limit": 1, "resamples": 2, "task": "mcq"}
    run = equipoise.audit(data="builtin", out=tmp_path / "run", reasoning_tokens=32, **settings)
    assert run.manifest.engine["scoring"] == (
        "4 sampled answers, each after at most 32 tokens of reasoning, drawn from all tokens"
    )
    assert run.manifest.engine["capabilities"]["thinking"] == "yes, in the server's own chat"
    table = pd.read_parquet(tmp_path / "run" / "outcomes.parquet")
    assert np.exp(np.stack(table["logprobs"])).sum(axis=1) == pytest.approx(1 - 0.5 / (4 + 2)), "all name a letter"
    assert not table["flags"].str.contains("unfinished").any()
    short = equipoise.audit(data="builtin", out=tmp_path / "short", reasoning_tokens=1, **settings)
    assert any(
        "2 prompts have sampled answers that ended within their reasoning" in note for note in short.manifest.notes
    )
