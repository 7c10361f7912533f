"""A run as one page: self-contained, nothing is fetched when it is opened, and no text of the run can become code."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from ... import __version__
from ...files import write_file
from ...runs.run import Run
from ..palette import style_sheet
from .cases import pack
from .rendering import Section, render
from .sections import SECTIONS, WITH_TEXTS

LEFT_OUT = (
    "On paper this report keeps to few pages. Left out: all but four cases, what is folded on the page (further"
    " metrics, data tables, settings), the worst cases of further datasets and tasks, and all but the first charts of a"
    " kind. All of it is in report.html of the run, opened in a browser; every number is in measurements.csv."
)
"""What a print leaves out; `@media print` in page.css does it."""


def run_page(
    run: Run,
    *,
    sentences: bool = True,
    sections: Sequence[Callable[[Run], Section | None]] = SECTIONS,
) -> str:
    """Return the page of a run; without `sentences` no text of the dataset is in it."""
    made = [section(run) for section in sections if sentences or section not in WITH_TEXTS]
    facts = [
        ("Datasets", ", ".join(run.manifest.datasets)),
        ("Asked as", ", ".join(run.manifest.tasks)),
        ("Prompts", asked(run)),
        ("Audited", (run.manifest.finished or "").replace("T", " ").replace("+00:00", " UTC")),
        ("Engine", _engine(run)),
    ]
    header = render("header.html", kicker="Audit of", title=run.name, facts=facts)
    return page(
        f"{run.name}: audit",
        header,
        [section for section in made if section is not None],
        scripts=("page.js", "packing.js", "cases.js"),
        cases=pack(run, sentences=sentences),
        left_out=LEFT_OUT,
    )


def page(
    title: str,
    header: Markup,
    sections: Sequence[Section],
    *,
    scripts: Sequence[str] = ("page.js",),
    cases: str = "",
    left_out: str = "",
) -> str:
    """Return a whole page; the browser is told to run these scripts and no others, and to fetch nothing.

    `left_out` is printed on paper only: what is not there, and where it is.
    """
    code = "\n".join(_web(name) for name in scripts)
    return str(
        render(
            "page.html",
            title=title,
            header=header,
            sections=sections,
            style=Markup(_web("page.css") + "\n" + style_sheet()),
            # The hash is of the text between the tags, to the byte.
            script=Markup(code),
            script_hash=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
            cases=cases,
            left_out=left_out,
            version=__version__,
        )
    )


def write_run_page(run: Run | str | Path, *, out: Path | None = None, sentences: bool = True) -> Path:
    """Write the page of a run, by default into its folder, and return where it is."""
    run = run if isinstance(run, Run) else Run(run)
    content = run_page(run, sentences=sentences)
    if out is not None:
        return write_page(out, content)
    run.folder.add({"report.html": content.encode("utf-8", "replace")}, made_from=run.manifest)
    return run.path / "report.html"


def write_page(path: Path, content: str) -> Path:
    """Write a page beside its place and rename it, so that there is never half a page."""
    # A lone surrogate in a dataset's text cannot be written as UTF-8; the mark in its place can.
    write_file(path, content.encode("utf-8", "replace"))
    return path


def asked(run: Run) -> str:
    """Return how many prompts were asked, in how many sets and option orders."""
    prompts, pairs = len(run.outcomes), len(run.pairs[["dataset", "set_id"]].drop_duplicates())
    orders = len(set(run.pairs["variant"].fillna("").tolist()) - {""})
    if not pairs:
        return f"{prompts:,} sentence pairs"
    return f"{prompts:,}, {pairs:,} sets" + (f" in {orders} option orders" if orders > 1 else "")


def _web(name: str) -> str:
    return resources.files(__package__).joinpath("web", name).read_text(encoding="utf-8").strip()


def _engine(run: Run) -> str:
    engine = run.manifest.engine
    facts = [engine.get("engine"), engine.get("dtype"), engine.get("quantisation"), engine.get("device")]
    return ", ".join(str(fact) for fact in facts if fact)
