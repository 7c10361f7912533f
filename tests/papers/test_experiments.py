"""Every paper is a suite whose cells can run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise.options import RunOptions
from equipoise.papers.experiments import PAPERS, WRITTEN, Reduction, write_suite
from equipoise.papers.published import published
from equipoise.records import EquipoiseError
from equipoise.suites.cells import cells
from equipoise.suites.suite_file import Model


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


@pytest.mark.parametrize(
    ("reduction", "limit", "expected"),
    [
        (Reduction("d", "t", 5), 100, "limit = 20\n"),
        (Reduction("d", "t", 5), 3, "limit = 1\n"),
        (Reduction("d", "t", 5, at_least=6), 20, "limit = 6\n"),
        (Reduction("d", "t", 5, at_least=6), 4, "limit = 4\n"),
        (Reduction("d", "t", 5, orders=2), 50, "limit = 10\norders = 2\n"),
    ],
)
def test_a_reduction_takes_a_share_of_the_limit(reduction: Reduction, limit: int, expected: str) -> None:
    assert reduction.override(limit) == f'\n[[override]]\ndata = "d"\ntask = "t"\n{expected}'


@pytest.mark.parametrize("name", PAPERS)
def test_the_suite_of_a_paper_is_written_as_it_was_kept(tmp_path: Path, name: str) -> None:
    out = tmp_path / "deep" / name
    suite = write_suite(name, ["a", "b"], out, limit=50, resamples=9)
    written = (out / "suite.toml").read_text()
    assert_kept(f"papers/{name}", written, hide=[str(tmp_path), written.splitlines()[0].rpartition(" ")[2]])
    assert [model.spec for model in suite.models] == ["a", "b"] and suite.settings["limit"] == 50
    first, _, rest = written.partition("\n")
    assert first == f"{WRITTEN}{hashlib.sha256(rest.encode()).hexdigest()[:16]}"
    plain = write_suite(name, [], out)
    assert "limit" not in plain.settings and [model.spec for model in plain.models] == [RunOptions.model]
    assert not any(override.settings.get("limit") for override in plain.overrides)


def test_a_file_that_was_changed_is_kept(tmp_path: Path) -> None:
    write_suite("ucerf", ["a"], tmp_path)
    path = tmp_path / "suite.toml"
    changed = path.read_text().replace('models = ["a"]', 'models = ["mine"]')
    path.write_text(changed)
    kept = write_suite("ucerf", [], tmp_path, seed=7)
    assert [model.spec for model in kept.models] == ["mine"] and kept.settings["seed"] == 7
    named = write_suite("ucerf", ["x"], tmp_path)
    assert named.models == [Model("x", "x")] and path.read_text() == changed
    _, _, rest = changed.partition("\n")
    path.write_text(f"# Mine sha256 {hashlib.sha256(rest.encode()).hexdigest()[:16]}\n{rest}")
    assert [model.spec for model in write_suite("ucerf", [], tmp_path).models] == ["mine"]
