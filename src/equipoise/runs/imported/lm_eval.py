"""Logs of lm-evaluation-harness (`--log_samples`) as results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...records import DatasetError
from .documents import parse_record, results_of
from .per_item import Results


def read_lm_eval(path: Path, model: str = "", dataset: str = "") -> list[Results]:
    """Return the results in a samples_*.jsonl file, or in all of a folder's, of tasks that Equipoise exported."""
    files = [path] if path.is_file() else sorted(filter(Path.is_file, path.rglob("samples_*.jsonl")))
    if not files:
        raise DatasetError(f"{path}: holds no samples_*.jsonl; run lm_eval with --log_samples and --output_path")
    names = {model or _model_name(file) for file in files}
    if len(names) > 1:
        raise DatasetError(f"{path}: holds logs of several models ({', '.join(sorted(names))}); import one at a time")
    answers = [answer for file in files for answer in _answers(file)]
    return results_of(answers, model=names.pop(), source=str(path))


def _answers(file: Path) -> Iterator[tuple[Any, list[float]]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{file}:{number}"
            try:
                sample = json.loads(line)
                record, responses = sample["doc"], sample["resps"]
            except (ValueError, LookupError, TypeError, RecursionError):
                raise DatasetError(f"{where}: is not a sample of lm-evaluation-harness") from None
            document = parse_record(record, where)
            try:
                # One request for a continuation, each with one (log-probability, is greedy).
                yield document, [float(response[0][0]) for response in responses]
            except (ValueError, LookupError, TypeError):
                raise DatasetError(f"{where}: has no log-probability for each continuation") from None


def _model_name(file: Path) -> str:
    """Return the model's name from the results file beside the samples, or else from the folder's name."""
    for results in sorted(filter(Path.is_file, file.parent.glob("results_*.json"))):
        try:
            arguments = json.loads(results.read_text(encoding="utf-8"))["config"]["model_args"] or ""
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue  # it says nothing of the model
        named = arguments.get("pretrained") if isinstance(arguments, dict) else None
        if isinstance(arguments, str) and (match := re.search(r"pretrained=([^,]+)", arguments)):
            named = match[1]
        if named:
            named = str(named)
            return Path(named).name if Path(named).exists() else named
    return file.parent.name
