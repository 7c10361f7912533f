"""Packed batches give what plain passes give: values and gradients, markers included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from planted_training import few_sets
from tiny import CHAT, make_tokenizer

from equipoise.records import Example
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


def test_a_batch_holds_who_is_right_and_whom_the_stereotype_expects() -> None:
    sets = few_sets()
    batch = Questions(make_tokenizer()).batch(sets)
    members = [example for item in sets for example in item.members]
    assert batch["gold"].tolist() == [example.gold if example.answerable else -1 for example in members]
    assert batch["stereotype"].tolist() == [-1 if e.stereotype is None else e.stereotype for e in members]
    assert {-1, 0, 1} == set(batch["gold"].tolist()) == set(batch["stereotype"].tolist())
    assert batch["width"].tolist() == [2] * len(members)
    assert all(batch[name].dtype == torch.long for name in ("sets", "gold", "cells", "tokens"))


def test_sentences_with_other_numbers_of_candidates_are_two_batches() -> None:
    def example(*candidates: str) -> Example:
        return Example("e", "She left.", candidates, 0, True, None, {}, "s", slots={"pronoun": "she"})

    with pytest.raises(TrainingError, match=r"^the sentences of a batch have 2 to 4 candidates, not one number$"):
        Questions(make_tokenizer()).of_examples([example(*"ab"), example(*"abc"), example(*"abcd")])
    three = Questions(make_tokenizer()).of_examples([example(*"abc"), example(*"def")])
    assert three["cells"].tolist() == list(range(6)) and three["width"].tolist() == [3, 3]


def test_rows_are_as_long_as_is_asked_and_give_the_same(tiny_folder: Path) -> None:
    model, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    sets = few_sets()[:6]
    batches = {tokens: Questions(tokenizer, row_tokens=tokens).batch(sets) for tokens in (160, 512)}
    shapes = {tokens: batch["tokens"].shape for tokens, batch in batches.items()}
    assert shapes[160][0] > shapes[512][0] and shapes[160][1] <= 160
    first, second = (candidate_logprobs(model, batch) for batch in batches.values())
    assert torch.allclose(first, second, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = candidate_logprobs(model, batches[512])
    assert rough.dtype == torch.float32 and 0 < (rough - second).abs().max() < 2


def test_a_chat_is_asked_in_the_template() -> None:
    tokenizer = make_tokenizer(chat=CHAT)
    sets = few_sets()[:1]
    plain, chat = (Questions(tokenizer, chat=chat).batch(sets)["tokens"].flatten().tolist() for chat in (False, True))
    assert tokenizer.convert_tokens_to_ids("<|user|>") in chat
    assert tokenizer.convert_tokens_to_ids("<|user|>") not in plain
    assert len(Questions(tokenizer, bos="always").batch(sets)["tokens"].flatten()) == len(plain) + 1


def test_the_model_keeps_no_cache_and_its_head_sees_the_asked_places_alone(tiny_folder: Path) -> None:
    model, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    batch = Questions(tokenizer).batch(sets_of(grammar_dataset(resolvable=2, ambiguous=1))[:2])
    seen: list[Any] = []
    model.register_forward_pre_hook(lambda _, args, named: seen.append((args, named["use_cache"])), with_kwargs=True)
    model.get_output_embeddings().register_forward_hook(lambda _, given, out: seen.append(given[0].shape[:-1]))
    candidate_logprobs(model, batch)
    assert seen == [((), False), (1, len(batch["sources"]))]
    assert not model.get_output_embeddings()._forward_pre_hooks, "the head is left as it was"
