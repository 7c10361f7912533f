"""Pages that take a while: made once, in turn, and the oldest forgotten."""

from __future__ import annotations

import threading

from equipoise.records import EquipoiseError
from equipoise.view import making
from equipoise.view.making import Made, Maker


def test_a_page_is_made_once_and_a_slow_one_is_waited_for() -> None:
    maker, go, made = Maker(), threading.Event(), []

    def slow() -> bytes:
        made.append(1)
        go.wait(10)
        return b"slow"

    assert maker.page("slow", slow, patience=0.01) is None
    assert maker.page("slow", slow, patience=0.01) is None
    go.set()
    assert maker.page("slow", slow, patience=10) == Made(b"slow")
    assert maker.page("slow", slow) == Made(b"slow") and made == [1]
    maker.close()


def test_what_cannot_be_made_says_why() -> None:
    def fail() -> bytes:
        raise EquipoiseError("the runs share no sentence")

    maker = Maker()
    assert maker.page("x", fail) == Made(fault="the runs share no sentence")
    maker.close()


def test_the_pages_that_are_kept_have_a_limit(monkeypatch: object) -> None:
    maker, size = Maker(), making.KEPT_BYTES // 4 + 1
    for number in range(10):
        maker.page(number, lambda: b"x" * size, patience=10)
    assert len(maker._pages) <= 4 and next(reversed(maker._pages)) == 9
    large = maker.page("large", lambda: b"x" * (5 * size), patience=10)
    assert large is not None and len(large.page) == 5 * size and list(maker._pages) == ["large"]
    maker.close()
