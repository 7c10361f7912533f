"""In: nothing of ours.
Out: the types that flow through Equipoise, frozen and validated when made.

Dataset --Example--> Task --Prompt--> Engine --Score--> Task --Outcomes--> measure --Measurement--> Report
"""

from __future__ import annotations

from .errors import (
    DatasetError,
    EquipoiseError,
    ModelError,
    MovedFolderError,
    OtherRunError,
    RunError,
    TaskNotPossible,
    UndefinedMetric,
)
from .examples import DECIDED, Example, SentencePair, marked_names, marked_slot
from .grouping import grouped, listed
from .limits import Limits, ScoreLimits
from .measurements import Better, Estimate, FirstResults, Measurement, RunKey, RunManifest, group_label, parse_group
from .outcomes import ABSENT, Booleans, Floats, Integers, Outcomes, Strings
from .prompts import BASELINE, BOTH_OFFERED, MEANINGS, OPEN_ANSWER, Context, Message, Prompt, Sampling, Score

__all__ = [
    "ABSENT",
    "BASELINE",
    "BOTH_OFFERED",
    "DECIDED",
    "MEANINGS",
    "OPEN_ANSWER",
    "Better",
    "Booleans",
    "Context",
    "DatasetError",
    "EquipoiseError",
    "Estimate",
    "Example",
    "FirstResults",
    "Floats",
    "Integers",
    "Limits",
    "Measurement",
    "Message",
    "ModelError",
    "MovedFolderError",
    "OtherRunError",
    "Outcomes",
    "Prompt",
    "RunError",
    "RunKey",
    "RunManifest",
    "Sampling",
    "Score",
    "ScoreLimits",
    "SentencePair",
    "Strings",
    "TaskNotPossible",
    "UndefinedMetric",
    "group_label",
    "grouped",
    "listed",
    "marked_names",
    "marked_slot",
    "parse_group",
]
