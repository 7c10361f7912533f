"""The papers' model families load and score as one plain pass does, packed."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from exactness import plain_scores
from tiny import LLAMA, make_engine, make_model, make_tokenizer

from equipoise.datasets.builtin import load_builtin
from equipoise.options import EngineOptions
from equipoise.records import Example, ModelError, Prompt
from equipoise.scoring.huggingface import engine as module
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.model import config_sha256
from equipoise.scoring.huggingface.recorded import Recorder
from equipoise.scoring.huggingface.schedule import Batch
from equipoise.scoring.opening import open_engine
from equipoise.scoring.packing.rules import RowPlan

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


def test_what_an_engine_says_of_its_model() -> None:
    engine = make_engine()
    model = engine._model
    assert engine.description == {
        "sha256": "LlamaConfig {}",
        "architecture": "LlamaForCausalLM",
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "scoring": "not used",
        "shape": {"prompts": engine.shape.prompts, "row_tokens": engine.shape.row_tokens},
    }
    identity = dict(engine.identity)
    for name, value in engine._encoder.identity.items():
        assert identity.pop(name) == value
    facts = {"engine": "huggingface", "weights": "LlamaConfig {}", "config": config_sha256(model.config)}
    assert identity == {**facts, "dtype": "float32", "device": "cpu"}
    tokenizer = make_tokenizer(chat="{{ messages[0].content.split('</think>')[0] }}<think>")
    weights = {"sha256": "s", "adapter_sha256": "a", "adapter_merged": "no", "quantize": "int8"}
    half = HuggingFaceEngine(
        make_model("LlamaConfig", len(tokenizer), **LLAMA).bfloat16(),
        tokenizer,
        name="half",
        weights=weights,
        options=EngineOptions(whole_vocabulary=True),
    )
    for name, value in (("adapter", "a"), ("merged", "no"), ("quantize", "int8"), ("head", "float32")):
        assert half.identity[name] == value
    assert half.identity["dtype"] == "bfloat16" and len(half.identity["reductions"]) == 5
    assert half.description["thinks"] is True and half.texts_at_once == 16


def test_pronouns_that_are_split_are_noted_once() -> None:
    engine = make_engine()
    examples = [
        Example(f"e{number}", "Xe left.", ("a", "b"), None, False, None, {"gender": "xe"}, "s", slots={"pronoun": "xe"})
        for number in range(2)
    ]
    engine.prepare(examples)
    engine.prepare([])
    engine._note("one")
    engine._note("one")
    first, second = engine.notes
    assert first == "one" and "xe (" in second


def test_a_score_holds_the_sums_over_the_vocabulary_where_they_are_asked_for() -> None:
    engine = make_engine()

    def scores(firsts: list[int]) -> list[Any]:
        batch = Batch([PROMPT, PROMPTS[0]], RowPlan([2, 1], [2, 1, 1], firsts, [("f",), ()], [(), ()], [], "packed"))
        batch.values = np.array([[-1.0, 1.5, 0.5], [-2.0, 8.0, 8.0], [-0.5, 9.0, 9.0], [-3.0, 2.5, 0.5]])
        return list(engine._scored(batch, "engine"))

    plain, other = scores([4, 5, 6])
    assert (plain.prompt_key, plain.flags, plain.reductions) == (PROMPT.key("engine"), ("f",), {})
    assert plain.token_logprobs == ((-1.0, -2.0), (-0.5,)) and plain.stops == ()
    assert (other.prompt_key, other.flags, other.token_logprobs) == (PROMPTS[0].key("engine"), (), ((-3.0,),))
    engine._reduced = True
    summary, further = (score.reductions for score in scores([4, 5, 6]))
    assert summary["vocab_bits"] == pytest.approx(1.5 / math.log(2))
    assert summary["vocab_mass"] == pytest.approx(math.exp(-1) + math.exp(-0.5))
    assert further["vocab_bits"] == pytest.approx(2.5 / math.log(2))
    assert further["vocab_mass"] == pytest.approx(math.exp(-3))
    assert scores([4, 4, 6])[0].reductions["vocab_mass"] == pytest.approx(math.exp(-0.5)), (
        "a repeated token counts once"
    )


def test_a_value_that_no_row_gave_is_refused() -> None:
    batch = Batch([PROMPT], RowPlan([1], [2], [4], [()], [()], [SimpleNamespace(places=[0])], "packed"))  # type: ignore[list-item]
    batch.take(batch.plan.rows[0], np.array([[-1.0]]))
    with pytest.raises(ModelError, match="the engine gave nan as a log-probability"):
        make_engine()._scored(batch, "engine")


def test_when_compiling_is_worth_it() -> None:
    engine = make_engine()
    assert not engine._worth_compiling()
    engine.shape = engine.shape._replace(fixed=True)
    engine._parameters = 6_600_000_000
    engine.expect(99_999)
    engine.expect(5)
    assert engine._prompts == 99_999 and not engine._worth_compiling()
    engine.expect(100_000)
    assert engine._worth_compiling()
    engine.compiled = "never"
    assert not engine._worth_compiling()
    engine.compiled, engine._prompts = "always", 0
    assert engine._worth_compiling()
    engine.shape = engine.shape._replace(fixed=False)
    assert not engine._worth_compiling()


@pytest.mark.parametrize(
    ("faults", "sparse", "note"),
    [
        ([""], True, ""),
        (["slow", ""], False, ""),
        (["slow", "wrong"], False, "wrong when it is compiled; it is used uncompiled"),
    ],
)
def test_a_compiled_model_must_give_the_same_answers(
    faults: list[str], sparse: bool, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine()
    left = list(faults)
    trial = SimpleNamespace(fault=lambda mode: left.pop(0))
    monkeypatch.setattr(module, "Trial", lambda *given, **named: trial)
    calls: list[str] = []
    monkeypatch.setattr(engine._passes, "compile", lambda: calls.append("compiled"))
    monkeypatch.setattr(engine._passes, "decompile", lambda: calls.append("undone"))
    monkeypatch.setattr(type(engine._passes), "may_be_sparse", True)
    engine._compile()
    assert engine._passes.sparse is sparse and engine.notes == ([note] if note else [])
    assert calls == (["compiled", "undone"] if note else ["compiled"])
    assert engine.compiled == ("never" if note else "auto") and left == []


def test_processes_plan_where_the_device_is_fast_and_there_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(module, "PlannerPool", lambda *given: made.append(given) or "pool")
    monkeypatch.setattr(module, "processes", lambda gpus: 3)
    engine = make_engine()
    assert engine._open_pool(module.POOL_PROMPTS) is None
    engine.device = SimpleNamespace(type="cuda")
    assert engine._open_pool(module.POOL_PROMPTS - 1) is None
    assert engine._open_pool(module.POOL_PROMPTS) == engine._open_pool(1) == "pool"
    assert made == [(engine._encoder.serialized, 3)]
    engine._pool = None
    engine.batches(PROMPTS * module.POOL_PROMPTS)
    assert engine._pool == "pool", "they start while the prompts are sorted"
    engine._pool = None
    (example,) = load_builtin().examples[:1]
    engine.prepare([example] * (module.POOL_PROMPTS - 1))
    assert engine._pool is None
    engine.prepare([example] * module.POOL_PROMPTS)
    assert engine._pool == "pool", "they start while prompts are made of the examples"
    engine._pool = None
    monkeypatch.setattr(module, "processes", lambda gpus: 0)
    assert engine._open_pool(module.POOL_PROMPTS) is None


def test_passes_of_a_small_model_on_one_gpu_are_recorded_where_there_are_many() -> None:
    def recorder_of(*, prompts: int = module.POOL_PROMPTS, **facts: Any) -> Any:
        engine = make_engine()
        engine._mode = "packed"
        engine._on_own_gpu = True
        engine.shape = engine.shape._replace(fixed=True, row_tokens=512)
        engine.expect(prompts)
        for name, fact in facts.items():
            setattr(engine, name, fact)
        assert list(engine.score([])) == []
        first = engine._passes.recorder
        list(engine.score([]))
        assert engine._passes.recorder is first, "there is one"
        return first

    assert isinstance(recorder_of(), Recorder)
    assert recorder_of(prompts=module.POOL_PROMPTS - 1) is None
    assert recorder_of(_on_own_gpu=False) is None
    assert recorder_of(compiled="never") is None
    shape = make_engine().shape
    assert recorder_of(shape=shape._replace(fixed=True, row_tokens=1024)) is None
    assert recorder_of(shape=shape._replace(fixed=False, row_tokens=512)) is None


def test_a_compiled_model_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_engine()
    engine._mode, engine._on_own_gpu, engine._passes.compiled = "packed", True, True
    engine.shape = engine.shape._replace(fixed=True, row_tokens=512)
    engine.expect(module.POOL_PROMPTS)
    list(engine.score([]))
    assert engine._passes.recorder is None


@pytest.mark.parametrize(("borrowed", "on_gpu", "fused"), [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_norms_are_fused_on_one_gpu_in_a_model_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, borrowed: bool, on_gpu: bool, fused: int
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(module, "is_on_one_gpu", lambda model: on_gpu)
    monkeypatch.setattr(module, "fuse_norms", lambda model: calls.append(model) or 3)
    tokenizer = make_tokenizer()
    model = make_model("LlamaConfig", len(tokenizer), **LLAMA)
    engine = HuggingFaceEngine(model, tokenizer, name="m", weights={"sha256": "0"}, borrowed=borrowed)
    assert calls == [model] * fused and engine._on_own_gpu is bool(fused)
    assert engine.identity.get("norms") == ("fused" if fused else None), "scores are never mixed with others"


def test_the_first_batch_is_computed_before_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_engine()
    engine._mode = "packed"
    calls: list[Any] = []
    monkeypatch.setattr(engine, "_worth_compiling", lambda: True)
    monkeypatch.setattr(engine, "_compile", lambda: calls.append("compiled"))
    monkeypatch.setattr(engine, "_scores", lambda batches: iter([calls.append([b[0].example_id for b in batches])]))
    places = engine.batches(PROMPTS)
    first = [PROMPTS[place] for place in places[0]]
    other = [Prompt("other", "t", "", "another text", ("a",))]
    list(engine.score([first, other]))
    assert calls == [[first[0].example_id], "compiled", ["other"]]
    calls.clear()
    list(engine.score([other, first]))
    assert calls == ["compiled", ["other", first[0].example_id]], "a run that goes on begins compiled"
    for batch, begins in (([first[0], *other], True), ([*other, first[0]], False)):
        calls.clear()
        list(engine.score([batch]))
        name = batch[0].example_id
        assert calls == ([[name], "compiled", []] if begins else ["compiled", [name]]), "a batch is known by its first"
    calls.clear()
    list(engine.score([]))
    assert calls == ["compiled", []]
    calls.clear()
    engine._passes.compiled = True
    list(engine.score([first, other]))
    assert calls == [[first[0].example_id, "other"]]


@pytest.mark.parametrize(
    ("packed", "cached", "window", "mode", "fallback"),
    [
        ([""], [], None, "packed", "padded"),
        ([""], [""], 9, "packed", "cached"),
        ([""], ["no"], 9, "packed", "padded"),
        (["no", ""], [], None, "packed", "padded"),
        (["no", "no"], [""], None, "cached", "cached"),
        (["no", "no"], ["no"], None, "padded", "padded"),
    ],
)
def test_the_mode_follows_from_the_trial(
    packed: list[str], cached: list[str], window: int | None, mode: str, fallback: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"packed": list(packed), "cached": list(cached)}
    trial = SimpleNamespace(check_causal=lambda: None, sequence=[1, 2, 3], fault=lambda asked: answers[asked].pop(0))
    monkeypatch.setattr(module, "Trial", lambda *given, **named: trial)
    laid_out: list[Any] = []
    monkeypatch.setattr(module, "lay_out", lambda *given: laid_out.append(given))
    engine = make_engine()
    engine._window = window
    engine._choose_mode()
    assert (engine._mode, engine._fallback) == (mode, fallback) and answers == {"packed": [], "cached": []}
    assert engine._passes.segmented is (len(packed) == 1)
    assert laid_out == [(engine._model, [1, 2, 3])]
    words = {"cached": "batches with a shared prompt cache", "padded": "padded rows"}
    assert engine.notes == ([] if mode == "packed" else [f"no; {words[mode]} are used"])


def test_models_that_cannot_score_are_refused() -> None:
    tokenizer = make_tokenizer()
    bert = make_model("BertConfig", len(tokenizer), intermediate_size=32)
    with pytest.raises(ModelError, match=r"^b is not a causal language model: bert is an encoder, which"):
        HuggingFaceEngine(bert, tokenizer, name="b", weights={})
    bert.get_output_embeddings = lambda: None
    with pytest.raises(ModelError, match=r"^b has no language-model head, so it cannot score text$"):
        HuggingFaceEngine(bert, tokenizer, name="b", weights={})
