"""The how-to's metric works exactly as printed."""

from __future__ import annotations

import shlex

import pandas as pd


def test_the_commands_of_the_page_work(guide) -> None:
    page = guide("add-a-metric.md")
    audit, measure, compare, gate = [shlex.split(command)[1:] for command in page.commands]
    quick = ["--limit", "12", "--resamples", "20", "--no-html"]
    for model, folder in (("planted:noise=4,strength=0", audit[-1]), ("planted:noise=1,strength=2", compare[2])):
        ran = page.run("audit", model, *audit[2:-1], folder, *quick)
        assert ran.returncode == 0, ran.stderr
        assert "sure_and_wrong" in ran.stdout
    items = pd.read_parquet(page.folder / audit[-1] / "outcomes.parquet").query("type == 'type2'")
    expected = ((items["correct"] == 0) & (items["certainty"] > 0.5)).mean()
    table = pd.read_csv(page.folder / audit[-1] / "measurements.csv").set_index(["metric", "group"])
    assert 0 < expected < 1 and abs(table.loc[("sure_and_wrong", "type=type2"), "value"] - expected) < 1e-9
    measured = page.run(*measure)
    assert measured.returncode == 0, measured.stderr
    compared = page.run(*compare, "--permutations", "50", "--resamples", "50")
    assert compared.returncode == 0 and "differences hold after correction" in compared.stdout, compared.stderr
    checked = page.run(*gate)
    assert checked.returncode in (0, 1) and "sure_and_wrong[type=type2] <= 0.2" in checked.stdout, checked.stderr
