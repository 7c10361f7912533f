"""Task folders for inspect: `inspect eval FOLDER/task.py --model hf/NAME`."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ...datasets import Dataset
from ...files import write_file
from ...tasks import Task, TaskOptions
from ..questions import Questions, metrics_source

TASK = '''\
"""Made by `equipoise export inspect`. Read logs back with `equipoise import --format inspect`."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
from equipoise_support import make_task  # noqa: E402
from inspect_ai import task  # noqa: E402
'''

FUNCTION = """

@task
def {name}():
    return make_task(FOLDER / "{name}.jsonl", {metrics})
"""


def write_inspect_tasks(dataset: Dataset, task: Task, options: TaskOptions, folder: Path) -> Path:
    """Return the file to give to `inspect eval`: it has a task for each type of sentence."""
    questions = Questions.of(dataset, task, options)
    place = folder / questions.name
    text = TASK
    for part in questions.parts:
        write_file(place / f"{part.name}.jsonl", part.lines())
        text += FUNCTION.format(name=part.name, metrics=part.metrics)
    write_file(place / "equipoise_metrics.py", metrics_source())
    write_file(place / "equipoise_support.py", resources.files(__package__).joinpath("support.txt").read_bytes())
    write_file(place / "task.py", text.encode())
    return place / "task.py"
