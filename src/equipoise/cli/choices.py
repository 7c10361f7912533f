"""Options that take several of a few words (those that take one are `Literal`s), and options of several commands."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..topics.published import PublishedValue

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Score on a Ray cluster: its address, or auto (what RAY_ADDRESS names, else a local one that ends with "
        "the command); needs equipoise[ray].",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Workers of the cluster; by default one for each GPU, or for --worker-cores cores."),
]
WorkerCores = Annotated[
    int | None, typer.Option("--worker-cores", help="Processor cores of each worker without a GPU; 1 by default.")
]


class Tracker(StrEnum):
    """Where a run can be logged."""

    MLFLOW = "mlflow"
    WANDB = "wandb"
    TENSORBOARD = "tensorboard"


class FigureFormat(StrEnum):
    """How a figure is written."""

    PDF = "pdf"
    SVG = "svg"
    PNG = "png"


class TableFormat(StrEnum):
    """How a table is written."""

    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"


class Recalibration(StrEnum):
    """How probabilities are recalibrated."""

    BETA = "beta"
    PLATT = "platt"
    ISOTONIC = "isotonic"
    TEMPERATURE = "temperature"
    HISTOGRAM = "histogram"


class PaperValues(StrEnum):
    """Whose published values are shown beside those of runs."""

    UCERF = "ucerf-paper"
    WINOIDENTITY = "winoidentity-paper"
    GENDER_ECE = "gender-ece-paper"


Against = Annotated[
    list[PaperValues] | None,
    typer.Option("--against", help="Show the published values of this paper beside the runs' own. Repeatable."),
]


def published_values(against: Sequence[PaperValues] | None) -> list[PublishedValue]:
    """Return the published values of the papers named."""
    if not against:
        return []
    from ..papers.published import published_values as values_of

    return [value for name in against for value in values_of(name.removesuffix("-paper"))]
