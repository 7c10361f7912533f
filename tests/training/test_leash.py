"""The base's own answers as targets: the mean within sets, and zero loss where it is met."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from planted_training import Bigram, few_sets, plant, planted_logprobs, questions
from tiny import make_tokenizer

from equipoise.training import Questions, TrainingError, candidate_logprobs, open_training_sets
from equipoise.training.leash import (
    NeutralText,
    Reference,
    divergence,
    leash_loss,
    neutral_paragraphs,
    own_answers,
)
from equipoise.training.trained_model import load_for_training


@pytest.mark.slow
def test_own_answers_are_the_means_of_sets(tiny_folder: Path) -> None:
    network, tokenizer = load_for_training(str(tiny_folder), device="cpu")
    sets = open_training_sets(markers=True)
    four = next(item for item in sets if len(item.members) == 4)
    batch = Questions(tokenizer).batch([*sets[:3], four])
    own = own_answers(Reference(network, network), batch)
    logprobs = candidate_logprobs(network, batch).detach()
    shares = torch.softmax(logprobs, dim=1)
    for rows in (slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 10)):
        assert torch.allclose(own.averaged[rows], shares[rows].mean(dim=0).expand_as(shares[rows]), atol=1e-6)
    assert torch.allclose(own.log_mass, torch.logsumexp(logprobs, dim=1))


def test_the_divergence_is_zero_at_the_target_and_grows_away_from_it() -> None:
    target = torch.tensor([[0.7, 0.3], [1.0, 0.0]])
    raw = torch.log(torch.tensor([[0.07, 0.03], [0.1, 1e-9]]))
    assert divergence(raw, target) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert divergence(torch.zeros(2, 2), target)[1] == pytest.approx(0.6931, abs=1e-4)


def test_neutral_paragraphs_are_whole() -> None:
    paragraphs = neutral_paragraphs()
    assert len(paragraphs) == 24 and all(text == text.strip() and text.endswith(".") for text in paragraphs)


def test_the_base_is_the_model_without_its_adapter_or_the_frozen_copy() -> None:
    model = Bigram(5)
    with Reference(model).model() as base:
        assert base is model and not model.adapted
    assert model.adapted
    with Reference(model, "frozen").model() as base:
        assert base == "frozen" and model.adapted


def test_answers_of_the_base_are_averaged_over_neighbours_and_strangers_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    model = Bigram(5)
    batch = questions().batch(few_sets()[:4])
    numbers = torch.tensor([2, 0, 2, 0, 1, 1, 2, 4])  # set 3 has no rows
    own = own_answers(Reference(model), {**batch, "sets": numbers})
    with model.disable_adapter():
        plain = planted_logprobs(model, batch).exp()
    shares = plain / plain.sum(dim=1, keepdim=True)
    assert torch.allclose(own.shares, shares) and torch.allclose(own.log_mass, plain.sum(dim=1).log())
    for row, number in enumerate(numbers):
        assert torch.allclose(own.averaged[row], shares[numbers == number].mean(dim=0))
    assert not own.shares.requires_grad


@pytest.mark.parametrize("front", ["", "<s> "])
def test_neutral_text_is_cut_into_rows_of_one_length(front: str) -> None:
    tokenizer = make_tokenizer(template=f"{front}$A" if front else None, bos="<s>" if front else None)
    texts = ["ab cd", "efg"]
    ids = [token for text in texts for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert len(ids) == 8
    first = [tokenizer.bos_token_id] if front else []
    text = NeutralText(tokenizer, texts, tokens=3 + len(first))
    assert text.rows.tolist() == [[*first, *ids[:3]], [*first, *ids[3:6]]]
    assert NeutralText(tokenizer, texts, tokens=8 + len(first)).rows.tolist() == [[*first, *ids]]
    with pytest.raises(TrainingError, match=r"^the neutral text has 8 tokens; it needs at least 9$"):
        NeutralText(tokenizer, texts, tokens=9 + len(first))


def test_steps_take_the_rows_in_turn() -> None:
    text = NeutralText(make_tokenizer(bos=None), ["abcdefghij"], tokens=2)
    rows = text.rows.tolist()
    assert len(rows) == 5
    for step, places in enumerate([(0, 1, 2), (3, 4, 0), (1, 2, 3), (4, 0, 1)]):
        assert text.batch(step, size=3).tolist() == [rows[place] for place in places]


def test_perplexity_is_over_every_token_but_the_first_of_each_row() -> None:
    tokenizer = make_tokenizer(bos=None)
    text = NeutralText(tokenizer, ["the quick brown fox jumps over it"], tokens=4)
    model = Bigram(len(tokenizer))
    probabilities = torch.softmax(model.base + model.moved, dim=1).detach()
    pairs = [pair for row in text.rows.tolist() for pair in itertools.pairwise(row)]
    assert len(text.rows) == 8 and len(pairs) == 24
    expected = torch.tensor([probabilities[pair] for pair in pairs]).log().neg().mean().exp()
    for rows in (1, 3, 8, 16):
        assert text.perplexity(model, rows=rows) == pytest.approx(float(expected), rel=1e-5)


def test_the_leash_is_the_divergence_from_the_base_at_every_token() -> None:
    model = Bigram(6)
    tokens = torch.tensor([[0, 3, 5], [2, 2, 1]])
    tuned, base = (torch.softmax(table, dim=1).detach() for table in (model.base + model.moved, model.base))
    each = [(base[token] * (base[token] / tuned[token]).log()).sum() for token in tokens.flatten()]
    loss = leash_loss(model, Reference(model), tokens)
    assert float(loss.detach()) == pytest.approx(float(torch.stack(each).mean()), rel=1e-4)
    assert float(loss.detach()) > 0.01
    (gradient,) = torch.autograd.grad(loss, model.moved)
    assert gradient[0].abs().max() > 0 and gradient[4].abs().max() == 0, "token 4 is not in the text"
    assert float(leash_loss(model, Reference(model, model), tokens).detach()) == pytest.approx(0, abs=1e-6)


class Half(torch.nn.Module):
    """A model whose logits are in half precision."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(7, 7, generator=torch.Generator().manual_seed(seed)))
        self.asked: list[object] = []

    def forward(self, input_ids: torch.Tensor, use_cache: bool = True) -> object:
        self.asked.append(use_cache)
        return SimpleNamespace(logits=self.weight[input_ids].bfloat16())


def test_divergence_and_perplexity_are_computed_in_single_precision() -> None:
    tuned, base, ids = Half(1), Half(2), torch.arange(10).reshape(2, 5) % 7
    found = leash_loss(tuned, SimpleNamespace(model=lambda: nullcontext(base)), ids)  # type: ignore[arg-type]
    p, q = (torch.log_softmax(model.weight[ids].bfloat16().double(), dim=-1) for model in (base, tuned))
    expected = torch.nn.functional.kl_div(q, p, log_target=True, reduction="sum") / ids.numel()
    assert found.dtype == torch.float32 and float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    text = object.__new__(NeutralText)
    object.__setattr__(text, "rows", ids)
    lost = -torch.log_softmax(tuned.weight[ids[:, :-1]].bfloat16().double(), dim=-1).gather(2, ids[:, 1:, None])
    for rows in (1, 2, 16):
        assert text.perplexity(tuned, rows=rows) == pytest.approx(float(lost.mean().exp()), rel=1e-5)
    assert not any(tuned.asked + base.asked), "nothing is kept for tokens that do not come"
    assert text.batch(0, size=3).tolist() == [ids[0].tolist(), ids[1].tolist(), ids[0].tolist()]
    assert text.batch(1, size=3).tolist() == [ids[1].tolist(), ids[0].tolist(), ids[1].tolist()]
