"""CSV files that spreadsheets open: no text becomes a formula, numbers stay numbers, and all come back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from equipoise.records import Estimate, Measurement, RunManifest
from equipoise.runs import RunFolder
from equipoise.runs.csv_files import original, read_csv, to_csv
from equipoise.runs.measurements import measurements_frame

MANIFEST = RunManifest("m", {}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00", "then")
NAMES = ("=1+1", "@SUM(A1)", "+x", "-x", "\tx", "'=1", "''=1", "'tis", "-0.5", "plain")


@given(st.lists(st.text(alphabet="=+-@'\t1.eX ", max_size=4), min_size=1))
def test_no_text_becomes_a_formula_and_every_text_comes_back(texts: list[str]) -> None:
    (_, *cells) = [row[0] for row in csv.reader(io.StringIO(to_csv(pd.DataFrame({"a": texts, "n": 1})).decode()))]
    for text, cell in zip(texts, cells, strict=True):
        assert original(cell) == text
        if cell[:1] in ("=", "+", "-", "@", "\t"):
            float(cell)  # a number is harmless


@given(
    st.from_regex(r"[-+](\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", fullmatch=True), st.text(alphabet="=+-|!A(e ", min_size=1)
)
@example("-1", "+cmd|' /C calc'!A0")
def test_a_number_with_a_formula_behind_it_is_no_number(number: str, formula: str) -> None:
    (_, (cell, _)) = csv.reader(io.StringIO(to_csv(pd.DataFrame({"a": [number + formula], "n": 1})).decode()))
    assert cell == f"'{number}{formula}" or float(cell) == float(number + formula)


def test_numbers_stay_numbers() -> None:
    frame = pd.DataFrame({"x": [-1.5, 2.0, -0.0], "n": [-1, 0, 3], "text": ["-0.5", "+1e3", "-"]})
    assert to_csv(frame) == b"x,n,text\n-1.5,-1,-0.5\n2.0,0,+1e3\n-0.0,3,'-\n"
    short = pd.DataFrame({"x": pd.Series([0.1], dtype="float32")})
    assert to_csv(short) == b"x\n0.1\n", "no digits that the number does not have"


def test_a_table_comes_back_as_it_was() -> None:
    texts = ["=1", None, "'=1", "a"]
    frame = pd.DataFrame({"=x": texts, "n": [1, -2, 3, 4], "y": [0.5, None, -0.0, 1e300], "b": [True, False] * 2})
    pd.testing.assert_frame_equal(read_csv(io.BytesIO(to_csv(frame))), frame)
    assert read_csv(io.BytesIO(b"x,'=y\n")).columns.tolist() == ["x", "=y"]


def test_measurements_and_looks_with_hostile_names_survive(tmp_path: Path) -> None:
    estimate = Estimate(-0.25, -0.5, 0.0, 0.95, 7, "=method")
    rows = [Measurement("ucerf", name, name, "t", "all", estimate, "higher") for name in NAMES]
    folder = RunFolder(tmp_path)
    looks = pd.DataFrame({"dataset": NAMES, "look": range(len(NAMES)), "width": -0.5})
    folder.commit({"measurements.csv": measurements_frame(rows), "looks.csv": looks}, MANIFEST)
    pd.testing.assert_frame_equal(folder.frame("measurements.csv"), measurements_frame(rows), check_dtype=False)
    back = folder.frame("looks.csv")
    assert (back["dataset"].tolist(), back["width"].tolist()) == (list(NAMES), [-0.5] * len(NAMES))
    text = (tmp_path / "measurements.csv").read_text()
    assert ",'=1+1,'=1+1,t,all,-0.25," in text and ",'=method" in text
