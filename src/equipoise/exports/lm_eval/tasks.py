"""Task folders for lm-evaluation-harness: `lm_eval run --include_path FOLDER --tasks NAME`."""

from __future__ import annotations

import json
from pathlib import Path

from ...datasets import Dataset
from ...files import write_file
from ...metrics import METRICS
from ...tasks import Task, TaskOptions
from ..questions import Part, Questions, metrics_source

TASK = """\
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

METRIC = """\
  - metric: {name}
    aggregation: !function equipoise_metrics.{name}
    higher_is_better: {higher}
"""

GROUP = """\
# Made by `equipoise export lm-eval`.
group: {name}
task:
{tasks}
metadata:
  version: 1
"""

HIGHER_IS_BETTER = {"higher": "true", "lower": "false", "neither": "null"}
"""Which way is better, as YAML has it."""


def write_lm_eval_tasks(dataset: Dataset, task: Task, options: TaskOptions, folder: Path) -> str:
    """Return the name to give to `--tasks`: a task, or a group with a task for each type of sentence."""
    questions = Questions.of(dataset, task, options)
    place = folder / questions.name
    write_file(place / "equipoise_metrics.py", metrics_source())
    for part in questions.parts:
        _write_part(place, part)
    if len(questions.parts) > 1:
        listed = "\n".join(f"  - {part.name}" for part in questions.parts)
        write_file(place / f"{questions.name}.yaml", GROUP.format(name=questions.name, tasks=listed).encode())
    return questions.name


def _write_part(folder: Path, part: Part) -> None:
    """Write the data and the YAML of a task."""
    data = (folder / f"{part.name}.jsonl").resolve()
    write_file(data, part.lines())
    metrics = "".join(METRIC.format(name=name, higher=HIGHER_IS_BETTER[METRICS[name].better]) for name in part.metrics)
    text = TASK.format(name=part.name, data=json.dumps(str(data)), metrics=metrics.rstrip("\n"))
    write_file(folder / f"{part.name}.yaml", text.encode())
