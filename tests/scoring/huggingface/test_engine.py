"""The papers' model families load and score as one plain pass does, packed."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exactness import plain_scores
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.records import Prompt
from equipoise.scoring.huggingface.engine import _existing_objects_kept
from equipoise.scoring.opening import open_engine

PROMPT = Prompt("a", "task", "", "The nurse told the driver that she", (" was", " refers to the driver"))


PROMPTS = [
    Prompt(f"{who}-{pronoun}", "task", "", f"The {who} told the nurse that {pronoun} was late.", (" nurse", f" {who}"))
    for who in ("driver", "cook")
    for pronoun in ("he", "she")
]
ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
ROPE |= {"original_max_position_embeddings": 128, "rope_theta": 10000.0}
EXPERTS = {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}
GEMMA = {**LLAMA, "head_dim": 8, "final_logit_softcapping": 5.0}
LATENT = {**LLAMA, "num_key_value_heads": 4, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4}
LATENT |= {
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
}
LATENT |= {"moe_intermediate_size": 16, "head_dim": 4, "topk_method": "greedy", "n_group": 1, "topk_group": 1}

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "GPT-J": ("GPTJConfig", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "n_positions": 512}),
    "GPT-NeoX (Pythia)": ("GPTNeoXConfig", {"intermediate_size": 48, "max_position_embeddings": 512}),
    "Llama (Amber)": ("LlamaConfig", {**LLAMA, "num_key_value_heads": 4}),
    "Llama 3": ("LlamaConfig", {**LLAMA, "rope_parameters": ROPE}),
    "Mistral": ("MistralConfig", {**LLAMA, "sliding_window": 4096}),
    "Mixtral": ("MixtralConfig", EXPERTS),
    "Falcon 7B": ("FalconConfig", {"alibi": False, "multi_query": True, "parallel_attn": True}),
    "Falcon 40B": ("FalconConfig", {"alibi": False, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "Falcon 3": ("LlamaConfig", {**LLAMA, "head_dim": 16}),
    "Qwen 2": ("Qwen2Config", LLAMA),
    "Qwen 2.5": ("Qwen2Config", {**LLAMA, "tie_word_embeddings": True}),
    "DeepSeek V2": ("DeepseekV2Config", LATENT),
    "DeepSeek R1 distilled into Qwen": ("Qwen2Config", {**LLAMA, "use_sliding_window": False}),
    "Gemma 2": ("Gemma2Config", {**GEMMA, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0}),
    "Gemma 3": ("Gemma3TextConfig", GEMMA),
    "OLMo 2": ("Olmo2Config", LLAMA),
    "Phi 3": ("Phi3Config", LLAMA),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_loads_and_scores_as_one_plain_pass_does(family: str, tmp_path: Path) -> None:
    kind, settings = FAMILIES[family]
    tokenizer = make_tokenizer()
    make_model(kind, len(tokenizer), **settings).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    engine: Any = open_engine(tmp_path / "model")
    (scores,) = engine.score([PROMPTS])
    for score, plain in zip(scores, plain_scores(engine, PROMPTS), strict=True):
        for left, right in zip(score.token_logprobs, plain.token_logprobs, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-4)
    assert (engine.description["scoring"], engine.notes) == ("packed prefix trees", [])


def test_what_is_recorded_does_not_depend_on_free_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = []
    for free in (2**28, 2**40):
        monkeypatch.setattr("equipoise.scoring.huggingface.model.free_memory", lambda free=free: free)
        engine = open_engine(str(folder))
        scores = list(engine.score([[PROMPT]]))
        records.append((engine.identity, engine.description, engine.notes, engine.batches([PROMPT] * 999), scores))
    assert records[0] == records[1]


def test_existing_objects_are_left_alone_until_the_end() -> None:
    before = gc.get_freeze_count()
    with _existing_objects_kept():
        assert gc.get_freeze_count() > before
    assert gc.get_freeze_count() == 0
