"""Pages that take a while: made once, in turn, and the oldest forgotten."""

from __future__ import annotations

import threading

import pytest

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


def test_the_oldest_pages_are_forgotten_first_and_a_page_that_is_asked_for_again_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(making, "KEPT_BYTES", 30)
    maker = Maker()
    for key in ("a", "b", "c"):
        maker.page(key, lambda: b"x" * 10, patience=10)
    assert list(maker._pages) == ["a", "b", "c"], "together just as large as is kept"
    maker.page("a", lambda: b"never made", patience=10)
    maker.page("d", lambda: b"x", patience=10)
    assert list(maker._pages) == ["c", "a", "d"]
    maker.close()


def test_a_page_that_is_still_being_made_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "KEPT_BYTES", 30)
    maker, go = Maker(), threading.Event()
    maker.page("made", lambda: b"x" * 20, patience=10)
    assert maker.page("slow", lambda: (go.wait(10), b"x" * 20)[1], patience=0.01) is None
    maker.page("made", lambda: b"", patience=10)
    assert list(maker._pages) == ["slow", "made"]
    go.set()
    assert maker.page("slow", lambda: b"", patience=10) == Made(b"x" * 20)
    assert list(maker._pages) == ["slow"]
    maker.close()


def test_what_is_wrong_with_a_run_is_said_in_place_of_its_page() -> None:
    def fail() -> bytes:
        raise EquipoiseError("no")

    assert making._made(lambda: b"page") == Made(b"page", "")
    assert making._made(fail) == Made(b"", "no")


def test_what_waits_is_not_made_after_the_end() -> None:
    maker, go, made = Maker(), threading.Event(), []
    maker.page("first", lambda: (go.wait(10), b"")[1], patience=0.01)
    maker.page("second", lambda: (made.append(1), b"")[1], patience=0.01)
    maker.close()
    go.set()
    maker._worker.shutdown(wait=True)
    assert made == []
