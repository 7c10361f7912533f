"""Packed batches give what plain passes give: values and gradients, markers included."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from equipoise.scoring.encoding import Encoder
from equipoise.tasks.next_word import NextWord
from equipoise.training import Questions, TrainingError, candidate_logprobs, ucerf_loss
from equipoise.training.grammar import grammar_dataset, marker_sets
from equipoise.training.trained_model import load_for_training
from equipoise.training.training_sets import TrainingSet, sets_of


def plain_logprobs(model, tokenizer, examples):
    """The same by one pass for each continuation."""
    rows = []
    for example in examples:
        question = Encoder(tokenizer).questions([NextWord().prompts(example)[0]])[0]
        values = []
        for ids, start in zip(question.sequences, question.starts, strict=True):
            logprobs = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0], dim=-1)
            values.append(sum(logprobs[place - 1, ids[place]] for place in range(start, len(ids))))
        names = [[0], [1]]
        for extra, slot in enumerate(name for name in ("marked:0", "marked:1") if name in example.slots):
            names[int(slot[-1])].append(2 + extra)
        rows.append(torch.stack([torch.logsumexp(torch.stack([values[i] for i in name]), 0) for name in names]))
    return torch.stack(rows)


def test_a_packed_batch_equals_plain_passes_in_values_and_gradients(tiny_folder: Path) -> None:
    model, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    dataset = grammar_dataset(resolvable=3, ambiguous=1)
    marked = marker_sets(dataset, count=1)[0]
    sets = [*sets_of(dataset)[:2], TrainingSet("marked", marked, "")]
    examples = [example for item in sets for example in item.members]
    batch = Questions(tokenizer).batch(sets)
    assert batch["sets"].tolist() == [0, 0, 1, 1, 2, 2, 2, 2]
    assert len(batch["cells"]) == 2 * 8 + 4, "every marked sentence has one more way to name its referent"
    gradients = []
    for logprobs in (candidate_logprobs(model, batch), plain_logprobs(model, tokenizer, examples)):
        model.zero_grad()
        ucerf_loss(logprobs, batch["gold"], batch["sets"]).backward()
        gradients.append((logprobs.detach(), model.model.layers[0].self_attn.q_proj.weight.grad.clone()))
    (packed, packed_gradient), (plain, plain_gradient) = gradients
    assert (packed - plain).abs().max() < 1e-4
    assert plain_gradient.abs().max() > 0
    assert (packed_gradient - plain_gradient).abs().max() < 1e-3 * plain_gradient.abs().max()


def test_an_empty_batch_is_an_error(tiny_folder: Path) -> None:
    _, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    with pytest.raises(TrainingError, match="batch is empty"):
        Questions(tokenizer).batch([])
