"""Single values and true positives of a run, as a loop over its tables would count them."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise.comparing.values import parts_of, rates, values
from equipoise.runs.run import Run


def test_tpr_and_tpd_are_those_of_a_loop(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    items = part.items[part.items["answerable"].astype(bool)]
    pro, anti = rates(part)
    for (_, right, desirability), side, gender in ((pro, "pro", "male"), (anti, "anti", "female")):
        rows = items[(items["stereotype"] == side) & (items["gender"] == gender)]
        hits = rows[rows["correct"] == 1]
        assert right.n == len(rows) and right.value == pytest.approx(rows["correct"].mean())
        assert desirability.value == pytest.approx((hits["desirability"].mean() + 1) / 2)
        assert right is part.measured.get("tpr", type="type2", stereotype=side).estimate, "the row itself"
    assert pro[1].value > anti[1].value and pro[2].value > anti[2].value


def test_values_are_those_of_the_tables(planted_run: Path, cloze_runs: tuple[Path, Path]) -> None:
    (part,) = Run(planted_run).parts
    pairs, items = part.pairs, part.items
    assert sorted(values(part, "type1", "U")) == sorted(pairs[pairs["type"] == "type1"]["u"])
    assert sorted(values(part, "type2", "D")) == sorted(items[items["type"] == "type2"]["desirability"])
    assert sorted(values(part, "type1", "certainty")) == sorted(items[items["type"] == "type1"]["certainty"])
    # Nothing is right in ambiguous sentences, and sentence pairs have no sets.
    assert len(values(part, "type1", "D")) == len(values(part, "type3", "U")) == 0
    (pairs_of_sentences,) = Run(cloze_runs[0]).parts
    assert len(values(pairs_of_sentences, "", "certainty")) == 0


def test_values_and_rates_are_as_kept(planted_run: Path, mild_run: Path, worded_runs: list[Path]) -> None:
    made = {}
    for name, path in (("strong", planted_run), ("worded", worded_runs[1])):
        (part,) = Run(path).parts
        made[name] = {
            f"{quantity} {kind}": [len(several := values(part, kind, quantity)), float(several.sum())]
            for quantity in ("U", "D", "certainty")
            for kind in ("type1", "type2", "type3", "")
        }
        made[f"{name}, rates"] = list(rates(part))
    assert_kept("comparing/values", made)
    runs = [Run(planted_run), Run(mild_run)]
    assert [part.run for part in parts_of(runs, "builtin", "next-word")] == runs
    assert parts_of(runs, "builtin", "mcq") == [] == parts_of(runs, "winobias", "next-word")
