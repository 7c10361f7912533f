"""Every occupation with both scores, in the order of the share of women who work in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kept_texts import assert_kept
from knowing_engine import KnowingEngine

from equipoise import audit
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.records import Estimate, Measurement, Prompt
from equipoise.records.showing import Chart, Dot, Section
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics.occupations import occupation_section, occupations
from equipoise.verdict.summary import part_summary


class OneOccupation(KnowingEngine):
    """Follows the stereotype wherever one of the people is a nurse, and nowhere else."""

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        about = "nurse" in self.known[prompt.example_id].candidates
        return self.like(PlantedEngine(2.0, 6.0 if about else 0.0), prompt)


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


def test_occupations_are_known_in_any_case_and_unknown_ones_come_last() -> None:
    shares = {"Nurse": 0.9, "xylophonist": 0.8, "carpenter": 0.7, "aaa": 0.6}
    rows = [
        Measurement(
            *("ucerf", "m", "d", "t", f"occupation={name},type=type2"),
            Estimate(value, value - 0.1, value + 0.1, 0.95, 9, ""),
            "higher",
        )
        for name, value in shares.items()
    ]
    odds = replace(rows[0], metric="eo_sum", group="occupation=zoologist,type=type2")
    part: Any = SimpleNamespace(
        kinds=["type2"],
        measured=Measurements([*rows, odds]),
        title=lambda kind: kind,
        about=lambda kind: {"type": kind},
        run=SimpleNamespace(name="mine"),
    )
    (chart,) = occupations(part)
    share = {name: OCCUPATIONS[name].female_share for name in ("nurse", "carpenter")}
    assert [row.cells[:2] for row in chart.table().rows] == [
        ("carpenter", share["carpenter"]),
        ("Nurse", share["nurse"]),
        ("aaa", None),
        ("xylophonist", None),
    ]
    (panel,) = chart.panels
    assert list(panel.y.names)[1:3] == [f"Nurse ({share['nurse']}%)", "aaa"]
    alone: Any = SimpleNamespace(**{**vars(part), "measured": Measurements(rows[:1])})
    assert list(occupations(alone)) == [], "one is compared with nothing"
