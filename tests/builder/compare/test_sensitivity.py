"""Near-duplicates of a run: which are found, and how far their D and U lie apart."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from typer.testing import CliRunner

from equipoise.builder.compare import sensitivity
from equipoise.builder.compare.sensitivity import _any_two, _components, near_duplicates
from equipoise.cli import app
from equipoise.records import EquipoiseError
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.scoring.planted import PlantedEngine

SENTENCES = (
    "The nurse thanked the carpenter because {} did excellent work.",
    "The nurse thanked the carpenter because {} did excellent craftsmanship.",  # two words from the first
    "The nurse thanked the carpenter because {} did craftsmanship.",  # one word from the second, three from the first
    "The teacher greeted the mechanic before {} opened the heavy door.",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("near")
    rows = [
        {"sentence": text.format(word), "pronoun": word, "candidate_1": a, "candidate_2": b, "gold": b}
        for text in SENTENCES
        for word in ("he", "she")
        for a, b in [("nurse", "carpenter") if "nurse" in text else ("teacher", "mechanic")]
    ]
    pd.DataFrame(rows).to_csv(folder / "mine.csv", index=False)
    audit(PlantedEngine(noise=1.0), folder / "mine.csv", out=folder / "run", resamples=10)
    return folder / "run"


def test_near_duplicates_are_compared_group_by_group(run: Path) -> None:
    (part,) = near_duplicates(Run(run))
    assert (part.sets, len(part.table), part.groups) == (4, 2, 1)
    assert part.table["words"].to_list() == ["craftsmanship, work", "excellent"]
    pairs = Run(run).pairs.set_index("set_id")
    row = part.table.iloc[0]
    first, second = pairs.loc[row["first_set"]], pairs.loc[row["second_set"]]
    assert row["u_difference"] == pytest.approx(abs(first["u"] - second["u"]))
    apart = [abs(first[name] - second[name]) for name in ("d_male", "d_female")]
    assert row["d_difference"] == pytest.approx(sum(apart) / 2)
    assert part.u is not None and part.u.value == pytest.approx(part.table["u_difference"].mean())
    assert part.u.low < part.u.value < part.u.high and part.u.n == 2


def test_any_two_sets_are_the_mean_over_all_pairs(run: Path) -> None:
    (part,) = near_duplicates(Run(run))
    u = Run(run).pairs["u"].to_list()
    slowly = [abs(a - b) for place, a in enumerate(u) for b in u[:place]]
    assert part.u_any == pytest.approx(sum(slowly) / 6)


def test_fewer_words_find_fewer_pairs(run: Path) -> None:
    (part,) = near_duplicates(Run(run), words=1)
    assert part.table["words"].to_list() == ["excellent"]
    (none,) = near_duplicates(Run(run), words=0)
    assert none.u is None and not len(none.table)
    with pytest.raises(EquipoiseError, match="0 to 2 words, not 3"):
        near_duplicates(Run(run), words=3)


def test_the_command_keeps_the_pairs_in_the_run(run: Path) -> None:
    result = CliRunner().invoke(app, ["study", "wording", str(run)], catch_exceptions=False)
    assert result.exit_code == 0 and "near pairs" in result.output
    table = Run(run).frame("sensitivity.csv")
    assert len(table) == 2 and {"dataset", "task", "type"} <= set(table.columns)


def test_near_duplicates_are_as_they_were_kept(run: Path) -> None:
    assert_kept("builder/near-duplicates", near_duplicates(Run(run), seed=3))


@given(st.lists(st.floats(-5, 5), max_size=12))
def test_the_difference_of_any_two_is_the_mean_of_all_pairs(values: list[float]) -> None:
    slowly = [abs(a - b) for place, a in enumerate(values) for b in values[:place]]
    if not slowly:
        assert np.isnan(_any_two(np.array(values)))
    else:
        assert _any_two(np.array(values)) == pytest.approx(sum(slowly) / len(slowly), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=12))
def test_groups_are_what_pairs_join(pairs: list[tuple[int, int]]) -> None:
    labels = _components(9, pairs)
    joined = {place: {place} for place in range(9)}
    for first, second in pairs:
        both = joined[first] | joined[second]
        joined |= dict.fromkeys(both, both)
    assert all((labels[a] == labels[b]) == (b in joined[a]) for a in range(9) for b in range(9))


def test_a_run_without_sets_has_nothing_to_compare(run: Path) -> None:
    with pytest.raises(EquipoiseError, match=r"^near-duplicates differ in 0 to 2 words, not -1$"):
        near_duplicates(Run(run), words=-1)
    none: Any = SimpleNamespace(path=run, parts=[SimpleNamespace(pairs=[], kinds=["type1"])])
    with pytest.raises(EquipoiseError) as error:
        near_duplicates(none)
    assert str(error.value) == f"{run} has no counterfactual sets, so there is nothing to compare"


def test_intervals_are_taken_with_the_runs_level_and_the_seed_that_was_given(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    taken = sensitivity.mean_interval

    def noted(units: Any, limits: Any, **named: Any) -> Any:
        asked.append((limits, named))
        return taken(units, limits, **named)

    monkeypatch.setattr(sensitivity, "mean_interval", noted)
    near_duplicates(Run(run), seed=3)
    chosen = {"level": Run(run).level, "seed": 3}
    assert asked == [((0.0, 1.0), chosen), ((0.0, 2.0), chosen)]
