"""Python's garbage collector is kept from objects that are not garbage, and looks at all again in the end."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from equipoise.garbage import existing_kept, uncollected


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
