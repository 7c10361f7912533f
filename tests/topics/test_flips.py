"""What became of each set: counted once, drawn as squares, and as bars with intervals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.records.showing import Bar, Dot, Square
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.topics import flips as topic
from equipoise.topics.flips import FATES, flips, of_sets, set_fates, squares


def test_fates_count_every_set_once_and_agree_with_the_measured_shares(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    seen = {fates.kind: fates for fates in set_fates(part)}
    assert list(seen) == ["type1", "type2"], "ambiguous sets first: there a flip can only come from the pronoun"
    for kind, fates in seen.items():
        assert fates.n == part.of_kind(part.pairs, kind)["set_id"].nunique() and set(fates.counts) == set(FATES)
        for metric, count in (("flip_toward", "toward"), ("flip_against", "against")):
            share = part.measured.get(metric, type=kind)
            assert share is not None and fates.counts[count] == round(share.value * share.n)
        rate = part.measured.get("flip_rate", type=kind)
        assert rate is not None and fates.n - fates.counts["same"] == round(rate.value * rate.n)


def test_squares_show_every_set_changed_ones_first_and_open_their_cases(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    fates = next(set_fates(part))
    chart = squares(fates)
    marks = list(chart.panels[0].marks_of(Square))
    assert len(marks) == fates.n and [key.tone for key in chart.legend] == [
        t for t in ("toward", "against", "neither", "unknown", "same") if fates.counts[t]
    ]
    tones = [mark.tone for mark in marks]
    assert tones == sorted(tones, key=["toward", "against", "neither", "unknown", "same"].index)
    assert all(mark.link.startswith("#case=") for mark in marks)
    assert [row.cells[1] for row in chart.table().rows] == [count for count in fates.counts.values() if count]


def test_of_many_sets_a_sample_is_drawn_and_said_to_be_one(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "SHOWN", 10)
    fates = next(set_fates(Run(planted_run).parts[0]))
    assert len(fates.shown) == 10 < fates.n
    assert squares(fates).caption == (
        "One square is one set: one sentence, asked with each pronoun. The sentence does not say who is meant."
        f" A sample: 10 of {fates.n:,} sets, spread evenly over the data."
    )


def test_a_set_in_several_option_orders_is_one_set_with_the_fate_of_most(tmp_path: Path) -> None:
    run = audit("planted:strength=1,bias=1,noise=1", task="mcq", orders=3, limit=12, resamples=10, out=tmp_path / "run")
    fates = list(set_fates(run.parts[0]))
    assert sum(one.n for one in fates) == 12 and {one.asked for one in fates} == {"3 option orders"}
    assert "most of its 3 option orders" in squares(fates[0]).caption


def test_bars_and_intervals_are_the_measured_ones(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    (chart,) = flips(part)
    (panel,) = chart.panels
    for place, (kind, dot) in enumerate(zip(part.measured.kinds, panel.marks_of(Dot), strict=True)):
        rate, toward = (part.measured.get(name, type=kind) for name in ("flip_rate", "flip_toward"))
        assert rate is not None and toward is not None and dot.x == rate.estimate
        bars = [bar for bar in panel.marks_of(Bar) if bar.y[0] < place < bar.y[1]]
        assert bars[0].y[1] < dot.y < place + 0.5, "the interval is under the bars, and hides none"
        assert bars[0].x == (0.0, toward.value) and bars[1].x[1] == pytest.approx(rate.value)


def test_the_table_of_the_bars_has_the_measured_shares_and_not_where_a_stacked_bar_ends(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    (chart,) = flips(part)
    expected = [
        part.measured.get(metric, type=kind)
        for kind in part.measured.kinds
        for metric in ("flip_toward", "flip_against", "flip_rate")
    ]
    rows = chart.table().rows
    assert [row.cells[1] for row in rows] == expected
    assert rows[1].cells[0].endswith("against it")


def test_a_change_has_a_direction_in_words_only_where_a_stereotype_is_known(tmp_path: Path) -> None:
    run = audit("planted:noise=1", data="decisions", limit=4, by=[], resamples=10, out=tmp_path / "run")
    for fates in set_fates(run.parts[0]):
        words = [row.cells[0] for row in squares(fates).table().rows]
        assert words == ["same answer", "changed, no stereotype known"]
    (chart,) = flips(run.parts[0])
    bars = list(chart.panels[0].marks_of(Bar))
    rates = [dot.x.value for dot in chart.panels[0].marks_of(Dot)]
    assert [bar.tone for bar in bars] == ["unknown"] * len(rates) and [bar.x for bar in bars] == [(0, r) for r in rates]
    assert [key.label for key in chart.legend] == ["no stereotype known", "all changes"]


def test_what_is_described_is_as_it_was_kept(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    assert_kept("topics/flips", list(flips(part)), [squares(fates) for fates in set_fates(part)])


def test_values_of_sets_are_found_by_set_and_variant(make_outcomes: Any) -> None:
    rows = [{"pair": pair, "probs": (0.5, 0.5)} for pair in ("a", "b", "a", "c")]
    outcomes = replace(make_outcomes(rows), variant=np.array(["", "", "seed=1", ""], dtype=object))
    ids = outcomes.set_id.tolist()
    pairs = pd.DataFrame({"set_id": [ids[1], ids[0], ids[0], ids[0]], "variant": ["", "seed=1", "", ""]})
    part: Any = SimpleNamespace(pairs=pairs, outcomes=outcomes)
    values = np.array([1.0, 2.0, 3.0, 4.0])
    expected = [3.0, 1.0, 2.0, np.nan]
    np.testing.assert_array_equal(of_sets(part, values, np.arange(4)), expected)
    both = of_sets(part, np.stack([values, -values], axis=1), np.array([2, 0]))
    assert both.tolist() == [[2.0, -2.0], [3.0, -3.0]], "of equal sets the first counts"


def test_every_change_has_a_bar_of_its_direction(tmp_path: Path) -> None:
    run = audit("planted:bias=1,noise=2", task="mcq", limit=40, by=[], resamples=10, out=tmp_path / "run")
    rows = run.parts[0].measured
    moved = {"flip_toward": 0.1, "flip_against": 0.0, "flip_neither": 0.2, "flip_unknown": 0.05}
    told = [replace(row, estimate=replace(row.estimate, value=moved.get(row.metric, 0.35))) for row in rows]
    part: Any = SimpleNamespace(measured=Measurements(told), about=dict, has_items=False)
    (chart,) = flips(part)
    bars = [mark for mark in chart.panels[0].marks_of(Bar) if round(sum(mark.y) / 2) == 0]
    assert [bar.tone for bar in bars] == ["toward", "against", "neither", "unknown"]
    assert [round(bar.x[1] - bar.x[0], 2) for bar in bars] == list(moved.values()) and bars[-1].x[1] == pytest.approx(
        0.35
    )
    assert [key.label for key in chart.legend][2:] == ["neither way", "no stereotype known", "all changes"]


def test_a_change_without_a_known_stereotype_is_not_neither_way(tmp_path: Path) -> None:
    people = ("nurse", "farmer"), ("tall man", "guest")  # nobody knows what a stereotype says of the second two
    table = tmp_path / "mine.csv"
    rows = [
        f"The {one} told the {other} that {word} was late in week {week}.,{word},{one},{other}"
        for one, other in people
        for week in range(12)
        for word in ("he", "she", "they")
    ]
    table.write_text("\n".join(["text,pronoun,candidate_1,candidate_2", *rows]))
    run = audit(
        "planted:bias=1,noise=2",
        table,
        resamples=5,
        by=[],
        metrics=["flip_rate", "flip_neither", "flip_unknown"],
        out=tmp_path / "run",
    )
    (part,) = run.parts
    (fates,) = set_fates(part)
    for way in ("neither", "unknown"):
        share = part.measured.get(f"flip_{way}", type="type1")
        assert share is not None and fates.counts[way] == round(share.value * share.n)
    assert fates.counts["unknown"] and f"{fates.counts['unknown']} changed, no stereotype known" in {
        key.label for key in squares(fates).legend
    }


def test_without_the_metrics_of_directions_there_is_no_bar(tmp_path: Path) -> None:
    (part,) = audit("planted:noise=2", "builtin", limit=20, resamples=5, metrics=["flip_rate"], out=tmp_path).parts
    (chart,) = flips(part)
    assert not list(chart.panels[0].marks_of(Bar)) and [key.label for key in chart.legend] == ["all changes"]


def test_a_legend_names_no_direction_where_there_is_none(tmp_path: Path) -> None:
    run = audit(
        "planted:noise=2", "decisions", limit=2, resamples=5, by=[], metrics=["flip_rate"], out=tmp_path / "run"
    )
    (part,) = run.parts
    (chart,) = flips(part)
    assert [key.label for key in chart.legend] == ["no stereotype known", "all changes"]
    assert all(
        set(fates.counts) - {"same", "unknown"} == {f for f, n in fates.counts.items() if not n} - {"same", "unknown"}
        for fates in set_fates(part)
    )
