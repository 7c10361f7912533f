"""All options of an audit together, and what each part of the program gets of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

from .catalog import names
from .datasets import CONTROL, Dataset, open_dataset, open_datasets
from .datasets.conditions import conditions
from .measuring.cells import check_groups
from .measuring.goals import Goal, goals
from .measuring.measure import Plan
from .metrics import METRICS
from .metrics.plugged import estimator_row, metric_row
from .metrics.requirement import Requirement, parse_duel, parse_requirement
from .options import (
    RENAMED,
    AnswerOptions,
    AuditOptions,
    DatasetOptions,
    EngineOptions,
    OptionError,
    PlanOptions,
    RunOptions,
    check_arguments,
    options_of,
)
from .records import EquipoiseError, RunError
from .runs.run import Run
from .tasks import NO_SHOTS, Shots, Task, TaskOptions, open_tasks, read_wordings
from .uncertainty import P_TRUE


@dataclass(frozen=True, kw_only=True)
class Settings(AuditOptions):
    """What a user chose about an audit, and what each part of the program gets of it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        conditions(self.where)
        _ = self.requirements
        if self.metrics is None:
            # A manifest names the metrics, so that a later version with more of them measures the same.
            object.__setattr__(self, "metrics", tuple(METRICS))

    @classmethod
    def again(cls, earlier: Mapping[str, Any], **choices: Any) -> Self:
        """Return the settings of an earlier run, with other choices in their place; metrics are added to its own."""
        check_arguments(choices, cls)
        earlier = {RENAMED.get(name, name): value for name, value in earlier.items()}
        try:
            before = cls(**earlier)
        except (TypeError, ValueError, EquipoiseError):
            raise RunError("the run has settings that this version does not know; run its audit again") from None
        # Asking for one metric must not lose the others: their rows are what reports and gates read.
        # One that this version does not have any more cannot be measured again.
        known = names(METRICS, kind="metric")
        metrics = dict.fromkeys(
            [*(name for name in before.metrics or () if name in known), *choices.get("metrics", ())]
        )
        return cls(**{**earlier, **choices, "metrics": list(metrics)})

    @property
    def asked(self) -> dict[str, str]:
        """The choices that decide what is asked, where they are not the usual ones: they name the run folder."""
        deciding = sorted((option for option in SETTINGS.values() if option.asked), key=lambda option: option.asked)
        chosen = {option.name: (_label(getattr(self, option.name)), _label(option.default)) for option in deciding}
        return {name: label for name, (label, usual) in chosen.items() if label != usual}

    @property
    def plan(self) -> Plan:
        """What to measure."""
        metrics = [metric_row(name) for name in self.metrics or ()]
        estimators = [estimator_row(name) for name in self.estimators]
        return Plan(metrics, estimators, **vars(self.part(PlanOptions)))

    @property
    def requirements(self) -> list[Requirement]:
        """What the audit is to settle."""
        named = {text: parse_requirement(text) for text in self.until}
        duels = {text: parse_duel(text, self.margin, one_sided=self.one_sided) for text in self.better_in}
        return [*named.values(), *duels.values()]

    def goals(self, datasets: Sequence[Dataset], tasks: Sequence[Task]) -> list[list[Goal]]:
        """Return what is to be settled of each dataset and task, in their order."""
        parts = [(dataset, task.name) for dataset, task in product(datasets, tasks)]
        earlier = {}
        if self.until_better is not None:
            earlier = {(part.dataset, part.task): part.outcomes for part in Run(self.until_better).parts}
        return goals(parts, self.requirements, self.plan, earlier)

    def datasets(self, data: Any, tasks: Sequence[Task]) -> list[Dataset]:
        """Return the datasets that were asked for; a group that they do not have and results are asked by is an error.

        Of the default, the control is left out where an option changes what is asked or compared, or where a task asks
        for the pronoun itself.
        """
        usual = isinstance(data, list | tuple) and all(isinstance(entry, str) for entry in data)
        if usual and tuple(data) == RunOptions.data:
            names = (*options_of(DatasetOptions), "by", "until_width", "until", "until_better", "shots")
            # By their labels: the command line gives lists for the same choices.
            plain = all(_label(getattr(self, name)) == _label(SETTINGS[name].default) for name in names)
            if not plain or any(task.name.startswith(("cloze", "sentence")) for task in tasks):
                data = [entry for entry in data if entry != CONTROL]
        datasets = open_datasets(data, self.dataset)
        for dataset in datasets:
            check_groups(dataset.examples, self.by)
        return datasets

    @property
    def dataset(self) -> DatasetOptions:
        """How to read the datasets."""
        return self.part(DatasetOptions)

    @property
    def engine(self) -> EngineOptions:
        """How to load the model."""
        # An estimator over the whole vocabulary cannot do without it.
        needed = any(column.startswith("vocab") for column in self._columns_needed)
        # Without a server only open answers and reasonings are sampled, by their task.
        samples = self.samples if self.server else 0
        return replace(self.part(EngineOptions), whole_vocabulary=self.whole_vocabulary or needed, samples=samples)

    @property
    def task(self) -> TaskOptions:
        """How to ask."""
        return TaskOptions(
            seeds=tuple(range(self.seed, self.seed + self.orders)),
            questions=read_wordings(self.wordings) if self.wordings else tuple(self.questions),
            shots=Shots(open_dataset(self.shots).examples) if self.shots else NO_SHOTS,
            # A server's samples stand for probabilities that it does not give.
            drawn_reasonings=0 if self.server else self.samples,
            p_true=P_TRUE in self._columns_needed,
            **vars(self.part(AnswerOptions)),
        )

    @property
    def _columns_needed(self) -> set[str]:
        """The columns that the estimators read in place of the candidates."""
        return {estimator_row(name).reduction for name in self.estimators}

    def check_use(self, asked: RunOptions) -> None:
        """Raise an error where an option has no use for the datasets and tasks that were asked for."""
        changed = {name for name, option in SETTINGS.items() if _label(getattr(self, name)) != _label(option.default)}
        marking = ("augment", "attributes", "base", "markers", "crossed")
        if changed & set(marking) and "winoidentity" not in asked.data:
            sentence = "augment, attributes, base, markers and crossed need data winoidentity"
            raise OptionError(sentence, *marking, "data")
        if self.samples and not self.server and not {"open", "next-word-cot", "mcq-cot"} & set(asked.task):
            sentence = "samples is for open answers, for chain of thought and for servers; this task needs none"
            raise OptionError(sentence, "samples")
        if self.both and not {"mcq", "mcq-cot"} & set(asked.task):
            raise OptionError("both is for multiple choice: add task mcq or mcq-cot", "both", "task")
        if self.second_reader and "open" not in asked.task:
            raise OptionError("second_reader is for open answers: add task open", "second_reader", "task")
        if "passes" in changed and not self.dropout:
            raise OptionError("passes is for dropout", "passes", "dropout")


SETTINGS = options_of(Settings)
"""The options of an audit by name."""


def fitting(task: Any, tasks: list[Task], engine: Any, settings: Settings) -> tuple[list[Task], list[str]]:
    """Return the tasks; where no task was chosen and the engine cannot be asked the usual one, what it can, and why."""
    able = tuple(getattr(engine, "tasks", ()))
    if task is not RunOptions.task or not able or set(able) & set(task):
        return tasks, []
    note = f"{engine.name} cannot be asked as {task[0]}, the usual task, so it was asked as {able[0]}"
    return open_tasks(able[0], settings.task), [note]


def _label(value: object) -> str:
    """Return a choice as a part of a folder's name."""
    if isinstance(value, Mapping):
        return "+".join(f"{key}={entry}" for key, entry in value.items())
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
