"""The tables that calibration figures are drawn from, and that they are drawn."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from equipoise.reports.calibration.figures import draw_occupations, draw_reliability
from equipoise.reports.calibration.reliability import occupation_table, reliability_table

from equipoise.datasets.external_results import read_results
from equipoise.runs.tables import examples_frame


def test_a_diagram_shows_five_groups_at_most_and_says_which_it_left_out(tmp_path: Path) -> None:
    one = {"start": 0.5, "end": 0.6, "items": 3, "confidence": 0.55, "rate": 0.5, "low": 0.2, "high": 0.8}
    table = pd.DataFrame([{"group": name, **one} for name in ("all", *(f"land={n}" for n in range(7)))])
    assert draw_reliability(table, tmp_path / "r.png", title="t") == ["land=5", "land=6"]
    assert (tmp_path / "r.png").stat().st_size > 5000


def test_the_tables_of_published_outputs(real_data, tmp_path: Path) -> None:
    (found,) = read_results(real_data("gender-ece") / "outputs/winobias/GPT-J-6B.results.csv", format="gender-ece")
    bins = reliability_table(found.outcomes)
    assert bins.groupby("group")["items"].sum().to_dict() == {
        "all": 771,
        "predicted_gender=female": 194,
        "predicted_gender=male": 577,
    }
    assert ((bins["low"] <= bins["rate"]) & (bins["rate"] <= bins["high"])).all()
    work = occupation_table(found.outcomes, examples_frame("d", found.dataset.examples)).set_index("occupation")
    assert work.loc["nurse", "men"] == pytest.approx(0.10) and work.loc["nurse", "p"] < 0.3 < work.loc["mechanic", "p"]
    assert work["n"].sum() == 770  # one sentence names two occupations
    draw_occupations(work.reset_index(), tmp_path / "o.png", title="t")
    assert (tmp_path / "o.png").stat().st_size > 5000
