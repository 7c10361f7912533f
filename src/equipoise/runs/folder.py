"""The run folder: everything a run asked, heard and measured, written so that a crash leaves no half file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from ..records import Better, Example, Measurement, Outcomes, RunError, RunManifest
from ..scoring.reductions import REDUCTIONS

TASK_GROUPS = ("sides",)
"""Groups that a task adds to those of its examples."""


@dataclass(frozen=True)
class RunFolder:
    """The files of a run, by name."""

    path: Path

    @property
    def scores(self) -> Path:
        """The score store, which a run continues from."""
        return self.path / "scores.jsonl"

    @property
    def reasoning(self) -> Path:
        """What the model wrote when it was asked to reason."""
        return self.path / "reasoning.jsonl"

    def begin(self, manifest: RunManifest) -> None:
        """Mark the folder as a run under way; one that holds another model's run is left alone."""
        if self._file("manifest.json").is_file():
            held = self.manifest()
            # What may differ is what only says how it was computed; a planted engine is all its numbers.
            kinds = ("engine", "weights", "dtype", "tokenizer", "bos")
            same = manifest.engine if manifest.engine.get("engine", "").startswith("planted") else kinds
            if held.model != manifest.model or any(held.engine.get(k) != manifest.engine.get(k) for k in same):
                raise RunError(f"{self.path} holds a run of {held.model} with other settings; choose another --out")
        self.write_manifest(manifest)

    def write_manifest(self, manifest: RunManifest) -> None:
        """Write what the run is about."""
        self._write("manifest.json", (json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n").encode())

    def manifest(self) -> RunManifest:
        """Return what the run is about; a folder without it is no run."""
        path = self._file("manifest.json")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return RunManifest(**{field.name: content[field.name] for field in fields(RunManifest)})
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(f"{self.path} is no run folder: it has no manifest.json") from None
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise RunError(f"{path} is damaged ({error}); run the audit again, its scores are kept") from None

    def write_text(self, name: str, text: str) -> None:
        """Write a text file of the run."""
        self._write(name, text.encode())

    def write_frame(self, name: str, frame: pd.DataFrame) -> None:
        """Write a table as `name` (.parquet or .csv)."""
        if name.endswith(".csv"):
            self._write(name, frame.to_csv(index=False, lineterminator="\n").encode())
        else:
            self._write(name, frame.to_parquet(index=False))

    def frame(self, name: str) -> pd.DataFrame:
        """Return a table of the run."""
        path = self._file(name)
        if not path.is_file():
            manifest = self.manifest()
            state = "was not finished" if manifest.finished is None else f"has no {name}"
            raise RunError(f"the run in {self.path} {state}; run its command again to continue: {manifest.command}")
        try:
            return _read_measurements(path) if name.endswith(".csv") else pd.read_parquet(path)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise RunError(f"{path} is damaged ({reason}); run the audit again, its scores are kept") from None

    def outcomes(self) -> Iterator[tuple[str, str, Outcomes]]:
        """Yield the outcomes of every dataset and task of the run."""
        table = self.frame("outcomes.parquet")
        # A task may drop groups of its examples (a cloze has no gender) and add its own.
        groups = [name for name in (*group_names(self.frame("examples.parquet")), *TASK_GROUPS) if name in table]
        for (dataset, task), part in table.groupby(["dataset", "task"], sort=False):
            yield str(dataset), str(task), outcomes_from_frame(part, groups)

    def _file(self, name: str) -> Path:
        return self.path / name

    def _write(self, name: str, content: bytes) -> None:
        write_file(self._file(name), content)


def write_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it: a crash leaves the old one or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(part, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def examples_frame(dataset: str, examples: Iterable[Example]) -> pd.DataFrame:
    """Return the examples as a table; groups and slots are JSON, so that nothing is lost."""
    rows = [
        {
            "dataset": dataset,
            **{field.name: getattr(example, field.name) for field in fields(Example)},
            "candidates": list(example.candidates),
            "groups": json.dumps(dict(example.groups), ensure_ascii=False),
            "slots": json.dumps(dict(example.slots), ensure_ascii=False),
        }
        for example in examples
    ]
    return pd.DataFrame(rows).astype({"gold": "Int64", "stereotype": "Int64"})


def outcomes_frame(labels: Mapping[str, str], outcomes: Outcomes, derived: Mapping[str, Any]) -> pd.DataFrame:
    """Return the outcomes as a table: identity, groups, probabilities, and what was derived from them."""
    columns: dict[str, Any] = {
        **labels,
        "example_id": outcomes.example_id,
        "variant": outcomes.variant,
        "pair_id": outcomes.pair_id,
        **outcomes.groups,
        "answerable": outcomes.answerable,
        "gold": outcomes.gold,
        "stereotype_index": outcomes.stereotype,
        "predicted": outcomes.predicted,
        "probs": list(outcomes.probs),
        "logprobs": list(outcomes.logprobs),
        **({} if outcomes.marked is None else {"marked_logprobs": list(outcomes.marked)}),
        **outcomes.reductions,
        **derived,
        "flags": outcomes.flags,
    }
    return pd.DataFrame(columns, index=range(len(outcomes)))


def outcomes_from_frame(frame: pd.DataFrame, groups: Sequence[str]) -> Outcomes:
    """Return the outcomes of one dataset and task, read back from the table."""

    def text(name: str) -> Any:
        return frame[name].fillna("").to_numpy(dtype=object)

    return Outcomes(
        example_id=text("example_id"),
        variant=text("variant"),
        pair_id=text("pair_id"),
        probs=np.stack(frame["probs"].to_list()),
        logprobs=np.stack(frame["logprobs"].to_list()),
        gold=frame["gold"].to_numpy(dtype=np.int64),
        stereotype=frame["stereotype_index"].to_numpy(dtype=np.int64),
        answerable=frame["answerable"].to_numpy(dtype=bool),
        groups={name: text(name) for name in groups if (text(name) != "").any()},
        flags=text("flags"),
        marked=np.stack(frame["marked_logprobs"].to_list()) if _has_values(frame, "marked_logprobs") else None,
        reductions={name: frame[name].to_numpy(dtype=np.float64) for name in REDUCTIONS if _has_values(frame, name)},
    )


def _has_values(frame: pd.DataFrame, name: str) -> bool:
    """Return whether these rows have that column: another task's rows may have brought it into the table."""
    return name in frame and bool(frame[name].notna().all())


def measurements_frame(measurements: Iterable[Measurement]) -> pd.DataFrame:
    """Return the measurements as the table of `measurements.csv`."""
    return pd.DataFrame([measurement.row() for measurement in measurements], columns=list(Measurement.COLUMNS))


def _read_measurements(path: Path) -> pd.DataFrame:
    """Return the table of `measurements.csv` as it was written; ValueError if it is not whole."""
    # As text first: else a model called 1.0 would be a number, and a dataset called NA would be none.
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if tuple(frame.columns) != Measurement.COLUMNS or not frame["better"].isin(get_args(Better)).all():
        raise ValueError("it is cut off or altered")
    numbers = frame[["value", "low", "high", "level"]].replace("", "nan").astype(float)
    return frame.assign(**numbers, n=frame["n"].astype(int))


def group_names(examples: pd.DataFrame) -> list[str]:
    """Return the names of the groups that the examples have."""
    return list(dict.fromkeys(name for groups in examples["groups"] for name in json.loads(groups)))


def default_folder(model: str, datasets: Sequence[Any], tasks: Sequence[Any]) -> Path:
    """Return the folder for a run of no chosen place: the same for the same command, so that it continues."""
    names = ["+".join(one.name for one in several) for several in (datasets, tasks)]
    return Path("runs") / re.sub(r"[^\w.+-]+", "-", "--".join([model, *names])).strip("-")
