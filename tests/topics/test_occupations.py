"""Every occupation with both scores, in the order of the share of women who work in it."""

from __future__ import annotations

from pathlib import Path

from equipoise import audit
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.records.showing import Dot
from equipoise.runs.run import Run
from equipoise.topics.occupations import occupation_section, occupations


def test_both_scores_are_the_measured_ones_from_few_women_to_many(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    for chart in occupations(part):
        kind = chart.about["type"]
        ucerf, *odds = chart.panels
        shares = [row.cells[1] for row in chart.table().rows]
        assert shares == sorted(shares) and len(shares) == len(ucerf.y.names) > 10
        for dot in ucerf.marks_of(Dot):
            row = part.measured.get("ucerf", occupation=dot.label, type=kind)
            assert (
                row is not None
                and dot.x == row.estimate
                and f"group:occupation%3D{dot.label.replace(' ', '%20')}" in dot.link
            )
            assert ucerf.y.names[int(dot.y)] == f"{dot.label} ({OCCUPATIONS[dot.label].female_share}%)"
        assert ucerf.x.high == 1.0 and all(panel.x.low == 0.0 for panel in odds), "the best value is on the axis"


def test_another_estimator_is_named(tmp_path: Path) -> None:
    run = audit("planted", limit=40, resamples=20, estimators=["renyi"], out=tmp_path / "run")
    section = occupation_section(run)
    assert section is not None and all(", UCerF by renyi" in chart.title for chart in section.shown)
    assert occupation_section(audit("planted", limit=4, resamples=5, by=[], out=tmp_path / "bare")) is None
