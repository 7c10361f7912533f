"""Every paper is a suite whose cells can run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.papers.experiments import PAPERS, write_suite
from equipoise.papers.published import published
from equipoise.records import EquipoiseError
from equipoise.suites.cells import cells


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_is_a_suite_whose_cells_can_run(name: str, tmp_path: Path) -> None:
    suite = write_suite(name, ["planted:bias=1"], tmp_path, limit=2)
    asked = {(row.dataset, row.task) for row in published() if row.paper == name and row.place in PAPERS[name].places}
    assert asked <= {(data, task) for data in suite.data for task in suite.tasks}
    assert suite.settings["limit"] == 2


def test_cells_of_data_that_is_here_have_no_problem(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    real_data("gender-ece")
    suite = write_suite("gender-ece", ["planted:bias=1"], tmp_path, limit=2)
    assert [cell.problem for cell in cells(suite) if cell.problem] == []


def test_options_of_a_task_are_settings_of_the_suite_and_win_over_the_papers(tmp_path: Path) -> None:
    suite = write_suite("ucerf", ["planted"], tmp_path, answer_turn="plain", orders=2)
    assert suite.settings == {"answer_turn": "plain", "orders": 2, "estimators": ["perplexity", "renyi", "fisher-rao"]}
    assert write_suite("ucerf", ["planted"], tmp_path).settings["orders"] == 5


def test_what_a_user_changes_in_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    write_suite("ucerf", ["planted"], tmp_path)
    path.write_text(path.read_text().replace("orders = 5", "orders = 3"))
    changed = path.read_text()
    again = write_suite("ucerf", [], tmp_path)
    assert again.settings["orders"] == 3 and [model.name for model in again.models] == ["planted"]
    other = write_suite("ucerf", ["planted:bias=1"], tmp_path, limit=4)
    assert [model.spec for model in other.models] == ["planted:bias=1"]
    assert other.settings["limit"] == 4 and other.settings["orders"] == 3
    assert path.read_text() == changed


def test_an_unknown_paper_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="unknown paper 'ucref'; did you mean 'ucerf'"):
        write_suite("ucref", ["smollm2"], tmp_path)
