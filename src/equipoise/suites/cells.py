"""The cells of a suite: one model, one dataset and one task each, with settings, checked before anything is loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from ..datasets import Dataset, open_dataset
from ..files import sha256
from ..measuring.cells import check_groups
from ..options import EngineOptions
from ..progress import Progress
from ..records import EquipoiseError, TaskNotPossible, grouped
from ..scoring.opening import locate_model, open_engine, thinks
from ..settings import SETTINGS, Settings
from ..tasks import open_task
from .forecast import Workload, forecast, workload
from .suite_file import Model, Suite

CELL_BYTES = 1_500_000
"""What a run takes on the disk whatever its size: measurements and the page."""

PROMPT_BYTES = 700
"""What each prompt adds: its score, its outcome and its case on the page."""


@dataclass(frozen=True)
class Cell:
    """A cell. `problem` says why it cannot run, `skipped` why it shall not; `prompts` is what it asks.

    `seconds` is how long it will take, roughly; None where nothing is known about that.
    """

    model: Model
    data: str
    task: str
    settings: Mapping[str, Any]
    folder: Path
    prompts: int = 0
    seconds: float | None = None
    skipped: str = ""
    problem: str = ""

    @property
    def name(self) -> str:
        """The cell in words: `smollm2 / winobias / mcq`."""
        return f"{self.model.name} / {self.data} / {self.task}"

    @property
    def size(self) -> int:
        """The bytes that its run folder will take, roughly."""
        return CELL_BYTES + PROMPT_BYTES * self.prompts

    def is_named(self, pattern: str) -> bool:
        """Return whether the pattern names the cell: its model, data or task, or several of these in order.

        Each is matched whole, so `next-word` is not `next-word-cot`; `*` stands for anything.
        """
        wanted, parts = [word.strip() for word in pattern.split(" / ")], (self.model.name, self.data, self.task)
        runs = (parts[start : start + len(wanted)] for start in range(len(parts) - len(wanted) + 1))
        return any(all(map(fnmatchcase, run, wanted)) for run in runs)


def cells(suite: Suite, *, only: Sequence[str] = (), progress: Progress | None = None) -> list[Cell]:
    """Return the suite's cells, all checked; those of one model come one after another, as it is loaded once for them.

    A pattern in `only` that names no cell is an error.
    """
    made = [_cell(suite, model, data, task) for model, data, task in product(suite.models, suite.data, suite.tasks)]
    for pattern in only:
        if not any(cell.is_named(pattern) for cell in made):
            raise EquipoiseError(f"only {pattern!r} matches no cell; the first is {made[0].name!r}")
    chosen = [cell for cell in made if not only or any(cell.is_named(pattern) for pattern in only)]
    shelf = Shelf()
    checked = []
    for number, cell in enumerate(chosen):
        checked.append(cell if cell.skipped else shelf.check(cell, suite.out))
        if progress:
            progress("checking cells", number + 1, len(chosen))
    return checked


def _cell(suite: Suite, model: Model, data: str, task: str) -> Cell:
    settings = {**suite.settings, **model.settings}
    skipped = ""
    for override in suite.overrides:
        if override.matches(model, data, task):
            settings |= override.settings
            skipped = override.skip or skipped
    return Cell(model, data, task, settings, suite.out, skipped=skipped)


class Shelf:
    """What cells share while they are checked: datasets that are read, models that are found, tasks that are tried."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def check(self, cell: Cell, out: Path) -> Cell:
        """Return the cell with its folder and its number of prompts, or with what is wrong with it."""
        try:
            settings = Settings(**cell.settings)
            _ = settings.plan
            self._once(("model", cell.model.spec, settings.engine), lambda: _find_model(cell.model.spec, settings))
            dataset = self._dataset(cell.data, settings)
            asked = open_task(cell.task, settings.task)
            check_groups(dataset.examples, settings.by)
            reasons = (settings.chat or cell.task == "open") and self._thinks(cell.model.spec, settings.engine)
            key = ("task", cell.data, repr(settings.dataset), asked.name, repr(settings.task), reasons)
            work: Workload = self._once(key, lambda: workload(asked, dataset, thinks=reasons))
            if work.texts and _is_planted(cell.model.spec):
                raise TaskNotPossible(f"{cell.task} needs a model that writes, and a planted engine cannot")
        except TaskNotPossible as error:
            return replace(cell, skipped=str(error))
        except (EquipoiseError, TypeError, ValueError, OSError) as error:
            return replace(cell, problem=str(error) or type(error).__name__)
        seconds = None if settings.server else forecast(cell.model.spec, work, device=settings.device)
        folder = out / "cells" / _folder_name(cell, settings, dataset)
        return replace(cell, prompts=work.prompts, seconds=seconds, folder=folder)

    def _thinks(self, spec: str, options: EngineOptions) -> bool:
        """Return whether the model is known to reason before its chat answers."""
        return bool(self._once(("thinks", spec, options), lambda: thinks(spec, options)))

    def _dataset(self, data: str, settings: Settings) -> Dataset:
        dataset: Dataset = self._once((data, repr(settings.dataset)), lambda: open_dataset(data, settings.dataset))
        return dataset

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` gives; the second time from memory, its error too."""
        if key not in self._known:
            try:
                self._known[key] = (make(), None)
            except (EquipoiseError, ValueError, OSError) as error:
                self._known[key] = (None, error)
        value, fault = self._known[key]
        if fault is not None:
            raise fault
        return value


def _is_planted(spec: str) -> bool:
    return spec.partition(":")[0] == "planted"


def _find_model(spec: str, settings: Settings) -> str:
    """Return where the model is; nothing but a planted engine, which has no weights, is opened for it."""
    if settings.server:
        return f"{spec} is served by {settings.server}"
    if _is_planted(spec):
        return open_engine(spec, settings.engine).name
    if spec.partition(":")[0] not in ("hf", "gguf", "default") and ":" in spec and not Path(spec).exists():
        return f"{spec} is a plug-in's"
    if settings.adapter and not Path(settings.adapter).exists():
        raise EquipoiseError(f"the adapter {settings.adapter} does not exist")
    return locate_model(spec)


def _folder_name(cell: Cell, settings: Settings, dataset: Dataset) -> str:
    """Return a name that is the same for the same cell, and another one where anything that matters differs."""
    chosen = {name: value for name, value in asdict(settings).items() if not SETTINGS[name].speed}
    content = json.dumps([cell.model.spec, dataset.sha256, cell.task, chosen], sort_keys=True, default=str)
    digest = sha256(content)[:10]
    plain = re.sub(r"[^\w.+-]+", "-", cell.name.replace(" / ", "--")).strip("-.")[:100]
    return f"{plain}-{digest}"


def by_model(several: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield the cells that one loaded model can serve: the same model, loaded in the same way."""

    def loaded(cell: Cell) -> str:
        return repr((cell.model.spec, cell.model.name, Settings(**cell.settings).engine))

    yield from grouped(several, loaded).values()
