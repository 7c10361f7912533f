"""Python's garbage collector is kept from objects that are not garbage, and looks at all again in the end."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from equipoise.garbage import OBJECTS, collect_as_usual, collect_rarely, existing_kept, uncollected, usual


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_is_collected_meanwhile_and_then_as_before(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        with suppress(KeyError), uncollected():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_existing_objects_are_left_alone_until_the_end() -> None:
    before = gc.get_freeze_count()
    with suppress(KeyError), existing_kept():
        assert gc.get_freeze_count() > before
        raise KeyError
    assert gc.get_freeze_count() == 0


def test_garbage_is_looked_for_rarely_and_as_usual_again() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(*usual)
        collect_rarely()
        assert gc.get_threshold() == (OBJECTS, *usual[1:])
        collect_as_usual()
        assert gc.get_threshold() == usual
    finally:
        gc.set_threshold(*before)
