"""What is asked of a hub and of transformers when a model is loaded, and what is said of each failure."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from equipoise.options import EngineOptions
from equipoise.records import ModelError
from equipoise.scoring.huggingface import loading

hub_errors = loading.hub_errors


def raised(kind: type[Exception]) -> Exception:
    """Return an error of the hub, whatever it wants to be made of."""
    error = kind.__new__(kind)
    Exception.__init__(error, "told")
    return error


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("HFValidationError", "'a/b' is neither a folder nor the name of a model on the hub"),
        ("GatedRepoError", "the model a/b is gated: accept its terms on the hub and log in there"),
        ("RepositoryNotFoundError", "a/b is not a folder, and the hub has no public model of that name"),
        ("RevisionNotFoundError", "the hub's model a/b has no revision 'v1'"),
        ("EntryNotFoundError", "a/b on the hub has no config.json, so it is not a model for transformers"),
    ],
)
def test_what_the_hub_says_of_a_model_is_told(kind: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(url: str) -> None:
        raise raised(getattr(hub_errors, kind))

    monkeypatch.setattr(loading, "get_hf_file_metadata", refusing)
    with pytest.raises(ModelError) as caught:
        loading.only_cached("a/b", "v1")
    assert str(caught.value) == sentence


def test_the_local_cache_is_used_where_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(loading, "hf_hub_url", lambda *given, **named: asked.append((given, named)) or "url")
    monkeypatch.setattr(loading, "get_hf_file_metadata", asked.append)
    assert loading.only_cached("a/b", "v1") is False
    assert asked == [(("a/b", "config.json"), {"revision": "v1"}), "url"]

    def unreachable(url: str) -> None:
        raise ConnectionError("no")

    monkeypatch.setattr(loading, "get_hf_file_metadata", unreachable)
    found: list[Any] = ["/cache/config.json", None, object()]
    monkeypatch.setattr(
        loading, "try_to_load_from_cache", lambda *given, **named: asked.append((given, named)) or found.pop(0)
    )
    assert loading.only_cached("a/b", "v2") is True
    assert asked[-1] == (("a/b", "config.json"), {"revision": "v2"})
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            loading.only_cached("a/b")
        reason = "the model hub cannot be reached (ConnectionError), and the model is not in its local cache"
        assert str(caught.value) == f"a/b is not a folder, {reason}"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is loaded and made, in place of doing it."""
    kept: list[Any] = []

    def telling(name: str, value: Any) -> None:
        monkeypatch.setattr(loading, name, lambda *given, **named: kept.append((name, *given, named)) or value)

    for name, value in (
        ("load", ("model", "tokenizer")),
        ("only_cached", True),
        ("snapshot_download", "/cache/snapshots/abc"),
        ("_weight_files", ["file"]),
        ("weights_sha256", "hash"),
        ("changed", ("changed", {"quantize": "int8"})),
        ("HuggingFaceEngine", "engine"),
    ):
        telling(name, value)
    return kept


@pytest.mark.parametrize(
    ("name", "option", "revision"),
    [("a/b", None, {}), ("a/b@v1", "v2", {"revision": "v1"}), ("a/b", "v2", {"revision": "v2"})],
)
def test_a_model_of_a_hub_is_loaded_at_its_revision(name: str, option: Any, revision: Any, told: list[Any]) -> None:
    options = EngineOptions(revision=option)
    assert loading.open_huggingface(name, options) == "engine"
    weights = {"source": "a/b", "revision": "abc", "sha256": "hash", "weights_checked": loading.CHECKED[False]}
    assert told == [
        ("only_cached", "a/b", revision),
        ("load", "a/b", options, {**revision, "local_files_only": True}, {}),
        ("snapshot_download", "a/b", {"local_files_only": True, **revision}),
        ("_weight_files", Path("/cache/snapshots/abc"), options, {}),
        ("weights_sha256", ["file"], {"content": False}),
        ("changed", "model", options, {}),
        (
            "HuggingFaceEngine",
            "changed",
            "tokenizer",
            {"name": "a/b", "weights": {**weights, "quantize": "int8"}, "options": options},
        ),
    ]


def test_a_gguf_file_and_a_folder_are_loaded_from_where_they_are(
    told: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = EngineOptions()
    monkeypatch.chdir(tmp_path)
    assert loading.open_gguf(Path("m.gguf"), options, {"w": "1"}) == "engine"
    assert told[0] == ("load", str(tmp_path), options, {"gguf_file": "m.gguf"}, {})
    assert told[-1][3] == {"name": "m", "weights": {"w": "1", "quantize": "int8"}, "options": options}
    told.clear()
    (tmp_path / "mine").mkdir()
    assert loading.open_huggingface("mine", EngineOptions(verify_weights=True)) == "engine"
    assert told[0][:2] == ("_weight_files", Path("mine")) and told[1] == ("weights_sha256", ["file"], {"content": True})
    given = told[-1][3]
    assert given["name"] == "mine" and given["weights"]["source"] == "mine"
    assert given["weights"]["weights_checked"] == "content"


def test_what_is_no_folder_with_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").write_text("")
    table = "; a table is named with data"
    for name, more in (("./none", ""), ("/none", ""), ("~/none", ""), ("file", table), ("./file", table)):
        with pytest.raises(ModelError, match=f"^{name} is not a folder with a model{more}$") as refused:
            loading.open_huggingface(name, EngineOptions())
        assert refused.value.names == (("data",) if more else ())
    (tmp_path / "adapter_config.json").write_text("{}")
    sentence = "is a peft adapter: name its base model, and give this folder as adapter$"
    with pytest.raises(ModelError, match=sentence):
        loading.open_huggingface(str(tmp_path), EngineOptions())
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"holds no weights \(\*\.safetensors\)$"):
        loading.open_huggingface(str(tmp_path), EngineOptions())


def test_which_files_hold_the_weights(tmp_path: Path) -> None:
    def files(**choices: Any) -> list[str]:
        return [file.name for file in loading._weight_files(tmp_path, EngineOptions(**choices))]

    pickled = "has no safetensors weights; set allow_pickle to load pickled ones, which can run code$"
    for allow in (False, True):
        with pytest.raises(ModelError, match=r"holds no weights \(\*\.safetensors\)$"):
            files(allow_pickle=allow)
    (tmp_path / "m.gguf").write_text("")
    for allow in (False, True):
        with pytest.raises(ModelError, match=pickled):
            files(allow_pickle=allow)
    for name in ("b.pt", "b.bin", "a.bin"):
        (tmp_path / name).write_text("")
    with pytest.raises(ModelError, match=pickled):
        files()
    assert files(allow_pickle=True) == ["a.bin", "b.bin", "b.pt"]
    for name in ("y.safetensors", "x.safetensors"):
        (tmp_path / name).write_text("")
    assert files(allow_pickle=True) == files() == ["x.safetensors", "y.safetensors"]


def test_the_first_reason_for_a_failure_is_told(tmp_path: Path) -> None:
    """Of an error that would fit all sentences the first is taken; each that is taken away gives the next."""
    parts = ["trust_remote_code", "safetensors", "Unrecognized configuration class", "ignore_mismatched_sizes"]
    code = "it comes with code, which runs only if trust_remote_code is set"
    pickle = "it has no safetensors weights; set allow_pickle to load pickled ones, which can run code"
    told = [code, pickle, "it is not a causal language model", "its weights do not fit its config.json"]

    def reason(text: str, folder: Path = tmp_path / "none", **choices: Any) -> str:
        return loading._reason(ValueError(text), EngineOptions(**choices), folder)

    assert reason(" ".join(parts), tmp_path) == "the folder holds no weights (*.safetensors)"
    for place, sentence in enumerate(told):
        assert reason(" ".join(parts[place:])) == sentence
    assert reason("safetensors", allow_pickle=True) == "ValueError: safetensors"
    assert reason("a\n b" + "x" * 400) == f"ValueError: a b{'x' * 297}"
    (tmp_path / "m.bin").write_text("")
    assert reason("odd", tmp_path) == "ValueError: odd"


class Saved:
    """A model that a GGUF file was read into, or that was read again."""

    def __init__(self, logits: Any) -> None:
        self.config, self.saved, self.logits = SimpleNamespace(quantization_config=1), [], logits  # type: ignore[var-annotated]
        self.hf_quantizer, self.is_quantized = "gguf", True

    def save_pretrained(self, folder: Path) -> None:
        self.saved.append((folder, self.hf_quantizer, self.is_quantized, vars(self.config)))

    def __call__(self, ids: torch.Tensor) -> Any:
        assert torch.is_inference_mode_enabled() and ids.tolist() == [[1, 2]]
        return SimpleNamespace(logits=torch.tensor(self.logits))


class Reads:
    def __init__(self, ids: list[int]) -> None:
        self.ids, self.saved = ids, []  # type: ignore[var-annotated]

    def save_pretrained(self, folder: Path) -> None:
        self.saved.append(folder)

    def __call__(self, text: str) -> Any:
        assert text == loading.SENTENCE
        return SimpleNamespace(input_ids=self.ids)


@pytest.mark.parametrize(
    ("logits", "ids", "fine"), [([1.0], [1, 2], True), ([1.5], [1, 2], False), ([1.0], [1, 3], False)]
)
def test_what_is_dequantised_must_answer_alike_when_it_is_read_again(
    logits: Any, ids: list[int], fine: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, tokenizer, asked = Saved([1.0]), Reads([1, 2]), []
    pairs = iter([(model, tokenizer), (Saved(logits), Reads(ids))])
    monkeypatch.setattr(loading, "load", lambda *given: asked.append(given) or next(pairs))
    monkeypatch.chdir(tmp_path)
    if fine:
        loading.dequantise(Path("m.gguf"), tmp_path / "out")
    else:
        sentence = r"^m\.gguf answers otherwise when it is saved and loaded again; convert it to safetensors$"
        with pytest.raises(ModelError, match=sentence):
            loading.dequantise(Path("m.gguf"), tmp_path / "out")
    plain = EngineOptions(device="cpu", dtype="float32")
    assert asked == [(str(tmp_path), plain, {"gguf_file": "m.gguf"}), (str(tmp_path / "out"), plain, {})]
    assert model.saved == [(tmp_path / "out", None, False, {})] and tokenizer.saved == [tmp_path / "out"]


def test_a_template_is_looked_at_where_the_tokenizer_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        loading.AutoTokenizer, "from_pretrained", lambda *given, **named: asked.append((*given, named)) or "tokenizer"
    )
    monkeypatch.setattr(loading, "Encoder", lambda tokenizer: SimpleNamespace(thinks=tokenizer == "tokenizer"))
    (tmp_path / "m.gguf").write_text("")
    local = {"local_files_only": True, "trust_remote_code": False}
    for name, options, expected in (
        ("a/b", {}, ("a/b", local)),
        ("a/b@v1", {"revision": "v2"}, ("a/b", {**local, "revision": "v1"})),
        (
            "a/b",
            {"revision": "v2", "trust_remote_code": True},
            ("a/b", {**local, "revision": "v2", "trust_remote_code": True}),
        ),
        (str(tmp_path), {"revision": "v2"}, (str(tmp_path), local)),
        (str(tmp_path / "m.gguf"), {"revision": "v2"}, (str(tmp_path), {**local, "gguf_file": "m.gguf"})),
    ):
        assert loading.template_thinks(name, EngineOptions(**options)) is True  # type: ignore[arg-type]
        assert asked.pop() == expected

    def failing(*_: Any, **__: Any) -> None:
        raise OSError("none")

    monkeypatch.setattr(loading.AutoTokenizer, "from_pretrained", failing)
    assert loading.template_thinks("a/b", EngineOptions()) is None


def test_devices_and_number_types(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, best in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert loading._device("auto") == torch.device(best)
    with pytest.raises(ModelError, match=r"^device is cuda:1, but torch finds no CUDA device$"):
        loading._device("cuda:1")
    with pytest.raises(ModelError, match=r"^unknown device 'toaster'; use auto, cpu, cuda, cuda:N or spread$"):
        loading._device("toaster")
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert loading._dtype("auto", cpu) is torch.float32 and loading._dtype("auto", cuda) == "auto"
    for name in ("float32", "bfloat16", "float16"):
        assert loading._dtype(name, cuda) is loading._dtype(name, cpu) is getattr(torch, name)


def test_which_configurations_are_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    config: Any = None
    monkeypatch.setattr(
        loading.AutoConfig, "from_pretrained", lambda *given, **named: asked.append((*given, named)) or config
    )
    label = "BertForSequenceClassification"
    writes = "LlamaForCausalLM"
    for kinds in (None, (), (writes,), (writes, label), ("BertModel",)):
        config = SimpleNamespace(architectures=kinds)
        loading._check_kind("a/b", "name", {"x": 1})
    assert asked == [("a/b", {"x": 1})] * 5
    for kinds in ((label,), (label, "BertModel"), (label, "BertForTokenClassification")):
        config = SimpleNamespace(architectures=kinds)
        with pytest.raises(ModelError, match=f"^name is not a causal language model: it is a {label}, which labels"):
            loading._check_kind("a/b", "name", {})
    config = SimpleNamespace(is_encoder_decoder=True, model_type="t5", architectures=(label,))
    with pytest.raises(ModelError, match=r"^name is not a causal language model: t5 is an encoder with a decoder$"):
        loading._check_kind("a/b", "name", {})
    loading._check_kind("a/b", "name", {"gguf_file": "m.gguf"})


class Loads:
    """Stands for transformers: what is asked of it, and what it found in the weights."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **found: Any) -> None:
        self.asked: list[Any] = []
        found = {"unexpected_keys": [], "missing_keys": [], **found}
        model = SimpleNamespace(to=lambda device: ("moved", str(device)))

        def telling(name: str, value: Any) -> Any:
            return lambda *given, **named: self.asked.append((name, *given, named)) or value

        monkeypatch.setattr(loading.AutoTokenizer, "from_pretrained", telling("tokenizer", "tokenizer"))
        monkeypatch.setattr(loading.AutoModelForCausalLM, "from_pretrained", telling("model", (model, found)))
        monkeypatch.setattr(loading, "_check_kind", telling("kind", None))
        self.model = model


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("pickled", [False, True])
def test_what_is_asked_of_transformers(spread: bool, pickled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    loads = Loads(monkeypatch)
    device = "spread" if spread else "cpu"
    options = EngineOptions(device=device, allow_pickle=pickled, trust_remote_code=True, dtype="bfloat16")
    model, tokenizer = loading.load("a/b", options, {"local_files_only": True, "revision": "v1"})
    assert tokenizer == "tokenizer" and (model is loads.model if spread else model == ("moved", "cpu"))
    extra = {"local_files_only": True, "revision": "v1", "trust_remote_code": True}
    asked = {"dtype": torch.bfloat16, "output_loading_info": True, "adapter_kwargs": {"local_files_only": True}}
    asked |= ({} if pickled else {"use_safetensors": True}) | ({"device_map": "auto"} if spread else {})
    assert loads.asked == [
        ("kind", "a/b", "a/b", extra, {}),
        ("tokenizer", "a/b", extra),
        ("model", "a/b", {**asked, **extra}),
    ]


def test_a_gguf_file_is_named_whole_and_needs_no_safetensors(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = Loads(monkeypatch)
    loading.load("folder", EngineOptions(device="cpu"), {"gguf_file": "m.gguf"})
    extra = {"gguf_file": "m.gguf", "trust_remote_code": False}
    assert loads.asked[0] == ("kind", "folder", str(Path("folder") / "m.gguf"), extra, {})
    asked = {"dtype": torch.float32, "output_loading_info": True, "adapter_kwargs": {"local_files_only": False}}
    assert loads.asked[2] == ("model", "folder", {**asked, **extra})


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            {"unexpected_keys": ["x", "score.weight", "classifier.bias"], "missing_keys": ["a"]},
            "the model a/b is a classifier (it has classifier.bias); it does not predict words",
        ),
        ({"missing_keys": list("dcba")}, "the model a/b has no weights for a, b, c; they would be random"),
    ],
)
def test_weights_that_do_not_fit_are_told_first_things_first(
    found: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Loads(monkeypatch, **found)
    with pytest.raises(ModelError) as caught:
        loading.load("a/b", EngineOptions(device="cpu"), {})
    assert str(caught.value) == sentence
