"""Progress is the caller's, bars in a notebook, or silence."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.progress import EVERY, NotebookBars, _line, shown, silent


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


def test_a_line_has_a_bar_a_count_and_a_speed() -> None:
    bar = '<progress value="{}" max="{}" style="vertical-align: middle"></progress>'
    assert _line("a <b>", 1234, 5000, 2.25) == f"<div>{bar.format(1234, 5000)} a &lt;b&gt;: 1,234 of 5,000, 2.2/s</div>"
    assert _line("a", 0, 0, 0.0) == f"<div>{bar.format(0, 1)} a: 0 of 0</div>"
    assert _line("a", 1, 1, 9.0) == f"<div>{bar.format(1, 1)} a: 1 of 1</div>"
    assert _line("a", 1, 2, 9.0).endswith("1 of 2, 9.0/s</div>")


def test_a_screen_is_updated_after_a_little_time_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [0.0, 0.1, EVERY, 0.3, 0.35, 0.36]
    screens: list[str] = []
    bars = NotebookBars(clock=lambda: times.pop(0))
    monkeypatch.setattr(bars, "_show", screens.append)
    for done in range(5):
        bars("asking", 4 + done, 20)
    bars("asking", 20, 20)
    counts = [screen.split("asking: ")[1].removesuffix("</div>") for screen in screens]
    assert counts == ["4 of 20", "6 of 20, 10.0/s", "20 of 20, 44.4/s"]


@pytest.mark.parametrize(
    ("shell", "bars"), [(None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=1), True)]
)
def test_bars_are_for_notebooks_alone(shell: Any, bars: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    for asked in (None, True):
        assert isinstance(shown(asked), NotebookBars) is bars
    assert shown(False) is silent
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert shown(None) is silent


def test_other_warnings_are_still_shown() -> None:
    with warnings.catch_warnings():
        warnings.resetwarnings()
        NotebookBars()
        (rule,) = [one for one in warnings.filters if one[0] == "ignore"]
    assert rule[1] is not None and rule[1].match("IProgress not found. Update") and not rule[1].match("another")
