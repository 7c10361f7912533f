"""Task folders for other tools: the questions of a dataset with metrics of their own.

lm-evaluation-harness: `lm_eval run --include_path FOLDER --tasks NAME`. inspect: `inspect eval FOLDER/task.py`.
There is a task for each type of sentence, since types are never pooled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from ..datasets import Dataset
from ..datasets.bbq import AMBIGUOUS, DISAMBIGUATED
from ..files import write_file
from ..metrics import METRICS
from ..records import Example, grouped
from ..runs.imported.documents import Document, documents_of
from ..tasks import Task, TaskOptions

LM_EVAL_TASK = """\
# Made by `equipoise export lm-eval`. Read the log back with `equipoise import --format lm-eval`.
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{context}}}}"
doc_to_choice: "{{{{continuations}}}}"
doc_to_target: target
target_delimiter: ""
process_results: !function equipoise_metrics.process_results
metric_list:
{metrics}
metadata:
  version: 1
"""

LM_EVAL_METRIC = """\
  - metric: {name}
    aggregation: !function equipoise_metrics.{name}
    higher_is_better: {higher}
"""

LM_EVAL_GROUP = """\
# Made by `equipoise export lm-eval`.
group: {name}
task:
{tasks}
metadata:
  version: 1
"""

HIGHER_IS_BETTER = {"higher": "true", "lower": "false", "neither": "null"}
"""Which way is better, as YAML has it."""

INSPECT_FILE = '''\
"""Made by `equipoise export inspect`. Read logs back with `equipoise import --format inspect`."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
from equipoise_support import make_task  # noqa: E402
from inspect_ai import task  # noqa: E402
'''

INSPECT_TASK = """

@task
def {name}():
    return make_task(FOLDER / "{name}.jsonl", {metrics})
"""


@dataclass(frozen=True)
class Part:
    """The questions of one type, under a name that other tools take."""

    name: str
    documents: Sequence[Document]

    def lines(self) -> Iterator[bytes]:
        """Yield the questions as JSON lines."""
        for document in self.documents:
            record = {**document.record(), "candidates": _candidates(document), "metrics": self.metrics}
            yield f"{json.dumps(record)}\n".encode()

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
        documents = documents_of(dataset, task, options)
        by_type = grouped(documents, lambda document: document.example.groups.get("type", ""))
        if len(by_type) == 1:
            return cls(name, (Part(name, *by_type.values()),))
        return cls(name, tuple(Part(_plain(f"{name}_{kind or 'other'}"), by_type[kind]) for kind in sorted(by_type)))


def write_lm_eval_tasks(dataset: Dataset, task: Task, options: TaskOptions, folder: Path) -> str:
    """Return the name to give to `--tasks`: a task, or a group with a task for each type of sentence."""
    questions = Questions.of(dataset, task, options)
    place = folder / questions.name
    write_file(place / "equipoise_metrics.py", _packaged("task_metrics.py"))
    for part in questions.parts:
        _write_part(place, part)
    if len(questions.parts) > 1:
        listed = "\n".join(f"  - {part.name}" for part in questions.parts)
        write_file(place / f"{questions.name}.yaml", LM_EVAL_GROUP.format(name=questions.name, tasks=listed).encode())
    return questions.name


def _write_part(folder: Path, part: Part) -> None:
    """Write the data and the YAML of a task."""
    data = (folder / f"{part.name}.jsonl").resolve()
    write_file(data, part.lines())
    metrics = "".join(
        LM_EVAL_METRIC.format(name=name, higher=HIGHER_IS_BETTER[METRICS[name].better]) for name in part.metrics
    )
    text = LM_EVAL_TASK.format(name=part.name, data=json.dumps(str(data)), metrics=metrics.rstrip("\n"))
    write_file(folder / f"{part.name}.yaml", text.encode())


def write_inspect_tasks(dataset: Dataset, task: Task, options: TaskOptions, folder: Path) -> Path:
    """Return the file to give to `inspect eval`: it has a task for each type of sentence."""
    questions = Questions.of(dataset, task, options)
    place = folder / questions.name
    text = INSPECT_FILE
    for part in questions.parts:
        write_file(place / f"{part.name}.jsonl", part.lines())
        text += INSPECT_TASK.format(name=part.name, metrics=part.metrics)
    write_file(place / "equipoise_metrics.py", _packaged("task_metrics.py"))
    write_file(place / "equipoise_support.py", _packaged("inspect_support.txt"))
    write_file(place / "task.py", text.encode())
    return place / "task.py"


def _packaged(name: str) -> bytes:
    """Return a file of this package that a task folder gets a copy of."""
    return resources.files(__package__).joinpath(name).read_bytes()


def _has_sets(examples: Sequence[Example]) -> bool:
    return len({example.set_id for example in examples}) < len(examples)


def _candidates(document: Document) -> int:
    """Return how many continuations are candidates: "young nurse", scored beside "nurse", is not one."""
    extra = sum(name.startswith("marked:") for name in document.example.slots)
    return len(document.prompt.continuations) - (extra if document.task == "next-word" else 0)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "_", name.lower())
