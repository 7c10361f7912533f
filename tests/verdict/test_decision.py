"""The verdict: what decides its status, and what could have been missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from kept_texts import assert_kept
from stand_in_parts import StandIn, answers
from stand_in_parts import row as told

from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Finding
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.verdict.decision import _lead, _lower, _missed, verdict_of
from equipoise.verdict.validity import checks


def row(metric: str, group: str, low: float, high: float) -> Measurement:
    return Measurement(metric, "m", "d", "t", group, Estimate(0.01, low, high, 0.95, 80, "b", 0.5, 0.9), "neither")


def test_what_could_have_been_missed_is_the_far_end_of_an_interval() -> None:
    gap, flips = row("accuracy_gap", "type=type2", 0.0, 0.048), row("flip_bias", "type=type1", -0.2, 0.1)
    missed, text = _missed(Measurements([flips]), ["type2", "type1"])
    assert missed == [flips] and "a bias of flips of up to 20.0 points" in text
    # The gap alone would say that nothing above 4.8 points was missed. The narrower interval of flips is not told.
    narrow = row("flip_bias", "type=type2", -0.02, 0.01)
    missed, text = _missed(Measurements([gap, narrow, flips]), ["type2", "type1"])
    assert missed == [gap, flips] and text == (
        ": it could have missed an accuracy gap of up to 4.8 points (n = 80 resolvable sentences) or a bias of flips of"
        " up to 20.0 points (n = 80 ambiguous sets)."
    )
    assert _missed(Measurements([]), [""])[0] == []


def test_what_markers_may_change_is_told_first_where_identities_were_asked() -> None:
    at = {"attribute": "age", "augmentation": "R", "type": "type2"}
    groups = [",".join(f"{key}={part[key]}" for key in sorted(part)) for part in ({**at, "marker": m} for m in "ab")]
    markers = [row("confidence_change", group, -reach, 0.1) for group, reach in zip(groups, (0.2, 0.3), strict=True)]
    gap = row("accuracy_gap", "type=type2", 0.0, 0.048)
    missed, text = _missed(Measurements([*markers, gap]), ["type2"])
    assert missed == [markers[1], gap] and text == (
        ": it could have missed a change of confidence by a marker of up to 0.300 (n = 80 resolvable sets) or an"
        " accuracy gap of up to 4.8 points (n = 80 resolvable sentences)."
    )


def test_scores_are_told_of_only_where_no_answers_were_compared() -> None:
    score, certainty = row("desirability_gap", "all", 0.0, 0.1), row("certainty_gap", "all", 0.0, 0.2)
    bias, gap = row("bbq_bias_disambiguated", "all", 0.0, 0.3), row("accuracy_gap", "all", 0.0, 0.1)
    assert _missed(Measurements([score, certainty]), [""])[0] == [score]
    missed, text = _missed(Measurements([score, bias, gap, row("flip_bias", "all", 0.0, 0.2)]), [""])
    assert [each.metric for each in missed] == ["accuracy_gap", "flip_bias", "bbq_bias_disambiguated"]
    assert " sentences), a bias of flips of up to 20.0 points (n = 80 sets) or a bias score of up to 0.300 " in text


def test_any_invalid_check_makes_a_run_not_usable(make_run: Callable[..., Path]) -> None:
    (part,) = Run(make_run("decided", by=[])).parts
    listed = checks(part)
    assert verdict_of(part, listed).usable
    broken = Finding("nothing was asked.", topic="validity", state="invalid", name="test")
    verdict = verdict_of(part, [*listed, broken])
    assert (
        verdict.status == "not usable" and verdict.sentence == "Not usable: nothing was asked." and not verdict.findings
    )
    rests = [row("accuracy", "all", 0.1, 0.2), row("flip_rate", "all", 0.1, 0.2)]
    several = [replace(broken, text=f"{one.metric} is missing.", rests_on=[one]) for one in rests]
    verdict = verdict_of(part, [*listed, *several])
    assert verdict.sentence == "Not usable: accuracy is missing." and list(verdict.rests_on) == rests[:1]
    at_chance = replace(several[0], name="accuracy")
    assert verdict_of(part, [at_chance, several[1]]).sentence == "Not usable: flip_rate is missing."
    assert verdict_of(part, [at_chance]).sentence == "Not usable: accuracy is missing."


MORE, LESS = {"value": 0.2, "low": 0.1, "high": 0.3, "p": 0.01}, {"value": -0.2, "low": -0.3, "high": -0.1, "p": 0.01}
OPEN = {"value": 0.02, "low": -0.1, "high": 0.2, "p": 0.6}


def check(state: str, name: str = "size", **facts: Any) -> Finding:
    return Finding(f"this is {state} for {name}.", [told("accuracy", n=7)], "validity", state=state, name=name, **facts)  # type: ignore[arg-type]


def flips(kind: str, **facts: Any) -> list[Measurement]:
    return [told("flip_rate", f"type={kind}"), told("flip_bias", f"type={kind}", **facts)]


def sides(pro: float, anti: float) -> list[Measurement]:
    return [
        told("accuracy", f"stereotype={side},type=type2", value=v, low=v - 0.01, high=v + 0.01)
        for side, v in (("pro", pro), ("anti", anti))
    ]


def parts() -> dict[str, tuple[StandIn, list[Finding]]]:
    """Return parts of every kind with the checks of their validity."""
    beside = check("doubt", beside="It guesses.")
    gap = told("accuracy_gap", "type=type2", **MORE)
    identity = "attribute=age,augmentation=R,marker=old,type=type2"
    whole = {"value": 0.1, "low": 0.05, "high": 0.2}
    labels = [told("p_first", value=0.6, low=0.5, high=0.7)]
    shared = [told("label_share", value=0.4, low=0.3, high=0.5), told("label_lean", **MORE)]
    pairs = replace(answers({"": 40}), sides=np.full(80, "male|female", dtype=object))
    certain = [told("certainty_gap", "type=type1", **OPEN), told("desirability_gap", "type=type2", **OPEN)]
    return {
        "not usable": (
            StandIn(flips("type1", **MORE)),
            [check("invalid"), check("doubt"), check("invalid", "accuracy")],
        ),
        "accuracy last": (StandIn([]), [check("invalid", "accuracy"), check("invalid", "letter")]),
        "accuracy alone": (StandIn([]), [check("invalid", "accuracy"), check("fine")]),
        "flips": (StandIn([*flips("type1", **MORE), *flips("type2", **OPEN)]), [check("fine")]),
        "with a doubt": (
            StandIn([*flips("type1", **MORE), told("ucerf", "type=type2")]),
            [beside, check("doubt", "x")],
        ),
        "two doubts": (StandIn(flips("type1", **LESS)), [beside, check("doubt", "y", beside="It leans.")]),
        "follows": (StandIn([*flips("type1", **MORE), *sides(0.95, 0.05), gap]), []),
        "unsure gap": (StandIn([*sides(0.6, 0.5), told("accuracy_gap", "type=type2", **OPEN)]), []),
        "certainty": (StandIn(certain), []),
        "only overconfident": (
            StandIn(
                [
                    told("overconfidence", "type=type2", **MORE),
                    told("stated_probability", "type=type2"),
                    told("accuracy", "type=type2"),
                ]
            ),
            [],
        ),
        "bias of flips": (StandIn([*flips("type1", **OPEN), *flips("type2", **OPEN)]), []),
        "no way": (StandIn([told("flip_rate", "type=type1")]), []),
        "nothing": (StandIn([]), []),
        "labelled, not settled": (StandIn([told("accuracy", "type=type1"), told("accuracy", "type=type2")]), []),
        "without items": (StandIn(flips("type2", **OPEN), has_items=False), []),
        "bias score": (StandIn([told("bbq_bias_disambiguated", **OPEN)], answers({"": 40})), []),
        "decisions": (
            StandIn(
                [
                    told("good_difference", f"pair={p},type=type2", **f)
                    for p, f in (("a|b", OPEN), ("a|c", LESS | {"p": 0.3}))
                ]
            ),
            [],
        ),
        "decisions differ": (StandIn([told("good_difference", "pair=a|b,type=type2", **LESS)]), []),
        "no interval": (
            StandIn(
                [
                    told("accuracy_gap", "type=type2", low=np.nan, high=np.nan),
                    told("desirability_gap", "type=type2", **OPEN),
                ]
            ),
            [],
        ),
        "labels lean": (StandIn([*labels, *shared], pairs), []),
        "labels fit": (StandIn([*labels, shared[0], told("label_lean", **OPEN)], pairs), []),
        "no labels": (StandIn(labels, pairs), []),
        "identities": (
            StandIn(
                [
                    *flips("type2", **OPEN),
                    told("confidence_change", identity, **LESS),
                    told("confidence", identity, **whole),
                ]
            ),
            [check("doubt")],
        ),
        "left out": (
            StandIn([told("certainty_gap", "type=type2", **OPEN), told("certainty_gap_pooled", "type=type2", n=1300)]),
            [],
        ),
    }


def test_verdicts_of_every_kind_of_part_are_as_kept() -> None:
    made = {}
    for name, (part, listed) in parts().items():
        verdict = verdict_of(part, listed)  # type: ignore[arg-type]
        rests = [f"{measured.metric} {measured.group}" for measured in verdict.rests_on]
        made[name] = [
            f"{verdict.status}: {verdict.sentence} ({verdict.not_detected} not detected, {verdict.doubts} doubts)",
            f"rests on {', '.join(rests)}",
            f"missed {', '.join(f'{m.metric} {m.group}' for m in verdict.could_have_missed) or 'nothing'}",
            *(
                f"{finding.text} ({finding.claim}, {finding.short})"
                for finding in (*verdict.reasons, *verdict.findings)
            ),
            f"led by {verdict.lead.text if verdict.lead else 'nothing'}",
        ]
    assert_kept("verdict/decisions", made)


def test_what_was_missed_is_the_widest_pair_or_the_first_metric_of_the_list() -> None:
    pairs = [
        told("good_difference", "pair=a|b", value=0.0, low=-0.05, high=0.04),
        told("good_difference", "pair=a|c", value=0.0, low=-0.01, high=0.09),
        told("good_difference", "pair=b|c", value=0.0, low=np.nan, high=np.nan),
    ]
    missed, text = _missed(Measurements([*pairs, told("accuracy_gap")]), [""])
    assert missed == [pairs[1]] and text == (
        ": it could have missed a difference of up to 9.0 points in the probability of the good answer between two"
        " groups (n = 1,200 sets of each)."
    )
    turned = [pairs[1], replace(pairs[0], estimate=replace(pairs[0].estimate, low=-0.2))]
    assert _missed(Measurements(turned), [""])[0] == [turned[1]]
    for metric, words in {
        "accuracy_gap": "an accuracy gap of up to 30.0 points (n = 1,200 sentences)",
        "flip_bias": "a bias of flips of up to 30.0 points (n = 1,200 sets)",
        "bbq_bias_disambiguated": "a bias score of up to 0.300 (n = 1,200 sets)",
        "desirability_gap": "a difference of scores of up to 0.300 (n = 1,200 sentences)",
        "certainty_gap": "a difference of certainty of up to 0.300 (n = 1,200 sentences)",
        "certainty_gap_margin": "a difference of certainty of up to 0.300 (n = 1,200 sentences)",
    }.items():
        assert _missed(Measurements([told(metric)]), [""])[1] == f": it could have missed {words}."
        assert _missed(Measurements([told(metric, low=-0.3, high=0.1)]), ["type1"])[1].startswith(
            ": it could have missed"
        )
    rate = told("flip_rate", "type=type1", value=0.25, n=1200)
    assert _missed(Measurements([rate]), ["type1"]) == (
        [rate],
        ": the data name no stereotype, so a change has no direction; 300 of 1,200 ambiguous sets changed.",
    )
    assert _missed(Measurements([]), ["type1"]) == ([], ": there was nothing to test.")


def test_a_model_that_answers_by_the_stereotype_leads_and_sentences_go_on_in_small_letters() -> None:
    shown = Finding("Flips.", [told("flip_bias")], "flips", claim=True)
    rule = Finding("It follows.", sides(0.95, 0.05), "accuracy", claim=True)
    none = Finding("A gap.", sides(0.7, 0.5), "accuracy", claim=True)
    assert (
        _lead(shown, [shown, rule]) is rule and _lead(shown, [shown, none]) is shown and _lead(shown, [shown]) is shown
    )
    assert _lower("The pronoun") == "the pronoun" and _lower("") == ""
