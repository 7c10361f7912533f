"""What a cell asks and about how long it takes, before its model is loaded.

A task asks its questions of nobody, so that what does not fit shows early. The time comes from the size of the weights.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..datasets import Dataset
from ..records import Context, Prompt, Sampling, Score
from ..scoring.engine import DEFAULT_MODEL, local_path
from ..tasks import Task

MOST_EXAMPLES = 2000
"""The questions of a larger dataset are counted in this many examples, spread over it, and counted up."""

CELL_SECONDS = 5.0
"""What a cell takes whatever its size: measuring and the page."""

PLANTED_PROMPTS = 5000.0
"""Prompts that a planted engine answers in a second."""

CORE_RATE = 1.3e11
"""Parameters x tokens x 2 that a core does in a second: SmolLM2 answers 29 prompts/s on two (docs/scale.md)."""

GPU_RATE = 1.2e15
"""Parameters x tokens x 2 that an H200 does in a second in bfloat16: 2,200 prompts/s at 8 billion parameters."""

CHARACTERS = 4.0
"""Characters of a token. Shared beginnings, which are computed once, are part of the two rates."""

SMALL = 135e6
"""Parameters of the default model."""

GGUF_BYTES = 0.65
"""Bytes of a parameter in a GGUF file of four bits."""

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Workload:
    """How many different prompts a task scores of a dataset, their characters, and the texts that the model writes."""

    prompts: int
    texts: int
    characters: int = 0


def workload(task: Task, dataset: Dataset, *, thinks: bool = False) -> Workload:
    """Return what the task asks of the dataset; an example that the task cannot ask is an error.

    `thinks`: the model writes its reasoning before its chat answers.
    """
    examples = dataset.examples
    share = max(1.0, len(examples) / MOST_EXAMPLES)
    if share > 1:
        # Whole clusters: a task may need both sentences of a pair.
        clusters = len({example.cluster_id for example in examples})
        examples = dataset.limited(max(1, round(clusters / share))).examples
        share = len(dataset.examples) / len(examples)
    questions: set[tuple[Context, tuple[str, ...]]] = set()
    writer = _Writer(thinks)

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        questions.update((prompt.context, prompt.continuations) for prompt in prompts)
        return [_even_score(prompt) for prompt in prompts]

    task.run(examples, scorer=scorer, writer=writer)
    characters = sum(len(str(context)) + sum(map(len, answers)) for context, answers in questions)
    return Workload(round(share * len(questions)), round(share * len(writer.texts)), round(share * characters))


@dataclass
class _Writer:
    """Writes next to nothing, and notes after what it is asked to write; texts that are drawn differ by their seed."""

    thinks: bool
    texts: set[tuple[Context, Sampling | None]] = field(default_factory=set)

    def __call__(
        self, contexts: Sequence[Context], _: int, sampling: Sampling | None = None, /
    ) -> Mapping[Context, str]:
        self.texts.update((context, sampling) for context in contexts)
        return dict.fromkeys(contexts, f"draw {sampling.seed}" if sampling else "")


def _even_score(prompt: Prompt) -> Score:
    even = -math.log(len(prompt.continuations))
    return Score("", tuple((even,) for _ in prompt.continuations))


def forecast(spec: str, work: Workload, *, device: str) -> float | None:
    """Return the seconds that a cell will take, within a factor of about three; None where nothing is known."""
    if spec.partition(":")[0] == "planted":
        return CELL_SECONDS + work.prompts / PLANTED_PROMPTS
    weights = parameters(spec)
    if weights is None or work.texts:
        return None
    on_gpu = device != "cpu" and shutil.which("nvidia-smi") is not None
    rate = GPU_RATE if on_gpu else CORE_RATE * (os.cpu_count() or 1)
    return CELL_SECONDS + 2 * weights * work.characters / CHARACTERS / rate


def parameters(spec: str) -> float | None:
    """Return about how many parameters a model has, from the size of its files; None where they are not here."""
    if spec in ("", DEFAULT_MODEL, "default:"):
        return SMALL
    path = local_path(spec)
    if path.suffix.lower() == ".gguf" and path.is_file():
        return path.stat().st_size / GGUF_BYTES
    size = sum(file.stat().st_size for file in path.glob("*.safetensors")) if path.is_dir() else 0
    return size / _bytes_of_a_parameter(path / "config.json") if size else None


def _bytes_of_a_parameter(config: Path) -> int:
    try:
        settings = json.loads(config.read_text(encoding="utf-8"))
        return BYTES.get(str(settings.get("dtype") or settings.get("torch_dtype")), 2)
    except (OSError, ValueError, AttributeError):
        return 2
