"""The tutorials: `python docs/notebooks.py` executes the notebooks and keeps what they show; mkdocs shows them.

A page of a tutorial has the line `<!-- cells of NAME.ipynb -->`; the hook `on_page_markdown` replaces it by the cells.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).resolve().parent / "tutorials"
PLACE = re.compile(r"<!-- cells of (?P<name>[\w-]+\.ipynb) -->")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the cells of its notebook (called by mkdocs)."""
    return PLACE.sub(lambda place: cells_of(read(TUTORIALS / place["name"])), markdown)


def read(path: Path) -> Any:
    """Return a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def cells_of(notebook: Any) -> str:
    """Return the cells of a notebook as Markdown, with what they showed; the first is the page's title."""
    parts = []
    for cell in notebook["cells"][1:]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        parts += [shown for output in cell["outputs"] if (shown := output_of(output))]
    return "\n\n".join(parts)


def output_of(output: Any) -> str:
    """Return what a cell showed as HTML; a figure before a table before text, and no progress bars."""
    if output["output_type"] == "stream":
        text = COLOURS.sub("", "".join(output["text"])).rstrip()
        return f"```text\n{text}\n```"
    data = output.get("data", {})
    if "image/png" in data:
        image = "".join(data["image/png"]).replace("\n", "")
        return f'<div class="shown"><img alt="what the cell draws" src="data:image/png;base64,{image}"></div>'
    if "text/html" in data:
        html = " ".join("".join(data["text/html"]).split())
        return "" if "<progress" in html else f'<div class="shown">{without_style(html)}</div>'
    text = "".join(data.get("text/plain", ""))
    return f"```text\n{text}\n```" if text else ""


def without_style(html: str) -> str:
    """Return the HTML without the style sheet that pandas adds to a table: the site has its own."""
    return re.sub(r"<style scoped>.*?</style>", "", html)


def sources_hash(notebook: Any) -> str:
    """Return a hash of what the cells say, which tells whether what they show is theirs."""
    text = "\0".join("".join(cell["source"]) for cell in notebook["cells"])
    return hashlib.sha256(text.encode()).hexdigest()


def execute(path: Path) -> None:
    """Execute a notebook in an empty folder and keep what its cells show, without file paths of this machine."""
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if warned := [output.text for output in cell.get("outputs", ()) if output.get("name") == "stderr"]:
            raise SystemExit(f"{path.name}: a cell warns: {''.join(warned)}")
        for output in cell.get("outputs", ()):
            output.get("metadata", {}).clear()
            output.get("transient", {}).clear()
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["equipoise"] = {"executed": sources_hash(notebook)}
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(file.name for file in TUTORIALS.glob("*.ipynb")):
        execute(TUTORIALS / name)
