"""Claims are tested as one family: a planted difference is found, and its rows have the corrected p."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import audit
from equipoise.measuring.claims import CONTRASTS, SHARES
from equipoise.runs.run import Part
from equipoise.scoring.planted import PlantedEngine


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Part:
    folder: Path = tmp_path_factory.mktemp("claims")
    choices = {"limit": 80, "resamples": 30, "by": ["stereotype", "occupation"]}
    return audit(PlantedEngine(strength=1, bias=1.5, noise=1), out=folder / "run", **choices).parts[0]


def test_the_error_is_shared_out_once() -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert len({contrast.metric for contrast in CONTRASTS}) == len(CONTRASTS)


def test_a_planted_bias_is_found_and_nothing_else(part: Part) -> None:
    measured = part.measured
    for metric, kind in (("flip_bias", "type1"), ("flip_bias", "type2"), ("accuracy_gap", "type2")):
        row = measured.get(metric, type=kind)
        assert row is not None and row.estimate.p <= row.estimate.p_corrected < 0.05
    for kind in ("type1", "type2"):
        row = measured.get("certainty_gap", type=kind)
        assert row is not None and row.estimate.p_corrected > 0.05


def test_every_claim_of_a_type_has_its_corrected_p(part: Part) -> None:
    claimed = {"flip_bias", "accuracy_gap", "certainty_gap", "desirability_gap", "overconfidence"}
    rows = [row for row in part.measured if row.metric in claimed and set(row.parts) == {"type"}]
    assert {row.metric for row in rows} == claimed
    assert all(0 < row.estimate.p <= row.estimate.p_corrected <= 1 for row in rows)
