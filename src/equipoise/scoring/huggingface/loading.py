"""Loads models with transformers: from a hub, a folder or a GGUF file; every failure becomes one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import fields
from functools import lru_cache
from io import StringIO
from pathlib import Path, PurePath
from typing import Any

import torch
from huggingface_hub import errors as hub_errors
from huggingface_hub import get_hf_file_metadata, hf_hub_url, snapshot_download, try_to_load_from_cache
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from ...files import at_home
from ...options import EngineOptions
from ...records import ModelError
from ..encoding import Encoder
from ..weights import CHECKED, weights_sha256
from .engine import HuggingFaceEngine
from .model import parameters_sha256
from .quantisation import round_weights

OTHER_HEADS = ("Classification", "QuestionAnswering", "MultipleChoice")
"""How the names of models end that label texts instead of continuing them."""

SENTENCE = "The nurse told the farmers: “Ärzte, 12 of them, don't  wait.”"
"""What a model must read and answer alike before and after it was saved: spaces, capitals, marks, numbers."""

SPREAD = "spread"
"""The device of a model whose layers are spread over all GPUs there are."""


def open_huggingface(name: str, options: EngineOptions) -> HuggingFaceEngine:
    """Return the engine of a local folder, or of a hub's model (`owner/name` or `owner/name@revision`)."""
    folder = at_home(name)
    if folder.is_dir():
        if (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file():
            raise ModelError(f"{name} is a peft adapter: name its base model, and give this folder as adapter")
        weights = {"source": name, **_checked(_weight_files(folder, options), options)}
        return open_folder(folder, options, name=folder.resolve().name, weights=weights)
    if folder.is_file():
        raise ModelError(f"{name} is not a folder with a model; a table is named with data", "data")
    if name.startswith((".", "/", "~")) or folder.exists():
        raise ModelError(f"{name} is not a folder with a model")
    source, _, revision = name.partition("@")
    extra = {"revision": revision or options.revision} if revision or options.revision else {}
    model, tokenizer = load(source, options, {**extra, "local_files_only": only_cached(source, **extra)})
    snapshot = Path(snapshot_download(source, local_files_only=True, **extra))
    weights = {"source": source, "revision": snapshot.name, **_checked(_weight_files(snapshot, options), options)}
    return _engine(model, tokenizer, source, weights, options)


def only_cached(source: str, revision: str | None = None) -> bool:
    """Return whether to load from the local cache because the hub cannot be reached; one request, no retries."""
    try:
        get_hf_file_metadata(hf_hub_url(source, "config.json", revision=revision))
    except hub_errors.HFValidationError:
        raise ModelError(f"{source!r} is neither a folder nor the name of a model on the hub") from None
    except hub_errors.GatedRepoError:
        raise ModelError(f"the model {source} is gated: accept its terms on the hub and log in there") from None
    except hub_errors.RepositoryNotFoundError:
        raise ModelError(f"{source} is not a folder, and the hub has no public model of that name") from None
    except hub_errors.RevisionNotFoundError:
        raise ModelError(f"the hub's model {source} has no revision {revision!r}") from None
    except hub_errors.EntryNotFoundError:
        raise ModelError(f"{source} on the hub has no config.json, so it is not a model for transformers") from None
    except Exception as error:  # no network, a proxy, a server in trouble, offline mode
        if isinstance(try_to_load_from_cache(source, "config.json", revision=revision), str):
            return True
        reason = f"the model hub cannot be reached ({type(error).__name__}), and the model is not in its local cache"
        raise ModelError(f"{source} is not a folder, {reason}") from error
    return False


def open_folder(folder: Path, options: EngineOptions, *, name: str, weights: Mapping[str, str]) -> HuggingFaceEngine:
    """Return the engine of a local folder; `weights` says where its weights come from, and their hash."""
    model, tokenizer = load(str(folder), options, {})
    return _engine(model, tokenizer, name, weights, options)


def open_gguf(path: Path, options: EngineOptions, weights: Mapping[str, str]) -> HuggingFaceEngine:
    """Return the engine of a GGUF file, dequantised to the dtype in the options."""
    model, tokenizer = load(str(path.absolute().parent), options, {"gguf_file": path.name})
    return _engine(model, tokenizer, path.stem, weights, options)


def _engine(
    model: Any, tokenizer: Any, name: str, weights: Mapping[str, str], options: EngineOptions
) -> HuggingFaceEngine:
    """Return the engine of a loaded model, after the changes that the options ask for."""
    model, record = changed(model, options)
    return HuggingFaceEngine(model, tokenizer, name=name, weights={**weights, **record}, options=options)


def dequantise(gguf: Path, folder: Path) -> None:
    """Write a GGUF model as a plain float32 folder, which loads many times faster and answers the same."""
    plain = EngineOptions(device="cpu", dtype="float32")
    model, tokenizer = load(str(gguf.absolute().parent), plain, {"gguf_file": gguf.name})
    # transformers refuses to save what it still believes to be quantised.
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    again, read = load(str(folder), plain, {})
    ids = tokenizer(SENTENCE).input_ids
    with torch.inference_mode():
        first, second = (kept(torch.tensor([ids])).logits for kept in (model, again))
    if read(SENTENCE).input_ids != ids or not torch.equal(first, second):
        raise ModelError(f"{gguf} answers otherwise when it is saved and loaded again; convert it to safetensors")


CLASSIFIER_HEADS = ("score", "classifier", "classification_head", "qa_outputs")
"""What the weights of heads that do not predict words are called."""

PICKLED = ("*.bin", "*.pt")
"""Files of weights that can run code when they are read."""


def load(source: str, options: EngineOptions, extra: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return model and tokenizer on their device; every failure becomes one sentence."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    spread = options.device == SPREAD
    device = _device("auto" if spread else options.device)
    name = str(Path(source) / extra["gguf_file"]) if "gguf_file" in extra else source
    extra = {**extra, "trust_remote_code": options.trust_remote_code}
    safe = {} if options.allow_pickle or "gguf_file" in extra else {"use_safetensors": True}
    # Where peft is installed, transformers looks for an adapter as well: by the network, unless told not to.
    place: dict[str, Any] = {"adapter_kwargs": {"local_files_only": bool(extra.get("local_files_only"))}}
    place |= {"device_map": "auto"} if spread else {}
    try:
        with _reading_gguf() if "gguf_file" in extra else nullcontext():
            _check_kind(source, name, extra)
            tokenizer = AutoTokenizer.from_pretrained(source, **extra)
            model, loaded = AutoModelForCausalLM.from_pretrained(
                source, dtype=_dtype(options.dtype, device), output_loading_info=True, **safe, **place, **extra
            )
        if heads := sorted(key for key in loaded["unexpected_keys"] if key.partition(".")[0] in CLASSIFIER_HEADS):
            raise ModelError(f"the model {name} is a classifier (it has {heads[0]}); it does not predict words")
        if missing := sorted(loaded["missing_keys"]):
            raise ModelError(f"the model {name} has no weights for {', '.join(missing[:3])}; they would be random")
        return model if spread else model.to(device), tokenizer
    except ModelError:
        raise
    except Exception as error:  # transformers raises a dozen kinds, down to bare Exception from its Rust parts
        raise ModelError(f"the model {name} cannot be loaded: {_reason(error, options, Path(source))}") from error


@contextmanager
def _reading_gguf() -> Iterator[None]:
    """Let transformers read the header of a file once: it asks for it for the configuration, tokenizer and weights.

    Reading also draws a progress bar, which no setting of transformers turns off.
    """
    import gguf

    names = vars(gguf)
    reader = names["GGUFReader"]
    names["GGUFReader"] = lru_cache(maxsize=1)(reader)
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        names["GGUFReader"] = reader


def _check_kind(source: str, name: str, extra: Mapping[str, Any]) -> None:
    """Refuse a model of another kind by its configuration: its weights would be loaded without a head that writes."""
    if "gguf_file" in extra:
        return
    config = AutoConfig.from_pretrained(source, **extra)
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(f"{name} is not a causal language model: {config.model_type} is an encoder with a decoder")
    heads = [kind for kind in getattr(config, "architectures", None) or () if "For" in kind]
    others = [kind for kind in heads if kind.endswith(OTHER_HEADS)]
    if heads and len(others) == len(heads):
        raise ModelError(f"{name} is not a causal language model: it is a {others[0]}, which labels texts")


def _reason(error: Exception, options: EngineOptions, folder: Path) -> str:
    text = " ".join(str(error).split())
    if folder.is_dir() and not _any_weights(folder):
        return "the folder holds no weights (*.safetensors)"
    if "trust_remote_code" in text:
        return "it comes with code, which runs only if trust_remote_code is set"
    if "safetensors" in text and not options.allow_pickle:
        return "it has no safetensors weights; set allow_pickle to load pickled ones, which can run code"
    if "Unrecognized configuration class" in text:
        return "it is not a causal language model"
    if "ignore_mismatched_sizes" in text:
        return "its weights do not fit its config.json"
    return f"{type(error).__name__}: {text[:300]}"


def _any_weights(folder: Path) -> bool:
    """Return whether a folder holds weights of any kind."""
    return any(file for pattern in ("*.safetensors", "*.gguf", *PICKLED) for file in folder.glob(pattern))


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ModelError(f"unknown device {name!r}; use auto, cpu, cuda, cuda:N or spread") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelError(f"device is {name}, but torch finds no CUDA device")
    return device


def _dtype(name: str, device: torch.device) -> Any:
    if name == "auto":
        # bf16 is far slower on CPUs without hardware support, and less exact.
        return torch.float32 if device.type == "cpu" else "auto"
    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]


def _checked(files: Sequence[Path], options: EngineOptions) -> dict[str, str]:
    """Return the hash of weight files, and how it was made sure that they have it."""
    content = options.verify_weights
    return {"sha256": weights_sha256(files, content=content), "weights_checked": CHECKED[content]}


def _weight_files(folder: Path, options: EngineOptions) -> list[Path]:
    """Return the files that hold the weights."""
    files = sorted(folder.glob("*.safetensors"))
    if not files and options.allow_pickle:
        files = sorted(file for pattern in PICKLED for file in folder.glob(pattern))
    if not files and not _any_weights(folder):
        raise ModelError(f"{folder} holds no weights (*.safetensors)")
    if not files:
        raise ModelError(
            f"{folder} has no safetensors weights; set allow_pickle to load pickled ones, which can run code"
        )
    return files


def changed(model: Any, options: EngineOptions) -> tuple[Any, dict[str, str]]:
    """Return the model with the adapter and the quantisation of the options, and what to record about them."""
    record: dict[str, str] = {}
    if options.adapter is not None:
        model = _adapted(model, at_home(options.adapter), options)
        record = {"adapter": options.adapter, "adapter_sha256": _adapter_sha256(options)}
        record["adapter_merged"] = "yes" if options.merge_adapter else "no"
    elif options.merge_adapter:
        raise ModelError("merge_adapter needs an adapter")
    if options.quantize is not None:
        round_weights(model, options.quantize)
        record["quantize"] = options.quantize
    return model, record


def _adapted(model: Any, folder: Path, options: EngineOptions) -> Any:
    if not (folder / "adapter_config.json").is_file():
        raise ModelError(f"{folder} is not a folder with a peft adapter: it has no adapter_config.json")
    if not (folder / "adapter_model.safetensors").is_file() and not options.allow_pickle:
        raise ModelError(
            f"{folder} has no safetensors adapter; set allow_pickle to load a pickled one, which can run code"
        )
    try:
        from peft import PeftModel
    except ImportError:
        raise ModelError("an adapter needs peft: pip install 'equipoise[adapters]'") from None
    try:
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=False)
        return adapted.merge_and_unload() if options.merge_adapter else adapted
    except Exception as error:  # peft raises many kinds where an adapter does not fit its model
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"the adapter {folder} cannot be loaded: {type(error).__name__}: {reason}") from error


def _adapter_sha256(options: EngineOptions) -> str:
    folder = at_home(str(options.adapter))
    files = [folder / "adapter_config.json", *sorted(folder.glob("adapter_model.*"))]
    return weights_sha256(files, content=options.verify_weights)


ABOUT_LOADING = (
    "device",
    "dtype",
    "revision",
    "adapter",
    "merge_adapter",
    "quantize",
    "trust_remote_code",
    "allow_pickle",
)


def open_in_memory(parts: Sequence[Any], options: EngineOptions) -> HuggingFaceEngine:
    """Return the engine of a model and its tokenizer, given in any order."""
    models = [part for part in parts if hasattr(part, "get_output_embeddings")]
    tokenizers = [part for part in parts if hasattr(part, "convert_ids_to_tokens")]
    if len(parts) != 2 or len(models) != 1 or len(tokenizers) != 1:
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise ModelError(f"model must be (model, tokenizer) of transformers, not ({kinds})")
    given = {field.name: field.default for field in fields(EngineOptions)}
    loading = [name for name in ABOUT_LOADING if getattr(options, name) != given[name]]
    if loading:
        raise ModelError(f"{loading[0]} is for models that are loaded by name; this model is in memory already")
    (model,), (tokenizer,) = models, tokenizers
    name = PurePath(str(getattr(model.config, "_name_or_path", ""))).name or type(model).__name__
    weights = {"source": f"{type(model).__name__} in memory", "sha256": parameters_sha256(model)}
    return HuggingFaceEngine(model, tokenizer, name=name, weights=weights, options=options, borrowed=True)


def template_thinks(name: str, options: EngineOptions) -> bool | None:
    """Return whether the chat template of a folder, a GGUF file or a cached hub model leaves a think block open.

    None where there is no tokenizer to look at on this machine.
    """
    path = at_home(name)
    source, _, revision = name.partition("@")
    extra = {"revision": revision or options.revision} if revision or options.revision else {}
    if path.is_file():
        source, extra = str(path.resolve().parent), {"gguf_file": path.name}
    elif path.is_dir():
        source, extra = str(path), {}
    try:
        with redirect_stderr(StringIO()):  # reading GGUF draws a progress bar
            tokenizer = AutoTokenizer.from_pretrained(
                source, local_files_only=True, trust_remote_code=options.trust_remote_code, **extra
            )
        return Encoder(tokenizer).thinks
    except Exception:  # transformers raises a dozen kinds; the audit itself tells what is wrong
        return None
