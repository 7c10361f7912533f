"""Every occupation with both scores, in the order of the share of women who work in it."""

from __future__ import annotations

from pathlib import Path

from kept_texts import assert_kept

from equipoise import audit
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.records import Prompt
from equipoise.records.showing import Chart, Dot, Section
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics.occupations import occupation_section, occupations
from equipoise.verdict.summary import part_summary


class OneOccupation(PlantedEngine):
    """Follows the stereotype wherever one of the people is a nurse, and nowhere else."""

    def _of_candidates(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        about = "nurse" in self.truth[prompt.example_id].candidates
        engine = PlantedEngine(2.0, 6.0 if about else 0.0)
        engine.truth.update(self.truth)
        return engine._of_candidates(prompt)


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


def test_a_chart_that_shows_nothing_is_folded_and_says_so(planted_run: Path, tmp_path: Path) -> None:
    section = occupation_section(Run(planted_run))
    assert section is not None
    for shown in section.shown:
        assert isinstance(shown, Section) and shown.folded and "from the rest" in shown.title
    (part,) = audit(OneOccupation(), "builtin", out=tmp_path / "one", resamples=200).parts
    found = {f.kind for f in part_summary(part).verdict.findings if f.topic == "occupations" and f.claim}
    open_section = occupation_section(part.run)
    assert found and open_section is not None
    assert {shown.about["type"] for shown in open_section.shown if isinstance(shown, Chart)} == found


def test_another_estimator_is_named(tmp_path: Path) -> None:
    run = audit("planted", limit=40, resamples=20, estimators=["renyi"], out=tmp_path / "run")
    section = occupation_section(run)
    assert section is not None and all(", UCerF by renyi" in chart.title for chart in section.every(Chart))
    assert occupation_section(audit("planted", limit=4, resamples=5, by=[], out=tmp_path / "bare")) is None


def test_what_is_described_is_as_it_was_kept(planted_run: Path) -> None:
    assert_kept("topics/occupations", occupation_section(Run(planted_run)))
