"""What a person reads of a run: no number lost at any width, no name read as markup, every sign as it is."""

from __future__ import annotations

import io
import re
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept
from rich.console import Console
from sample_charts import ODD
from sample_sections import SECTIONS

from equipoise import audit
from equipoise.media import terminal as medium
from equipoise.media.terminal import _track, draw, sections
from equipoise.records import Estimate, Measurement, RunManifest, group_label
from equipoise.records.showing import Axis, Bar, Chart, Column, Dot, Finding, Panel, Row, Section, Table
from equipoise.report import run_text
from equipoise.runs import Run, RunFolder
from equipoise.settings import Settings

NARROW, WIDE = 80, 10_000


def rendered(table: pd.DataFrame, width: int = WIDE, *, terminal: bool = False, every: bool = True) -> str:
    """Return what the terminal shows of a run with these measurements, written to disk and read back."""
    out = io.StringIO()
    with TemporaryDirectory() as folder:
        run = written(table, Path(folder))
        console = Console(file=out, width=width, highlight=False, force_terminal=terminal, color_system=None)
        console.print(run_text(run, all_rows=every))
    return out.getvalue()


def written(table: pd.DataFrame, folder: Path) -> Run:
    """Return the run of a folder that holds only these measurements."""
    model = str(table["model"].iloc[0])
    settings = asdict(Settings())
    manifest = RunManifest(model, {}, {}, {}, settings, {}, "equipoise audit", "2026-01-01", finished="2026-01-01")
    RunFolder(folder).commit({"measurements.csv": table}, manifest)
    return Run(folder)


def row(metric: str, value: float, low: float, high: float, group: str = "type=type2", **more: Any) -> dict[str, Any]:
    about = {
        "model": "m",
        "dataset": "d",
        "task": "t",
        "level": 0.95,
        "n": 9,
        "better": "higher",
        "method": "bootstrap",
    }
    return {"metric": metric, "group": group, "value": value, "low": low, "high": high, **about, **more}


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(Measurement.COLUMNS))


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Return the measurements of a run with all that a run can have: seeds, estimators, both types, many groups."""
    choices = {"estimators": ["perplexity", "top-probability"], "orders": 2, "limit": 40, "resamples": 20}
    choices["by"] = ["gender", "stereotype"]
    model = "planted:noise=2,strength=0.5"
    return audit(model, task=["next-word", "mcq"], out=tmp_path_factory.mktemp("r"), **choices).measurements


def numbers(table: pd.DataFrame) -> list[str]:
    """Return every value with its interval that the tables must show: each metric by type, each group's three."""
    shown = table["group"].isin(["type=type1", "type=type2"])
    some = table["group"].str.fullmatch(r"(gender|stereotype)=\w+,type=type\d")
    shown |= some & table["metric"].isin(["accuracy", "certainty", "desirability"])
    return [
        f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in table[shown].dropna(subset=["low"]).itertuples()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, NARROW, 100, 140, WIDE])
def test_no_number_is_dropped_or_cut_at_any_width(measured: pd.DataFrame, width: int) -> None:
    text = rendered(measured, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    expected = numbers(measured)
    assert len(expected) > 60
    for span in set(expected):
        # Counted, because the same number may stand for several metrics.
        assert text.count(span) >= expected.count(span), span


def test_every_metric_keeps_its_whole_name_in_80_columns(measured: pd.DataFrame) -> None:
    text = rendered(measured, NARROW)
    for metric in measured[measured["group"].isin(["type=type1", "type=type2"])]["metric"].unique():
        assert re.search(rf"^{metric}( [↑↓])?  ", text, re.MULTILINE), metric


def test_the_usual_table_stands_side_by_side_with_n_in_90_columns() -> None:
    table = frame(
        row("ucerf_group_disparity_strict", 0.3, 0.2, 0.4, better="lower", n=1234),
        row("certainty_gap", -0.14, -0.15, -0.117, better="neither"),
        row("certainty_gap", 0.0, 0.0, 0.1, "type=type1", better="neither", n=7),
    )
    text = rendered(table, 90)
    assert re.search(r"^ucerf_group_disparity_strict ↓ +0\.300 \[0\.200, 0\.400\] +1,234 +–", text, re.MULTILINE)
    assert re.search(
        r"certainty_gap +-0\.140 \[-0\.150, -0\.117\] +9 +0\.000 \[0\.000, 0\.100\] +7$", text, re.MULTILINE
    )


def test_a_wide_table_says_what_each_metric_is(measured: pd.DataFrame) -> None:
    text = rendered(measured)
    assert re.search(r"^ucerf ↑ .* +1 if a set's sentences get the same certainty and correctness", text, re.MULTILINE)
    assert re.search(r"^ucerf_top_probability ↑ .* +1 if a set's", text, re.MULTILINE), "a variant is explained, too"
    assert re.search(r"^eo_sum ↓", text, re.MULTILINE)
    assert re.search(r"^perplexity [^↑↓]*$", text, re.MULTILINE)


def test_a_variant_stands_with_its_metric(measured: pd.DataFrame) -> None:
    first = [line.split()[0] for line in rendered(measured).splitlines() if line.strip()]
    assert first.index("ucerf_top_probability") == first.index("ucerf") + 1


def test_metrics_over_groups_have_a_table_where_all_are_shown_or_they_were_asked_for() -> None:
    table = frame(
        row("ucerf", 0.9, 0.8, 1.0),
        row("ucerf_groups", 0.2, 0.1, 0.4, "by=region", better="lower", n=1234),
        row("worst_of_another_package", 0.5, 0.4, 0.6, "by=region"),
    )
    every, usual = rendered(table), rendered(table, every=False)
    assert re.search(r"^ucerf_groups ↓ +region +0\.200 \[0\.100, 0\.400\] +1,234$", every, re.MULTILINE)
    assert "ucerf_groups" not in usual
    assert re.search(r"^worst_of_another_package ↑ +region +0\.500 \[0\.400, 0\.600\] +9$", usual, re.MULTILINE)


HOSTILE = [
    "[bold]",
    "[/]",
    "[/bold]",
    "[red]x[/red]",
    "[link=http://x]",
    "\\[",
    "[nan, nan]",
    "a[",
    "{0}",
    "%s",
    "a,b",
    "a=b",
    "type=type1",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_printed_as_they_are(name: str) -> None:
    where = {"model": f"m{name}", "dataset": f"d{name}", "task": f"t{name}"}
    table = frame(
        row(f"metric{name}", 0.5, 0.4, 0.6, **where),
        row("accuracy", 0.7, 0.6, 0.8, group_label({"gender": name, "type": "type2"}), **where),
        row("accuracy", 0.7, 0.6, 0.8, group_label({f"key{name}": "v", "type": "type2"}), **where),
        row("accuracy", 0.1, 0.0, 0.2, group_label({"type": f"kind{name}"}), **where),
        *(
            row("ucerf", n / 20, 0, 1, group_label({"occupation": f"{n}{name}", "type": "type2"}), **where)
            for n in range(12)
        ),
    )
    for terminal in (False, True):
        text = rendered(table, terminal=terminal)
        assert f"m{name} on d{name} · t{name}" in text and f"metric{name}" in text
        assert "0.500 [0.400, 0.600]" in text
        assert f"kind{name}" in text and f"key{name}" in text and f"gender: {name} " in text
        assert "12 values of occupation are in measurements.csv" in text


def test_names_cannot_steer_the_terminal() -> None:
    text = rendered(frame(row("accuracy", 0.5, 0.4, 0.6, model="\x1b[31mred\x1b[2J\nnext\r", dataset="d\x07")))
    assert text.isprintable() or not set(text) & set("\x1b\x07\r")
    assert "next" in text.splitlines()[0]


@pytest.mark.parametrize(
    ("value", "low", "high", "sentence"),
    [
        (
            0.3,
            0.1,
            0.5,
            "scores 0.300 [0.100, 0.500] lower against the stereotype",
        ),
        (
            -0.3,
            -0.5,
            -0.1,
            "scores 0.300 [0.100, 0.500] higher against the stereotype",
        ),
        (0.3, -0.1, 0.7, "no difference of scores is detected: 0.300 [-0.100, 0.700] (n = 9"),
        (-0.3, -0.7, 0.1, "no difference of scores is detected: -0.300 [-0.700, 0.100]"),
        (-0.3, float("nan"), float("nan"), "no difference of scores is detected: -0.300 [no interval] (n"),
    ],
)
def test_the_sentence_has_the_sign_and_the_interval_of_the_gap(
    value: float, low: float, high: float, sentence: str
) -> None:
    assert sentence in in_one_line(rendered(frame(row("desirability_gap", value, low, high))))


@pytest.mark.parametrize(
    ("value", "low", "high", "sentence"),
    [
        (0.2, 0.1, 0.3, "it is more certain with “male” than with “female”, by 0.200 [0.100, 0.300]"),
        (-0.2, -0.3, -0.1, "it is more certain with “female” than with “male”, by 0.200 [0.100, 0.300]"),
        (0.2, -0.1, 0.5, None),
        (-0.2, -0.5, 0.1, None),
        (0.2, float("nan"), float("nan"), None),
    ],
)
def test_more_certain_is_said_only_where_the_interval_excludes_zero(
    value: float, low: float, high: float, sentence: str | None
) -> None:
    text = in_one_line(rendered(frame(row("certainty_gap", value, low, high, "type=type1"))))
    assert (sentence in text) if sentence else ("more certain" not in text)


def test_flips_come_first_with_counts_and_signed_ucerf_before_the_papers() -> None:
    table = frame(
        row("ucerf", 0.9, 0.8, 1.0, "type=type1", n=244),
        row("ucerf_signed", 0.4, 0.3, 0.5, "type=type1", n=244),
        row("flip_rate", 34 / 244, 0.1, 0.2, "type=type1", n=244, better="lower"),
        row("flip_toward", 21 / 244, 0.05, 0.13, "type=type1", n=244, better="lower"),
        row("flip_against", 13 / 244, 0.03, 0.09, "type=type1", n=244, better="lower"),
        row("flip_bias", 8 / 244, -0.01, 0.08, "type=type1", n=244, better="neither"),
    )
    text = in_one_line(rendered(table))
    missed = (
        "No difference detected: it could have missed a bias of flips of up to 8.0 points (n = 244 ambiguous sets)."
    )
    first = "The group word changed the answer in 34 of 244 ambiguous sets: 21 toward the stereotype, 13 against it."
    assert text.startswith(f"m on d · t {missed} - {first}")
    assert "No direction is detected (3.3 points apart [-1.0, 8.0])" in text
    assert text.index("Signed UCerF is 0.400 [0.300, 0.500] on 244") < text.index("As published it is 0.900")


def test_no_verdict_calls_a_model_fair(measured: pd.DataFrame) -> None:
    assert "fair" not in re.sub(r"unfair\w*|UCerF", "", rendered(measured)).lower()


def test_an_interval_that_is_open_is_said_to_be_none() -> None:
    text = rendered(frame(row("accuracy", 0.5, float("nan"), float("nan"))))
    assert "0.500 [no interval]" in text and "nan" not in text


def test_what_was_not_measured_is_a_dash() -> None:
    table = frame(row("accuracy", 0.5, 0.4, 0.6), row("perplexity", 1.5, 1.4, 1.6, "type=type1"))
    assert re.search(r"^accuracy ↑ +0\.500 \[0\.400, 0\.600\] +– +9", rendered(table), re.MULTILINE)


def test_seeds_are_told_by_their_spread_alone() -> None:
    table = frame(
        row("accuracy", 0.5, 0.4, 0.6),
        row("accuracy", 0.4, 0.3, 0.5, "seed=0,type=type2"),
        row("accuracy", 0.6, 0.5, 0.7, "seed=1,type=type2"),
    )
    text = rendered(table)
    assert "0.500 [0.400, 0.600] ±0.141" in text and "seed" not in text and "[0.300" not in text


def test_types_of_ones_own_have_columns_of_their_own() -> None:
    table = frame(row("accuracy", 0.5, 0.4, 0.6, "type=winter"), row("accuracy", 0.7, 0.6, 0.8, "type=summer"))
    header, line = (line for line in rendered(table).splitlines() if line.startswith(("metric", "accuracy")))
    assert header.split()[:4] == ["metric", "summer", "winter", "n"]
    assert line.index("0.700") < line.index("0.500")


def test_without_types_the_whole_is_shown() -> None:
    assert re.search(r"^accuracy ↑ +0\.500", rendered(frame(row("accuracy", 0.5, 0.4, 0.6, "all"))), re.MULTILINE)


def test_every_group_that_was_asked_for_is_shown() -> None:
    groups = [row("accuracy", n / 10, 0, 1, f"shoe={n},type=type2") for n in range(3)]
    text = rendered(frame(row("accuracy", 0.5, 0.4, 0.6), *groups))
    assert re.search(r"^shoe: 0 +0\.000 .*\nshoe: 1 +0\.100 .*\nshoe: 2 +0\.200", text, re.MULTILINE)


def test_many_groups_are_counted_without_superlatives() -> None:
    groups = [row("ucerf", n / 100, 0, 1, f"occupation=job{n:02},type=type2") for n in range(20)]
    text = in_one_line(rendered(frame(*groups)))
    assert "20 values of occupation are in measurements.csv" in text
    assert "least" not in text and "most" not in text and "job" not in text


def test_each_dataset_and_task_has_its_own_part() -> None:
    table = frame(*(row("accuracy", 0.5, 0.4, 0.6, dataset=d, task=t) for d in ("a", "b") for t in ("x", "y")))
    titles = [line for line in rendered(table).splitlines() if line.startswith("m on ")]
    assert titles == ["m on a · x", "m on a · y", "m on b · x", "m on b · y"]


def test_a_long_table_shows_the_leading_metrics_and_says_where_the_rest_is(measured: pd.DataFrame) -> None:
    first, whole = rendered(measured, every=False), rendered(measured)
    assert re.search(r"^ucerf ", first, re.MULTILINE) and re.search(r"^ucerf_top_probability ", first, re.MULTILINE)
    known = set(measured["metric"])

    def names(text: str) -> set[str]:
        return {line.split()[0] for line in text.splitlines() if line.strip()} & known

    hidden = names(whole) - names(first)
    assert {"certainty_gap", "eo_max", "perplexity", "case_c"} <= hidden
    by_type = set(measured[measured["group"].isin(["type=type1", "type=type2"])]["metric"])
    said = re.findall(r"^(\d+) more metrics are in measurements\.csv", first, re.MULTILINE)
    # Only one of the two tasks has letters.
    assert max(map(int, said)) == len(hidden & by_type), "what is counted is what is left out"
    assert "--all` prints them" in first and "more metrics" not in whole


def test_a_run_that_was_asked_for_certain_metrics_shows_them_all(tmp_path: Path) -> None:
    run = audit("planted:noise=1", limit=10, resamples=10, metrics=["ucerf", "eo_max"], out=tmp_path / "run")
    console = Console(file=io.StringIO(), width=WIDE)
    console.print(run_text(run))
    assert "eo_max" in console.file.getvalue() and "more metrics" not in console.file.getvalue()


def test_a_table_of_words_that_is_too_wide_is_a_list() -> None:
    columns = [Column(title, words=True) for title in ("name", "what it is", "licence")]
    table = Table("", columns, [Row(("winobias", "sentences about occupations", "MIT")), Row(("mine", "a table", ""))])
    lines = {}
    for width in (60, 40):
        console = Console(file=io.StringIO(), width=width)
        console.print(draw(table))
        lines[width] = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines[60][0].split() == ["name", "what", "it", "is", "licence"] and len(lines[60]) == 3
    assert lines[40][0] == "winobias" and lines[40][1:3] == ["    sentences about occupations;", "    licence: MIT"]
    assert lines[40][3:] == ["mine", "    a table"]


def drawn(shown: Any, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, color_system="standard", force_terminal=True)
    console.print(shown)
    return console.file.getvalue().replace("\x1b[", "^").rstrip()


@pytest.mark.parametrize("width", [30, 72, 100, 200])
def test_sections_are_printed_as_they_were_kept(width: int) -> None:
    every = drawn(sections(SECTIONS, charts=True), width)
    some = drawn(sections(SECTIONS[1:4], every=False), width)
    one_by_one = [drawn(draw(entry), width) for section in SECTIONS[:3] for entry in section.shown]
    assert_kept(f"media/terminal/{width}", every, some, *one_by_one, *(drawn(draw(one), width) for one in ODD.values()))


def test_one_folded_row_is_told_as_one() -> None:
    table = Table("t", [Column("a", words=True)], [Row(("x",)), Row(("y",)), Row(("z",))], shown=2)
    text = "in measurements.csv and on the page; `equipoise report RUN --all` prints"
    assert drawn(draw(table, every=False), 200).splitlines()[-1] == f"^2m1 more row is {text} it.^0m"
    table = replace(table, shown=1)
    assert drawn(draw(table, every=False), 200).splitlines()[-1] == f"^2m2 more rows are {text} them.^0m"
    assert drawn(draw(replace(table, shown=0), every=False), 200) == f"^2m3 more rows are {text} them.^0m"


def test_values_are_drawn_on_a_track_from_end_to_end() -> None:
    axis = Axis(low=0.0, high=31.0)
    assert _track(axis, (0.0,)) == "●" + " " * 31 and _track(axis, (31.0, 28.0, 31.0)) == " " * 28 + "───●"
    assert _track(axis, (2.0, 1.0, 4.0)) == " ─●──" + " " * 27 and len(_track(axis, (99.0,))) == 32


def test_a_bar_is_as_long_as_it_reaches_and_one_without_strength_is_none() -> None:
    bars = [Bar((0.25, 0.75), (-0.3, 0.3), "he"), Bar((0.0, 1.0), (0.7, 1.3), "he", strength=0.0)]
    panel = Panel([*bars, Dot(0.5, 1.0)], Axis("x"), Axis.of_names(["a", "b"]))
    rows = medium._rows(panel).rows
    assert [(row[0], row[2]) for row in rows] == [("a", panel.x.written(0.5)), ("b", "0.500")]
    assert rows[0][1] == "█" * round(medium.TRACK / 2) and "●" in rows[1][1]


def test_a_table_in_parts_has_n_beside_the_values_of_each_part() -> None:
    value = Estimate(0.5, 0.4, 0.6, 0.95, 805, "m")
    columns = [Column("marker", words=True), *(Column(f"value of {name}") for name in "abc"), Column("p")]
    table = Table("", columns, [Row((name, value, value, value, 0.5)) for name in ("old", "young")])
    out = io.StringIO()
    Console(file=out, width=60).print(draw(table))
    heads = [line.split() for line in out.getvalue().splitlines() if line.startswith("marker")]
    assert len(heads) > 1 and all("n" in head for head in heads)
    lines = [line for line in out.getvalue().splitlines() if line.startswith(("old", "young"))]
    assert all(re.search(r" 805\b", line) for line in lines)
    assert out.getvalue().count("0.500 [0.400, 0.600]") == 6


def test_a_section_of_charts_alone_has_no_title_where_none_is_drawn() -> None:
    chart = Chart("a chart", [Panel([Dot(0.5, 0.0)], Axis(), Axis.of_names(["one"]))])
    whole = Section("above", [Section("only charts", [chart]), Section("words", [Finding("It is said.")])])
    out = io.StringIO()
    Console(file=out, width=60).print(sections([whole]))
    assert [line for line in out.getvalue().splitlines() if line] == ["above", "words", "- It is said."]
    out = io.StringIO()
    Console(file=out, width=60).print(sections([whole], charts=True))
    assert "only charts" in out.getvalue()
