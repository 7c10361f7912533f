"""Scores prompts with transformers: packed prefix trees where the architecture allows, padded rows where not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from huggingface_hub import snapshot_download
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from ..records import Context, ModelError, Prompt, Score
from .encoding import Encoder, Question
from .engine import EngineOptions, identity_key
from .prefix_tree import Pass, Row, alone, lay_out, pack
from .weights import weights_sha256
from .writing import write

LOGIT_BYTES = 256 * 2**20
"""Bound on the float32 logits held at once."""

TokenLogprobs = tuple[tuple[float, ...], ...]


class Shape(NamedTuple):
    """How much is computed at once: prompts a batch, tokens a packed row, packed rows a pass, padded rows a pass."""

    prompts: int
    row_tokens: int
    rows: int
    padded_rows: int


class HuggingFaceEngine:
    """A causal language model of transformers."""

    def __init__(self, model: Any, tokenizer: Any, *, name: str, weights: Mapping[str, str], bos: str = "auto") -> None:
        self._model = model.eval()
        self._encoder = Encoder(tokenizer, bos=bos)
        self._name = name
        self._weights = dict(weights)
        self._head = model.get_output_embeddings()
        if self._head is None:
            raise ModelError(f"{name} has no language-model head, so it cannot score text")
        self._packs: bool | None = None
        self.device = next(model.parameters()).device
        self.dtype = next(model.parameters()).dtype
        self.shape = Shape(2048, 1024, 8, 64) if self.device.type == "cuda" else Shape(128, 512, 1, 8)
        self.notes: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "engine": "huggingface",
            "weights": self._weights["sha256"],
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": self.device.type,
            **self._encoder.identity,
        }

    @property
    def description(self) -> Mapping[str, Any]:
        return {
            **self._weights,
            "architecture": type(self._model).__name__,
            "parameters": sum(parameter.numel() for parameter in self._model.parameters()),
            "scoring": {None: "not used", True: "packed prefix trees", False: "padded rows"}[self._packs],
        }

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return batches of neighbours in the order of their texts, which share the longest prefixes."""
        order = sorted(range(len(prompts)), key=lambda i: (str(prompts[i].context), i))
        return [order[start : start + self.shape.prompts] for start in range(0, len(order), self.shape.prompts)]

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            questions = self._encoder.questions(batch)
            if self._packs is None:
                self._packs = self._packing_is_exact(questions)
            answers = self._packed(questions) if self._packs else self._padded(questions)
            yield [
                Score(prompt.key(identity), logprobs, flags=question.flags)
                for prompt, question, logprobs in zip(batch, questions, answers, strict=True)
            ]

    def score_one_by_one(self, prompts: Iterable[Prompt]) -> list[Score]:
        """Return the scores from one plain pass a candidate: no packing, padding or batch. The reference for tests."""
        identity = identity_key(self)
        scores = []
        for prompt in prompts:
            (question,) = self._encoder.questions([prompt])
            logprobs = []
            for sequence, start in zip(question.sequences, question.starts, strict=True):
                with torch.inference_mode():
                    ids = torch.tensor([sequence[:-1]], device=self.device)
                    logits = self._model(input_ids=ids, use_cache=False).logits[0, start - 1 :].float()
                    targets = torch.tensor(sequence[start:], device=self.device)
                    values = torch.log_softmax(logits, dim=-1).gather(1, targets[:, None])
                logprobs.append(tuple(values[:, 0].tolist()))
            scores.append(Score(prompt.key(identity), tuple(logprobs), flags=question.flags))
        return scores

    def _packing_is_exact(self, questions: Sequence[Question]) -> bool:
        """Return whether packed rows give this model's plain answers: a one-off check on a few real prompts."""
        longest = max(range(len(questions)), key=lambda i: max(map(len, questions[i].sequences)))
        sample = [questions[i] for i in dict.fromkeys([*range(min(6, len(questions))), longest])]
        plain = _flat(self._padded(sample))
        try:
            packed = _flat(self._packed(sample))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            self.notes.append(f"{self.name} cannot run packed rows ({type(error).__name__}); padded rows are used")
            return False
        # Rounding differs between the two; a mask or a position that is ignored changes far more.
        tolerance = 1e-3 if self.dtype == torch.float32 else 0.25
        difference = float(np.abs(packed - plain).max())
        if difference > tolerance:
            self.notes.append(f"{self.name} ignores packed masks (off by {difference:.2g} nats); padded rows are used")
        return difference <= tolerance

    def _packed(self, questions: Sequence[Question]) -> list[TokenLogprobs]:
        """Return the token log-probabilities of the questions, every shared prefix computed once."""

        def run(work: Pass) -> torch.Tensor:
            return self._logits(
                work,
                position_ids=self._tensor(work.depths),
                attention_mask=_ancestor_mask(self._tensor(work.ends), self.dtype),
            )

        return self._answer(
            questions, lambda inputs: pack(inputs, row_tokens=self.shape.row_tokens), self.shape.rows, run
        )

    def _padded(self, questions: Sequence[Question]) -> list[TokenLogprobs]:
        """Return the token log-probabilities of the questions from right-padded rows, one a distinct input."""

        def run(work: Pass) -> torch.Tensor:
            mask = np.arange(work.tokens.shape[1]) < work.lengths[:, None]
            return self._logits(work, attention_mask=self._tensor(mask.astype(np.int64)))

        return self._answer(questions, alone, self.shape.padded_rows, run)

    def _answer(
        self,
        questions: Sequence[Question],
        arrange: Callable[[Sequence[Sequence[int]]], list[Row]],
        rows_at_once: int,
        run: Callable[[Pass], torch.Tensor],
    ) -> list[TokenLogprobs]:
        sequences = [sequence for question in questions for sequence in question.sequences]
        starts = [start for question in questions for start in question.starts]
        rows = arrange([sequence[:-1] for sequence in sequences])
        answers: list[tuple[float, ...]] = [()] * len(sequences)
        for first in range(0, len(rows), rows_at_once):
            work = lay_out(rows[first : first + rows_at_once], sequences, starts)
            values = self._target_logprobs(run(work), work)
            for owner, part in zip(work.owners, np.split(values, np.cumsum(work.counts)[:-1]), strict=True):
                answers[owner] = tuple(part.tolist())
        places = iter(answers)
        return [tuple(next(places) for _ in question.sequences) for question in questions]

    @torch.inference_mode()
    def _logits(self, work: Pass, **inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits at the pass's sources alone: the head never sees any other position."""
        sources = self._tensor(work.sources)

        def select(_: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            hidden = arguments[0]
            return (hidden.reshape(-1, hidden.shape[-1])[sources].unsqueeze(0), *arguments[1:])

        hook = self._head.register_forward_pre_hook(select)
        try:
            logits: torch.Tensor = self._model(input_ids=self._tensor(work.tokens), use_cache=False, **inputs).logits[0]
        finally:
            hook.remove()
        return logits

    @torch.inference_mode()
    def _target_logprobs(self, logits: torch.Tensor, work: Pass) -> NDArray[np.float64]:
        """Return the log-probability of every target, log-sum-exp in float32 whatever the model's dtype."""
        step = max(1, LOGIT_BYTES // (4 * logits.shape[-1]))
        totals = torch.cat([part.float().logsumexp(dim=-1) for part in _chunks(logits, step)])
        picks = self._tensor(work.picks)
        values = logits[picks, self._tensor(work.targets)].float() - totals[picks]
        # A probability of one rounds to a log-probability a little above zero.
        return np.minimum(values.cpu().numpy().astype(np.float64), 0.0)

    def generate(self, prompts: Sequence[Context], max_new_tokens: int) -> list[str]:
        """Return what the model says next to each prompt, token by token the most probable; chat by its template."""
        return write(self._model, self._encoder, self._tensor, prompts, max_new_tokens)

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)


def _chunks(tensor: torch.Tensor, step: int) -> list[torch.Tensor]:
    return [tensor[start : start + step] for start in range(0, len(tensor), step)]


def _ancestor_mask(ends: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the additive (rows, 1, nodes, nodes) mask that lets a node see its ancestors and itself."""
    node = torch.arange(ends.shape[1], device=ends.device)
    sees = (node[None, None, :] <= node[None, :, None]) & (node[None, :, None] < ends[:, None, :])
    hidden = torch.finfo(dtype).min
    return torch.zeros(sees.shape, dtype=dtype, device=ends.device).masked_fill(~sees, hidden).unsqueeze(1)


def _flat(answers: Sequence[TokenLogprobs]) -> NDArray[np.float64]:
    return np.array([value for answer in answers for tokens in answer for value in tokens])


def open_huggingface(name: str, options: EngineOptions) -> HuggingFaceEngine:
    """Return the engine of a local folder, or of a hub's model (`owner/name` or `owner/name@revision`)."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        weights = {"source": name, "sha256": weights_sha256(_weight_files(folder, options))}
        return open_folder(folder, options, name=folder.resolve().name, weights=weights)
    if name.startswith((".", "/", "~")) or folder.exists():
        raise ModelError(f"{name} is no folder with a model in it")
    source, _, revision = name.partition("@")
    extra = {"revision": revision or options.revision} if revision or options.revision else {}
    model, tokenizer = _load(source, options, extra)
    snapshot = Path(snapshot_download(source, local_files_only=True, **extra))
    weights = {"source": source, "revision": snapshot.name}
    weights["sha256"] = weights_sha256(_weight_files(snapshot, options))
    return HuggingFaceEngine(model, tokenizer, name=source, weights=weights, bos=options.bos)


def open_folder(folder: Path, options: EngineOptions, *, name: str, weights: Mapping[str, str]) -> HuggingFaceEngine:
    """Return the engine of a local folder whose weights are already known by name and hash."""
    model, tokenizer = _load(str(folder), options, {})
    return HuggingFaceEngine(model, tokenizer, name=name, weights=weights, bos=options.bos)


def open_gguf(path: Path, options: EngineOptions) -> HuggingFaceEngine:
    """Return the engine of a GGUF file, its weights dequantised to the dtype asked for."""
    model, tokenizer = _load(str(path.resolve().parent), options, {"gguf_file": path.name})
    weights = {"source": str(path), "sha256": weights_sha256([path]), "quantisation": "dequantised GGUF"}
    return HuggingFaceEngine(model, tokenizer, name=path.stem, weights=weights, bos=options.bos)


def dequantise(gguf: Path, folder: Path) -> None:
    """Write a GGUF model as a plain float32 folder, which loads many times faster."""
    model, tokenizer = _load(str(gguf.parent), EngineOptions(device="cpu", dtype="float32"), {"gguf_file": gguf.name})
    # transformers refuses to save what it still believes to be quantised.
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _load(source: str, options: EngineOptions, extra: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return model and tokenizer on their device; every way to fail becomes one sentence."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    device = _device(options.device)
    extra = {**extra, "trust_remote_code": options.trust_remote_code}
    safe = {} if options.allow_pickle or "gguf_file" in extra else {"use_safetensors": True}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **extra)
        model = AutoModelForCausalLM.from_pretrained(source, dtype=_dtype(options.dtype, device), **safe, **extra)
        return model.to(device), tokenizer
    except ModelError:
        raise
    except Exception as error:  # transformers raises a dozen kinds, down to bare Exception from its Rust parts
        raise ModelError(f"the model {source} cannot be loaded: {_reason(error, options)}") from error


def _reason(error: Exception, options: EngineOptions) -> str:
    text = " ".join(str(error).split())
    if "trust_remote_code" in text:
        return "it brings its own code, which is not run unless you pass --trust-remote-code"
    if "safetensors" in text and not options.allow_pickle:
        return "it has no safetensors weights; pass --allow-pickle to load pickled ones, which can run code"
    if "connect" in text.lower() or "offline" in text.lower() or "resolve" in text.lower():
        return "the model hub cannot be reached, and the model is not in the local cache"
    return f"{type(error).__name__}: {text[:300]}"


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ModelError(f"there is no device {name!r}; use auto, cpu, cuda or cuda:N") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelError(f"device {name} was asked for, but torch sees no CUDA device")
    return device


def _dtype(name: str, device: torch.device) -> Any:
    if name == "auto":
        # bf16 on CPUs without hardware for it is slower by far, and less exact.
        return torch.float32 if device.type == "cpu" else "auto"
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if name not in known:
        raise ModelError(f"there is no dtype {name!r}; use auto, {', '.join(known)}")
    return known[name]


def _weight_files(folder: Path, options: EngineOptions) -> list[Path]:
    """Return the files the weights are read from."""
    files = sorted(folder.glob("*.safetensors"))
    if not files and options.allow_pickle:
        files = sorted(file for pattern in ("*.bin", "*.pt") for file in folder.glob(pattern))
    if not files:
        raise ModelError(f"{folder} holds no safetensors weights (pickled ones are read only with --allow-pickle)")
    return files
