"""Measurements as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..records import parse_group

KINDS = {"type2": "resolvable (type 2)", "type1": "ambiguous (type 1)"}
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}
SHOWN_OCCUPATIONS = 5


def run_summary(measurements: pd.DataFrame, says: Mapping[str, str]) -> RenderableType:
    """Return what a run found: for every dataset and task a verdict, its metrics by type, and its extremes."""
    parts: list[RenderableType] = []
    for (model, dataset, task), rows in measurements.groupby(["model", "dataset", "task"], sort=False):
        parts += [Text(), Text(f"{model} on {dataset} · {task}", style="bold"), *_verdicts(rows), Text()]
        parts += [_metric_table(rows, says), Text(), *_group_tables(rows)]
    return Group(*parts)


def _verdicts(rows: pd.DataFrame) -> Iterator[RenderableType]:
    """Yield the findings in plain words."""
    gap = _row(rows, "desirability_gap", "type=type2")
    if gap is not None:
        direction = "falls" if gap.value >= 0 else "rises"
        yield Text(
            f"When the same sentence goes against the stereotype, desirability {direction} by {_signed_span(gap)}"
            " on the scale from -1 (surely wrong) to 1 (surely right)."
        )
    signed, plain = _row(rows, "ucerf_signed", "type=type1"), _row(rows, "certainty_gap", "type=type1")
    if signed is not None:
        yield Text(
            f"Where nothing settles who is meant, he and she are treated alike to {_span(signed)} (1: alike),"
            " minding whom the model chose."
        )
    if plain is not None and (plain.low > 0 or plain.high < 0):
        surer = "he" if plain.value > 0 else "she"
        yield Text(f"There it is surer of {surer}: certainty differs by {_signed_span(plain)}.")


def _metric_table(rows: pd.DataFrame, says: Mapping[str, str]) -> Table:
    kinds = [kind for kind in KINDS if (rows["group"] == f"type={kind}").any()]
    groups = [f"type={kind}" for kind in kinds] or ["all"]
    spread = _seed_spread(rows)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric")
    for kind in kinds or ["all"]:
        table.add_column(KINDS.get(kind, "all"), justify="right")
    table.add_column("better", justify="center")
    table.add_column("what it is", style="dim")
    for metric in [name for name in dict.fromkeys([*says, *rows["metric"]]) if (rows["metric"] == name).any()]:
        cells = [_row(rows, metric, group) for group in groups]
        if all(cell is None for cell in cells):
            continue
        texts = [
            _span(cell) + spread.get((metric, group), "") if cell is not None else "–"
            for cell, group in zip(cells, groups, strict=True)
        ]
        better = next(cell.better for cell in cells if cell is not None)
        table.add_row(metric, *texts, ARROWS[better], escape(says.get(metric, "")))
    return table


def _seed_spread(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the standard deviation over seeds of each metric and group, as text, where there are several seeds."""
    seeded = rows[rows["group"].str.contains("seed=")]
    values: dict[tuple[str, str], list[float]] = {}
    for row in seeded.itertuples():
        parts = parse_group(str(row.group))
        parts.pop("seed")
        label = ",".join(f"{key}={parts[key]}" for key in sorted(parts)) or "all"
        values.setdefault((str(row.metric), label), []).append(float(row.value))  # type: ignore[arg-type]
    return {key: f" ±{pd.Series(found).std():.3f}" for key, found in values.items() if len(found) > 1}


def _group_tables(rows: pd.DataFrame) -> Iterator[RenderableType]:
    """Yield certainty and accuracy side by side for each gender and stereotype, and the extreme occupations."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("group", "accuracy", "certainty", "desirability"):
        table.add_column(column, justify="left" if column == "group" else "right")
    for kind in KINDS:
        for key in ("gender", "stereotype"):
            labels = rows["group"][rows["group"].str.startswith(f"{key}=")].unique()
            for label in sorted(one for one in labels if parse_group(one).get("type") == kind and _plain(one)):
                found = [_row(rows, metric, label) for metric in ("accuracy", "certainty", "desirability")]
                table.add_row(label.replace(",", ", "), *("–" if one is None else _span(one) for one in found))
    if table.row_count:
        yield table
        yield Text()
    occupations = rows[(rows["metric"] == "ucerf") & rows["group"].str.match(r"occupation=[^,]+,type=type2$")]
    if len(occupations) > 2 * SHOWN_OCCUPATIONS:
        ordered = occupations.sort_values("value")
        for title, some in (
            ("least", ordered.head(SHOWN_OCCUPATIONS)),
            ("most", ordered[::-1].head(SHOWN_OCCUPATIONS)),
        ):
            names = ", ".join(
                f"{parse_group(g)['occupation']} {v:.2f}" for g, v in zip(some.group, some.value, strict=True)
            )
            yield Text(f"{title} alike treated (UCerF by referent, type 2): {names}")


def _plain(label: str) -> bool:
    return "seed" not in parse_group(label)


def _row(rows: pd.DataFrame, metric: str, group: str) -> Any:
    found = rows[(rows["metric"] == metric) & (rows["group"] == group)]
    return next(found.itertuples(), None)


def _span(row: Any) -> str:
    return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _signed_span(row: Any) -> str:
    """Return a difference by its size, with the interval turned the same way."""
    if row.value >= 0:
        return _span(row)
    return f"{-row.value:.3f} [{-row.high:.3f}, {-row.low:.3f}]"
