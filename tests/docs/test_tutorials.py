"""The notebooks of the tutorials run as printed, and the site shows what they showed when they were last executed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from notebooks import TUTORIALS, cells_of, read, sources_hash  # noqa: E402

NAMES = ("first-audit", "comparing-and-gating")
# The first audit asks the real model; the others ask planted engines. Few sentences, so that it takes seconds.
SMALLER = (
    ("limit=60", "limit=6"),
    ("limit=200", "limit=80"),
    ("(25, 100, 400)", "(6, 12)"),
    ("resamples=500", "resamples=20"),
)
PLANTED = '"planted:strength=1,bias=1,noise=1"'


def executed(folder: Path) -> dict[str, list[Any]]:
    """Return the cells of every notebook after they ran, in one kernel."""
    joined, cells = nbformat.v4.new_notebook(), {}
    for name in NAMES:
        cells[name] = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4).cells
        for cell in cells[name]:
            for before, after in SMALLER:
                cell.source = cell.source.replace(before, after)
            if name != "first-audit":
                cell.source = cell.source.replace('"smollm2"', PLANTED)
            cell.id = f"{name}-{cell.id}"
            if cell.cell_type == "code":
                cell.outputs = []
        joined.cells += cells[name]
    NotebookClient(joined, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return cells


def kinds_of(cells: list[Any]) -> set[str]:
    return {kind for cell in cells for output in cell.get("outputs", ()) for kind in output.get("data", {})}


def html_of(cells: list[Any]) -> str:
    return "".join(
        output["data"].get("text/html", "") for cell in cells for output in cell.get("outputs", ()) if "data" in output
    )


@pytest.mark.slow
def test_the_notebooks_run(tmp_path: Path) -> None:
    cells = executed(tmp_path)
    assert {"text/html", "image/png"} <= kinds_of(cells["first-audit"])
    audit = html_of(cells["first-audit"])
    assert re.search(r'<progress value="(\d+)" max="\1"', audit), "the bars reach their end"
    assert "SmolLM2-135M-Instruct" in audit and "<td>ucerf ↑</td>" in audit
    compared = html_of(cells["comparing-and-gating"])
    assert "planted (released) · planted (new)" in compared and "<td>FAILED</td>" in compared


@pytest.mark.parametrize("name", NAMES)
def test_the_site_shows_what_these_cells_showed(name: str) -> None:
    notebook = read(TUTORIALS / f"{name}.ipynb")
    assert notebook["metadata"]["equipoise"]["executed"] == sources_hash(notebook), "run `make tutorials`"
    page = cells_of(notebook)
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert page.count("```python") == len(codes)
    assert '<div class="shown">' in page and "<progress" not in page
    assert f"<!-- cells of {name}.ipynb -->" in (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    assert not re.search(r"/(tmp|home|root|work)/", page), "no path of the machine that executed it"
