"""Findings from measurements: they name what was measured, and no two of them disagree."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Finding
from equipoise.runs.measurements import Measurements
from equipoise.verdict.findings import _gap, _place, absolute, behaviour, count, good_differences, is_shown, rule_of
from equipoise.verdict.words import GROUP_WORD, PRONOUN, Words


def test_genders_are_named_by_pronouns_only_where_there_are_some() -> None:
    estimate = Estimate(-0.5, -0.6, -0.4, 0.95, 60, "bootstrap")
    gap = Measurements([Measurement("certainty_gap", "m", "d", "t", "type=type2", estimate, "neither")])
    for words, more, less in ((PRONOUN, "she", "he"), (GROUP_WORD, "female", "male")):
        (sentence,) = behaviour(gap, ["type2"], words)
        assert f"it is more certain with “{more}” than with “{less}”, by 0.500 [0.400, 0.600]" in sentence.text


def test_two_sentences_about_one_number_do_not_disagree() -> None:
    def row(metric: str, group: str, value: float, low: float, high: float) -> Measurement:
        return Measurement(metric, "m", "d", "t", group, Estimate(value, low, high, 0.95, 40, "bounds"), "neither")

    rates = [row("accuracy", f"stereotype={side},type=type2", 0.5, 0.4, 0.6) for side in ("pro", "anti")]
    gap = row("accuracy_gap", "type=type2", 0.068, 0.024, 0.112)

    def accuracy(*rows: Measurement) -> str:
        (text,) = [s.text for s in behaviour(Measurements([*rates, *rows]), ["type2"], PRONOUN) if "ight in" in s.text]
        return text

    alone = accuracy(gap)
    assert alone.endswith(": a gap of 6.8 points [2.4, 11.2].")
    wider = accuracy(gap, row("flip_bias", "type=type2", -0.068, -0.186, 0.062))
    assert wider.endswith("; no gap detected (6.8 points [-6.2, 18.6]).")
    # A gap that its own interval does not show: the wider interval of the same number is told, whatever its value.
    unsure = row("accuracy_gap", "type=type2", 0.068, 0.0, 0.112)
    assert "[0.1, 13.5]" in accuracy(unsure, row("flip_bias", "type=type2", 0.068, 0.001, 0.135))
    assert accuracy(gap, row("flip_bias", "type=type2", 0.05, -0.2, 0.3)) == alone, (
        "sets without one side: not the same"
    )


def test_a_claim_needs_its_interval_and_its_corrected_p() -> None:
    def shown(low: float, p: float) -> bool:
        estimate = Estimate(0.2, low, 0.4, 0.95, 60, "bootstrap", p / 2, p)
        return is_shown(Measurement("flip_bias", "m", "d", "t", "type=type1", estimate, "neither"))

    assert shown(0.1, 0.01) and shown(0.1, float("nan"))
    assert not shown(0.1, 0.06) and not shown(-0.1, 0.01)


def test_ways_of_changing_have_one_denominator_and_unknown_is_not_neither() -> None:
    counts = {"rate": 13, "toward": 3, "against": 0, "neither": 0, "unknown": 10, "bias": 3}
    rows = [
        Measurement(
            f"flip_{name}", "m", "d", "t", "all", Estimate(n / 20, -0.1, 0.5, 0.95, 20, "b", 0.5, 0.9), "neither"
        )
        for name, n in counts.items()
    ]
    (sentence,) = behaviour(Measurements(rows), [""], PRONOUN)
    assert "13 of 20 sets: 3 toward the stereotype, 0 against it, 10 without a known stereotype." in sentence.text
    assert "neither way" not in sentence.text and "15.0 points apart" in sentence.text and sentence.claim is False


def test_a_mean_over_wordings_is_a_share_and_not_a_count_of_sets() -> None:
    def row(name: str, value: float, group: str) -> Measurement:
        return Measurement(name, "m", "d", "t", group, Estimate(value, 0.1, 0.9, 0.95, 20, "b", 0.01, 0.01), "neither")

    shares = {"flip_rate": 0.525, "flip_toward": 0.5, "flip_against": 0.025, "flip_bias": 0.475}
    groups = ["all", "wording=1", "wording=2"]
    rows = [row(name, value, group) for name, value in shares.items() for group in groups]
    (sentence,) = behaviour(Measurements(rows), [""], PRONOUN)
    told = "changed the answer in 52.5% [10.0%, 90.0%] of 20 sets, averaged over 2 ways to ask: 50.0% toward"
    assert told in sentence.text


NAN = math.nan
SIDES = {
    "more": (0.2, 0.1, 0.3, 0.01),
    "less": (-0.2, -0.3, -0.1, 0.01),
    "wide": (0.2, -0.1, 0.5, 0.01),
    "p": (-0.2, -0.3, -0.1, 0.05),
    "no p": (-0.2, -0.3, -0.1, NAN),
}
"""A difference that is shown with either sign, one whose interval holds 0, one whose p is the limit, one without p."""


def told(metric: str, group: str, value: float, low: float, high: float, p: float = NAN, n: int = 1200) -> Measurement:
    return Measurement(metric, "m", "d", "t", group, Estimate(value, low, high, 0.95, n, "b", p, p), "neither")


def said(
    rows: list[Measurement], kinds: list[str], words: Words = PRONOUN, labels_only: list[str] | None = None
) -> list[Finding]:
    return behaviour(Measurements(rows), kinds, words, labels_only or [])


def lines(findings: list[Finding]) -> list[str]:
    """Return findings in a line each: the sentence, whether it is a claim, and what it rests on."""
    return [
        f"{f.text} ({f.claim}, {f.topic} {f.kind}: {', '.join(f'{row.metric} {row.group}' for row in f.rests_on)})"
        for f in findings
    ]


def test_sentences_on_single_differences_are_kept() -> None:
    metrics = ("certainty_gap", "desirability_gap", "bbq_bias_ambiguous", "bbq_bias_disambiguated")
    sentences = {}
    for metric, (name, numbers), kind in product(metrics, SIDES.items(), ("", "type1", "type2")):
        if not kind or not metric.startswith("bbq"):
            group = f"type={kind}" if kind else "all"
            sentences[f"{metric} {name} {kind}"] = lines(said([told(metric, group, *numbers)], [kind], GROUP_WORD))
    assert_kept("verdict/differences", sentences)


def test_sentences_on_flips_are_kept() -> None:
    sentences = {}
    ways = {"toward": 0.15, "against": 0.0, "neither": 0.05, "unknown": 0.0}
    for (name, numbers), n, rate in product(SIDES.items(), (1, 1200), (0.0, 0.2)):
        if n == 1 and name != "more":
            continue
        rows = [told("flip_rate", "type=type1", rate, rate / 2, rate * 2 + 0.1, n=n)]
        sentences[f"{name}, {n} sets, rate {rate}, without a bias"] = lines(said(rows, ["type1"]))
        rows += [told(f"flip_{way}", "type=type1", share, 0, 0.3, n=n) for way, share in ways.items()]
        rows += [told("flip_bias", "type=type1", *numbers, n=n)]
        sentences[f"{name}, {n} sets, rate {rate}"] = lines(said(rows, ["type1"], GROUP_WORD))
        seeds = [told("flip_rate", f"seed={seed},type=type1", rate, 0, 1, n=n) for seed in ("1", "2", "3")]
        sentences[f"{name}, {n} sets, rate {rate}, three seeds"] = lines(said([*rows, *seeds], ["type1"]))
        sentences[f"{name}, {n} sets, rate {rate}, one seed"] = lines(said([*rows, *seeds[:1]], ["type1"]))
        sentences[f"{name}, {n} sets, rate {rate}, no ways"] = lines(said([rows[0], rows[-1]], ["type1"]))
        known = [row for row in rows if row.metric not in ("flip_toward", "flip_neither")]
        sentences[f"{name}, {n} sets, rate {rate}, some ways, seeds"] = lines(said([*known, *seeds], ["type1"]))
    assert_kept("verdict/flips", sentences)


HIGH, LOW = (0.9, 0.76, 0.95), (0.1, 0.05, 0.24)
RATES = {"with it": (HIGH, LOW), "against it": (LOW, HIGH), "right": (HIGH, HIGH), "unsure": ((0.9, 0.7, 0.95), LOW)}


def test_sentences_on_accuracy_are_kept() -> None:
    sentences = {}
    gap = told("accuracy_gap", "type=type2", 0.2, 0.1, 0.3, 0.01)
    gaps = {
        "no gap": [],
        "gap": [gap],
        "unsure gap": [told("accuracy_gap", "type=type2", 0.2, 0.0, 0.3, 0.2)],
        **{f"gap, bias {name}": [gap, told("flip_bias", "type=type2", *numbers)] for name, numbers in SIDES.items()},
        "gap, another bias": [gap, told("flip_bias", "type=type2", 0.21, -0.3, 0.4, 0.9)],
    }
    whole = told("accuracy", "type=type2", 0.6, 0.5, 0.7)
    for (rates, (pro, anti)), (name, more) in product(RATES.items(), gaps.items()):
        rows = [
            told("accuracy", "stereotype=pro,type=type2", *pro),
            told("accuracy", "stereotype=anti,type=type2", *anti),
        ]
        for labels_only in ([], ["type2"]) if name == "gap" else ([],):
            texts = said([whole, *rows, *more], ["type2"], labels_only=labels_only)
            sentences[f"{rates}, {name}, {labels_only}"] = lines(texts)
    for labels_only in ([], ["type2"]):
        sentences[f"whole {labels_only}"] = lines(said([whole, rows[0]], ["type2"], labels_only=labels_only))
    assert_kept("verdict/accuracy", sentences)


def test_sentences_on_ucerf_and_what_is_stated_are_kept() -> None:
    sentences = {}
    for suffix, kind in product(("", "_fisher_rao", "_margin"), ("", "type1", "type2")):
        group = f"type={kind}" if kind else "all"
        signed, published = (told(f"{name}{suffix}", group, 0.8, 0.7, 0.9) for name in ("ucerf_signed", "ucerf"))
        for rows in ([signed, published], [signed], [published]):
            sentences[f"{[row.metric for row in rows]} {kind}"] = lines(said(rows, [kind], GROUP_WORD))
    for name, numbers in SIDES.items():
        rows = [
            told("overconfidence", "type=type2", *numbers),
            told("stated_probability", "type=type2", 0.8, 0.7, 0.9),
            told("accuracy", "type=type2", 0.6, 0.5, 0.7, n=30),
        ]
        sentences[f"stated {name}"] = lines(said(rows, ["type2"]))
        for without in range(3):
            listed = said([row for place, row in enumerate(rows) if place != without], ["type2"])
            assert "stated" not in {finding.topic for finding in listed}
    assert_kept("verdict/ucerf", sentences)


def test_sentences_on_pairs_of_groups_and_decisions_are_kept() -> None:
    sentences = {}
    for (first, one), (second, other), kind in product(SIDES.items(), SIDES.items(), ("", "type1")):
        within = f",type={kind}" if kind else ""
        for metric in ("certainty_difference", "desirability_difference", "good_difference"):
            if kind and first != second:
                continue
            rows = [
                told(metric, f"pair=a|b{within}", *one),
                told(metric, f"pair=a|c{within}", *(0.5 * x for x in other[:3]), other[3]),
            ]
            sentences[f"{metric} {kind}: {first} and {second}"] = lines(said(rows, [kind]))
            sentences[f"{metric} {kind}: {first} alone"] = lines(said(rows[:1], [kind]))
    for ratio, ends in {
        "near": (0.9, 0.85, 0.95),
        "under": (0.7, 0.6, 0.79),
        "limit": (0.7, 0.6, 0.8),
        "over": (1.4, 1.3, 1.6),
        "none": (0.7, NAN, NAN),
    }.items():
        for name in ("more", "less"):
            rows = [told("good_difference", "pair=a|b", *SIDES[name]), told("good_ratio", "pair=a|b", *ends)]
            sentences[f"ratio {ratio}, {name}"] = lines(said(rows, [""]))
    assert_kept("verdict/pairs", sentences)


def test_sentences_on_occupations_are_kept() -> None:
    sentences = {}
    lows, highs = (
        {"nurse": 0.5, "cook": 0.4, "guard": 0.3, "clerk": 0.6},
        {"baker": 0.91, "judge": 0.92, "pilot": 0.93, "tailor": 0.94},
    )
    for metric, kind in product(("ucerf", "ucerf_signed", "ucerf_signed_margin"), ("", "type2")):
        within = f",type={kind}" if kind else ""
        whole = told(metric, f"type={kind}" if kind else "all", 0.8, 0.7, 0.9)

        def of(named: dict[str, float], p: float, metric: str = metric, within: str = within) -> list[Measurement]:
            return [told(metric, f"occupation={name}{within}", value, 0, 1, p, 9) for name, value in named.items()]

        for name, rows in {
            "none": of(lows | highs, 0.05),
            "all": of(lows | highs, 0.049),
            "two low": of({"nurse": 0.5, "cook": 0.4}, 0.01) + of(highs, 0.3),
            "one high": of({"nurse": 0.9}, 0.01) + of({"cook": 0.8}, 0.3),
            "untested": of(lows, NAN),
            "one tested": of({"nurse": 0.5}, 0.01) + of(highs, NAN),
            "equal": of({"nurse": 0.8, "cook": 0.8}, 0.01),
        }.items():
            texts = [finding for finding in said([whole, *rows], [kind]) if finding.topic == "occupations"]
            sentences[f"{metric} {kind}: {name}"] = lines(texts)
    assert not said(rows, [kind]), "occupations without a value of all"
    assert_kept("verdict/occupations", sentences)


def test_findings_come_in_the_order_of_their_weight_and_ambiguous_ones_first() -> None:
    rows = []
    for kind in ("type1", "type2"):
        group = f"type={kind}"
        rows += [
            told("flip_rate", group, 0.2, 0.1, 0.3),
            told("flip_bias", group, *SIDES["more"]),
            told("ucerf", group, 0.8, 0.7, 0.9),
        ]
        rows += [
            told("certainty_gap", group, *SIDES["wide"]),
            told("desirability_gap", group, *SIDES["more"]),
            told("accuracy", group, 0.6, 0.5, 0.7),
        ]
        rows += [told("overconfidence", group, *SIDES["less"]), told("stated_probability", group, 0.5, 0.4, 0.6)]
        rows += [
            told("good_difference", f"pair=a|b,{group}", *SIDES["wide"]),
            told("certainty_difference", f"pair=a|b,{group}", *SIDES["more"]),
        ]
    rows += [told("bbq_bias_ambiguous", "all", *SIDES["more"])]
    listed = [(finding.topic, finding.kind, finding.claim) for finding in said(rows, ["type2", "type1"])]
    assert listed == [
        ("flips", "type1", True),
        ("flips", "type2", True),
        ("bias score", "ambiguous", True),
        ("pairs", "type1", True),
        ("pairs", "type2", True),
        ("accuracy", "type2", None),
        ("accuracy", "type1", None),
        ("ucerf", "type1", None),
        ("ucerf", "type2", None),
        ("desirability", "type1", True),
        ("desirability", "type2", True),
        ("stated", "type1", True),
        ("stated", "type2", True),
        ("decisions", "type1", False),
        ("decisions", "type2", False),
        ("certainty", "type1", False),
        ("certainty", "type2", False),
    ]


@pytest.mark.parametrize(
    ("topic", "detected", "otherwise"),
    [("flips", 0, 1), ("accuracy", 0, 1), ("ucerf", 0, 1), ("stated", 2, 3), ("desirability", 2, 3), ("pairs", 0, 3)],
)
def test_every_topic_has_its_place(topic: str, detected: int, otherwise: int) -> None:
    assert _place(Finding("", topic=topic, claim=True)) == detected
    assert {_place(Finding("", topic=topic, claim=claim)) for claim in (False, None)} == {otherwise}


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_size_of_a_difference_is_not_below_0_and_keeps_its_reach(value: float, below: float, above: float) -> None:
    row = told("flip_bias", "all", value, value - below, value + above)
    size = absolute(row)
    assert (size.value, size.low, size.high) == (
        (value, row.low, row.high) if value > 0 else (-value, -row.high, -row.low)
    )


@given(st.integers(0, 5000), st.integers(1, 5000))
def test_a_share_counts_whole_units(some: int, of: int) -> None:
    some = min(some, of)
    assert count(told("flip_rate", "all", some / of, 0, 1, n=of)) == some


def test_who_answers_by_the_stereotype_is_sure_on_both_sides() -> None:
    def rule(pro: tuple[float, float], anti: tuple[float, float]) -> str:
        return rule_of(told("accuracy", "a", 0.5, *pro), told("accuracy", "b", 0.5, *anti))

    assert rule((0.751, 1), (0, 0.249)) == "follows the stereotype"
    assert rule((0, 0.249), (0.751, 1)) == "goes against the stereotype"
    for sides in (((0.75, 1), (0, 0.249)), ((0.751, 1), (0, 0.25)), ((0, 0.25), (0.751, 1)), ((0, 0.249), (0.75, 1))):
        assert rule(*sides) == ""


def test_the_good_answer_is_compared_for_every_pair_of_a_type() -> None:
    rows = [told("good_difference", f"pair={pair},type=a", 0.1, 0, 1) for pair in ("x|z", "x|y")]
    rows += [
        told("certainty_difference", "pair=y|z,type=a", 0.1, 0, 1),
        told("good_difference", "pair=x|y,type=b", 0.1, 0, 1),
    ]
    assert good_differences(Measurements(rows), "a") == [rows[1], rows[0]]


@pytest.mark.parametrize(
    ("bias", "told"),
    [
        (None, "gap"),
        ((0.05, -0.2, 0.3), "gap"),  # another number
        ((-0.068, -0.186, 0.062), "bias"),  # wider, and not shown
        ((-0.068, -0.186, -0.002), "gap"),  # wider, and shown as well
        ((-0.068, -0.07, 0.001), "gap"),  # narrower than the whole interval, wider than half of it
        ((0.068, -0.001, 0.08), "gap"),
        ((0.068, -0.021, 0.069), "bias"),
    ],
)
def test_the_wider_of_two_intervals_of_one_number_is_told_where_they_disagree(
    bias: tuple[float, float, float] | None, told: str
) -> None:
    def row(metric: str, value: float, low: float, high: float) -> Measurement:
        return Measurement(metric, "m", "d", "t", "type=type2", Estimate(value, low, high, 0.95, 40, ""), "neither")

    gap = row("accuracy_gap", 0.068, 0.024, 0.112)
    other = [] if bias is None else [row("flip_bias", *bias)]
    assert _gap(Measurements([gap, *other]), gap, "type2") == (gap.estimate if told == "gap" else absolute(other[0]))


def test_a_share_over_several_wordings_is_no_number_of_sets() -> None:
    rows = [told("flip_rate", "type=type1", 0.674, 0.6, 0.7, n=57)]
    rows += [
        told(f"flip_{way}", "type=type1", share, 0, 1, n=57) for way, share in (("toward", 0.627), ("against", 0.047))
    ]
    rows += [told("flip_bias", "type=type1", 0.58, 0.5, 0.6, 0.01, n=57)]
    rows += [told("flip_rate", f"type=type1,wording={name}", 0.7, 0.5, 0.8, n=57) for name in ("a", "b")]
    (sentence,) = said(rows, ["type1"])
    assert "in 67.4% [60.0%, 70.0%] of 57 ambiguous sets, averaged over 2 ways to ask: 62.7% toward" in sentence.text
    ways = [f"seed={seed},type=type1,wording={name}" for seed in "123" for name in "ab"]
    (sentence,) = said([*rows[:4], *(told("flip_rate", way, 0.7, 0.5, 0.8, n=57) for way in ways)], ["type1"])
    assert "averaged over 6 ways to ask" in sentence.text, "each wording in each option order"
