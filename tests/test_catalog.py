"""Names are found in the table, then among the entry points of really installed packages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from plug_in import write_plug_in

from equipoise.catalog import find, made, names, summary
from equipoise.datasets import open_dataset
from equipoise.metrics import METRICS
from equipoise.metrics.naming import metric_of
from equipoise.records import EquipoiseError
from equipoise.scoring.opening import open_engine
from equipoise.settings import Settings
from equipoise.tasks import open_task

TABLE = {"ucerf": 1, "accuracy": 2}


@pytest.fixture
def installed_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with three metrics, one of them under a name that the table has, too."""
    code = (
        "from equipoise.metrics import Metric\n"
        "def least(values):\n    return float(values.min())\n"
        'LEAST = Metric("least_certainty", least, ("certainty",), "higher", "Least certainty", "smallest certainty",'
        " estimated=True)\n"
        'ACCURACY = "not the built-in one"\n'
    )
    points = (
        "[equipoise.metrics]\n"
        "least_certainty = equipoise_tenth:LEAST\n"
        "accuracy = equipoise_tenth:ACCURACY\n"
        "aardvark = equipoise_tenth:LEAST\n"
        "certainty_least = equipoise_tenth:LEAST\n"
        "broken = equipoise_no_such_module:LEAST\n"
        "function = equipoise_tenth:least\n"
    )
    write_plug_in(tmp_path, "equipoise-tenth", points, code)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_name_of_the_table_gives_its_entry() -> None:
    assert find("accuracy", TABLE, kind="metric") == 2


def test_an_unknown_name_close_to_a_known_one_is_put_right() -> None:
    with pytest.raises(EquipoiseError, match=r"^unknown metric 'ucref'; did you mean 'ucerf'\?$"):
        find("ucref", TABLE, kind="metric")


def test_an_unknown_name_close_to_none_lists_what_there_is() -> None:
    with pytest.raises(EquipoiseError, match=r"^unknown metric 'xyz'; known: accuracy, ucerf$"):
        find("xyz", TABLE, kind="metric")


def test_what_is_known_is_listed_by_name_however_the_table_is_ordered() -> None:
    table = dict.fromkeys("qwertyuiopasdfghjklm", 1)
    with pytest.raises(EquipoiseError) as error:
        find("12345", table, kind="no-such-kind")
    listed = "a, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, y"
    assert str(error.value) == f"unknown no-such-kind '12345'; known: {listed}"


def test_names_without_plugins_are_the_table_in_its_order() -> None:
    assert names(TABLE, kind="no-such-kind") == ["ucerf", "accuracy"]


@pytest.mark.usefixtures("installed_plugin")
def test_an_installed_package_adds_a_metric() -> None:
    assert find("least_certainty", METRICS, kind="metric").better == "higher"
    assert [metric.name for metric in Settings(metrics=["least_certainty"]).plan.metrics] == ["least_certainty"]


@pytest.mark.usefixtures("installed_plugin")
def test_a_measurement_belongs_to_the_metric_of_its_whole_name_or_of_its_name_before_an_estimator() -> None:
    assert metric_of("certainty_least").name == "least_certainty"  # type: ignore[union-attr]
    assert metric_of("certainty_least_fisher_rao").name == "least_certainty"  # type: ignore[union-attr]
    assert metric_of("certainty_fisher_rao") is METRICS["certainty"]
    # No metric is guessed from how a name begins: this package may be missing where a run is read.
    assert metric_of("certainty_of_another_package") is None
    assert metric_of("accuracy_renyi") is None, "accuracy is not taken by estimators"
    assert metric_of("broken") is None


@pytest.mark.usefixtures("installed_plugin")
def test_a_package_cannot_replace_a_row_of_the_table() -> None:
    assert find("accuracy", METRICS, kind="metric") is METRICS["accuracy"]


@pytest.mark.usefixtures("installed_plugin")
def test_names_list_the_table_first_then_plugins_by_name_none_twice() -> None:
    assert names(TABLE, kind="metric") == [
        "ucerf",
        "accuracy",
        "aardvark",
        "broken",
        "certainty_least",
        "function",
        "least_certainty",
    ]


@pytest.mark.usefixtures("installed_plugin")
def test_a_plugin_of_another_kind_is_not_found() -> None:
    with pytest.raises(EquipoiseError, match="unknown estimator 'least_certainty'"):
        find("least_certainty", {}, kind="estimator")


@pytest.mark.usefixtures("installed_plugin")
def test_a_misspelt_plugin_is_put_right() -> None:
    with pytest.raises(EquipoiseError, match="did you mean 'least_certainty'"):
        find("least_certainy", TABLE, kind="metric")


@pytest.mark.usefixtures("installed_plugin")
def test_a_package_that_fails_is_one_sentence() -> None:
    with pytest.raises(EquipoiseError, match=r"the plug-in equipoise_no_such_module:LEAST for metric 'broken' fails: "):
        find("broken", METRICS, kind="metric")


@pytest.mark.usefixtures("installed_plugin")
def test_a_function_in_place_of_its_row_is_refused() -> None:
    sentence = r"equipoise_tenth:least for metric 'function' is a function, not a row of the class Metric$"
    with pytest.raises(EquipoiseError, match=sentence):
        find("function", METRICS, kind="metric")


def test_the_summary_is_the_first_line_of_what_an_entry_says_of_itself() -> None:
    def told() -> None:
        """
        Say one thing.

        And then more.
        """

    def silent() -> None:
        pass

    table = {"told": told, "silent": silent}
    assert [summary(name, table, kind="thing") for name in table] == ["Say one thing.", ""]
    assert "unknown thing 'other'" in summary("other", table, kind="thing")


def test_a_package_that_fails_is_told_in_a_summary(installed_plugin: None) -> None:
    assert "the plug-in equipoise_no_such_module:LEAST" in summary("broken", {}, kind="metric")
    assert summary("nothing", {"nothing": 3}, kind="thing") == int.__doc__.strip().splitlines()[0]  # type: ignore[union-attr]
    assert summary("bare", {"bare": type("Bare", (), {"__doc__": None})()}, kind="thing") == ""


@pytest.mark.usefixtures("installed_parts")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: open_dataset("tenth"), "the dataset 'tenth' of equipoise-parts 2.0 raised KeyError: 'text'"),
        (
            lambda: open_dataset("nothing"),
            "the dataset 'nothing' of equipoise-parts 2.0 returns a NoneType, not a Dataset",
        ),
        (lambda: open_task("asked"), "the task 'asked' of equipoise-parts 2.0 raised ValueError: no way to ask"),
        (
            lambda: open_engine("broken:x"),
            "the engine 'broken' of equipoise-parts 2.0 raised ValueError: no way to ask",
        ),
    ],
)
def test_a_part_of_another_package_that_fails_is_named_with_its_package_and_place(
    call: Callable[[], object], said: str
) -> None:
    with pytest.raises(EquipoiseError) as fault:
        call()
    place = r"( \(equipoise_parts\.py, line [25]\))?"
    assert re.fullmatch(re.escape(said) + place, str(fault.value))


def test_what_our_own_code_raises_stays_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        made("own", {"own": lambda number: number / 0}, 1, kind="dataset")
    assert made("own", {"own": lambda number: number + 1}, 1, kind="dataset") == 2


@pytest.fixture
def installed_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with a dataset, a task and an engine that fail when they are opened."""
    code = "def tenth(options):\n    return {}['text']\n\ndef fails(*given):\n    raise ValueError('no way\\nto ask')\n"
    code += "\ndef nothing(options):\n    return None\n"
    points = (
        "[equipoise.datasets]\ntenth = equipoise_parts:tenth\nnothing = equipoise_parts:nothing\n"
        "[equipoise.tasks]\nasked = equipoise_parts:fails\n[equipoise.engines]\nbroken = equipoise_parts:fails\n"
    )
    write_plug_in(tmp_path, "equipoise-parts", points, code, version="2.0")
    monkeypatch.syspath_prepend(str(tmp_path))
