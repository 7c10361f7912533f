"""How a run shows itself in a notebook: figures, HTML, tables, and a notebook that is really executed."""

from __future__ import annotations

import base64
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kept_texts import assert_kept
from matplotlib.figure import Figure
from PIL import Image
from sample_charts import EVERY
from sample_sections import SECTIONS

import equipoise
from equipoise.media.notebook import Plots, draw, figure, html
from equipoise.media.page.charts import svg
from equipoise.records import EquipoiseError
from equipoise.records.showing import Chart
from equipoise.runs import Run

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("notebook") / "run"
    return equipoise.audit("planted:strength=1,bias=1,noise=1", limit=60, resamples=50, out=out)


def test_figures_are_those_of_the_run(run: Run) -> None:
    for shown in (run.plot.flips(), run.plot.scale(type="type2"), run.plot.occupations(width="column")):
        assert isinstance(shown, Figure)
        assert shown._repr_png_().startswith(PNG)
    rate = run.parts[0].measured.get("flip_rate", type="type2")
    assert rate is not None and rate.value > 0
    points = [line.get_xdata()[0] for line in run.plot.flips().axes[0].get_lines()]
    assert rate.value in points
    assert {"flips", "scale", "occupations", "histogram", "squares"} <= set(dir(run.plot))


def test_what_cannot_be_drawn_is_one_sentence(run: Run) -> None:
    with pytest.raises(EquipoiseError, match=r"nothing to draw for 'reliability'; this run has .*scale"):
        run.plot.reliability()
    with pytest.raises(EquipoiseError, match="no flips chart is about dataset=winobias; there is dataset=builtin"):
        run.plot.flips(dataset="winobias")


def test_a_run_shows_its_sentences_its_table_and_a_picture(run: Run) -> None:
    html = run._repr_html_()
    found = run.parts[0].measured.get("ucerf", type="type2")
    assert found is not None
    assert f"<td>{found}</td><td>{found.n:,}</td>" in html and "The pronoun changed the answer in" in html
    assert "builtin · next-word" in html and 'src="data:image/svg+xml;base64,' in html
    run_with_a_bad_name = Run(run.path, name="<script>alert(1)</script>")
    assert "<script>" not in run_with_a_bad_name._repr_html_()


def test_tables_for_python(run: Run) -> None:
    frame = run.to_frame()
    assert len(frame) == len(run.measurements) and set(frame["type"]) >= {"type1", "type2", ""}
    row = frame.query("metric == 'ucerf' and type == 'type2' and gender == '' and occupation == ''").iloc[0]
    assert row["value"] == run.parts[0].measured.get("ucerf", type="type2").value  # type: ignore[union-attr]
    cases = run.cases("type == 'type2' and u < 0.9")
    assert 0 < len(cases) < len(run.cases()) == len(run.outcomes)
    assert np.allclose([sum(raw) for raw in cases["raw_probs"]], cases["candidate_mass"])
    assert (cases["u"] < 0.9).all() and cases["u"].is_monotonic_increasing and cases["text"].str.len().min() > 10


@pytest.fixture(scope="module")
def gpt_j(real_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run made of GPT-J's published answers."""
    files = real_data("gender-ece") / "outputs" / "winogender"
    (file,) = files.glob("*GPT-J*.results.csv")
    out = tmp_path_factory.mktemp("gpt-j") / "run"
    return equipoise.import_results(file, format="gender-ece", out=out, resamples=20)


def test_reliability_is_drawn_from_the_answers(gpt_j: Run) -> None:
    figure = gpt_j.plot.reliability()
    lines = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) > 2]
    part = gpt_j.parts[0]
    probs, labels = part.outcomes.probs[:, 0], part.outcomes.gold == 0
    places = np.clip(np.ceil(probs * 10).astype(int) - 1, 0, 9)
    expected = [(probs[places == place].mean(), labels[places == place].mean()) for place in sorted(set(places))]
    drawn = {(round(float(x), 6), round(float(y), 6)) for line in lines for x, y in zip(*line.get_data(), strict=True)}
    assert {(round(float(x), 6), round(float(y), 6)) for x, y in expected} <= drawn
    assert figure._repr_png_().startswith(PNG)


def test_a_notebook_without_matplotlib_shows_the_same(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "equipoise.media.figure"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = run._repr_html_()
    assert "<img" in html and "<td>ucerf ↑</td>" in html


def test_sections_are_shown_as_they_were_kept() -> None:
    shown = re.sub('base64,[^"]*', "base64,…", html("A <title>", SECTIONS)).replace("<", "\n<")
    assert_kept("media/notebook", shown)
    picture = draw(EVERY["ranks"]).partition("base64,")[2].partition('"')[0]
    assert base64.b64decode(picture).decode() == str(svg(EVERY["ranks"], alone=True))


def test_a_chart_is_found_by_its_topic_and_what_it_is_about() -> None:
    first, second = (Chart(kind, [], "of-runs", {"type": kind, "empty": ""}) for kind in ("a", "b"))
    plots = Plots(lambda: iter([first, second, Chart("", [], "scale")]))
    assert dir(plots) == ["of_runs", "scale"] and repr(plots) == "<Plots of a run: of_runs, scale>"
    assert plots.find("of-runs", {}) is first and plots.find("of-runs", {"type": "b", "empty": ""}) is second
    with pytest.raises(EquipoiseError, match=r"^there is nothing to draw for 'x'; this run has of_runs, scale$"):
        plots.find("x", {})
    with pytest.raises(EquipoiseError, match=r"^no of-runs chart is about type=c, x=y; there is type=a; type=b$"):
        plots.find("of-runs", {"type": "c", "x": "y"})
    with pytest.raises(AttributeError, match=r"^_private$"):
        _ = plots._private


def test_a_plot_is_a_page_wide_with_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("equipoise.media.notebook.figure", lambda *given: (asked.append(given), "figure")[1])
    chart = Chart("", [], "of-runs")
    assert Plots(lambda: iter([chart])).of_runs() == "figure" == Plots(lambda: iter([chart])).of_runs(width=3.0)
    assert asked == [(chart, "page"), (chart, 3.0)]
    monkeypatch.undo()
    shown = figure(EVERY["ranks"], 4.0)
    assert shown.get_size_inches()[0] == pytest.approx(4.0) and shown.texts[0].get_text() == "Ranks"
    assert Image.open(io.BytesIO(shown._repr_png_())).width == 440
