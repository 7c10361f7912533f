"""A model is loaded from a folder, a hub, a GGUF file or memory, with its adapter, or is refused in one sentence."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from exactness import plain_scores
from peft import LoraConfig, PeftModel, get_peft_model
from saved_models import refusal
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    pipeline,
)

from equipoise.options import EngineOptions
from equipoise.records import ModelError, Prompt
from equipoise.scoring.engine import identity_key
from equipoise.scoring.huggingface.loading import _device
from equipoise.scoring.opening import open_engine
from equipoise.scoring.planted import PlantedEngine
from equipoise.scoring.weights import file_sha256

PROMPT = Prompt("a", "task", "", "The nurse told the driver that she", (" was", " refers to the driver"))
NOBODY = "http://127.0.0.1:9"


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not None}))


def test_a_folder_is_opened_and_known_by_its_weights(folder: Path) -> None:
    engine: Any = open_engine(str(folder))
    assert engine.name == "model"
    assert engine.identity["weights"] == file_sha256(folder / "model.safetensors")
    assert engine.identity["dtype"] == "float32"
    assert engine.identity["leading_ids"] == [0]
    assert engine.description["architecture"] == "LlamaForCausalLM"
    direct = LlamaForCausalLM.from_pretrained(folder)
    assert engine.description["parameters"] == direct.num_parameters()
    (scores,) = engine.score([[PROMPT]])
    assert scores[0].logprobs == pytest.approx(plain_scores(engine, [PROMPT])[0].logprobs, abs=1e-4)


def test_the_key_follows_what_is_in_the_folder_not_where_it_is(folder: Path, tmp_path: Path) -> None:
    key = identity_key(open_engine(str(folder)))
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    assert identity_key(open_engine(f"hf:{elsewhere}")) == key
    assert identity_key(open_engine(str(folder), EngineOptions(dtype="bfloat16"))) != key
    assert identity_key(open_engine(str(folder), EngineOptions(bos="never"))) != key
    change_config(elsewhere, rms_norm_eps=0.1)
    assert identity_key(open_engine(str(elsewhere))) != key


@pytest.mark.parametrize(("dtype", "expected"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_the_dtype_asked_for_is_the_models(folder: Path, dtype: str, expected: torch.dtype) -> None:
    engine: Any = open_engine(str(folder), EngineOptions(device="cpu", dtype=dtype))
    assert engine.dtype == expected
    assert engine.identity["dtype"] == dtype


def test_a_device_that_does_not_exist_is_refused(folder: Path) -> None:
    assert refusal(folder, device="abacus") == "unknown device 'abacus'; use auto, cpu, cuda, cuda:N or spread"


@pytest.mark.parametrize("there", [True, False])
def test_a_device_is_the_one_asked_for_or_the_best_that_there_is(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert _device("auto") == torch.device("cuda" if there else "cpu")
    assert _device("cpu") == torch.device("cpu")
    if there:
        assert _device("cuda:1") == torch.device("cuda:1")
    else:
        with pytest.raises(ModelError, match=r"^device is cuda:1, but torch finds no CUDA device$"):
            _device("cuda:1")


def test_no_such_folder_or_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "missing") == f"{tmp_path}/missing is not a folder with a model"
    assert refusal(tmp_path / "missing.gguf") == f"GGUF file {tmp_path}/missing.gguf does not exist"
    assert refusal("hf:") == "hf: needs the name of a model, such as hf:owner/name"
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file") == f"{tmp_path}/file is not a folder with a model; a table is named with data"


def test_a_folder_without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert f"{folder} holds no weights (*.safetensors)" in refusal(folder)
    assert "holds no weights" in refusal(folder, allow_pickle=True)


def test_pickled_weights_are_read_only_when_asked_for(folder: Path) -> None:
    torch.save(LlamaForCausalLM.from_pretrained(folder).state_dict(), folder / "pytorch_model.bin")
    (safe,) = next(iter(open_engine(str(folder)).score([[PROMPT]])))
    (folder / "model.safetensors").unlink()
    assert refusal(folder) == (
        f"{folder} has no safetensors weights; set allow_pickle to load pickled ones, which can run code"
    )
    (pickled,) = next(iter(open_engine(str(folder), EngineOptions(allow_pickle=True)).score([[PROMPT]])))
    assert pickled.token_logprobs == safe.token_logprobs


@pytest.mark.parametrize("type_", ["martian", "llama"])
def test_a_models_own_code_is_not_run(folder: Path, tmp_path: Path, type_: str) -> None:
    trace = tmp_path / "it ran"
    (folder / "mine.py").write_text(f"open({str(trace)!r}, 'w')\n")
    own = {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}
    change_config(folder, model_type=type_, auto_map=own)
    if type_ == "martian":
        assert refusal(folder) == (
            f"the model {folder} cannot be loaded: it comes with code, which runs only if trust_remote_code is set"
        )
    else:
        open_engine(str(folder))  # transformers knows this kind itself
    assert not trace.exists()


def _cut(length: Callable[[int], int]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "model.safetensors"
        content = path.read_bytes()
        path.write_bytes(content[: length(len(content))])

    return damage


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "weights cut in half": (_cut(lambda size: size // 2), "SafetensorError"),
    "weights cut in the header": (_cut(lambda _: 20), "SafetensorError"),
    "weights empty": (_cut(lambda _: 0), "SafetensorError"),
    "weights of rubbish": (lambda f: (f / "model.safetensors").write_bytes(bytes(range(256))), "SafetensorError"),
    "no config": (lambda f: (f / "config.json").unlink(), "model"),
    "config of rubbish": (lambda f: (f / "config.json").write_text("{rubbish"), "not a valid JSON file"),
    "config of another kind": (lambda f: (f / "config.json").write_text("[]"), "cannot be loaded"),
    "unknown architecture": (lambda f: change_config(f, model_type="martian"), "martian"),
    "no tokenizer": (lambda f: [file.unlink() for file in f.glob("tokenizer*")], "tokenizer"),
    "tokenizer of rubbish": (lambda f: (f / "tokenizer.json").write_text("{}"), "cannot be loaded"),
    "sizes that do not fit": (lambda f: change_config(f, hidden_size=64), "its weights do not fit its config.json"),
    "a layer too few": (lambda f: change_config(f, num_hidden_layers=3, layer_types=None), "they would be random"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_folder_is_refused(folder: Path, name: str) -> None:
    damage, fact = DAMAGE[name]
    damage(folder)
    sentence = refusal(folder)
    assert str(folder) in sentence
    assert fact in sentence


def test_a_model_without_its_head_is_not_given_a_random_one(folder: Path) -> None:
    LlamaForCausalLM.from_pretrained(folder).model.save_pretrained(folder)
    assert refusal(folder) == f"the model {folder} has no weights for lm_head.weight; they would be random"


@pytest.mark.parametrize("content", [b"", b"rubbish" * 99, b"GGUF" + bytes(99), b"GGUF\x03\0\0\0" + b"\xff" * 99])
def test_a_gguf_of_rubbish_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rubbish.gguf"
    path.write_bytes(content)
    for spec in (str(path), f"gguf:{path}"):
        assert f"the model {path} cannot be loaded" in refusal(spec)


def ask_hub(*specs: str, **environment: str) -> list[str]:
    """Return what another process is told when it asks the hub for these models, and nothing else."""
    script = (
        "import sys\nfrom equipoise.records import ModelError\nfrom equipoise.scoring.opening import open_engine\n"
        "for spec in sys.argv[1:]:\n"
        "    try:\n        open_engine(spec)\n"
        "    except ModelError as error:\n        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *specs],
        env={**os.environ, "no_proxy": "*", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert "Retrying" not in done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_without_a_network_a_hubs_model_is_refused_without_retries(tmp_path: Path) -> None:
    found = ask_hub(
        "owner/model",
        "gpt2",
        "owner/model@v1",
        "a/b/c",
        "two words",
        HF_ENDPOINT=NOBODY,
        HF_HOME=str(tmp_path),
        HF_HUB_OFFLINE="0",
    )
    out_of_reach = "the model hub cannot be reached (ConnectError), and the model is not in its local cache"
    assert found == [
        f"owner/model is not a folder, {out_of_reach}",
        f"gpt2 is not a folder, {out_of_reach}",
        f"owner/model is not a folder, {out_of_reach}",
        "'a/b/c' is neither a folder nor the name of a model on the hub",
        "'two words' is neither a folder nor the name of a model on the hub",
    ]


@contextmanager
def hub(answer: Callable[[str], tuple[int, dict[str, str]]]) -> Iterator[tuple[str, list[str]]]:
    """Run a hub that answers every question with a status and headers; gives its address and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            status, headers = answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        do_GET = do_HEAD

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_what_the_hub_says_is_told(tmp_path: Path) -> None:
    def answer(path: str) -> tuple[int, dict[str, str]]:
        code = re.search("(Gated|RepoNotFound|RevisionNotFound|EntryNotFound)", path)
        return (503, {}) if code is None else (403 if code[1] == "Gated" else 404, {"X-Error-Code": _code(code[1])})

    with hub(answer) as (address, asked):
        names = ("o/RepoNotFound", "o/RevisionNotFound@v9", "o/EntryNotFound", "o/Gated", "o/trouble")
        found = ask_hub(*names, HF_ENDPOINT=address, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="0")
    assert found == [
        "o/RepoNotFound is not a folder, and the hub has no public model of that name",
        "the hub's model o/RevisionNotFound has no revision 'v9'",
        "o/EntryNotFound on the hub has no config.json, so it is not a model for transformers",
        "the model o/Gated is gated: accept its terms on the hub and log in there",
        "o/trouble is not a folder, the model hub cannot be reached (HfHubHTTPError), "
        "and the model is not in its local cache",
    ]
    assert len([path for path in asked if "/resolve/" in path]) == 5, "one question each, no retries"


def _code(name: str) -> str:
    return {"Gated": "GatedRepo"}.get(name, name)


@pytest.mark.slow
def test_a_model_of_the_hub_in_the_local_cache_is_opened_without_a_network(saved: Path, tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "hub" / "models--owner--model"
    shutil.copytree(saved, cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    script = (
        "from equipoise.scoring.opening import open_engine\n"
        "engine = open_engine('owner/model')\n"
        "print(engine.name, engine.description['revision'], engine.identity['weights'])\n"
    )
    environment = {**os.environ, "no_proxy": "*", "HF_ENDPOINT": NOBODY, "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert "Retrying" not in done.stderr
    assert done.stdout.split() == ["owner/model", commit, file_sha256(saved / "model.safetensors")], done.stderr


NINE = [Prompt(f"e{n}", "task", "", f"The nurse {n} told the clerk that", (" he", " she was")) for n in range(9)]


@pytest.fixture(scope="module")
def tiny_folder(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


@pytest.fixture
def model_and_tokenizer(tiny_folder: Path) -> tuple[Any, Any]:
    return AutoModelForCausalLM.from_pretrained(tiny_folder), AutoTokenizer.from_pretrained(tiny_folder)


def scores_of(engine: Any) -> list[tuple[tuple[float, ...], ...]]:
    return [score.token_logprobs for batch in engine.score([NINE]) for score in batch]


def test_a_model_and_its_tokenizer_a_pipeline_and_a_path_give_the_same_scores(
    tiny_folder: Path, model_and_tokenizer: Any
) -> None:
    expected = scores_of(open_engine(tiny_folder))
    pipe = pipeline("text-generation", model=model_and_tokenizer[0], tokenizer=model_and_tokenizer[1])
    for given in (model_and_tokenizer, list(model_and_tokenizer), model_and_tokenizer[::-1], pipe):
        engine = open_engine(given)
        assert [pytest.approx(row[0], abs=1e-4) for row in expected] == [row[0] for row in scores_of(engine)]
        assert engine.name == tiny_folder.name
        assert engine.description["source"] == "LlamaForCausalLM in memory"
    planted = PlantedEngine()
    assert open_engine(planted) is planted


def test_the_model_is_left_as_it_was(model_and_tokenizer: Any) -> None:
    model, _ = model_and_tokenizer
    model.train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    engine = open_engine(model_and_tokenizer)
    scores_of(engine)
    engine.generate(["The nurse"], 3)
    assert model.training
    assert all(type(module) is torch.nn.Linear for name, module in model.named_modules() if name.endswith("_proj"))
    after = model.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def test_its_key_follows_its_weights(model_and_tokenizer: Any) -> None:
    key = identity_key(open_engine(model_and_tokenizer))
    assert identity_key(open_engine(model_and_tokenizer)) == key
    weight = model_and_tokenizer[0].model.layers[1].mlp.down_proj.weight
    with torch.no_grad():
        row = weight[3].clone()
        weight[3], weight[4] = weight[4].clone(), row  # the same numbers at other places
    assert identity_key(open_engine(model_and_tokenizer)) != key


def test_a_peft_model_is_one_too(model_and_tokenizer: Any) -> None:
    tuned = get_peft_model(model_and_tokenizer[0], LoraConfig(r=2, target_modules=["q_proj"]))
    engine = open_engine((tuned, model_and_tokenizer[1]))
    assert [row[0] for row in scores_of(engine)] == [
        row[0] for row in scores_of(open_engine((tuned, model_and_tokenizer[1])))
    ]
    assert engine.description["source"] == "PeftModel in memory"


def test_anything_else_is_one_sentence(model_and_tokenizer: Any) -> None:
    with pytest.raises(ModelError, match=r"a LlamaForCausalLM needs its tokenizer: pass \(model, tokenizer\)"):
        open_engine(model_and_tokenizer[0])
    for given in (None, 3, object(), (1, 2, 3)):
        with pytest.raises(ModelError, match="model must be a name"):
            open_engine(given)
    with pytest.raises(ModelError, match=r"model must be \(model, tokenizer\) of transformers, not \(int, int\)"):
        open_engine((1, 2))
    with pytest.raises(ModelError, match="dtype is for models that are loaded by name"):
        open_engine(model_and_tokenizer, EngineOptions(dtype="bfloat16"))


EIGHT = [
    Prompt(f"{who}-{pronoun}", "task", "", f"The {who} told the clerk that {pronoun}", (" was late", f" is the {who}"))
    for who in ("nurse", "driver", "cook", "judge")
    for pronoun in ("he", "she")
]


@pytest.fixture(scope="module")
def adapter(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a LoRA adapter whose weights are not zero."""
    path = tmp_path_factory.mktemp("adapter")
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(tiny_folder), LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
    )
    torch.manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path)
    return path


def values_of(engine: Any) -> np.ndarray:
    (scores,) = engine.score([EIGHT])
    return np.array([value for score in scores for tokens in score.token_logprobs for value in tokens])


def test_an_adapter_scores_as_peft_does_merged_or_not(tiny_folder: Path, adapter: Path) -> None:
    plain = open_engine(str(tiny_folder))
    loose = open_engine(str(tiny_folder), EngineOptions(adapter=str(adapter)))
    merged = open_engine(str(tiny_folder), EngineOptions(adapter=str(adapter), merge_adapter=True))
    peft = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tiny_folder), str(adapter)).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    ids = tokenizer("The nurse told the clerk that he was late")["input_ids"]
    start = len(tokenizer("The nurse told the clerk that he")["input_ids"])
    with torch.inference_mode():
        logprobs = peft(torch.tensor([ids])).logits[0].log_softmax(-1)
    expected = [float(logprobs[place - 1, ids[place]]) for place in range(start, len(ids))]
    for engine in (loose, merged):
        (scores,) = engine.score([EIGHT])
        assert scores[0].token_logprobs[0] == pytest.approx(expected, abs=1e-4)
        assert engine.description["scoring"] == "packed prefix trees"
    np.testing.assert_allclose(values_of(loose), values_of(merged), atol=1e-4)
    assert np.abs(values_of(loose) - values_of(plain)).max() > 0.01
    assert len({identity_key(engine) for engine in (plain, loose, merged)}) == 3


def test_a_changed_adapter_has_another_key(tiny_folder: Path, adapter: Path, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "other"
    shutil.copytree(adapter, other)
    same = open_engine(str(tiny_folder), EngineOptions(adapter=str(other)))
    assert identity_key(same) == identity_key(open_engine(str(tiny_folder), EngineOptions(adapter=str(adapter))))
    content = bytearray((other / "adapter_model.safetensors").read_bytes())
    content[-3] ^= 1
    (other / "adapter_model.safetensors").write_bytes(content)
    assert identity_key(open_engine(str(tiny_folder), EngineOptions(adapter=str(other)))) != identity_key(same)


def test_an_adapter_that_is_none_or_does_not_fit_is_one_sentence(
    tiny_folder: Path, adapter: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="is not a folder with a peft adapter: it has no adapter_config"):
        open_engine(str(tiny_folder), EngineOptions(adapter=str(tmp_path)))
    with pytest.raises(ModelError, match="is a peft adapter: name its base model, and give this folder as adapter"):
        open_engine(str(adapter))
    with pytest.raises(ModelError, match="merge_adapter needs an adapter"):
        open_engine(str(tiny_folder), EngineOptions(merge_adapter=True))
    (tmp_path / "adapter_config.json").write_text(
        (adapter / "adapter_config.json").read_text().replace("q_proj", "nope")
    )
    (tmp_path / "adapter_model.safetensors").write_bytes(b"rubbish")
    with pytest.raises(ModelError, match=r"the adapter .* cannot be loaded"):
        open_engine(str(tiny_folder), EngineOptions(adapter=str(tmp_path)))
    (tmp_path / "adapter_model.safetensors").unlink()
    with pytest.raises(ModelError, match="has no safetensors adapter; set allow_pickle"):
        open_engine(str(tiny_folder), EngineOptions(adapter=str(tmp_path)))


def test_a_model_spread_by_accelerate_scores_the_same(tiny_folder: Path) -> None:
    np.testing.assert_allclose(
        values_of(open_engine(str(tiny_folder), EngineOptions(device="spread"))),
        values_of(open_engine(str(tiny_folder))),
        atol=1e-5,
    )


def test_models_of_another_kind_are_refused_for_their_kind(tmp_path: Path) -> None:
    kinds = {"bart": {"model_type": "bart", "is_encoder_decoder": True, "architectures": ["BartForCausalLM"]}}
    kinds["head"] = {"model_type": "llama", "architectures": ["LlamaForSequenceClassification"]}
    for name, config in kinds.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        (tmp_path / name / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="not a causal language model: bart is an encoder with a decoder"):
        open_engine(str(tmp_path / "bart"), EngineOptions(device="cpu"))
    with pytest.raises(ModelError, match="it is a LlamaForSequenceClassification, which labels texts"):
        open_engine(str(tmp_path / "head"), EngineOptions(device="cpu"))


@pytest.mark.parametrize("says_so", [True, False])
def test_a_saved_classifier_is_refused_for_its_head(says_so: bool, tmp_path: Path, tiny_folder: Path) -> None:
    config = LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    LlamaForSequenceClassification(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(tmp_path)
    if not says_so:  # a configuration without the name of its class: the weights tell
        saved = json.loads((tmp_path / "config.json").read_text())
        del saved["architectures"]
        (tmp_path / "config.json").write_text(json.dumps(saved))
    with pytest.raises(ModelError) as caught:
        open_engine(str(tmp_path), EngineOptions(device="cpu"))
    words = "which labels texts" if says_so else "is a classifier (it has score.weight); it does not predict words"
    assert words in str(caught.value) and "\n" not in str(caught.value)
