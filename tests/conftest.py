"""Fixtures that several test files share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from equipoise.records import ABSENT, Outcomes
from equipoise.uncertainty import ESTIMATORS, entropy

# Derandomised: a run of the tests on one commit always tries the same examples.
settings.register_profile("equipoise", deadline=None, derandomize=True, max_examples=20)
settings.load_profile("equipoise")


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Return a function that gives the folder of a real dataset, or skips; in CI a missing one is a failure."""

    def folder(name: str) -> Path:
        root = os.environ.get("EQUIPOISE_DATA")
        found = Path(root).expanduser() / name if root else None
        if found is not None and found.is_dir():
            return found.resolve()
        reason = f"needs the real {name}: set EQUIPOISE_DATA to the folder that holds a folder {name!r}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return folder


@pytest.fixture(scope="session")
def make_outcomes() -> Callable[[Sequence[Mapping[str, Any]]], Outcomes]:
    """Return a function that makes Outcomes of rows: `pair` and `probs`, and what else of the item matters.

    `gold`, `answerable` (default: whether there is a gold answer), `variant`, `mass`, `expects` (the candidate that the
    stereotype points to); every other key is a group.
    """
    fields = ("pair", "probs", "gold", "answerable", "variant", "mass", "expects")

    def strings(values: Sequence[str]) -> Any:
        return np.array(list(values), dtype=object)

    def outcomes(rows: Sequence[Mapping[str, Any]]) -> Outcomes:
        probs = np.array([row["probs"] for row in rows], dtype=np.float64)
        names = list(dict.fromkeys(name for row in rows for name in row if name not in fields))
        masses = np.array([[row.get("mass", 1.0)] for row in rows])
        with np.errstate(divide="ignore"):
            logprobs = np.log(probs * masses)
        return Outcomes(
            example_id=strings([f"item-{number}" for number in range(len(rows))]),
            variant=strings([row.get("variant", "") for row in rows]),
            set_id=strings([row["pair"] for row in rows]),
            probs=probs,
            logprobs=logprobs,
            gold=np.array([row.get("gold", ABSENT) for row in rows], dtype=np.int64),
            stereotype=np.array([row.get("expects", ABSENT) for row in rows], dtype=np.int64),
            answerable=np.array([row.get("answerable", "gold" in row) for row in rows], dtype=bool),
            groups={name: strings([row.get(name, "") for row in rows]) for name in names},
            flags=strings([""] * len(rows)),
            # As of a model whose whole vocabulary is the candidates.
            reductions={
                "vocab_bits": entropy(probs),
                "vocab_mass": masses[:, 0].astype(np.float64),
                **{one.reduction: one.certainty(probs) for one in ESTIMATORS.values() if one.reduction},
            },
        )

    return outcomes


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that makes a folder with a Llama of random weights and a tokenizer of its own.

    `seed` draws the weights, `spoil` puts NaN into them.
    """

    def make(*, seed: int = 0, spoil: bool = False) -> Path:
        import torch
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
        from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

        from equipoise.datasets.builtin import sentences

        folder = tmp_path_factory.mktemp("model") / f"tiny-llama-{seed}"
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=1000,
            special_tokens=["<s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator([sentence.text for sentence in sentences()], trainer)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(folder)
        torch.manual_seed(seed)
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=1000,
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=2,
                max_position_embeddings=512,
            )
        )
        if spoil:
            torch.nn.init.constant_(model.lm_head.weight, float("nan"))
        model.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def default_model_folder() -> Path:
    """Return the folder of the real default model, fetched on first use; where that cannot be, skip (in CI: fail)."""
    from equipoise.records import ModelError
    from equipoise.scoring.default_model import model_folder

    try:
        return model_folder()
    except ModelError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs the default model: {error}")


@pytest.fixture(scope="session")
def default_engine(default_model_folder: Path) -> Any:
    """Return the engine of the real default model."""
    from equipoise.options import EngineOptions
    from equipoise.scoring.default_model import open_default_model

    return open_default_model(EngineOptions(device="cpu", dtype="float32"))


@pytest.fixture(autouse=True)
def no_width_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget a terminal's width that a library or another test has set: tables are then as wide as they need."""
    monkeypatch.delenv("COLUMNS", raising=False)
