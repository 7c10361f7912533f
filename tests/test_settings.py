"""All options together: what each part of the program gets, and what names a run folder."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import pytest

from equipoise.metrics import METRICS
from equipoise.options import AuditOptions, OptionError, RunOptions, options_of
from equipoise.records import RunError
from equipoise.settings import SETTINGS, Settings
from equipoise.tasks import open_tasks


def test_settings_declare_no_option_of_their_own() -> None:
    assert options_of(AuditOptions) == SETTINGS
    assert {option.name for option in fields(Settings)} == set(SETTINGS)


def test_the_manifest_names_all_metrics_that_are_measured() -> None:
    assert Settings().metrics == tuple(METRICS) == tuple(asdict(Settings())["metrics"])
    assert [metric.name for metric in Settings(metrics=["ucerf"]).plan.metrics] == ["ucerf"]


def test_each_part_gets_the_options_that_were_chosen_for_it() -> None:
    settings = Settings(limit=3, level=0.9, seed=5, dtype="float32", chat=True, system="Be brief.", orders=2)
    assert (settings.dataset.limit, settings.engine.dtype, settings.engine.seed) == (3, "float32", 5)
    assert (settings.plan.level, settings.plan.seed) == (0.9, 5)
    assert (settings.task.seeds, settings.task.system) == ((5, 6), "Be brief.")
    assert not hasattr(settings.dataset, "dtype") and not hasattr(settings.engine, "limit")


def test_an_estimator_over_the_vocabulary_needs_reductions() -> None:
    assert not Settings().engine.whole_vocabulary
    assert Settings(estimators=["vocab-renyi"]).engine.whole_vocabulary
    assert Settings(estimators=["p-true"]).task.p_true and not Settings().task.p_true


def test_only_a_server_samples_for_the_engine() -> None:
    here, served = Settings(samples=4), Settings(samples=4, server="http://127.0.0.1:9/v1")
    assert (here.engine.samples, here.task.samples, here.task.drawn_reasonings) == (0, 4, 4)
    assert (served.engine.samples, served.task.samples, served.task.drawn_reasonings) == (4, 4, 0)


def test_what_is_asked_names_the_run_folder_in_an_order_that_stays() -> None:
    assert Settings(device="cpu", level=0.9, metrics=["ucerf"], server="http://s", whole_vocabulary=True).asked == {}
    settings = Settings(
        passes=3, dropout=0.1, columns={"text": "a"}, pronouns=["he", "they"], seed=2, orders=3, limit=4
    )
    assert settings.asked == {
        "limit": "4",
        "orders": "3",
        "seed": "2",
        "pronouns": "he+they",
        "columns": "text=a",
        "dropout": "0.1",
        "passes": "3",
    }
    assert list(settings.asked) == ["limit", "orders", "seed", "pronouns", "columns", "dropout", "passes"]


def test_an_earlier_run_is_measured_with_its_own_metrics_too() -> None:
    earlier = asdict(Settings(metrics=["ucerf"], level=0.8, limit=7))
    again = Settings.again(earlier, metrics=["flip_rate"], level=0.9)
    assert (again.metrics, again.level, again.limit) == (["ucerf", "flip_rate"], 0.9, 7)
    with pytest.raises(RunError, match="has settings that this version does not know"):
        Settings.again({**earlier, "colour": "red"})


@pytest.mark.parametrize(
    ("asked", "chosen", "sentence"),
    [
        ({}, {"crossed": True}, "augment, attributes, base, markers and crossed need data winoidentity"),
        ({}, {"samples": 3}, "samples is for open answers, for chain of thought and for servers"),
        ({"task": ["next-word"]}, {"both": True}, "both is for multiple choice: add task mcq or mcq-cot"),
        ({}, {"passes": 3}, "passes is for dropout"),
    ],
)
def test_an_option_without_use_is_refused(asked: dict[str, Any], chosen: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError, match=f"^{sentence}"):
        Settings(**chosen).check_use(RunOptions(**asked))


def test_an_option_of_use_is_not_refused() -> None:
    Settings(crossed=True, base="builtin").check_use(RunOptions(data=["winoidentity"]))
    Settings(samples=3).check_use(RunOptions(task=["mcq-cot"]))
    Settings(samples=3, server="http://s").check_use(RunOptions())
    Settings(both=True, dropout=0.1, passes=3).check_use(RunOptions(task=["mcq", "cloze"]))


@pytest.mark.parametrize(
    ("chosen", "task", "names"),
    [
        ({}, "next-word", ["builtin", "gendered-control"]),
        ({}, "mcq", ["builtin", "gendered-control"]),
        ({}, "cloze", ["builtin"]),
        ({"limit": 4}, "next-word", ["builtin"]),
        ({"pronouns": ["he", "they"]}, "next-word", ["builtin"]),
        ({"by": ["occupation"]}, "next-word", ["builtin"]),
    ],
)
def test_the_control_is_asked_by_default_and_where_nothing_else_was_chosen(
    chosen: dict[str, Any], task: str, names: list[str]
) -> None:
    settings = Settings(**chosen)
    tasks = open_tasks([task], settings.task)
    assert [dataset.name for dataset in settings.datasets(RunOptions.data, tasks)] == names
