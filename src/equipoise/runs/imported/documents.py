"""A question as other tools carry it: a record with the prompt and all that it takes to read answers back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...datasets import Dataset
from ...records import DatasetError, EquipoiseError, Example, Outcomes, Prompt, Score, SentencePair
from ...tasks import Task, TaskOptions, open_task
from .per_item import Results

VERSION = 1
"""The version of the record; a reader refuses a newer one."""

FIELD = "equipoise"
"""The field of a record that only Equipoise reads."""


OPTIONS = ("seeds", "token_aggregate", "answer_space")
"""The options of a task that say how scores become outcomes; the others only shape the prompt."""


@dataclass(frozen=True, slots=True)
class Document:
    """A prompt with the example it asks about, and where both come from."""

    dataset: str
    licence: str
    task: str
    options: TaskOptions
    example: Example
    prompt: Prompt

    def record(self) -> dict[str, Any]:
        """Return the record: fields for a tool's own metrics, and one field with everything else as JSON text."""
        example = self.example
        inside = {
            "version": VERSION,
            "dataset": self.dataset,
            "licence": self.licence,
            "task": self.task,
            "options": {name: getattr(self.options, name) for name in OPTIONS},
            "variant": self.prompt.variant,
            # Not asdict: groups and slots are read-only mappings.
            "example": {item.name: _plain(getattr(example, item.name)) for item in fields(Example)},
        }
        return {
            "id": f"{example.id}|{self.prompt.variant}" if self.prompt.variant else example.id,
            "context": self.prompt.context,
            "continuations": list(self.prompt.continuations),
            "set": f"{example.set_id}|{self.prompt.variant}",
            "variant": self.prompt.variant,
            "target": -1 if example.gold is None else example.gold,
            "stereotype_candidate": -1 if example.stereotype is None else example.stereotype,
            "answerable": example.answerable,
            **{name: example.groups.get(name, "") for name in ("type", "gender", "stereotype", "side")},
            FIELD: json.dumps(inside, ensure_ascii=False),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return asdict(value) if isinstance(value, SentencePair) else value


def parse_record(record: Mapping[str, Any], where: str) -> Document:
    """Return the document of a record that `Document.record` made; DatasetError says where it is not one."""
    try:
        inside = json.loads(record[FIELD])
        version = inside["version"]
    except (KeyError, TypeError, ValueError):
        raise DatasetError(f"{where}: was not made by `equipoise export`: its field {FIELD!r} is missing") from None
    if version != VERSION:
        raise DatasetError(f"{where}: has version {version} of the format, this Equipoise reads version {VERSION}")
    try:
        return _document(record, inside)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DatasetError(f"{where}: what `equipoise export` wrote was changed, so it is not believed") from None


def _document(record: Mapping[str, Any], inside: Mapping[str, Any]) -> Document:
    """Return the document of a record whose fields hold what was written there, nothing of another kind."""
    example = {item.name: inside["example"][item.name] for item in fields(Example)}
    pair = example["pair"]
    if pair is not None:
        example["pair"] = SentencePair(_text(pair["before"]), _texts(pair["rests"]), _texts(pair["sides"]))
    example["candidates"] = _texts(example["candidates"])
    for name in ("id", "text", "set_id", "cluster_id"):
        _text(example[name])
    for name in ("groups", "slots"):
        _texts([*example[name].keys(), *example[name].values()])
    indices = (example[name] for name in ("gold", "stereotype", "good"))
    if type(example["answerable"]) is not bool or not all(index is None or type(index) is int for index in indices):
        raise TypeError
    options = TaskOptions(**{**inside["options"], "seeds": tuple(inside["options"]["seeds"])})
    asked = _text(record["context"]), _texts(record["continuations"])
    prompt = Prompt(example["id"], _text(inside["task"]), _text(inside["variant"]), *asked)
    return Document(
        _text(inside["dataset"]), _text(inside["licence"]), prompt.task, options, Example(**example), prompt
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError
    return tuple(map(_text, values))


def documents_of(dataset: Dataset, task: Task, options: TaskOptions) -> list[Document]:
    """Return every question of the dataset; tasks that other tools cannot ask are refused."""
    questions = getattr(task, "prompts", None)
    if questions is None:
        raise EquipoiseError(f"the task {task.name} asks in several turns, which cannot be exported; use another task")
    if task.settings.get("token_aggregate", "sum") != "sum":
        raise EquipoiseError("only token_aggregate sum can be exported: other tools log one number for a candidate")
    documents = []
    for example in dataset.examples:
        for prompt in questions(example):
            if not isinstance(prompt.context, str):
                raise EquipoiseError(f"the task {task.name} asks in a chat, which cannot be exported; use another task")
            documents.append(Document(dataset.name, dataset.licence, task.name, options, example, prompt))
    return documents


def results_of(
    answers: Iterable[tuple[Document, Sequence[float]]], *, model: str, source: str, flags: Sequence[Sequence[str]] = ()
) -> list[Results]:
    """Return the results of one model: outcomes made by the task itself, from a log-probability for each continuation.

    `flags` are parallel to the answers, where something had to be done differently for some of them.
    """
    answers = list(answers)
    marks = list(flags) or [()] * len(answers)
    parts: dict[tuple[str, str], list[tuple[Document, Score]]] = {}
    for (document, logprobs), mark in zip(answers, marks, strict=True):
        if len(logprobs) != len(document.prompt.continuations):
            wanted = len(document.prompt.continuations)
            raise DatasetError(f"{source}: {document.example.id} has {len(logprobs)} log-probabilities, not {wanted}")
        score = Score("imported", tuple((float(value),) for value in logprobs), flags=tuple(mark))
        parts.setdefault((document.dataset, document.task), []).append((document, score))
    return [_results(dataset, rows, model, source) for (dataset, _), rows in parts.items()]


def _results(name: str, rows: Sequence[tuple[Document, Score]], model: str, source: str) -> Results:
    first = rows[0][0]
    task: Any = open_task(first.task, first.options)
    examples = list({document.example.id: document.example for document, _ in rows}.values())
    prompts, scores = [document.prompt for document, _ in rows], [score for _, score in rows]
    if len({(prompt.example_id, prompt.variant) for prompt in prompts}) < len(prompts):
        raise DatasetError(f"{source}: holds a question of {name} twice; import one run of the tool at a time")
    outcomes: Outcomes = task.outcomes(examples, prompts, scores)
    return Results(model, first.task, Dataset(name, tuple(examples), (), source, first.licence), outcomes)
