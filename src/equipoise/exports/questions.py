"""The questions of a dataset as exported tasks: one for each type of sentence, since types are never pooled."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from ..datasets import Dataset
from ..datasets.bbq import AMBIGUOUS, DISAMBIGUATED
from ..records import Example
from ..runs.imported.documents import Document, documents_of
from ..tasks import Task, TaskOptions


@dataclass(frozen=True)
class Part:
    """The questions of one type, under a name that other tools take."""

    name: str
    documents: Sequence[Document]

    def lines(self) -> bytes:
        """Return the questions as JSON lines."""
        lines = []
        for document in self.documents:
            record = {**document.record(), "candidates": _candidates(document), "metrics": self.metrics}
            lines.append(json.dumps(record) + "\n")
        return "".join(lines).encode()

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics of task_metrics.py that are defined for these questions."""
        examples = list({document.example.id: document.example for document in self.documents}.values())
        labelled = any(example.gold is not None for example in examples)
        kinds = {(example.groups.get("side"), example.groups.get("stereotype")) for example in examples}
        odds = {(side, stereotype) for side in ("male", "female") for stereotype in ("pro", "anti")}
        expected = [example for example in examples if example.stereotype is not None]
        asked = {example.groups.get("type") for example in expected if example.groups.get("polarity")}
        defined = {
            "accuracy": labelled,
            "ucerf": _has_sets(examples),
            "flip_rate": _has_sets(examples),
            "flip_bias": _has_sets(expected),
            "eo_sum": labelled and odds <= kinds,
            "bbq_bias_disambiguated": DISAMBIGUATED in asked,
            "bbq_bias_ambiguous": AMBIGUOUS in asked,
        }
        return [name for name, is_defined in defined.items() if is_defined]


@dataclass(frozen=True)
class Questions:
    """A dataset asked as one task: a name for all of it, and its parts."""

    name: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, dataset: Dataset, task: Task, options: TaskOptions) -> Questions:
        """Return the questions of the dataset; a task that other tools cannot ask is an error."""
        name = _plain(f"equipoise_{dataset.name}_{task.name}")
        by_type: dict[str, list[Document]] = {}
        for document in documents_of(dataset, task, options):
            by_type.setdefault(document.example.groups.get("type", ""), []).append(document)
        if len(by_type) == 1:
            return cls(name, (Part(name, *by_type.values()),))
        return cls(name, tuple(Part(_plain(f"{name}_{kind or 'other'}"), by_type[kind]) for kind in sorted(by_type)))


def metrics_source() -> bytes:
    """Return the file with the metrics that a task folder gets a copy of."""
    return resources.files(__package__).joinpath("task_metrics.py").read_bytes()


def _has_sets(examples: Sequence[Example]) -> bool:
    return len({example.set_id for example in examples}) < len(examples)


def _candidates(document: Document) -> int:
    """Return how many continuations are candidates: "young nurse", scored beside "nurse", is not one."""
    extra = sum(name.startswith("marked:") for name in document.example.slots)
    return len(document.prompt.continuations) - (extra if document.task == "next-word" else 0)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "_", name.lower())
