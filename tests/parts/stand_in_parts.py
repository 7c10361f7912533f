"""A part of a run without a folder: any measurements, any answers and any manifest, for what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from equipoise.records import ABSENT, Estimate, Measurement, Outcomes, RunKey
from equipoise.runs.measurements import Measurements, ordered_kinds


def row(
    metric: str, group: str = "all", value: float = 0.2, low: float = 0.1, high: float = 0.3, **more: Any
) -> Measurement:
    """Return a measurement; `p` is the p-value before and after correction, `n` the number of units."""
    facts = {"n": 1200, "p": float("nan"), **more}
    estimate = Estimate(value, low, high, 0.95, facts["n"], "b", facts["p"], facts["p"])
    return Measurement(metric, "m", "d", "t", group, estimate, "neither")


def answers(kinds: Mapping[str, int], **columns: Any) -> Outcomes:
    """Return so many sets of two sentences of each type, he and she; `columns` are of all sentences together."""
    named = [kind for kind, sets in kinds.items() for _ in range(2 * sets)]
    n = len(named)
    number = np.arange(n)

    def names(values: Sequence[str]) -> Any:
        return np.array(list(values), dtype=object)

    probs = np.tile([0.7, 0.3], (n, 1))
    usual = {
        "example_id": names([f"e{i}" for i in number]),
        "variant": names([""] * n),
        "set_id": names([f"s{i // 2}" for i in number]),
        "probs": probs,
        "logprobs": np.log(0.9 * probs),
        "gold": np.where(names(named) == "type1", ABSENT, number % 4 // 2),
        "stereotype": number % 2,
        "answerable": names(named) != "type1",
        "groups": {
            "type": names(named),
            "gender": names([("male", "female")[i % 2] for i in number]),
            "stereotype": names([("pro", "anti")[i % 2] for i in number]),
        },
        "flags": names([""] * n),
    }
    return Outcomes(**{**usual, **columns})


class StandIn:
    """What verdicts ask of a part of a run."""

    dataset, task = "d", "next-word"

    def __init__(self, rows: Sequence[Measurement], outcomes: Outcomes | None = None, **facts: Any) -> None:
        self.measured = Measurements(rows)
        self.outcomes = answers({"type2": 40, "type1": 40}) if outcomes is None else outcomes
        self.has_items, self.has_pronouns = True, True
        manifest = SimpleNamespace(engine={}, datasets={}, tasks={}, settings={}, model="m")
        self.run: Any = SimpleNamespace(name="m", parts=[self], manifest=manifest)
        for name, value in facts.items():
            holder = manifest if hasattr(manifest, name) else self
            setattr(holder, name, value)
        kinds = self.outcomes.group("type")
        ids = {"example_id": self.outcomes.example_id, "set_id": self.outcomes.set_id, "type": kinds}
        self.items = pd.DataFrame({**ids, "flags": self.outcomes.flags})
        sizes = pd.Series(self.outcomes.set_id).map(pd.Series(self.outcomes.set_id).value_counts())
        self.pairs = self.items[(sizes > 1).to_numpy()].drop_duplicates("set_id")
        self.kinds = ordered_kinds(set(kinds.tolist()))

    def __str__(self) -> str:
        return f"{self.dataset} · {self.task}"

    @property
    def key(self) -> RunKey:
        return RunKey("m", self.dataset, self.task)

    def answerable(self, kind: str) -> Any:
        inside = self.outcomes.group("type") == kind if kind else np.ones(len(self.outcomes), dtype=bool)
        return self.outcomes.answerable[inside]

    def of_kind(self, frame: pd.DataFrame, kind: str) -> pd.DataFrame:
        return frame[frame["type"] == kind] if kind else frame
