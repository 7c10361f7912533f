"""A viewer over a few small runs, served, and a browser that reports every fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.serving import serving
from equipoise.view.app import Viewer, view_app
from equipoise.view.guard import Door
from equipoise.view.index import Index

TOKEN = "a-token-of-at-least-128-bits"
BIASES = {"alpha": 0.1, "beta": 0.4, "gamma": 0.8, "delta": 1.3}


@pytest.fixture(scope="session")
def some_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with four runs on the same sentences, each of another model, one of them without a page."""
    folder = tmp_path_factory.mktemp("viewed")
    for minute, (name, bias) in enumerate(BIASES.items()):
        with pytest.MonkeyPatch.context() as patch:
            # Two of them may end within the second that a manifest tells; a history has the older one first.
            patch.setattr("equipoise.runs.run.now", lambda minute=minute: f"2026-11-17T10:{minute:02}:00+00:00")
            run = audit(f"planted:strength=1.2,bias={bias}", out=folder / "suite" / name, resamples=100, limit=120)
        if name != "delta":
            write_run_page(run)
    return folder


@pytest.fixture
def served(some_runs: Path) -> Iterator[Callable[..., str]]:
    """Return a function that serves a viewer over a folder, and gives its address with the token."""
    opened: list[Any] = []

    def serve(folder: Path = some_runs, **options: Any) -> str:
        viewer = Viewer(Index(folder), **options)
        context = serving(view_app(viewer, Door(TOKEN)))
        opened.append((context, viewer))
        return f"{context.__enter__()}/{TOKEN}/"

    yield serve
    for context, viewer in opened:
        viewer.ended.set()
        viewer.maker.close()
        context.__exit__(None, None, None)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens an address; at the end no script failed, and nobody else was asked for anything."""
    contexts, troubles, asked = [], [], []

    def open_tab(address: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("dialog", lambda dialog: (troubles.append("a dialog"), dialog.dismiss()))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(address)
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert troubles == []
    assert all(url.startswith(("http://127.0.0.1:", "data:", "blob:", "file://")) for url in asked)
