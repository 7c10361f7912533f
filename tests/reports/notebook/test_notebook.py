"""How a run shows itself in a notebook: figures, HTML, tables, and a notebook that is really executed."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

import equipoise
from equipoise.records import EquipoiseError
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
    assert (cases["u"] < 0.9).all() and cases["u"].is_monotonic_increasing and cases["text"].str.len().min() > 10


def test_the_tutorial_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    path = Path(__file__).resolve().parents[3] / "docs" / "tutorials" / "first-audit.ipynb"
    notebook = nbformat.read(path, as_version=4)
    # The planted engine stands in for the model, so that the tutorial takes seconds here.
    for cell in notebook.cells:
        cell.source = cell.source.replace('"smollm2"', '"planted:strength=1,bias=1,noise=1"')
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
