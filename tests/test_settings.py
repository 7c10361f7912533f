"""All options together: what each part of the program gets, and what names a run folder."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.metrics import METRICS
from equipoise.options import AuditOptions, OptionError, RunOptions, options_of
from equipoise.records import EquipoiseError, RunError
from equipoise.settings import SETTINGS, Settings, _label, fitting
from equipoise.tasks import Shots, open_task, open_tasks


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
    for estimators in (["vocab-renyi"], ["perplexity", "vocab-renyi"], ["vocab-renyi", "p-true"]):
        assert Settings(estimators=estimators).engine.whole_vocabulary
    assert not Settings(estimators=["perplexity", "p-true"]).engine.whole_vocabulary
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
        ({"pronouns": ["he", "she"], "where": []}, "next-word", ["builtin", "gendered-control"]),
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


RULES: list[tuple[dict[str, Any], dict[str, Any], str, tuple[str, ...]]] = [
    (
        {},
        {"base": "builtin"},
        "augment, attributes, base, markers and crossed need data winoidentity",
        ("augment", "attributes", "base", "markers", "crossed", "data"),
    ),
    (
        {},
        {"samples": 2},
        "samples is for open answers, for chain of thought and for servers; this task needs none",
        ("samples",),
    ),
    ({}, {"both": True}, "both is for multiple choice: add task mcq or mcq-cot", ("both", "task")),
    ({}, {"second_reader": True}, "second_reader is for open answers: add task open", ("second_reader", "task")),
    ({}, {"passes": 3}, "passes is for dropout", ("passes", "dropout")),
]


@pytest.mark.parametrize(("asked", "chosen", "sentence", "names"), RULES)
def test_each_option_without_use_is_told_with_its_names(
    asked: dict[str, Any], chosen: dict[str, Any], sentence: str, names: tuple[str, ...]
) -> None:
    with pytest.raises(OptionError) as refused:
        Settings(**chosen).check_use(RunOptions(**asked))
    assert (str(refused.value), refused.value.names) == (sentence, names)


def test_the_first_option_without_use_is_told() -> None:
    for number, (_, first, sentence, _) in enumerate(RULES):
        for _, second, *_ in RULES[number + 1 :]:
            if {"samples", "second_reader"} <= {*first, *second}:
                continue  # these two are refused together, before
            with pytest.raises(OptionError) as refused:
                Settings(**first, **second).check_use(RunOptions())
            assert str(refused.value) == sentence


@pytest.mark.parametrize("name", ["augment", "attributes", "base", "markers", "crossed"])
def test_every_option_of_markers_needs_marked_sentences(name: str) -> None:
    value = {"augment": ["R"], "attributes": ["age"], "base": "builtin", "markers": "m.toml", "crossed": True}[name]
    with pytest.raises(OptionError, match="need data winoidentity"):
        Settings(**{name: value}).check_use(RunOptions(data=["builtin"]))
    Settings(**{name: value}).check_use(RunOptions(data=["builtin", "winoidentity"]))


def test_options_of_use_for_one_of_several_tasks_are_taken() -> None:
    for task in ("open", "next-word-cot", "mcq-cot"):
        Settings(samples=2).check_use(RunOptions(task=["mcq", task]))
    for task in ("mcq", "mcq-cot"):
        Settings(both=True).check_use(RunOptions(task=["cloze", task]))
    Settings(second_reader=True).check_use(RunOptions(task=["mcq", "open"]))
    Settings(passes=20).check_use(RunOptions())


def test_the_usual_task_gives_way_only_where_none_was_chosen() -> None:
    settings, usual = Settings(), open_tasks(RunOptions.task)
    able = SimpleNamespace(name="s", tasks=("mcq", "open"))
    note = "s cannot be asked as next-word, the usual task, so it was asked as mcq"
    assert fitting(RunOptions.task, usual, able, settings) == ([open_task("mcq")], [note])
    assert fitting(["next-word"], usual, able, settings) == (usual, [])
    for engine in (SimpleNamespace(name="s"), SimpleNamespace(tasks=()), SimpleNamespace(tasks=("mcq", "next-word"))):
        assert fitting(RunOptions.task, usual, engine, settings) == (usual, [])


def test_how_choices_name_a_folder() -> None:
    assert _label({"a": 1, "b": 2}) == "a=1+b=2" and _label(["x", 3]) == _label(("x", 3)) == "x+3"
    assert _label("text") == "text" and _label(0.5) == "0.5" and _label(None) == "None" and _label([]) == ""


def test_an_earlier_name_of_an_option_is_known_and_a_metric_that_is_gone_left_out() -> None:
    earlier = {**asdict(Settings(metrics=["ucerf"])), "metrics": ["ucerf", "of_old"], "seeds": 3}
    earlier.pop("orders")
    again = Settings.again(earlier)
    assert (again.metrics, again.orders) == (["ucerf"], 3)
    assert Settings.again(earlier, metrics=["ucerf", "accuracy"]).metrics == ["ucerf", "accuracy"]
    with pytest.raises(OptionError, match=r"^unknown argument 'levle'; did you mean 'level'\?$"):
        Settings.again(earlier, levle=0.9)
    for wrong in ({"level": 7}, {"level": "x"}, {"where": ["nonsense"]}):
        with pytest.raises(RunError, match=r"^the run has settings that this version does not know; run its audit"):
            Settings.again({**earlier, **wrong})


def test_conditions_and_requirements_are_read_when_they_are_given() -> None:
    for chosen in ({"where": ["nonsense"]}, {"until": ["accuracy"]}, {"until_better": "r", "better_in": ["a >= 1"]}):
        with pytest.raises(EquipoiseError):
            Settings(**chosen)
    named = Settings(until=["accuracy >= 0.5", "ucerf >= 0.5"]).requirements
    assert [one.metric for one in named] == ["accuracy", "ucerf"]
    (duel,) = Settings(until_better="r", better_in=["flip_rate"], margin=0.25, one_sided=True).requirements
    assert (duel.metric, duel.bound, duel.one_sided) == ("flip_rate", 0.25, True)  # type: ignore[attr-defined]


def test_what_is_asked_with_files(tmp_path: Path) -> None:
    table = tmp_path / "shots.csv"
    table.write_text("text,pronoun,candidates,gold\nThe nurse met the cook; she left.,she,nurse|cook,cook\n")
    task = Settings(shots=str(table), questions=["{text} Who?"], seed=3, orders=2, answer_tokens=9).task
    assert isinstance(task.shots, Shots) and [shot.gold for shot in task.shots.examples] == [1]
    assert (task.questions, task.seeds, task.answer_tokens) == (("{text} Who?",), (3, 4), 9)
    assert len(Settings(wordings="built-in").task.questions) == 10
    assert Settings(whole_vocabulary=True).engine.whole_vocabulary


@pytest.mark.parametrize(
    ("chosen", "data", "task", "names"),
    [
        ({"until_width": 0.5}, RunOptions.data, "next-word", ["builtin"]),
        ({"until": ["accuracy >= 0.5"]}, RunOptions.data, "next-word", ["builtin"]),
        ({"level": 0.9}, list(RunOptions.data), "next-word", ["builtin", "gendered-control"]),
        ({"limit": 3}, ["gendered:control"], "next-word", ["gendered-control"]),
        ({}, RunOptions.data, "sentence", ["builtin"]),
        ({"chat": True}, RunOptions.data, "cloze", ["builtin"]),
        ({"chat": True}, RunOptions.data, "next-word", ["builtin", "gendered-control"]),
        ({}, "builtin", "next-word", ["builtin"]),
    ],
)
def test_which_datasets_are_asked(chosen: dict[str, Any], data: Any, task: str, names: list[str]) -> None:
    settings = Settings(**chosen)
    assert [dataset.name for dataset in settings.datasets(data, open_tasks([task], settings.task))] == names
