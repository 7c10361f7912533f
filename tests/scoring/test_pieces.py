"""Texts that are tokenised piece by piece have the ids of whole texts, and other tokenizers are given whole texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from equipoise.datasets.builtin import load_builtin
from equipoise.scoring import pieces
from equipoise.scoring.pieces import LLAMA_3, QWEN_2, Tokeniser, is_divisible

SENTENCES = [example.text for example in load_builtin().examples[::7]]
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False)
ONLY_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
SPACES = normalizers.Replace(" ", "▁")
OF_GEMMA = pre_tokenizers.Split(" ", "merged_with_previous")


def words(pattern: str, *rest: Any, behavior: str = "isolated", invert: bool = False) -> Any:
    split = pre_tokenizers.Split(Regex(pattern), behavior, invert)
    return pre_tokenizers.Sequence([split, *rest]) if rest else split


def trained(pre_tokenizer: Any = None, normalizer: Any = None, *, model: Any = None, apart: bool = False) -> Tokenizer:
    """Return a tokenizer trained on the built-in sentences; with `apart` no token of it reaches over a space."""
    tokenizer = Tokenizer(model or models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    whole = pre_tokenizers.Split(Regex("▁[^▁]*|[^▁]+"), "isolated") if apart else pre_tokenizer
    if whole is not None:
        tokenizer.pre_tokenizer = whole
    texts = [f"{text} " + " ".join(map(str, range(200))) for text in SENTENCES]
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False, special_tokens=["<|end|>", "<br />"])
    tokenizer.train_from_iterator(texts, trainer)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer


def ids(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


DIVISIBLE: dict[str, Tokenizer] = {
    "GPT-2": trained(BYTES),
    "digits apart": trained(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTES])),
    "Llama 3": trained(words(LLAMA_3, ONLY_BYTES)),
    "Qwen 2": trained(words(QWEN_2, ONLY_BYTES), normalizers.NFC()),
    "Gemma": trained(OF_GEMMA, SPACES, apart=True),
    "Gemma, plain": trained(None, SPACES, apart=True),
}
DIVISIBLE["Gemma, plain"].pre_tokenizer = None
TEXTS = st.lists(st.text(st.sampled_from("abeT19 .,'\"▁_\n\t\xa0éé́<|>/-s"), max_size=24), min_size=1, max_size=20)


@pytest.mark.parametrize("name", DIVISIBLE)
@given(drawn=TEXTS)
def test_ids_are_those_of_whole_texts(name: str, drawn: list[str]) -> None:
    tokenizer = DIVISIBLE[name]
    assert is_divisible(tokenizer)
    texts = [*drawn, "a <|end|> b", "<br /> x", "it 's 12 345 , don't", *SENTENCES[:100]]
    assert Tokeniser(tokenizer)(texts) == ids(tokenizer, texts)


def with_added(*tokens: Any) -> Tokenizer:
    tokenizer = trained(BYTES)
    tokenizer.add_tokens(list(tokens))
    return tokenizer


def with_model(**chosen: Any) -> Tokenizer:
    tokenizer = trained(OF_GEMMA, SPACES, apart=True)
    for name, value in chosen.items():
        setattr(tokenizer.model, name, value)
    return tokenizer


INDIVISIBLE: dict[str, Callable[[], Tokenizer]] = {
    "tokens reach over spaces": lambda: trained(OF_GEMMA, SPACES),
    "a space before every text": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "a space by another part": lambda: trained(words(LLAMA_3, pre_tokenizers.ByteLevel(use_regex=False))),
    "no words": lambda: trained(ONLY_BYTES),
    "other words": lambda: trained(words(r"\w+ ?\w*|\s+", ONLY_BYTES)),
    "words that are left out": lambda: trained(words(LLAMA_3, ONLY_BYTES, behavior="removed")),
    "all but words": lambda: trained(words(LLAMA_3, ONLY_BYTES, invert=True)),
    "spaces at the beginning": lambda: trained(pre_tokenizers.Metaspace()),
    "spaces at the end": lambda: trained(BYTES, normalizers.Strip()),
    "other letters": lambda: trained(BYTES, normalizers.Sequence([normalizers.NFC(), normalizers.Prepend("x")])),
    "another letter for spaces": lambda: trained(BYTES, SPACES),
    "an added token with a space": lambda: with_added("nurse told"),
    "an added token that takes a space": lambda: with_added(AddedToken("nurse", rstrip=True)),
    "dropout": lambda: trained(BYTES, model=models.BPE(dropout=0.5)),
    "ends of words": lambda: with_model(end_of_word_suffix="</w>"),
    "beginnings of parts of words": lambda: with_model(continuing_subword_prefix="##"),
    "whole words": lambda: with_model(ignore_merges=True),
    "another model": lambda: Tokenizer(models.WordLevel({"The": 0, "?": 1}, unk_token="?")),
}


@pytest.mark.parametrize("name", INDIVISIBLE)
def test_other_tokenizers_are_given_whole_texts(name: str) -> None:
    tokenizer = INDIVISIBLE[name]()
    assert not is_divisible(tokenizer)
    if name != "dropout":
        texts = [*SENTENCES, " a nurse told b", "nurse  told "]
        assert len(texts) >= pieces.FEW
        assert Tokeniser(tokenizer)(texts) == ids(tokenizer, texts)


class Counting:
    """A tokenizer that counts what it is given."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.given: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def encode_batch_fast(self, texts: list[str], **named: Any) -> Any:
        self.given += texts
        return self._tokenizer.encode_batch_fast(texts, **named)


def test_each_piece_is_tokenised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Counting(DIVISIBLE["GPT-2"])
    tokenise = Tokeniser(backend)
    for _ in range(2):
        tokenise(SENTENCES)
        tokenise([f"{text} The nurse" for text in SENTENCES])
    assert len(backend.given) == len(set(backend.given)) < sum(len(text.split()) for text in SENTENCES) / 2
    assert " told" in backend.given and max(map(len, backend.given)) < 30
    monkeypatch.setattr(pieces, "MOST_PIECES", 5)
    before = len(backend.given)
    assert tokenise(SENTENCES) == ids(DIVISIBLE["GPT-2"], SENTENCES)
    assert len(backend.given) > before, "what is remembered does not grow for ever"


def test_a_few_texts_are_tokenised_whole() -> None:
    backend = Counting(DIVISIBLE["GPT-2"])
    few = SENTENCES[: pieces.FEW - 1]
    assert Tokeniser(backend)(few) == ids(DIVISIBLE["GPT-2"], few)
    assert backend.given == few
    backend.given.clear()
    Tokeniser(backend)(SENTENCES[: pieces.FEW])
    assert " told" in backend.given


@pytest.mark.parametrize("count", [1, pieces.FEW])
def test_no_special_token_is_added(count: int) -> None:
    tokenizer = trained(BYTES)
    plain = ids(tokenizer, SENTENCES[:count])
    special = [("<|end|>", tokenizer.token_to_id("<|end|>"))]
    tokenizer.post_processor = processors.TemplateProcessing(single="<|end|> $A", special_tokens=special)
    assert Tokeniser(tokenizer)(SENTENCES[:count]) == plain
