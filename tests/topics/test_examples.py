"""The example of the first screen is one of the finding beside it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Finding, case_link
from equipoise.runs.run import Run
from equipoise.topics import examples as examples_topic
from equipoise.topics.examples import _confidence, _marked, examples, set_table
from equipoise.verdict.identities import Change
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
    surest = wrong.loc[max(wrong.index, key=lambda at: max(pairs.outcomes.probs[at]))]
    assert shown.example == case_link(surest["set_id"], str(pairs), surest["variant"] or "")


def test_of_sentence_pairs_without_labels_it_is_the_surest_of_all(tmp_path: Path) -> None:
    (part,) = audit("planted:strength=1,bias=1,noise=1", task="cloze", limit=40, resamples=20, out=tmp_path).parts
    (shown,) = examples(part)
    surest = part.items.loc[max(part.items.index, key=lambda at: max(part.outcomes.probs[at]))]
    assert shown.text == "Surest of all" and shown.example == case_link(surest["set_id"], str(part), "")


def test_where_the_word_decides_the_least_alike_set_is_that_of_the_lowest_u(tmp_path: Path) -> None:
    # In these sets the answer should change: the signed U, which sees the answers, says the opposite there.
    run = audit("planted:noise=3", "gendered", limit=60, resamples=20, by=[], out=tmp_path)
    (part,) = run.parts
    sets, pairs = set_table(part), part.pairs.set_index("set_id")
    assert sets["u"].tolist() == pytest.approx(pairs["u"][sets["set_id"]].tolist())
    assert (pairs["u_signed"] - pairs["u"]).abs().max() > 0.1
    (shown,) = examples(part)
    assert part_summary(part).verdict.lead is None and shown.text == "The set that is treated least alike"
    assert shown.example == case_link(sets.loc[sets["u"].idxmin(), "set_id"], str(part), "")


@pytest.mark.parametrize("bias", [1.5, -1.5])
def test_a_bias_against_the_stereotype_has_an_example_against_it(bias: float, tmp_path: Path) -> None:
    run = audit(f"planted:strength=1,bias={bias},noise=0.5", limit=80, resamples=50, by=[], out=tmp_path)
    (part,) = run.parts[:1]
    fates = {case_link(row.set_id, str(part), row.variant): row.fate for row in set_table(part).itertuples()}
    (shown,) = examples(part)
    assert fates[shown.example] == ("toward" if bias > 0 else "against")


def test_what_is_described_is_as_it_was_kept(planted_run: Path, mild_run: Path, cloze_runs: tuple[Path, Path]) -> None:
    runs = [Run(planted_run), Run(mild_run), Run(cloze_runs[0])]
    shown = [list(examples(part)) for run in runs for part in run.parts]
    assert_kept("topics/examples", shown, set_table(runs[1].parts[0]).sort_values("u").head(30))


@pytest.mark.parametrize("way", [1, -1])
def test_the_sentence_that_a_marker_moves_most_is_shown_with_and_without_it(tmp_path: Path, way: int) -> None:
    choices = {"base": "builtin", "attributes": ["age"], "augment": ["R"], "limit": 8, "resamples": 10}
    (part,) = audit("planted:strength=1,noise=1", "winoidentity", out=tmp_path, progress=False, **choices).parts
    estimate = Estimate(0.1 * way, 0.0, 0.2, 0.95, 8, "")
    row = Measurement("confidence_change", "m", "d", "t", "augmentation=R,type=type2", estimate, "neither")
    change = Change("age", "old", row)
    marked, plain = _marked(part, change)
    items = part.of_kind(part.items.assign(confidence=_confidence(part)), "type2")
    chosen = items[(items["augmentation"] == "R") & (items["attribute"] == "age") & (items["marker"] == "old")]
    bare = items[items["augmentation"] == "none"].set_index(["cluster_id", "gender"])
    moved: dict[tuple[str, str], float] = {}
    for one in chosen.itertuples():
        before = bare.loc[[(one.cluster_id, one.gender)]].iloc[0]
        pair, size = (one.set_id, before["set_id"]), way * (one.confidence - before["confidence"])
        moved[pair] = max(moved.get(pair, -9.0), size)
    with_marker, without = max(moved, key=lambda pair: moved[pair])
    assert (marked.example, plain.example) == (case_link(with_marker, str(part)), case_link(without, str(part)))
    assert marked.text == f"Where {change.name} {'raises' if way > 0 else 'lowers'} confidence most"
    assert plain.text == "The same without a marker"


def test_a_marker_that_no_sentence_has_beside_an_unmarked_one_has_no_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = {"base": "builtin", "limit": 4, "attributes": ["age"], "augment": ["R"], "metrics": ["confidence"]}
    (part,) = audit("planted:lead=0.4", "winoidentity", out=tmp_path, resamples=5, progress=False, **choices).parts
    estimate = Estimate(-0.1, -0.2, -0.05, 0.95, 9, "")
    row = Measurement("confidence", "m", "d", "t", "augmentation=R,type=type2", estimate, "higher")
    whole = list(_marked(part, Change("age", "old", row)))
    assert len(whole) == 2
    own = examples_topic._confidence
    monkeypatch.setattr(examples_topic, "_confidence", lambda part: [*own(part)[:-1], math.nan])
    assert len(list(_marked(part, Change("age", "old", row)))) == 2, "one that is not known hides no other"
    monkeypatch.setattr(examples_topic, "_confidence", lambda part: [math.nan] * len(part.items))
    assert list(_marked(part, Change("age", "old", row))) == []
    assert list(_marked(part, Change("age", "unheard", row))) == []
    assert list(_marked(part, Change("religion", "old", row))) == []


@pytest.mark.parametrize(("variant", "end"), [(None, ""), ("seed=1", "seed=1")])
def test_an_example_without_a_variant_names_none(tmp_path: Path, variant: str | None, end: str) -> None:
    choices = {"base": "builtin", "limit": 2, "attributes": ["age"], "augment": ["R"], "metrics": ["confidence"]}
    (part,) = audit("planted:lead=0.4", "winoidentity", out=tmp_path, resamples=5, progress=False, **choices).parts
    estimate = Estimate(0.1, 0.05, 0.2, 0.95, 9, "")
    row = Measurement("confidence", "m", "d", "t", "augmentation=R", estimate, "higher")
    items = part.items.assign(variant=variant)
    some = SimpleNamespace(items=items, outcomes=part.outcomes, of_kind=part.of_kind)
    both = list(_marked(some, Change("age", "old", row)))  # type: ignore[arg-type]
    assert [finding.text for finding in both] == [
        "Where “old” (age) raises confidence most",
        "The same without a marker",
    ]
    known = {case_link(str(set_id), str(some), end) for set_id in items["set_id"]}
    assert {finding.example for finding in both} <= known


def test_marked_sentences_are_shown_before_sets_and_sets_before_pairs(
    planted_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (part,) = Run(planted_run).parts
    row = Measurement("confidence_change", "m", "d", "t", "type=type2", Estimate(0.1, 0.0, 0.2, 0.95, 8, ""), "neither")
    for name in ("_marked", "_of_finding", "_surest_wrong"):
        monkeypatch.setattr(examples_topic, name, lambda *_, name=name: [Finding(name)])
    monkeypatch.setattr(examples_topic, "strongest_change", lambda _: Change("age", "old", row))
    assert [str(shown) for shown in examples(part)] == ["_marked"]
    monkeypatch.setattr(examples_topic, "strongest_change", lambda _: None)
    assert [str(shown) for shown in examples(part)] == ["_of_finding"]
    monkeypatch.setattr(examples_topic, "members_and_fates", lambda _: ([], []))
    assert [str(shown) for shown in examples(part)] == ["_surest_wrong"]


def test_sets_without_types_have_none(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = Run(planted_run).parts
    members = examples_topic.members_and_fates(part)
    monkeypatch.setattr(examples_topic, "members_and_fates", lambda _: members)
    groups = {name: column for name, column in part.outcomes.groups.items() if name != "type"}
    bare = SimpleNamespace(outcomes=replace(part.outcomes, groups=groups), pairs=part.pairs)
    told, whole = set_table(bare), set_table(part)  # type: ignore[arg-type]
    assert set(told["type"]) == {""} and set(whole["type"]) == {"type1", "type2"}
    pd.testing.assert_frame_equal(told.drop(columns="type"), whole.drop(columns="type"))
