"""Raters at once, the server killed in the middle: what was acknowledged is there, once, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from survey_load import Storm, storm


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(database_url: str, tmp_path: Path) -> None:
    outcome = storm(tmp_path, database_url, Storm(raters=20, seconds=4.0, pause=0.1, sentences=150))
    assert outcome.acknowledged > 0
    assert outcome.reconnects > 0  # the kill was felt
    assert not any(outcome.wrong.values()), outcome.wrong
    assert min(outcome.careless.values()) > 0 and len(outcome.careless) == 4  # every kind of carelessness was tried
    # At most one answer of each rater can have been stored without the word getting through.
    assert outcome.acknowledged <= outcome.stored <= outcome.acknowledged + 20
