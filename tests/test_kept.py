"""Kept tables: every metric, column, estimator and option, every constant and default, and what metrics give."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sample_charts
from kept_texts import assert_kept, assert_lines_kept
from rich.console import Console

import equipoise
from equipoise import gate, summary
from equipoise.datasets import open_dataset
from equipoise.media import markdown, terminal
from equipoise.media.page.charts import svg
from equipoise.metrics import METRICS
from equipoise.metrics.columns import COLUMNS
from equipoise.options.option import options_of
from equipoise.options.table import AuditOptions, DatasetOptions, OutputOptions, RunOptions
from equipoise.records import EquipoiseError, UndefinedMetric
from equipoise.records.showing import Section
from equipoise.report import run_page, run_tables
from equipoise.runs.run import Run
from equipoise.tasks import TaskOptions, open_task
from equipoise.uncertainty import ESTIMATORS
from equipoise.verdict.gate import rows as gate_rows
from test_invariants import drawn_column

PACKAGE = Path(equipoise.__file__).parent
ROOMS = sorted(
    {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in PACKAGE.rglob("*.py")} - {"__main__"}
)


def test_the_tables_are_as_they_were_kept() -> None:
    assert_kept("tables/metrics", METRICS)
    assert_kept("tables/columns", COLUMNS)
    assert_kept("tables/estimators", ESTIMATORS)
    assert_kept("tables/options", options_of(AuditOptions, RunOptions, OutputOptions))


def value_of(function: Callable[..., Any], columns: list[np.ndarray], **options: Any) -> Any:
    """Return what a function of columns gives, or why it gives nothing."""
    try:
        return function(*columns, **options)
    except UndefinedMetric as reason:
        return str(reason)


def test_what_metrics_give_is_as_it_was_kept() -> None:
    rows = {}
    for name, metric in METRICS.items():
        if not metric.inputs:
            continue
        for size in (3, 60):
            rng = np.random.default_rng(size)
            columns = [drawn_column(column, size, 0.1, rng) for column in metric.inputs]
            row = {"plain": value_of(metric.function, columns)}
            if metric.resampled:
                weights = rng.integers(0, 3, size=(size, 3)).astype(float)
                row |= {"weighted": value_of(metric.function, columns, weights=weights[:, 0])}
                row |= {"resampled": value_of(metric.function, columns, weights=weights)}
            if metric.possible is not None and metric.unit != "grouping":
                row |= {"possible": value_of(metric.possible, columns, radius=lambda units, width, means: 0.01 * width)}
            rows[f"{name}, {size} items"] = row
    assert_kept("tables/values", rows)


def constants(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the constants of a module and the defaults of its functions and classes, by name."""
    module = importlib.import_module(name)
    for node in ast.parse(inspect.getsource(module)).body:
        named = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in named:
            if isinstance(target, ast.Name) and target.id.lstrip("_").isupper():
                value = getattr(module, target.id)
                if is_plain(value):
                    yield target.id, value
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from defaults(node.name, getattr(module, node.name))
        if isinstance(node, ast.ClassDef):
            made = getattr(module, node.name)
            yield from defaults(node.name, made)
            inner = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            for method in inner:
                if method != "__init__" and inspect.isfunction(vars(made).get(method)):
                    yield from defaults(f"{node.name}.{method}", vars(made)[method])


def is_plain(value: Any) -> bool:
    """Return whether a value is made of numbers, texts and functions alone; records have tables of their own."""
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(is_plain, value))
    return isinstance(value, int | float | str) or inspect.isfunction(value) or value is None


def defaults(name: str, made: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arguments that need not be given and what they are then; Ray adds one of its own."""
    try:
        parameters = inspect.signature(inspect.unwrap(made)).parameters.values()
    except (ValueError, TypeError):
        return
    for parameter in parameters:
        value = parameter.default
        if value is not parameter.empty and is_plain(value) and not parameter.name.startswith("_"):
            yield f"{name}({parameter.name})", value


@pytest.mark.parametrize("room", ROOMS)
def test_constants_and_defaults_are_as_they_were_kept(room: str) -> None:
    files = sorted((PACKAGE / room).rglob("*.py")) if (PACKAGE / room).is_dir() else [PACKAGE / f"{room}.py"]
    lines = {}
    for file in files:
        path = file.relative_to(PACKAGE.parent).with_suffix("")
        if "migrations" in path.parts or path.name == "__main__":
            continue
        name = ".".join(path.parts).removesuffix(".__init__")
        lines |= {f"{name.removeprefix('equipoise.')} {key}": value for key, value in constants(name)}
    assert_lines_kept(f"constants/{room}", lines)


def shown(run: Run, requirements: Sequence[str]) -> dict[str, Any]:
    """Return the measurements of a run but those of single occupations, its verdicts, and what a gate answers."""
    rows = run.measurements
    columns = ["metric", "task", "group", "value", "low", "high", "n", "method", "p", "p_corrected"]
    return {
        "measurements": rows.loc[~rows["group"].str.contains("occupation="), columns],
        "verdicts": [part.verdict for part in summary(run).parts],
        "gate": list(gate_rows(gate(run, requirements))),
    }


def test_measurements_and_verdicts_are_as_they_were_kept(
    planted_run: Path, mild_run: Path, cloze_runs: tuple[Path, Path], worded_runs: list[Path]
) -> None:
    folders = {"strong": planted_run, "mild": mild_run, "cloze": cloze_runs[0], "worded": worded_runs[1]}
    for name, folder in folders.items():
        asked = ["ece <= 0.1"] if name == "cloze" else ["flip_rate[type=type1] <= 0.1", "ucerf[type=type2] >= 0.5"]
        assert_kept(f"runs/{name}", shown(Run(folder), asked))


DATA = {
    "builtin": {"pronouns": ["he", "she", "they"]},
    "sentiment": {},
    "gendered": {},
    "gendered:control": {},
    "decisions": {},
    "fresh": {"seed": 3},
    "winoidentity": {"base": "builtin", "attributes": ["age"], "augment": ["R", "C"]},
}


@pytest.mark.parametrize("name", DATA)
def test_examples_and_what_is_asked_of_them_are_as_they_were_kept(name: str) -> None:
    dataset = open_dataset(name, DatasetOptions(limit=4, **DATA[name]))
    examples = dataset.examples
    assert_kept(f"examples/{name.replace(':', '-')}", len(examples), dataset.sets, examples[:6], dataset.faults)
    asked = {}
    for task in ("next-word", "mcq", "cloze", "sentence"):
        try:
            asked[task] = open_task(task, TaskOptions()).prompts(examples[0])
        except EquipoiseError as reason:
            asked[task] = str(reason)
    assert_kept(f"prompts/{name.replace(':', '-')}", asked)


CHARTS = ("rows", "curves", "squares", "scatter", "radars", "crowded", "headed", "heatmap", "ranks", "long_names")


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_drawn_as_they_were_kept(name: str) -> None:
    chart = getattr(sample_charts, name)()
    console = Console(width=100, file=io.StringIO(), record=True, color_system=None)
    console.print(terminal.sections([Section("It", [chart])], charts=True))
    lines = re.sub(r"(?=<)", "\n", re.sub(r"(\d+\.\d\d)\d+", r"\1", str(svg(chart))))
    drawn = re.sub(r"\n\n+", "\n", lines)
    assert_kept(f"drawn/{name}", console.export_text(), markdown.draw(chart.table()), drawn)


def test_tables_are_written_as_they_were_kept(planted_run: Path, worded_runs: list[Path]) -> None:
    for name, folder in (("strong", planted_run), ("worded", worded_runs[0])):
        run = Run(folder)
        files = dict(run_tables(run, formats=["markdown", "latex", "csv"]))
        chosen = {key: text.decode() for key, text in files.items() if key.startswith(("metrics", "estimator", "w"))}
        assert_kept(f"written/{name}", "\n\n".join(f"==== {key}\n{text}" for key, text in chosen.items()))
        page = re.sub(r"<(script|style|svg|template)\b.*?</\1>", "", run_page(run, sentences=False), flags=re.DOTALL)
        main = page.split("<main")[1].split('id="data"')[0].replace(str(folder), "…")
        assert_kept(f"page/{name}", re.sub(r"\n\s*\n+", "\n", re.sub(r"(?<=>)(?=<)", "\n", main)))
