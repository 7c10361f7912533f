"""Findings from measurements: they name what was measured, and no two of them disagree."""

from __future__ import annotations

from equipoise.records import Estimate, Measurement
from equipoise.runs.measurements import Measurements
from equipoise.verdict.findings import behaviour, is_shown
from equipoise.verdict.words import GROUP_WORD, PRONOUN


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
