"""Progress is the caller's, bars in a notebook, or silence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.progress import NotebookBars, shown


def test_bars_show_the_end_and_few_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython.display

    screens: list[str] = []
    handle = SimpleNamespace(update=lambda shown: screens.append(shown.data))

    def display(shown: Any, display_id: bool) -> Any:
        screens.append(shown.data)
        return handle

    monkeypatch.setattr(IPython.display, "display", display)
    seconds = iter(range(1000))
    bars = NotebookBars(clock=lambda: next(seconds) / 20)
    for done in range(101):
        bars("asking <b>", done, 100)
    bars("measuring", 1, 1)
    assert 20 < len(screens) < 40
    assert 'value="100" max="100"' in screens[-1] and "asking &lt;b&gt;: 100 of 100, 20.0/s" in screens[-1]
    assert "measuring: 1 of 1" in screens[-1]


def test_progress_is_the_callers_or_silent_outside_notebooks() -> None:
    calls: list[Any] = []
    given = lambda *words: calls.append(words)  # noqa: E731
    assert shown(given) is given
    shown(None)("asking", 1, 2)
    shown(False)("asking", 1, 2)
    assert not calls
