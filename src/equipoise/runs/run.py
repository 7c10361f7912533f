"""A finished run, read back from its folder: the one thing that reports, gates and comparisons take."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ..catalog import find
from ..datasets.gendered import CONTROL_NAME
from ..records import ABSENT, Booleans, Context, Floats, Integers, Outcomes, RunError, RunKey, RunManifest, parse_group
from ..scoring.text_store import read_texts
from .checked_tables import group_names
from .folder import RunFolder
from .held import Held
from .manifest import name_in_suite, now, unfinished
from .measurements import Measurements, kind_title, measurements_from_frame, ordered_kinds
from .tables import column, main_estimator, part_rows, release_tables, texts_of

Value = TypeVar("Value")

MANY = 50_000
"""Items whose memory is looked for when they are let go: for fewer that would take longer than to read them."""

MOST_HELD = 500_000
"""Items up to which a command hands on what it has just written; more are read again as they are needed."""


class Run:
    """A finished run; each table is read and checked once, when it is first asked for.

    `measurements`, `outcomes`, `pairs` and `examples` are DataFrames. `parts` are the run by dataset and task. `only`
    is the one dataset that is meant, where the run is used for its rows; "" for all of them. `name` is what the run is
    called: the model, or the name that a suite gave it.
    """

    only: str = ""

    def __init__(self, folder: RunFolder | str | Path, *, name: str | None = None, held: Held | None = None) -> None:
        self.folder = folder if isinstance(folder, RunFolder) else RunFolder(Path(folder))
        self._held = held or Held({}, {}, ())
        self.manifest: RunManifest = self.folder.manifest()
        if self.manifest.finished is None:
            raise RunError(unfinished(self.folder.path, self.manifest))
        self.name = name or name_in_suite(self.manifest.command) or self.manifest.model

    def __repr__(self) -> str:
        parts = ", ".join(str(part) for part in self.parts)
        return f"<Run of {self.name} on {parts} in {self.path}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: headline, table and picture."""
        return str(find("html", {}, kind="view")(self))

    @property
    def plot(self) -> Any:
        """The charts of the run by topic, as matplotlib figures: `run.plot.flips()`, `run.plot.scale(type="type2")`."""
        return find("plot", {}, kind="view")(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the measurements with a column for each part of their group: `type`, `gender` and so on."""
        parts = pd.DataFrame([parse_group(str(group)) for group in self.measurements["group"]])
        return pd.concat([self.measurements.drop(columns="group"), parts.fillna("")], axis=1)

    def cases(self, condition: str = "") -> pd.DataFrame:
        """Return the answers with their sentences, the least alike sets first: `run.cases("u < 0.5")`.

        `condition` is as in `DataFrame.query`, over the columns of `outcomes`, `text`, `candidates` and `u` of the set.
        `probs` are given that one of the candidates is said, `raw_probs` are those over the whole vocabulary.
        """
        values = main_estimator(self.pairs, "u")
        sets = self.pairs[["dataset", "task", "set_id", values]].rename(columns={values: "u"})
        sets = sets.drop_duplicates(["dataset", "task", "set_id"])
        texts = self.examples[["dataset", "id", "text", "candidates"]].rename(columns={"id": "example_id"})
        cases = self.outcomes.merge(texts, on=["dataset", "example_id"]).merge(
            sets, on=["dataset", "task", "set_id"], how="left", suffixes=("_item", "")
        )
        cases["raw_probs"] = [np.exp(logprobs) for logprobs in cases["logprobs"]]
        chosen = cases.query(condition) if condition else cases
        return chosen.sort_values(["u", "set_id"], kind="stable", ignore_index=True)

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self.folder.path

    @cached_property
    def _arrow(self) -> dict[tuple[str, tuple[str, ...]], Any]:
        """The Parquet tables that were read, by name and columns (none: all)."""
        return {}

    @cached_property
    def measurements(self) -> pd.DataFrame:
        """Every metric for every group, with its interval."""
        return self.frame("measurements.csv")

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """What the model made of each item."""
        return self.frame("outcomes.parquet")

    @cached_property
    def items(self) -> pd.DataFrame:
        """The outcomes without their lists of numbers, and with categories in place of texts, but for ids."""
        return self.folder.frame_of("outcomes.parquet", self.table("outcomes.parquet"), categories=True)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """D and certainty of each member, and U, of every counterfactual set."""
        return self.frame("pairs.parquet")

    @cached_property
    def examples(self) -> pd.DataFrame:
        """What was asked."""
        return self.frame("examples.parquet")

    def frame(self, name: str) -> pd.DataFrame:
        """Return any table of the run's folder by its file name."""
        if name.endswith(".csv"):
            held = self._held.tables.get(name)
            return held if isinstance(held, pd.DataFrame) else self.folder.frame(name, self.manifest)
        return self.folder.frame_of(name, self.table(name))

    def table(self, name: str, columns: tuple[str, ...] = ()) -> Any:
        """Return a Parquet table of the run, or only these columns of it, as an arrow table; each is read once."""
        read = self._arrow
        if (name, ()) not in read:
            with suppress(ValueError):  # a table that cannot be used: reading it says why
                if (held := self._held.table(name)) is not None:
                    read[name, ()] = held
        if (name, ()) in read:
            return read[name, ()].select(columns) if columns else read[name, ()]
        if (name, columns) not in read:
            content = self._held.contents.get(name) or self.folder.content(name, self.manifest)
            read[name, columns] = self.folder.table(name, content, columns)
        return read[name, columns]

    def examples_of(self, dataset: str, *columns: str) -> Any:
        """Return the examples of a dataset as an arrow table, or only these columns of them."""
        import pyarrow.compute as pc

        table = self.table("examples.parquet", ("dataset", *columns) if columns else ())
        return table.filter(pc.equal(table["dataset"], dataset))

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The columns of Parquet tables that were asked for, by name."""
        return {}

    def column_names(self, name: str) -> list[str]:
        """Return the columns of a Parquet table of the run."""
        if (name, ()) in self._arrow or name in self._held.tables:
            return list(self.table(name).column_names)
        if name not in self._names:
            self._names[name] = self.folder.columns(name, self.manifest)
        return self._names[name]

    def let_go(self, *names: str) -> None:
        """Forget Parquet tables once all that is needed of them is made; they are read again if they are asked for."""
        for key in [key for key in self._arrow if key[0] in names]:
            del self._arrow[key]
        release_tables()

    def forget(self) -> None:
        """Let go of all that was read, and made of it, as when many runs are read: what is asked for is read again."""
        items = sum(len(part.outcomes) for part in vars(self).get("parts", ()) if "outcomes" in vars(part))
        for name, kept in vars(Run).items():
            if isinstance(kept, cached_property):
                vars(self).pop(name, None)
        _give_back(items)

    def answers(self) -> Iterator[tuple[RunKey, Outcomes]]:
        """Yield the outcomes of every dataset and task of the run, also of those without a measurement."""
        self.table("outcomes.parquet")  # whole, so that the keys are not read by themselves before
        return ((key, Part(self, key.dataset, key.task).outcomes) for key in self.asked_keys())

    def asked_keys(self) -> list[RunKey]:
        """Return every dataset and task that was asked, also those without a measurement."""
        asked = self.table("outcomes.parquet", ("dataset", "task")).to_pandas().drop_duplicates()
        return [RunKey(self.manifest.model, str(dataset), str(task)) for dataset, task in asked.itertuples(index=False)]

    def texts(self) -> Iterator[tuple[Context, str]]:
        """Yield each question that the model answered in writing, and what it wrote."""
        held = self._held.texts
        yield from read_texts(self.folder.reasoning) if held is None else held

    def with_texts(self, texts: Sequence[tuple[Context, str]] | None) -> Run:
        """Return the run with the texts that the model wrote; None where they are to be read."""
        self._held.texts = texts
        return self

    def held_outcomes(self, dataset: str, task: str) -> Outcomes | None:
        """Return the outcomes of a part that need not be read; None where they must be."""
        return self._held.outcomes.get((dataset, task))

    def measured(self, dataset: str, task: str) -> Measurements:
        """Return the measurements of one dataset and task, by metric and group."""
        if self._held.measurements:
            held = self._held.measurements
            return Measurements(row for row in held if (row.dataset, row.task) == (dataset, task))
        frame = self.measurements
        return Measurements(measurements_from_frame(frame[(frame["dataset"] == dataset) & (frame["task"] == task)]))

    @cached_property
    def parts(self) -> list[Part]:
        """The run by dataset and task, in the order in which they were audited."""
        keys = self.measurements[["dataset", "task"]].drop_duplicates()
        if not len(keys):
            reason = "none of its metrics applies to its items"
            raise RunError(f"the run in {self.path} has no measurements: {reason}; measure it again with other metrics")
        return [Part(self, str(dataset), str(task)) for dataset, task in keys.itertuples(index=False)]

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups that the items have."""
        return group_names(self.table("outcomes.parquet").schema)

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return float(self.manifest.settings.get("level", 0.95))


def written(folder: RunFolder, held: Held, manifest: RunManifest, notes: Sequence[str]) -> Run:
    """Return the run with these tables, written; only with this step is it finished."""
    folder.check_there()
    folder.commit(held.tables, replace(manifest, notes=[*manifest.notes, *notes], finished=now()))
    items = sum(map(len, held.outcomes.values()))
    if items > MOST_HELD:
        held.tables.clear()
        held.outcomes.clear()
        _give_back(items)
        held = Held({}, {}, held.measurements)
    return Run(folder, held=held)


def _give_back(items: int) -> None:
    """Give the memory of that many items that are no longer used back to the machine."""
    if items >= MANY:
        gc.collect()  # columns refer to each other
    release_tables()


@dataclass(frozen=True)
class Part:
    """A run on one dataset as one task."""

    run: Run
    dataset: str
    task: str

    def __str__(self) -> str:
        return str(self.key)

    @property
    def key(self) -> RunKey:
        """What its measurements are about."""
        return RunKey(self.run.name, self.dataset, self.task)

    @property
    def has_items(self) -> bool:
        """Whether the items are there: measurements may come without them."""
        return {"outcomes.parquet", "pairs.parquet", "examples.parquet"} <= set(self.run.manifest.files)

    @property
    def is_control(self) -> bool:
        """Whether it was asked beside the run's own sentences, to see that the model understands the group word."""
        return self.dataset == CONTROL_NAME and any(part.dataset != CONTROL_NAME for part in self.run.parts)

    def title(self, kind: str) -> str:
        """Return the dataset, the task and a type of items in words."""
        return f"{self}, {kind_title(kind)}"

    def about(self, kind: str = "", **more: str) -> dict[str, str]:
        """Return what a chart or table of the part is about."""
        return {"dataset": self.dataset, "task": self.task, "type": kind, **more}

    def _of(self, frame: pd.DataFrame) -> pd.DataFrame:
        inside = (frame["dataset"] == self.dataset) & (frame["task"] == self.task)
        return frame if inside.all() else frame[inside]

    @cached_property
    def items(self) -> pd.DataFrame:
        """The rows of `outcomes.parquet`, but for its lists of numbers: `outcomes` has these as arrays."""
        return self._of(self.run.items)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The rows of `pairs.parquet`: one for each counterfactual set."""
        return self._of(self.run.pairs)

    @cached_property
    def outcomes(self) -> Outcomes:
        """The items as metrics take them."""
        held = self.run.held_outcomes(self.dataset, self.task)
        if held is not None:
            named = {name: held.groups[name] for name in self.run.groups if name in held.groups}
            return replace(held, groups={name: column for name, column in named.items() if (column != "").any()})
        # A task may drop groups of its examples: a cloze has no gender.
        rows = part_rows(self.run.table("outcomes.parquet"), self.dataset, self.task)
        return self.run.folder.outcomes_of(rows, self.run.groups)

    def share(self, other: Part) -> None:
        """Hold what the outcomes have in common with those of another part only once."""
        self.__dict__["outcomes"] = self.outcomes.sharing(other.outcomes)

    def numbers(self, table: str, name: str, kind: str) -> Floats:
        """Return a column of a Parquet table by the run's main estimator, for the rows of a type; no other is read."""
        named = main_estimator(self.run.column_names(table), name)
        columns = [column for column in ("type", named) if column in self.run.column_names(table)]
        rows = part_rows(self.run.table(table, ("dataset", "task", *columns)), self.dataset, self.task)
        return column(self.of_kind(rows.select(columns).to_pandas(), kind), named)

    def asked(self, *columns: str) -> tuple[Any, Integers]:
        """Return these columns of the dataset's examples as an arrow table, and the row of each item's example."""
        table, rows = self.example_rows(*columns)
        if unknown := int((rows < 0).sum()):
            place = self.run.path / "outcomes.parquet"
            raise RunError(f"{place} is damaged (example_id: {unknown:,} answers are to no example of the run)")
        return table, rows

    def example_rows(self, *columns: str) -> tuple[Any, Integers]:
        """Return the same, with ABSENT for the row of an item that has no example."""
        table = self.run.examples_of(self.dataset, "id", *columns)
        ids, wanted = texts_of(table["id"]), self.outcomes.example_id
        if np.array_equal(ids, wanted):
            return table, np.arange(len(ids))  # each was asked once, in their order
        known = pd.Index(ids)
        firsts = np.flatnonzero(~known.duplicated())
        rows = known[firsts].get_indexer(pd.Index(wanted))
        return table, np.where(rows < 0, ABSENT, firsts[rows])

    @cached_property
    def has_pronouns(self) -> bool:
        """Whether every example names its pronoun."""
        import pyarrow.compute as pc

        slots = self.run.examples_of(self.dataset, "slots")["slots"].unique()
        return bool(pc.all(pc.match_substring(slots.cast("string"), '"pronoun"')).as_py())

    @cached_property
    def measured(self) -> Measurements:
        """The measurements, by metric and group."""
        return self.run.measured(self.dataset, self.task)

    @cached_property
    def kinds(self) -> list[str]:
        """The types of the items, resolvable first; [""] where they have none."""
        return ordered_kinds(set(pd.unique(self.outcomes.group("type")).tolist()) - {""})

    def answerable(self, kind: str) -> Booleans:
        """Return which items of a type have a right answer that their text settles."""
        outcomes = self.outcomes
        return outcomes.answerable[outcomes.group("type") == kind] if kind else outcomes.answerable

    def of_kind(self, frame: pd.DataFrame, kind: str) -> pd.DataFrame:
        """Return the rows of one type; all of them where the items have no types."""
        return frame[frame["type"] == kind] if kind else frame


def remembered(function: Callable[[Part], Value]) -> Callable[[Part], Value]:
    """Return a function of a part that computes its value once; it is kept with the part, and goes with it."""
    place = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def once(part: Part) -> Value:
        if place not in vars(part):
            vars(part)[place] = function(part)
        value: Value = vars(part)[place]
        return value

    return once


def all_parts(runs: Iterable[Run]) -> Iterator[tuple[str, str]]:
    """Yield every dataset and task that one of the runs has."""
    yield from dict.fromkeys((part.dataset, part.task) for run in runs for part in run.parts)
