"""The example of the first screen is one of the finding beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import audit
from equipoise.records.showing import case_link
from equipoise.runs.run import Run
from equipoise.topics.examples import examples, set_table
from equipoise.verdict.summary import part_summary


def test_the_example_has_the_fate_that_the_verdict_tells(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    lead = part_summary(part).verdict.lead
    assert lead is not None and lead.topic == "flips" and lead.kind == "type1"
    (shown,) = examples(part)
    sets = set_table(part)
    changed = sets[(sets["type"] == "type1") & (sets["fate"] == "toward")]
    assert shown.text == "A set whose answer changed toward the stereotype"
    assert shown.example == case_link(changed.loc[changed["u"].idxmin(), "set_id"], str(part))


def test_types_of_any_name_have_their_own_example(real_data: object, tmp_path: Path) -> None:
    real_data("bbq")  # type: ignore[operator]
    run = audit(
        "planted:strength=2,bias=0.1", "bbq:Age", "mcq", limit=30, resamples=20, metrics=["flip_rate"], out=tmp_path
    )
    (part,) = run.parts
    (shown,) = examples(part)
    named = {case_link(row.set_id, str(part), row.variant): row for row in set_table(part).itertuples()}
    row = named[shown.example]
    assert (row.type, row.fate) == ("ambiguous", "toward"), "not a set with the same answer"


def test_sets_that_are_all_alike_have_no_example(tmp_path: Path) -> None:
    (part,) = audit("planted:strength=2,bias=0.1", "sentiment", limit=40, resamples=20, out=tmp_path).parts
    (shown,) = examples(part)
    assert not shown.example and "every set gets the same answer" in shown.text


def test_of_sentence_pairs_it_is_the_surest_against_people(cloze_runs: tuple[Path, Path]) -> None:
    (pairs,) = Run(cloze_runs[0]).parts
    (shown,) = examples(pairs)
    wrong = pairs.items[pairs.items["correct"] == 0]
    surest = wrong.iloc[max(range(len(wrong)), key=lambda at: max(wrong["probs"].iloc[at]))]
    assert shown.example == case_link(surest["set_id"], str(pairs), surest["variant"] or "")


def test_of_sentence_pairs_without_labels_it_is_the_surest_of_all(tmp_path: Path) -> None:
    (part,) = audit("planted:strength=1,bias=1,noise=1", task="cloze", limit=40, resamples=20, out=tmp_path).parts
    (shown,) = examples(part)
    surest = part.items.iloc[max(range(len(part.items)), key=lambda at: max(part.items["probs"].iloc[at]))]
    assert shown.text == "Surest of all" and shown.example == case_link(surest["set_id"], str(part), "")


@pytest.mark.parametrize("bias", [1.5, -1.5])
def test_a_bias_against_the_stereotype_has_an_example_against_it(bias: float, tmp_path: Path) -> None:
    run = audit(f"planted:strength=1,bias={bias},noise=0.5", limit=80, resamples=50, by=[], out=tmp_path)
    (part,) = run.parts[:1]
    fates = {case_link(row.set_id, str(part), row.variant): row.fate for row in set_table(part).itertuples()}
    (shown,) = examples(part)
    assert fates[shown.example] == ("toward" if bias > 0 else "against")
