"""Adapters and fewer bits change the answers, and the key; an adapter scores as peft itself does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from tiny import LLAMA, make_model, make_tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from equipoise.options import EngineOptions
from equipoise.records import ModelError, Prompt
from equipoise.scoring.engine import identity_key
from equipoise.scoring.opening import open_engine

PROMPTS = [
    Prompt(f"{who}-{pronoun}", "task", "", f"The {who} told the clerk that {pronoun}", (" was late", f" is the {who}"))
    for who in ("nurse", "driver", "cook", "judge")
    for pronoun in ("he", "she")
]


@pytest.fixture(scope="module")
def folder(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


@pytest.fixture(scope="module")
def adapter(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a LoRA adapter whose weights are not zero."""
    path = tmp_path_factory.mktemp("adapter")
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(folder), LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
    )
    torch.manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path)
    return path


def values(engine: Any) -> np.ndarray:
    (scores,) = engine.score([PROMPTS])
    return np.array([value for score in scores for tokens in score.token_logprobs for value in tokens])


def test_an_adapter_scores_as_peft_does_merged_or_not(folder: Path, adapter: Path) -> None:
    plain = open_engine(str(folder))
    loose = open_engine(str(folder), EngineOptions(adapter=str(adapter)))
    merged = open_engine(str(folder), EngineOptions(adapter=str(adapter), merge_adapter=True))
    peft = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder), str(adapter)).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("The nurse told the clerk that he was late")["input_ids"]
    start = len(tokenizer("The nurse told the clerk that he")["input_ids"])
    with torch.inference_mode():
        logprobs = peft(torch.tensor([ids])).logits[0].log_softmax(-1)
    expected = [float(logprobs[place - 1, ids[place]]) for place in range(start, len(ids))]
    for engine in (loose, merged):
        (scores,) = engine.score([PROMPTS])
        assert scores[0].token_logprobs[0] == pytest.approx(expected, abs=1e-4)
        assert engine.description["scoring"] == "packed prefix trees"
    np.testing.assert_allclose(values(loose), values(merged), atol=1e-4)
    assert np.abs(values(loose) - values(plain)).max() > 0.01
    assert len({identity_key(engine) for engine in (plain, loose, merged)}) == 3


def test_a_changed_adapter_has_another_key(folder: Path, adapter: Path, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "other"
    shutil.copytree(adapter, other)
    same = open_engine(str(folder), EngineOptions(adapter=str(other)))
    assert identity_key(same) == identity_key(open_engine(str(folder), EngineOptions(adapter=str(adapter))))
    content = bytearray((other / "adapter_model.safetensors").read_bytes())
    content[-3] ^= 1
    (other / "adapter_model.safetensors").write_bytes(content)
    assert identity_key(open_engine(str(folder), EngineOptions(adapter=str(other)))) != identity_key(same)


def test_an_adapter_that_is_none_or_does_not_fit_is_one_sentence(folder: Path, adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a folder with a peft adapter: it has no adapter_config"):
        open_engine(str(folder), EngineOptions(adapter=str(tmp_path)))
    with pytest.raises(ModelError, match="is a peft adapter: name its base model, and give this folder as adapter"):
        open_engine(str(adapter))
    with pytest.raises(ModelError, match="merge_adapter needs an adapter"):
        open_engine(str(folder), EngineOptions(merge_adapter=True))
    (tmp_path / "adapter_config.json").write_text(
        (adapter / "adapter_config.json").read_text().replace("q_proj", "nope")
    )
    (tmp_path / "adapter_model.safetensors").write_bytes(b"rubbish")
    with pytest.raises(ModelError, match=r"the adapter .* cannot be loaded"):
        open_engine(str(folder), EngineOptions(adapter=str(tmp_path)))
    (tmp_path / "adapter_model.safetensors").unlink()
    with pytest.raises(ModelError, match="has no safetensors adapter; set allow_pickle"):
        open_engine(str(folder), EngineOptions(adapter=str(tmp_path)))


def test_fewer_bits_are_near_the_model_and_have_keys_of_their_own(tmp_path: Path) -> None:
    folder, tokenizer = tmp_path / "model", make_tokenizer()
    make_model("LlamaConfig", len(tokenizer), scale=0.1, **{**LLAMA, "intermediate_size": 64}).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    plain, eight, four = (open_engine(str(folder), EngineOptions(quantize=kind)) for kind in (None, "int8", "int4"))
    exact = values(plain)
    near, far = (np.abs(values(engine) - exact).mean() for engine in (eight, four))
    assert 0 < near < 0.02 < far < 0.3
    assert len({identity_key(engine) for engine in (plain, eight, four)}) == 3
    assert eight.description["quantize"] == "int8"


def test_a_model_spread_by_accelerate_scores_the_same(folder: Path) -> None:
    np.testing.assert_allclose(
        values(open_engine(str(folder), EngineOptions(device="spread"))), values(open_engine(str(folder))), atol=1e-5
    )
