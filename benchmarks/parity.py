"""Do Equipoise, lm-evaluation-harness and inspect give the same numbers? Prints a table (docs/how-to/other-tools.md).

    python benchmarks/parity.py --harness .venv-harness/bin [--questions 48] [--model FOLDER]

The same model (SmolLM2-135M-Instruct unless said otherwise) in float32 on a CPU answers the same questions in all three
programs. WinoBias and BBQ are read from EQUIPOISE_DATA or the cache (`equipoise data fetch`). `--smoke` asks a tiny
model about built-in sentences; without `--harness`, our own engine answers the exported tasks and logs as lm-eval does.
Ends with 1 where a log-probability differs by more than 0.001 nats.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from shared.models import tiny_folder
from shared.options import parsed
from shared.scoring import scores_of

import equipoise
from equipoise.cli import app
from equipoise.datasets import open_dataset
from equipoise.exports.task_metrics import METRICS, row_of
from equipoise.options import EngineOptions
from equipoise.records import Outcomes, Prompt
from equipoise.runs import Part
from equipoise.scoring.default_model import model_folder
from equipoise.scoring.opening import open_engine

ASKED = {"winobias": ("next-word", "mcq"), "bbq:Religion": ("mcq",)}
ROWS = {"winobias": 2, "builtin": 2, "bbq:Religion": 48}
"""Questions of a base sentence, which is what `limit` counts."""

CONTINUOUS = ("ucerf",)
"""Metrics that move with every digit of a log-probability; the others count answers."""

Logged = Mapping[str, Mapping[str, float]]


def audited(model: Path, questions: int, folder: Path) -> list[Part]:
    """Return our own answers."""
    parts = []
    for name, tasks in ASKED.items():
        data = open_dataset(name).limited(-(-questions // ROWS[name]))
        out = folder / name.replace(":", "-")
        parts += equipoise.audit(
            str(model), data=[data], task=list(tasks), dtype="float32", device="cpu", out=out
        ).parts
    return parts


def exported(tool: str, questions: int, folder: Path) -> Path:
    """Return a folder with the tasks for a tool."""
    for data, tasks in ASKED.items():
        words = ["export", tool, "--data", data, *(word for task in tasks for word in ("--task", task))]
        words += ["--limit", str(-(-questions // ROWS[data]))]
        app([*words, "--out", str(folder / tool), "--quiet"], standalone_mode=False)
    return folder / tool


def lm_eval(programs: Path, model: Path, questions: int, folder: Path) -> tuple[list[Part], Logged]:
    """Return the answers of lm-evaluation-harness, and the metrics it computed."""
    tasks = exported("lm-eval", questions, folder)
    names = ",".join(sorted(place.name for place in tasks.iterdir()))
    words = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu", "--tasks", names]
    words += ["--include_path", str(tasks), "--log_samples", "--output_path", "harness-logs"]
    call([str(programs / "lm_eval"), "run", *words], folder)
    run = equipoise.import_results(folder / "harness-logs", format="lm-eval", out=folder / "from-lm-eval")
    (results,) = (folder / "harness-logs").rglob("results_*.json")
    logged = {}
    for name, values in json.loads(results.read_text())["results"].items():
        named = {key.partition(",")[0]: value for key, value in values.items()}
        logged[name] = {key: value for key, value in named.items() if key in METRICS}
    return run.parts, logged


def replayed(model: Path, questions: int, folder: Path) -> tuple[list[Part], Logged]:
    """Return what our engine answers to the exported tasks, logged as lm-evaluation-harness logs it."""
    engine = open_engine(str(model), EngineOptions(dtype="float32", device="cpu"))
    logged = {}
    for file in exported("lm-eval", questions, folder).rglob("*.jsonl"):
        documents = [json.loads(line) for line in file.read_text().splitlines()]
        asked = [
            Prompt(str(number), "replayed", "", d["context"], tuple(d["continuations"]))
            for number, d in enumerate(documents)
        ]
        answers = [score.logprobs for score in scores_of(engine, asked)]
        lines = [{"doc": d, "resps": [[[a, False]] for a in row]} for d, row in zip(documents, answers, strict=True)]
        samples = folder / "replayed" / model.name / f"samples_{file.stem}.jsonl"
        samples.parent.mkdir(parents=True, exist_ok=True)
        samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
        rows = [row_of(d, row) for d, row in zip(documents, answers, strict=True)]
        logged[file.stem] = {name: METRICS[name](rows) for name in documents[0]["metrics"]}
    run = equipoise.import_results(folder / "replayed", format="lm-eval", out=folder / "from-replayed")
    return run.parts, logged


def inspect(programs: Path, model: Path, questions: int, folder: Path) -> tuple[list[Part], Logged]:
    """Return the answers of inspect, and the metrics it computed."""
    tasks = exported("inspect", questions, folder)
    files = sorted(str(path.relative_to(folder)) for path in tasks.glob("*/task.py"))
    words = ["--model", "hf/local", "-M", f"model_path={model}", "-M", "device=cpu", "--display", "none"]
    call([str(programs / "inspect"), "eval", *files, *words], folder)
    run = equipoise.import_results(folder / "logs", format="inspect", out=folder / "from-inspect")
    headers = [json.loads(ZipFile(file).read("header.json")) for file in (folder / "logs").glob("*.eval")]
    logged = {
        header["eval"]["task"]: {
            name: metric["value"] for score in header["results"]["scores"] for name, metric in score["metrics"].items()
        }
        for header in headers
    }
    return run.parts, logged


def call(command: Sequence[str], folder: Path) -> None:
    """Run a program of the other tools' environment, offline."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_CACHE": str(folder / "cache")}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def difference(ours: Outcomes, theirs: Outcomes) -> float:
    """Return the largest difference of a log-probability over all questions."""
    rows = {key: row for row, key in enumerate(zip(ours.example_id, ours.variant, strict=True))}
    order = [rows.pop(key) for key in zip(theirs.example_id, theirs.variant, strict=True)]
    if rows:
        raise ValueError(f"{len(rows)} questions were not asked")
    return float(np.abs(ours.logprobs[order] - theirs.logprobs).max())


def compare(tool: str, ours: Sequence[Part], theirs: Sequence[Part], logged: Logged) -> float:
    """Print a line of the table for every dataset and task; return the largest difference of a log-probability."""
    mine, largest = {(part.dataset, part.task): part for part in ours}, 0.0
    for part in theirs:
        own = mine[part.dataset, part.task]
        apart: dict[str, list[float]] = {"counted": [], "u": [], "logged": []}
        for kind in part.measured.kinds:
            name = f"equipoise_{part.dataset}_{part.task}_{kind}".replace("-", "_")
            for metric, value in logged.get(name, {}).items():
                before, after = own.measured.get(metric, type=kind), part.measured.get(metric, type=kind)
                if before is None or after is None:
                    continue
                apart["u" if metric in CONTINUOUS else "counted"].append(abs(before.value - after.value))
                apart["logged"].append(abs(value - after.value))
        cells = [f"{max(values):.1e} ({len(values)})" for values in apart.values()]
        asked = f"{part.dataset}, {part.task} | {len(part.outcomes)}"
        logprob = difference(own.outcomes, part.outcomes)
        largest = max(largest, logprob)
        print(f"| {tool} | {asked} | {logprob:.1e} | {' | '.join(cells)} |", flush=True)
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--harness", type=Path, help="the folder with lm_eval and inspect")
    parser.add_argument("--questions", type=int, default=48, help="of each dataset and task, roughly")
    parser.add_argument("--model", type=Path)
    chosen = parsed(parser, questions=8)
    if chosen.smoke:
        ASKED.clear()
        ASKED["builtin"] = ("next-word", "mcq")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny = tiny_folder(folder / "tiny") if chosen.smoke else None
        model = (chosen.model or tiny or model_folder()).resolve()
        ours = audited(model, chosen.questions, folder)
        print("| program | asked | questions | log-probabilities | counted metrics | UCerF | its own metrics |")
        print("|---|---|---:|---:|---:|---:|---:|", flush=True)
        tools: dict[str, Any] = {"our engine": replayed}
        if chosen.harness:
            programs = chosen.harness.absolute()
            tools = {"lm-evaluation-harness": partial(lm_eval, programs), "inspect": partial(inspect, programs)}
        largest = max(compare(tool, ours, *ask(model, chosen.questions, folder)) for tool, ask in tools.items())
        for part in ours:
            for kind in part.measured.kinds:
                found = {name: part.measured.get(name, type=kind) for name in METRICS} if kind else {}
                values = [f"{name} {value.value:.6f} (n = {value.n})" for name, value in found.items() if value]
                print(f"{part.dataset} {part.task} {kind}: {', '.join(values)}" if kind else "")
    sys.exit(largest > 1e-3)


if __name__ == "__main__":
    main()
