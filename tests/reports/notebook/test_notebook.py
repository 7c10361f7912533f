"""How a run shows itself in a notebook: figures, HTML, tables, and a notebook that is really executed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape
from matplotlib.figure import Figure
from planted_identities import PlantedIdentities

import equipoise
from equipoise.records import EquipoiseError
from equipoise.reports.comparison.verdicts import pair_verdicts
from equipoise.reports.identities.radars.figures import places, shared_scale
from equipoise.reports.identities.views import radars
from equipoise.reports.notebook.figures import draw_differences
from equipoise.runs import Run

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("notebook") / "run"
    return equipoise.audit("planted:strength=1,bias=1,noise=1", limit=60, resamples=50, out=out)


def test_figures_are_those_of_the_run(run: Run) -> None:
    for figure in (run.plot.flips(), run.plot.scale(kind="type2"), run.plot.occupations()):
        assert isinstance(figure, Figure)
        assert figure._repr_png_().startswith(PNG)
    rate = run.parts[0].measured.get("flip_rate", type="type2")
    assert rate is not None and rate.value > 0
    notes = [text.get_text() for text in run.plot.flips().axes[0].texts]
    assert f"{rate.value:.1%} of {rate.n:,}" in notes


def test_what_cannot_be_drawn_is_one_sentence(run: Run) -> None:
    with pytest.raises(EquipoiseError, match="has no sentence pairs; audit with the task cloze or sentence"):
        run.plot.reliability()
    with pytest.raises(EquipoiseError, match="has no marked sentences; audit winoidentity"):
        run.plot.identities()
    with pytest.raises(EquipoiseError, match="no part with dataset 'winobias'"):
        run.plot.flips(dataset="winobias")


def test_a_run_shows_its_headline_its_table_and_a_picture(run: Run) -> None:
    html = run._repr_html_()
    found = run.parts[0].measured.get("ucerf", type="type2")
    assert found is not None
    assert f"<td>{found.value:.3f}</td><td>[{found.low:.3f}, {found.high:.3f}]</td><td>{found.n:,}</td>" in html
    assert "builtin · next-word" in html and 'src="data:image/png;base64,' in html
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
    legend = [text.get_text() for text in gpt_j.plot.reliability(by="form").legends[0].get_texts()]
    forms = part.items["form"].value_counts()
    assert all(any(f"{name} (n = {count})" in text for text in legend) for name, count in forms.items())


def test_identities_are_drawn_from_the_measurements(tmp_path: Path) -> None:
    engine = PlantedIdentities(confidence=0.4, penalties={"old": 0.3}, noise=0.02)
    choices = {"base": "builtin", "limit": 6, "attributes": ["age", "religion"], "augment": ["R"]}
    marked = equipoise.audit(engine, "winoidentity", out=tmp_path, resamples=20, metrics=["confidence"], **choices)
    figure = marked.plot.identities(kind="type2")
    frame = marked.parts[0].identities.query("metric == 'confidence' and type == 'type2' and gender == 'female'")
    (old,) = frame.query("marker == 'old' and occupation == ''")["value"]
    age = next(axes for axes in figure.axes if axes.get_title() == "age")
    every = list(radars({marked.name: marked.parts[0].identities}, "type2", "R"))
    rim = [spoke.words for view in every if view.attribute == "age" for spoke in view.rim]
    drawn = [values[rim.index(("fem:", "old"))] for values in age.get_lines()[0].get_data()]
    assert np.hypot(*drawn) == pytest.approx(np.hypot(*places([old], shared_scale(every, "type2")))[0])
    assert len(figure.axes) == 2 and figure._repr_png_().startswith(PNG)


def test_a_comparison_shows_sentences_differences_and_a_picture(planted_run: Path, mild_run: Path) -> None:
    comparison = equipoise.compare([equipoise.load(planted_run), mild_run], permutations=99, resamples=50)
    html = comparison._repr_html_()
    for test in comparison.tests:
        difference = test.difference
        cells = (f"{difference.value:+.3f}", f"[{difference.low:+.3f}, {difference.high:+.3f}]", f"{difference.n:,}")
        assert "".join(f"<td>{cell}</td>" for cell in cells) + f"<td>{test.corrected:.4f}</td>" in html
    assert 'src="data:image/png;base64,' in html
    sentences = [verdict.sentence for verdict in pair_verdicts(comparison)]
    assert sentences and all(str(escape(sentence)) in html for sentence in sentences)
    axes = draw_differences(comparison).axes[0]
    points = [line.get_xdata()[0] for line in axes.get_lines() if line.get_marker() == "o" and len(line.get_xdata())]
    assert points == [test.difference.value for test in comparison.tests]


def test_a_gate_takes_a_run_and_one_requirement(run: Run) -> None:
    (check,) = equipoise.gate(run, "ucerf[type=type2] >= 0.01")
    assert check.passed and check.outcome == "passed"


def test_a_notebook_without_matplotlib_shows_no_picture(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "equipoise.reports.notebook.fig"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = run._repr_html_()
    assert "<img" not in html and "<td>UCerF</td>" in html
