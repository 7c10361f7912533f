"""Pictures and tables of identities come from a run folder alone, and show what was measured."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from planted_identities import PlantedIdentities
from rich.console import Console
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.records import EquipoiseError
from equipoise.reports.identities import views
from equipoise.reports.identities.figures import disparity_table, draw, heatmap
from equipoise.reports.identities.radars.figures import places, radar, shared_scale
from equipoise.reports.identities.tables import identity_summary
from equipoise.runs.run import Run, identity_frame

ENGINE = PlantedIdentities(confidence=0.4, penalties={"old": 0.3}, genders={"female": 0.05}, noise=0.02)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    choices = {"base": "builtin", "limit": 40, "attributes": ["age", "religion"], "augment": ["R", "C"]}
    out = tmp_path_factory.mktemp("run")
    return equipoise.audit(ENGINE, "winoidentity", out=out, resamples=50, metrics=["confidence"], **choices)


def test_the_radar_has_every_subgroup_on_its_rim_and_its_values(run: Run) -> None:
    frame = identity_frame(run.measurements)
    axes = radar({"planted": frame}, "type2", "R").axes[0]
    rim = [text.get_text() for text in axes.texts if not text.get_text()[0].isdigit() and "-" not in text.get_text()]
    assert rim == ["fem", "fem:\nyoung", "fem:\nold", "masc", "masc:\nyoung", "masc:\nold"]
    scale = shared_scale(list(views.radars({"planted": frame}, "type2", "R")), "type2")
    x, y = axes.get_lines()[0].get_data()
    away = np.hypot(x, y)
    # Places lie on a line with the values, so a value can be read back between 0 and 1.
    nothing, all_of_it = (np.hypot(*places([value], scale))[0] for value in (0.0, 1.0))
    values = (away - nothing) / (all_of_it - nothing)
    assert values[2] == pytest.approx(0.4 - 0.3 - 0.05, abs=0.03) and values[3] == pytest.approx(0.4, abs=0.03)
    assert x[0] == pytest.approx(0) and y[0] > 0 and y[3] < 0, "men opposite women"


def test_the_heatmap_diverges_from_zero(run: Run) -> None:
    figure = heatmap(identity_frame(run.measurements), "type2", "R", "planted")
    (image,) = figure.axes[0].get_images()
    low, high = image.get_clim()
    assert low == -high
    identities = [text.get_text() for text in figure.axes[0].texts]
    assert "old fem" in identities and "masc" in identities
    row = np.asarray(image.get_array())[identities.index("old fem")]
    assert np.nanmean(row) == pytest.approx(0.05, abs=0.05)


def test_large_disparities_are_marked_in_both_tables(run: Run) -> None:
    figure = disparity_table({"planted": identity_frame(run.measurements)})
    (table,) = figure.axes[0].tables
    cells = table.get_celld()
    names = {row: cell.get_text().get_text() for (row, column), cell in cells.items() if column == -1}
    bold = {names[row] for (row, column), cell in cells.items() if column >= 0 and row and _bold(cell)}
    assert bold == {"R · age", "C · age"}
    out = io.StringIO()
    Console(file=out, width=200).print(identity_summary(run.measurements))
    marked = [line for line in out.getvalue().splitlines() if "*[" in line]
    assert len(marked) == 2 and all(line.startswith("age") for line in marked)


def _bold(cell) -> bool:
    return cell.get_text().get_weight() == "bold"


def test_the_command_draws_everything_without_the_model(run: Run, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["identities", str(run.path), "--out", str(tmp_path), "--svg"])
    assert result.exit_code == 0, result.output
    names = {path.name for path in tmp_path.iterdir()}
    assert {"radar-type2-R.svg", "radar-type2-C.svg", "lines-type2.svg", "disparities.svg"} <= names
    assert "heatmap-type2-R-planted-identities.svg" in names
    assert all(path.stat().st_size > 5000 for path in tmp_path.iterdir())


def test_a_run_without_identities_has_nothing_to_draw(tmp_path: Path) -> None:
    plain = equipoise.audit("planted", "builtin", out=tmp_path, limit=5, resamples=20, metrics=["confidence"])
    assert identity_summary(plain.measurements) is None
    with pytest.raises(EquipoiseError, match="no marked sentences"):
        draw([plain], tmp_path / "figures")
