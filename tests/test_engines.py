"""One contract for all engines: whatever is done to be fast, a score is what one plain pass would give."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from exactness import plain_scores
from tiny import CHAT, LLAMA, make_engine, make_model, make_tokenizer
from transformers import LlamaForCausalLM

from equipoise.options import EngineOptions
from equipoise.records import Example, Message, ModelError, Prompt, Score
from equipoise.scoring.engine import Engine, identity_key
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.trial import PROMPTS as TRIAL
from equipoise.scoring.packing.shape import Shape
from equipoise.scoring.planted import PlantedEngine

TOLERANCE = 1e-4
FALCON = {"alibi": False, "new_decoder_architecture": False}
GEMMA2 = {**LLAMA, "head_dim": 8, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0}
MPT = {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 512}
SHORT = {"sliding_window": 6}

PACKED = {
    "llama": lambda: make_engine("LlamaConfig", **LLAMA),
    "llama with a beginning": lambda: make_engine("LlamaConfig", template="<s> $A", **LLAMA),
    "gpt2": lambda: make_engine("GPT2Config", n_positions=512),
    "qwen2": lambda: make_engine("Qwen2Config", **LLAMA),
    "gemma": lambda: make_engine("GemmaConfig", **LLAMA, head_dim=8),
    "gemma2": lambda: make_engine("Gemma2Config", **GEMMA2, final_logit_softcapping=5.0),
    "gemma3": lambda: make_engine("Gemma3TextConfig", **LLAMA, head_dim=8, final_logit_softcapping=5.0),
    "gpt-neox": lambda: make_engine("GPTNeoXConfig", intermediate_size=48, max_position_embeddings=512),
    "falcon": lambda: make_engine("FalconConfig", **FALCON),
    "mistral": lambda: make_engine("MistralConfig", **LLAMA, sliding_window=None),
}
PADDED = {
    "falcon with alibi": lambda: make_engine("FalconConfig", **{**FALCON, "alibi": True}),
    "mistral with a short window": lambda: make_engine("MistralConfig", **LLAMA, **SHORT),
    "gemma2 with a short window": lambda: make_engine("Gemma2Config", **GEMMA2, **SHORT, final_logit_softcapping=5.0),
    "mpt": lambda: make_engine("MptConfig", **MPT),
    "mamba": lambda: make_engine("MambaConfig", state_size=4),
}
MODELS: dict[str, Callable[[], Any]] = {**PACKED, **PADDED}
ENGINES = [*MODELS, "planted", pytest.param("default model", marks=pytest.mark.slow)]


def _prompts() -> list[Prompt]:
    stories = [
        ("The nurse told the driver that {} was late.", "he", "she"),
        ("The driver told the nurse that {} was tired; the driver thanked the nurse.", "he", "she", "they"),
        ("{} ran.", "He", "She"),
    ]
    prompts = []
    for number, (story, *pronouns) in enumerate(stories):
        for word in pronouns:
            question = f'{story.format(word)} The pronoun "{word}" refers to the'
            prompts.append(Prompt(f"{number}{word}", "task", "", question, (" nurse", " driver")))
    return [
        *prompts,
        Prompt("three", "task", "", "The nurse was", (" the driver", " that", " unsure whether to")),
        Prompt("apart", "task", "", "The nurse refers to ", ("A", "the")),
        Prompt("unicode", "task", "", "Die Ärztin 👩‍⚕️ sagte", (" naïve", " 医生")),
        Prompt("token", "task", "", "T", ("he", " was")),
    ]


PROMPTS = _prompts()


def _example(name: str) -> Example:
    return Example(name, "text", ("nurse", "driver"), 0, True, 1, {}, "pair")


@cache
def tiny_engine(name: str) -> Any:
    return MODELS[name]()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "planted":
        planted = PlantedEngine(noise=1.0)
        planted.prepare(_example(prompt.example_id) for prompt in PROMPTS)
        return planted
    if request.param == "default model":
        default: Engine = request.getfixturevalue("default_engine")
        return default
    made: Engine = tiny_engine(request.param)
    return made


@pytest.fixture
def prompts(engine: Engine) -> list[Prompt]:
    """Return what to ask: everything of a tiny model, a handful of questions of a real one."""
    return PROMPTS[::3] if engine.name == "SmolLM2-135M-Instruct" else PROMPTS


def run(engine: Engine, prompts: Sequence[Prompt], batches: Sequence[Sequence[int]] | None = None) -> list[Score]:
    """Return the scores of the prompts, parallel to them."""
    batches = engine.batches(prompts) if batches is None else batches
    answers: dict[int, Score] = {}
    for batch, scores in zip(batches, engine.score([prompts[i] for i in batch] for batch in batches), strict=True):
        answers.update(zip(batch, scores, strict=True))
    return [answers[i] for i in range(len(prompts))]


def values(scores: Sequence[Score]) -> np.ndarray:
    return np.array([value for score in scores for tokens in score.token_logprobs for value in tokens])


def one_by_one(engine: Any, prompts: Sequence[Prompt]) -> list[Score]:
    is_local = isinstance(engine, HuggingFaceEngine)
    return plain_scores(engine, prompts) if is_local else run(engine, prompts, [[i] for i in range(len(prompts))])


def test_batches_hold_every_prompt_once_and_are_always_the_same(engine: Engine, prompts: list[Prompt]) -> None:
    prompts = [*prompts, *prompts]
    batches = engine.batches(prompts)
    assert sorted(i for batch in batches for i in batch) == list(range(len(prompts)))
    assert engine.batches(prompts) == batches
    assert engine.batches([]) == []


@pytest.mark.slow
def test_scores_are_those_of_one_plain_pass_at_a_time(engine: Engine, prompts: list[Prompt]) -> None:
    scores, plain = run(engine, prompts), one_by_one(engine, prompts)
    np.testing.assert_allclose(values(scores), values(plain), rtol=0, atol=TOLERANCE)
    assert [score.flags for score in scores] == [score.flags for score in plain]
    assert [len(score.token_logprobs) for score in scores] == [len(prompt.continuations) for prompt in prompts]
    assert [score.prompt_key for score in scores] == [prompt.key(identity_key(engine)) for prompt in prompts]


@pytest.mark.slow
def test_one_prompt_a_batch_and_all_in_one_agree(engine: Engine, prompts: list[Prompt]) -> None:
    together = run(engine, prompts, [list(range(len(prompts)))])
    apart = run(engine, prompts, [[i] for i in range(len(prompts))])
    np.testing.assert_allclose(values(together), values(apart), rtol=0, atol=TOLERANCE)


@pytest.mark.slow
def test_the_order_of_the_prompts_does_not_matter(engine: Engine, prompts: list[Prompt]) -> None:
    order = random.Random(3).sample(range(len(prompts)), len(prompts))
    shuffled = run(engine, [prompts[i] for i in order])
    straight = run(engine, prompts)
    np.testing.assert_allclose(values(shuffled), values([straight[i] for i in order]), rtol=0, atol=TOLERANCE)


def test_the_same_question_twice_has_the_same_answer_bit_for_bit(engine: Engine, prompts: list[Prompt]) -> None:
    assert run(engine, prompts) == run(engine, prompts)


def test_the_key_is_of_the_question_and_the_engine_alone(engine: Engine) -> None:
    identity = identity_key(engine)
    asked = Prompt("a", "task", "seed=0", "The nurse", (" was", " told"))
    same = Prompt("b", "other task", "seed=1", "The nurse", (" was", " told"))
    others = [
        Prompt("a", "task", "seed=0", "The nurse ", (" was", " told")),
        Prompt("a", "task", "seed=0", "The nurse", (" told", " was")),
        Prompt("a", "task", "seed=0", "The nurse", (" was", " told", " that")),
        Prompt("a", "task", "seed=0", (Message("user", "The nurse"),), (" was", " told")),
    ]
    assert same.key(identity) == asked.key(identity)
    assert len({asked.key(identity), *(other.key(identity) for other in others)}) == 5
    assert asked.key(identity) != asked.key(identity_key(PlantedEngine(bias=9.0)))


@pytest.mark.parametrize("name", PACKED)
def test_an_architecture_that_can_be_packed_is(name: str) -> None:
    engine = tiny_engine(name)
    run(engine, PROMPTS)
    assert engine.notes == []
    assert engine.description["scoring"] == "packed prefix trees"


@pytest.mark.parametrize("name", PADDED)
def test_an_architecture_that_cannot_be_packed_is_noticed_and_told_once(name: str) -> None:
    engine = tiny_engine(name)
    run(engine, PROMPTS)
    run(engine, PROMPTS)
    (note,) = engine.notes
    assert note.endswith("batches with a shared prompt cache are used")
    assert engine.description["scoring"] == "batches with a shared prompt cache"


@pytest.mark.parametrize("name", PADDED)
def test_a_prompt_is_computed_once_whatever_continues_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tiny_engine(name)
    asked = [prompt for prompt in PROMPTS if prompt.example_id == "three"]
    run(engine, asked)  # the trial is over
    (question,) = engine._encoder.questions(asked)
    seen: list[int] = []
    hook = engine._model.register_forward_pre_hook(
        lambda _, __, inputs: seen.append(inputs["input_ids"].numel()), with_kwargs=True
    )
    monkeypatch.setattr("equipoise.scoring.packing.rules.BRANCH_TOKENS", 99)
    cached = run(engine, asked)
    in_steps, _ = sum(seen), seen.clear()
    monkeypatch.setattr("equipoise.scoring.packing.rules.BRANCH_TOKENS", 1)
    padded = run(engine, asked)
    hook.remove()
    stem = question.starts[0]
    branches = [len(sequence) - 1 - stem for sequence in question.sequences]
    assert in_steps == stem + max(branches) * sum(size > 0 for size in branches)
    assert sum(seen) >= sum(map(len, question.sequences)) - len(question.sequences)
    np.testing.assert_allclose(values(cached), values(padded), atol=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", PADDED)
def test_what_is_asked_first_does_not_hide_that_it_cannot_be_packed(name: str) -> None:
    engine = MODELS[name]()
    run(engine, [Prompt("first", "task", "", "The", (" nurse",))])  # a tree without a branch, within any window
    np.testing.assert_allclose(values(run(engine, PROMPTS)), values(plain_scores(engine, PROMPTS)), atol=TOLERANCE)


def test_prompts_longer_than_the_window_are_scored_in_padded_rows_and_shorter_ones_are_packed() -> None:
    engine = make_engine("MistralConfig", **LLAMA, sliding_window=100)
    assert max(len(sequence) for question in engine._encoder.questions(TRIAL) for sequence in question.sequences) < 100
    tail = "The nurse told the driver that she was late. " * 8
    long = [Prompt(f"long {word}", "task", "", f"{word} {tail}", (" nurse", " driver")) for word in ("He", "She")]
    for prompts, notes in ((PROMPTS, 0), (long, 1), (PROMPTS, 1), (long, 1)):
        plain = plain_scores(engine, prompts)
        np.testing.assert_allclose(values(run(engine, prompts)), values(plain), rtol=0, atol=TOLERANCE)
        assert len(engine.notes) == notes
    assert "looks 100 tokens back" in engine.notes[0]


class IgnoresMask(LlamaForCausalLM):
    def forward(self, *, attention_mask: Any = None, segments: Any = None, **inputs: Any) -> Any:
        return super().forward(**inputs)


class IgnoresPositions(LlamaForCausalLM):
    def forward(self, *, position_ids: Any = None, **inputs: Any) -> Any:
        return super().forward(**inputs)


@pytest.mark.parametrize("kind", [IgnoresMask, IgnoresPositions])
def test_a_model_that_quietly_ignores_what_packing_needs_is_found_out(kind: Any) -> None:
    tokenizer = make_tokenizer()
    model = make_model("LlamaConfig", len(tokenizer), **LLAMA)
    model.__class__ = kind
    engine = HuggingFaceEngine(model, tokenizer, name="sly", weights={"sha256": "0"})
    np.testing.assert_allclose(values(run(engine, PROMPTS)), values(plain_scores(engine, PROMPTS)), atol=TOLERANCE)
    assert "sly gives other answers in packed prefix trees" in engine.notes[0]


@pytest.mark.parametrize(
    "shape", [Shape(3, 16, 1, 1, 9, 0, False), Shape(5, 40, 3, 2, 99, 2, True), Shape(100, 4096, 8, 64, 999, 1, False)]
)
@pytest.mark.parametrize("name", ["llama", "mpt"])
def test_how_much_is_computed_at_once_does_not_matter(name: str, shape: Shape) -> None:
    engine = MODELS[name]()
    engine.shape = shape
    assert max(map(len, engine.batches(PROMPTS))) <= shape.prompts
    np.testing.assert_allclose(
        values(run(engine, PROMPTS)), values(plain_scores(tiny_engine(name), PROMPTS)), atol=TOLERANCE
    )


def test_a_single_continuation_can_be_scored() -> None:
    single = [Prompt("one", "task", "", prompt.context, prompt.continuations[:1]) for prompt in PROMPTS]
    for name in ("llama", "mamba"):
        engine = tiny_engine(name)
        plain = values(plain_scores(engine, single))
        np.testing.assert_allclose(values(run(engine, single)), plain, rtol=0, atol=TOLERANCE)


def test_only_positions_that_predict_something_reach_the_head() -> None:
    engine = MODELS["llama"]()
    run(engine, PROMPTS[:1])
    seen: list[int] = []
    engine._model.get_output_embeddings().register_forward_hook(lambda _, __, logits: seen.append(logits.shape[-2]))
    run(engine, PROMPTS)
    questions = engine._encoder.questions(PROMPTS)
    predicting = {
        s[:i] for q in questions for s, start in zip(q.sequences, q.starts, strict=True) for i in range(start, len(s))
    }
    assert sum(seen) < 2 * len(predicting)
    assert sum(seen) < sum(len(s) for q in questions for s in q.sequences) / 5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_half_precision_scores_agree_within_a_quarter_nat(dtype: torch.dtype) -> None:
    tokenizer = make_tokenizer()
    model = make_model("LlamaConfig", len(tokenizer), scale=0.2, **LLAMA).to(dtype)
    engine = HuggingFaceEngine(model, tokenizer, name="half", weights={"sha256": "0"})
    np.testing.assert_allclose(values(run(engine, PROMPTS)), values(plain_scores(engine, PROMPTS)), atol=0.25)
    assert engine.description["scoring"] == "packed prefix trees"


def test_logits_and_their_log_softmax_are_in_single_precision_whatever_the_dtype() -> None:
    tokenizer = make_tokenizer()
    model = make_model("LlamaConfig", len(tokenizer), scale=0.2, **LLAMA).to(torch.bfloat16)
    engine = HuggingFaceEngine(model, tokenizer, name="half", weights={"sha256": "0"})
    every = tuple(tokenizer.convert_ids_to_tokens(i) for i in tokenizer.convert_tokens_to_ids(list("abcdefghijklmnop")))
    (score,) = run(engine, [Prompt("a", "task", "", "The nurse", every)])
    question = engine._encoder.questions([Prompt("a", "task", "", "The nurse", every)])[0]
    with torch.inference_mode():
        state = model.model(input_ids=torch.tensor([question.sequences[0][:-1]])).last_hidden_state[0, -1]
        logits = model.lm_head.weight.float() @ state.float()
    expected = torch.log_softmax(logits, dim=-1)[[sequence[-1] for sequence in question.sequences]]
    np.testing.assert_allclose(values([score]), expected.numpy(), atol=1e-5)


def test_keys_differ_where_anything_differs_that_could_change_an_answer() -> None:
    def engine(
        tokenizer: Any = None, *, bos: str = "auto", dtype: Any = torch.float32, sha: str = "0", **other: Any
    ) -> Any:
        tokenizer = tokenizer or make_tokenizer()
        model = make_model("Gemma2Config", len(tokenizer), **{**GEMMA2, **other}).to(dtype)
        return HuggingFaceEngine(model, tokenizer, name="any", weights={"sha256": sha}, options=EngineOptions(bos=bos))

    engines = [
        engine(),
        engine(bos="always"),
        engine(bos="never"),
        engine(dtype=torch.bfloat16),
        engine(sha="1"),
        engine(make_tokenizer(chat=CHAT)),
        engine(make_tokenizer(template="<s> $A")),
        engine(make_tokenizer(words=[" nurse"])),
        engine(final_logit_softcapping=7.0),
        engine(sliding_window=17),
    ]
    assert len({identity_key(each) for each in engines}) == len(engines)
    assert identity_key(engine()) == identity_key(engines[0])
    renamed = engine()
    renamed.name, renamed._model.config._name_or_path = "other", "elsewhere"
    assert identity_key(renamed) == identity_key(engines[0])


def test_a_prompt_longer_than_the_model_takes_is_named() -> None:
    engine = make_engine("GPT2Config", n_positions=128)
    long = Prompt("the long one", "task", "", "x" * 128, ("y", "z"))
    run(engine, [Prompt("fits", "task", "", "x" * 127, ("yz", "z"))])
    with pytest.raises(ModelError, match="the prompt of the long one has 129 tokens; GPT2Config takes at most 128"):
        run(engine, [PROMPTS[0], Prompt("the long one", "task", "", "x" * 128, ("yz", "z")), long])


def test_a_broken_weight_is_an_error_and_no_score() -> None:
    engine = MODELS["llama"]()
    with torch.no_grad():
        engine._model.model.norm.weight[0] = float("nan")
    with pytest.raises(ModelError, match="the engine gave nan as a log-probability"):
        run(engine, PROMPTS)


def test_a_model_without_a_head_is_refused() -> None:
    headless = MODELS["llama"]()._model.model
    with pytest.raises(ModelError, match="headless has no language-model head"):
        HuggingFaceEngine(headless, make_tokenizer(), name="headless", weights={"sha256": "0"})
