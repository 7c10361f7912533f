"""Options that take several of a few words; options that take one of them are `Literal`s."""

from __future__ import annotations

from enum import StrEnum


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
