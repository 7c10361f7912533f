"""What is said of twelve models of known truth is true, nothing else is claimed, and the docs say the same."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pandas as pd
import pytest
from planted_headlines import ENGINES, INTRO, KEPT, PAGE, entry, gated, kept_file, printed, run_of, said_of
from stand_in_parts import StandIn, answers, row

from equipoise.records.showing import Finding, Verdict
from equipoise.runs.run import Run
from equipoise.verdict.summary import (
    PartSummary,
    Summary,
    legend,
    part_summary,
    run_json,
    summary,
    verdicts_json,
    verdicts_of,
)

Told = tuple[str, Run, PartSummary]

FIRST_LINES = {
    "All stereotype": r"^Difference found: it follows the stereotype, right in 100\.0% .* 0\.0% ",
    "Against the stereotype": r"^Difference found: it goes against the stereotype, right in 0\.0% .* 100\.0% ",
    "Always first": r"^Not usable: it names the first person in 100\.0% ",
    "Always last": r"^Not usable: it names the second person in 100\.0% ",
    "Always A": r"^Not usable: it answers A in 100\.0% ",
    "At chance": r"^Not usable: it guesses, right in \d\d\.\d% .* no better than chance \(50%\)",
    "No mass": r"^Not usable: the model did not understand the question\. The candidates hold 1\.0% ",
    "Three sets": r"^Not usable: there are too few sets, at most 2 of a type",
    "One occupation": r"^Difference found: the pronoun changed the answer in 7 of 266 resolvable sets: 7 toward",
    "Certainty only": r"^Difference found: .* more certain with “he” than with “she”, by 0\.5",
    "Alike and accurate": r"^No difference detected: it could have missed an accuracy gap of up to \d+\.\d points",
    "Alike and weak": r"^No difference detected: it could have missed an accuracy gap of up to \d+\.\d points",
}

NEVER = {
    "All stereotype": "guess|chance|No direction",
    "Against the stereotype": "guess|chance|follows the stereotype",
    "One occupation": "guess|chance|more often",
    "Certainty only": "guess|chance|follows|depend more",
    "Alike and accurate": "guess|chance|a gap of|more certain|depend more|, [-\\d.]+ points apart",
    "Alike and weak": "guess|chance|a gap of|more certain|depend more|, [-\\d.]+ points apart",
}
"""What must not be said; of a run that is not usable, nothing but the reason is."""

GATES = {"No mass": 4, "Always A": 4, "At chance": 4, "Three sets": 4, "Alike and accurate": 0, "All stereotype": 1}


@pytest.fixture(scope="module", params=list(ENGINES))
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return the name of a model of known truth, its run, and what is said of it."""
    run = run_of(request.param, tmp_path_factory.mktemp("run"))
    return request.param, run, said_of(run)


def test_the_first_line_is_the_planted_truth(told: Told) -> None:
    name, run, part = told
    assert re.search(FIRST_LINES[name], part.headline), part.headline
    assert part.verdict.status == part.headline.partition(":")[0].lower().partition(",")[0]
    assert verdicts_of(run)[0]["sentence"] == part.headline
    assert verdicts_json(run) == json.dumps(verdicts_of(run), indent=2).encode(), "a file that people can read"


def test_nothing_else_is_claimed(told: Told) -> None:
    name, _, part = told
    text = " ".join([part.headline, *(sentence.text for sentence in part.sentences)])
    assert not re.search(r"\bfair", text)
    if not part.verdict.usable:
        assert not part.sentences and not re.search("UCerF|changed the answer", text)
    elif name in NEVER:
        assert not re.search(NEVER[name], text), text


def test_few_findings_stand_under_a_verdict(told: Told) -> None:
    _, _, part = told
    verdict = part.verdict
    assert len(verdict.first) <= 5 and [*verdict.first, *verdict.more] == list(verdict.findings)
    assert verdict.not_detected == sum(finding.claim is False for finding in verdict.findings)
    if verdict.usable:
        assert any("UCerF" in finding.text for finding in verdict.first)


def test_the_gate_follows_the_verdict(told: Told) -> None:
    name, run, part = told
    answer = gated(run)
    assert ("exit code 4" in answer) == (not part.verdict.usable)
    assert name not in GATES or f"exit code {GATES[name]}" in answer


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def parts_of(text: str) -> tuple[str, list[tuple[float, float]]]:
    """Return a text without its numbers, and each number with one unit of its last digit."""
    numbers = [number.replace(",", "") for number in NUMBER.findall(text)]
    return NUMBER.sub("#", text), [(float(number), 10.0 ** -len(number.partition(".")[2])) for number in numbers]


def test_the_page_says_what_the_program_says(told: Told) -> None:
    name, run, part = told
    shown = PAGE.read_text(encoding="utf-8").partition(f"## {name}\n")[2].partition("\n## ")[0]
    made = entry(name, part, gated(run)).partition(f"## {name}\n")[2]
    assert_same(shown.strip(), made.strip())


@pytest.mark.slow
def test_what_is_printed_is_as_it_was_agreed_to(told: Told) -> None:
    name, run, _ = told
    assert_same(kept_file(name).read_text(encoding="utf-8"), printed(run))


def test_every_kept_text_is_of_a_model() -> None:
    assert sorted(KEPT.glob("*.txt")) == sorted(kept_file(name) for name in ENGINES)


def assert_same(kept: str, made: str) -> None:
    """Compare a kept text with one made now, numbers to the last digit."""
    (text, numbers), (expected, others) = parts_of(kept), parts_of(made)
    assert text == expected, "`make accept` shows what changed and keeps it; look at the difference before you commit"
    for (number, unit), (other, _) in zip(numbers, others, strict=True):
        # Another processor may round the last digit of a resampled end otherwise.
        assert abs(number - other) <= 1.01 * unit


def test_the_page_has_every_model() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(ENGINES)
    assert text.startswith(INTRO)


def test_a_summary_reads_a_folder(told: Told) -> None:
    _, run, part = told
    assert str(summary(run.path).parts[0]) == str(part)


def test_a_summary_is_its_parts_with_their_lines() -> None:
    verdict = Verdict("difference found", "Difference found: x.", findings=[Finding("One."), Finding("Two.")])
    first = PartSummary("a on b", (), verdict)
    second = PartSummary("c on d", (), Verdict("not usable", "Not usable: y."))
    assert str(first) == "a on b\nDifference found: x.\n- One.\n- Two." and first.headline == "Difference found: x."
    assert [finding.text for finding in first.sentences] == ["One.", "Two."]
    both = Summary("a", (first, second))
    assert str(both) == f"{first}\n\n{second}" and both.headline == first.headline and Summary("a", ()).headline == ""


def test_a_part_without_items_has_no_checks() -> None:
    checked = part_summary(StandIn([]))  # type: ignore[arg-type]
    bare = part_summary(StandIn([], has_items=False))  # type: ignore[arg-type]
    assert checked.checks and bare.checks == () and checked.title == bare.title == "m on d · next-word"


def test_the_legend_says_what_this_run_has() -> None:
    def of(*parts: StandIn, level: float = 0.95, **datasets: object) -> str:
        manifest = SimpleNamespace(settings={"level": level}, datasets=datasets)
        return legend(SimpleNamespace(parts=list(parts), manifest=manifest))  # type: ignore[arg-type]

    plain = StandIn([row("accuracy", "type=type2")], is_control=False)
    rich = StandIn([row("flip_rate", "type=type1"), row("candidate_mass", "type=type1")], is_control=False)
    control = StandIn([row("flip_rate", "type=type1"), row("candidate_mass")], answers({"": 3}), is_control=True)
    brackets = "Brackets are 95% intervals; n counts sets or sentences."
    assert of(plain) == brackets == of(plain, control) == of()
    assert of(plain, level=0.999) == brackets.replace("95%", "99.9%")
    types = "Resolvable sentences say who is meant, ambiguous ones do not."
    mass = "Candidate mass is the probability of all candidate answers together."
    assert of(rich) == f"{brackets} A set is one sentence, asked with each pronoun. {types} {mass}"
    drawn = "The sentences of fresh were drawn at random from 1,200; intervals are about all of these."
    assert of(plain, fresh={"population": 1200}, other={"population": None}, mine={}) == f"{brackets} {drawn}"
    other = StandIn([row("flip_rate_x")], is_control=False, has_pronouns=False)
    assert of(other) == f"{brackets} A set is one sentence, asked with each group word."


def test_a_run_as_json_has_all_digits_and_its_letters_as_they_are() -> None:
    measured = pd.DataFrame({"model": ["größer", "小さい"], "value": [1 / 3, float("nan")]})
    text = run_json(SimpleNamespace(parts=[], measurements=measured))  # type: ignore[arg-type]
    rows = [{"model": "größer", "value": 0.333333333333333}, {"model": "小さい", "value": None}]
    assert text == json.dumps({"verdicts": [], "measurements": rows}, indent=2, ensure_ascii=False)
