"""A section for a model card, with the hub's `model-index` metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..media.markdown import draw, escaped, one_line
from ..metrics import METRICS
from ..records import Measurement
from ..runs import Run
from ..runs.measurements import KINDS
from ..runs.run import Part
from ..verdict.summary import part_summary


def model_card(run: Run) -> str:
    """Return Markdown with a header of metadata: for the README.md of a model, or to be added to one."""
    return "\n".join(["---", *_model_index(run), "tags:", "- equipoise", "---", "", *_section(run)])


def run_card(run: Run) -> str:
    """Return the same for the README.md of a repository that holds the run."""
    return "\n".join(["---", "tags:", "- equipoise", "---", "", f"# Audit of {escaped(run.name)}", "", *_section(run)])


def _section(run: Run) -> Iterator[str]:
    yield "## Disparities between groups"
    yield ""
    yield (
        f"Measured with Equipoise {escaped(run.manifest.versions.get('equipoise', ''))}: the same sentences for each "
        "group, and how differently the model answers. The numbers describe these sentences and nothing else; they "
        "do not show that a model treats people equally."
    )
    for part in run.parts:
        verdict = part_summary(part).verdict
        yield from ("", f"### {escaped(part.dataset)}, {escaped(part.task)}", "", draw(verdict.line))
        yield from (draw(finding).rstrip() for finding in (*verdict.reasons[1:], *verdict.first))
        yield from ("", *_table(part, run.level))
    yield from (
        "",
        "<details><summary>How to measure this again</summary>",
        "",
        "```",
        one_line(run.manifest.command),
        "```",
        "",
    )
    yield from (f"- {escaped(name)}: {_dataset(facts)}" for name, facts in run.manifest.datasets.items())
    yield from ("", "</details>", "")


def _chosen(part: Part) -> Iterator[tuple[str, Measurement]]:
    """Yield the leading metrics of each type, with the type."""
    for kind in part.measured.kinds:
        for name, metric in METRICS.items():
            measurement = part.measured.get(name, type=kind) if metric.leading else None
            if measurement is not None:
                yield kind, measurement


def _table(part: Part, level: float) -> list[str]:
    rows = [f"| | sentences | value | {level:.0%} interval | n | better |", "|---|---|---:|---|---:|---|"]
    for kind, measurement in _chosen(part):
        estimate = measurement.estimate
        interval = f"[{estimate.low:.3f}, {estimate.high:.3f}]"
        named = escaped(_label(measurement.metric)), escaped(KINDS.get(kind, kind or "all"))
        cells = (*named, f"{estimate.value:.3f}", interval)
        rows.append(f"| {' | '.join(cells)} | {estimate.n:,} | {measurement.better} |")
    return rows


def _label(metric: str) -> str:
    return METRICS[metric].label if metric in METRICS else metric


def _dataset(facts: Mapping[str, Any]) -> str:
    licence = escaped(facts.get("licence") or "not stated")
    return f"{facts['examples']:,} sentences, licence {licence}, sha256 {escaped(facts['sha256'])}"


def _model_index(run: Run) -> Iterator[str]:
    """Yield the metadata as YAML; every value is written as JSON, which YAML contains."""
    yield "model-index:"
    yield f"- name: {_json(run.name)}"
    yield "  results:"
    for part in run.parts:
        facts = run.manifest.datasets.get(part.dataset, {})
        yield "  - task:"
        yield "      type: text-generation"
        yield f"      name: {_json(f'Coreference, {part.task}')}"
        yield "    dataset:"
        yield f"      name: {_json(part.dataset)}"
        yield f"      type: {_json(f'equipoise-{part.dataset}')}"
        yield f"      revision: {_json(str(facts.get('sha256', ''))[:12])}"
        yield "    metrics:"
        for kind, measurement in _chosen(part):
            estimate = measurement.estimate
            group = f" ({KINDS.get(kind, kind)})" if kind else ""
            yield f"    - type: {_json(measurement.metric)}"
            yield f"      name: {_json(_label(measurement.metric) + group)}"
            yield f"      value: {_json(round(estimate.value, 6))}"
            yield "      args:"
            numbers = {"low": estimate.low, "high": estimate.high, "level": estimate.level, "n": estimate.n}
            yield from (f"        {name}: {_json(round(value, 6))}" for name, value in numbers.items())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
