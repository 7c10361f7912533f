"""The viewer as static files, for any web server: the list, every run, comparisons of like runs, and histories."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ..files import replace_folder, sha256
from ..metrics.requirement import Requirement
from ..progress import Progress
from ..records import EquipoiseError, grouped
from ..report import check_place, write_page
from . import pages
from .comparisons import MOST_COMPARED, compared_page
from .histories import history_page, models_with_histories
from .index import FINISHED, Entry, Index
from .run_pages import stored_page

MARK = ".equipoise-view"
"""The file that says that a folder is an export of ours, which may be replaced."""

LISTED = [("All runs", "index.html"), ("All histories", "histories.html")]


def export(index: Index, out: Path, limits: Sequence[Requirement] = (), *, progress: Progress) -> int:
    """Write the pages of all finished runs into a folder, and return how many pages there are.

    An earlier export is replaced in the end, in one step; any other folder with files in it is left alone.
    """
    check_place(out, MARK, "an export of the viewer")
    while index.judge_next():
        pass
    entries = index.entries()
    draft = out.with_name(f".{out.name}.next")
    shutil.rmtree(draft, ignore_errors=True)
    number = 0
    for number, (name, content) in enumerate(_all(entries, limits), 1):
        write_page(draft / name, content)
        progress("writing pages", number, max(number, len(entries) + 4))
    (draft / MARK).write_text("made by equipoise view --export\n", encoding="utf-8")
    replace_folder(out, draft)
    return number


def _all(entries: Sequence[Entry], limits: Sequence[Requirement]) -> Iterator[tuple[str, str]]:
    """Yield the name and content of every file; what cannot be shown is a page that says why."""
    yield "view.css", pages.style_file()
    yield "view.js", pages.script_file()
    finished = [entry for entry in entries if entry.state == FINISHED]
    models = models_with_histories(entries)
    links = {model: f"history-{sha256(model.encode('utf-8', 'surrogateescape'))[:10]}.html" for model in models}
    alike = comparable(finished)
    comparisons = [(f"Compare the {len(several)} runs on {what}", _address(what)) for what, several in alike.items()]
    yield "index.html", pages.list_page(entries, here="index", static=True, comparisons=comparisons, seen=0)
    shown = {model: (links[model], runs) for model, runs in models.items()}
    yield "histories.html", pages.drawn_page("histories.html", "History", here="history", models=shown, static=True)
    for model, runs in models.items():
        yield links[model], _barred(partial(_history, model, runs, limits))
    for what, several in alike.items():
        yield _address(what), _barred(partial(compared_page, [entry.folder for entry in several]))
    for entry in finished:
        history = [("History of this model", links[entry.model])] if entry.model in links else []
        yield f"run-{entry.slug}.html", _barred(partial(stored_page, entry.folder), history)


def _history(model: str, runs: Sequence[Entry], limits: Sequence[Requirement]) -> bytes:
    return history_page(model, runs, limits).encode("utf-8", "replace")


def comparable(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the runs that were asked the same data as the same tasks, where there are a few, by what that is."""

    def asked(entry: Entry) -> str:
        return ", ".join(sorted({f"{part.dataset} · {part.task}" for part in entry.parts}))

    return {what: several for what, several in grouped(entries, asked).items() if 2 <= len(several) <= MOST_COMPARED}


def _address(what: str) -> str:
    return f"compare-{sha256(what.encode('utf-8', 'surrogateescape'))[:10]}.html"


def _barred(make: Callable[[], bytes], more: Sequence[tuple[str, str]] = ()) -> str:
    """Return a page with links to the others; one that says why where it cannot be made."""
    try:
        content = make()
    except EquipoiseError as error:
        return pages.message_page("This cannot be shown", str(error), static=True)
    return pages.with_bar(content, [*LISTED, *more]).decode("utf-8", "replace")
