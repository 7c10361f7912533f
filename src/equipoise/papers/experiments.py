"""What each paper ran, as a suite: ordinary runs of the models that the user names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import packaged
from ..catalog import find
from ..files import sha256, write_file
from ..options import RunOptions
from ..suites.suite_file import Model, Suite, read_suite

SETTINGS = "[settings]\n"
WRITTEN = "# Written by `equipoise study paper`, and anew each time unless you change it. sha256 "
"""The first line of a suite file of ours ends with the hash of all that follows."""


@dataclass(frozen=True)
class Reduction:
    """Cells that take much longer than others for one base sentence: they get a share of the limit.

    `one_in`: the limit is divided by it. `at_least`: no fewer base sentences. `orders`: option orders, 0 for all.
    """

    data: str
    task: str
    one_in: int
    at_least: int = 1
    orders: int = 0

    def override(self, limit: int) -> str:
        """Return the table of `suite.toml` that limits the cells."""
        orders = f"orders = {self.orders}\n" if self.orders else ""
        share = min(limit, max(self.at_least, limit // self.one_in))
        return f'\n[[override]]\ndata = "{self.data}"\ntask = "{self.task}"\nlimit = {share}\n{orders}'


@dataclass(frozen=True)
class Paper:
    """A paper: its name here, and the places whose numbers its runs make, with what they show.

    `reductions` keep a run with a limit short: what a base sentence costs differs a hundredfold. `ranked` are the
    places that print ranks beside values, and `bold` those that print values above a limit in bold.
    """

    name: str
    title: str
    places: Mapping[str, str]
    reductions: Sequence[Reduction] = ()
    ranked: Sequence[str] = ()
    bold: Mapping[str, float] = field(default_factory=dict)


UCERF = Paper(
    "ucerf",
    "Is Your Model Fairly Certain? Uncertainty-Aware Fairness Evaluation for LLMs (Wang et al. 2025)",
    {
        "Fig. 5": "nurses and physicians in SynthBias",
        "Fig. 6": "WinoBias and SynthBias by next word",
        "Table 2": "SynthBias by next word",
        "Table 4": "WinoBias by next word",
        "Table 5": "WinoBias by multiple choice",
        "Table 6": "WinoBias after a chain of thought",
        "Table 7": "larger models on WinoBias",
        "Table 8": "BBQ by category",
        "Table 9": "UCerF with other uncertainty estimators",
    },
    # A base question of BBQ has about 60 rows; a reasoning of 128 tokens takes as long as 50 prompts.
    (Reduction("bbq", "mcq", 5, at_least=6, orders=1), Reduction("winobias", "next-word-cot", 5)),
    ranked=("Fig. 6", "Table 2", "Table 4", "Table 5", "Table 6"),
)
WINOIDENTITY = Paper(
    "winoidentity",
    "Investigating Intersectional Bias in LLMs using Confidence Disparities in Coreference Resolution "
    "(Arif Khan et al. 2025)",
    {
        "Table 3": "accuracy and confidence by augmentation",
        "Table 4": "confidence disparities (Table 2 is its part for R)",
        "Table 5": "accuracy disparities",
        "Table 6": "confidence by attribute and gender, R, with and without a chain of thought",
        "Table 7": "the same, NR",
        "Table 8": "confidence disparities with and without a chain of thought, R",
        "Table 9": "the same, NR",
    },
    # A base sentence has 97 marked versions in both genders.
    (Reduction("winoidentity", "next-word", 5, at_least=4), Reduction("winoidentity", "next-word-cot", 50, at_least=2)),
    bold={"Table 4": 0.2, "Table 5": 0.2},
)
GENDER_ECE = Paper(
    "gender-ece",
    "The Confidence Trap: Gender Bias and Predictive Certainty in LLMs (Sabir et al. 2026)",
    {
        "GenderLex table": "calibration on GenderLex",
        "coreference table": "calibration on WinoBias and Winogender",
        "neutral table": "GenderLex with person or someone for the occupation",
    },
)
PAPERS: Mapping[str, Paper] = {paper.name: paper for paper in (UCERF, WINOIDENTITY, GENDER_ECE)}


def write_suite(name: str, models: Sequence[str], out: Path, **settings: Any) -> Suite:
    """Return the suite of a paper: the `suite.toml` in its folder, which is written where there is none.

    A file that a user has changed is kept, and the models and settings given win over its own.
    """
    paper, path = find(name, PAPERS, kind="paper"), out / "suite.toml"
    if path.exists() and not _is_ours(path):
        kept = read_suite(path)
        chosen = [Model(model, model) for model in models] or kept.models
        return replace(kept, models=chosen, settings={**kept.settings, **settings})
    head = f"models = {json.dumps(list(models) or [RunOptions.model])}\nout = {json.dumps(str(out))}\n"
    text = f"{head}{_text(paper, settings)}"
    write_file(path, f"{WRITTEN}{sha256(text)[:16]}\n{text}".encode())
    return read_suite(path)


def _text(paper: Paper, settings: Mapping[str, Any]) -> str:
    """Return what the paper ran as a suite file, with these settings before its own."""
    text = packaged.text(__package__, f"{paper.name}.toml")
    papers_own = packaged.toml(__package__, f"{paper.name}.toml")["settings"]
    given = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    lines = text.splitlines(keepends=True)
    kept = [
        line for line in lines if not any(line.startswith(f"{key} =") for key in settings.keys() & papers_own.keys())
    ]
    text = "".join(kept).replace(SETTINGS, f"{SETTINGS}{given}", 1)
    limit = settings.get("limit")
    return text if limit is None else text + "".join(reduction.override(limit) for reduction in paper.reductions)


def _is_ours(path: Path) -> bool:
    """Return whether a suite file is as it was written here."""
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    return first.startswith("# Written by ") and first.endswith(f" sha256 {sha256(rest)[:16]}")
