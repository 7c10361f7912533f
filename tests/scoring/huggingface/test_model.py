"""Facts of a model: an encoder is known by its architecture."""

from __future__ import annotations

from pathlib import Path

import pytest
from saved_models import BERT, refusal, save


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "Electra"])
def test_an_encoder_is_refused_by_its_architecture(tmp_path: Path, kind: str) -> None:
    folder = save(f"{kind}ForMaskedLM", tmp_path / "masked", **BERT)
    refused = f"masked is not a causal language model: {kind.lower()} is an encoder, which predicts masked words"
    assert refusal(folder) == refused


def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path) -> None:
    t5 = save("T5ForConditionalGeneration", tmp_path / "t5", d_model=32, num_layers=1, num_heads=2, d_ff=32, d_kv=16)
    assert refusal(t5) == f"{t5} is not a causal language model: t5 is an encoder with a decoder"
