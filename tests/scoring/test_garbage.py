"""What exists before is not looked at while scores are made, and is again afterwards."""

from __future__ import annotations

import gc

from equipoise.scoring.garbage import existing_objects_kept


def test_existing_objects_are_left_alone_until_the_end() -> None:
    before = gc.get_freeze_count()
    with existing_objects_kept():
        assert gc.get_freeze_count() > before
    assert gc.get_freeze_count() == 0
