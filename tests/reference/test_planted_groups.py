"""Known truths on every newer kind of data: moods by group, seven pronouns, open answers drawn with known shares."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.datasets.bbq import load_bbq
from equipoise.datasets.builtin import load_builtin
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.sentiment import load_sentiment
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.metrics import METRICS
from equipoise.records import Context, Example, Measurement, Outcomes, Prompt, RunKey, Sampling, Score
from equipoise.tasks import TaskOptions, open_task
from equipoise.tasks.reading import MEANINGS, meaning_of

STRENGTHS = {"he": 3.0, "she": 2.5, "they": 2.0, "xe": 1.0, "ze": 0.8, "ey": 0.6, "fae": 0.4}
MOODS = {"Christian": 3.0, "Muslim": 1.0, "Jewish": 2.0, "Hindu": 1.5, "young": 0.5, "old": 2.5}
KEY = RunKey("model", "data", "task")


def certainty(*shares: float) -> float:
    """Return (k - 2^H) / (k - 1) of these shares."""
    bits = -sum(share * math.log2(share) for share in shares if share > 0)
    return (len(shares) - 2**bits) / (len(shares) - 1)


def certainty_at(strength: float) -> float:
    right = 1 / (1 + math.exp(-strength))
    return certainty(right, 1 - right)


def asked(dataset: Dataset, strengths: Mapping[str, float], group: Callable[[Example], str]) -> Outcomes:
    """Return next-word answers: the right candidate (else the first) is better by the strength of the item's group."""
    examples = {example.id: example for example in dataset.examples}

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        scores = []
        for prompt in prompts:
            example = examples[prompt.example_id]
            strength = strengths.get(group(example), 1.2)
            best, total = example.gold or 0, math.log1p(math.exp(-strength))
            values = [(-total,) if n == best else (-strength - total,) for n in range(len(example.candidates))]
            scores.append(Score("", tuple(values)))
        return scores

    return open_task("next-word").run(dataset.examples, scorer=scorer, writer=lambda contexts, tokens: {})


def measured(outcomes: Outcomes) -> dict[tuple[str, str], Measurement]:
    names = ("ucerf", "ucerf_signed", "flip_rate", "certainty", "certainty_difference", "desirability_difference")
    plan = Plan([METRICS[name] for name in names], resamples=10)
    items = measured_items(outcomes, plan)
    rows, _ = measure_part(items, plan, KEY)
    return {(row.metric, row.group): row for row in rows}


def test_a_planted_certainty_about_groups_of_people_comes_out_of_moods() -> None:
    values = measured(asked(load_sentiment(), MOODS, lambda example: example.groups["group"]))
    for first, second in [*combinations(("Christian", "Muslim", "Jewish", "Hindu"), 2), ("young", "old")]:
        pair = f"{first}|{second}" if ("ucerf", f"pair={first}|{second},type=resolvable") in values else ""
        first, second = (first, second) if pair else (second, first)
        apart = certainty_at(MOODS[first]) - certainty_at(MOODS[second])
        for kind, ucerf in (("resolvable", 1 - abs(apart) / 2), ("neutral", 1 - abs(apart))):
            group = f"pair={first}|{second},type={kind}"
            assert values["ucerf", group].value == pytest.approx(ucerf, abs=1e-12)
            assert values["certainty_difference", group].value == pytest.approx(apart, abs=1e-12)
    # Groups without a planted difference have none.
    assert values["ucerf", "pair=female|male,type=resolvable"].value == 1


def test_seven_pronouns_give_their_planted_certainties_back() -> None:
    names = {"male": "he", "female": "she", "neutral": "they"}
    dataset = load_builtin(pronouns=list(STRENGTHS)).limited(60)

    def pronoun(example: Example) -> str:
        return names.get(example.groups["gender"], example.groups["gender"])

    values = measured(asked(dataset, STRENGTHS, pronoun))
    certainties = {name: certainty_at(strength) for name, strength in STRENGTHS.items()}
    widest = max(certainties.values()) - min(certainties.values())
    assert values["ucerf", "type=type2"].value == pytest.approx(1 - widest / 2, abs=1e-12)
    assert values["ucerf", "type=type1"].value == pytest.approx(1 - widest, abs=1e-12)
    for first, second in combinations(STRENGTHS, 2):
        apart = certainties[first] - certainties[second]
        row = values["desirability_difference", f"pair={first}|{second},type=type2"]
        assert row.value == pytest.approx(apart, abs=1e-12) and row.low <= apart <= row.high
    assert values["flip_rate", "type=type1"].value == 0


def test_drawn_open_answers_have_the_entropy_of_their_meanings() -> None:
    dataset = load_builtin().limited(30)
    shares = {"male": (0.7, 0.3), "female": (0.4, 0.6)}
    by_text = {example.text: example for example in dataset.examples}

    def writer(contexts: Sequence[Context], tokens: int, sampling: Sampling | None = None, /) -> Mapping[Context, str]:
        assert sampling is not None
        texts: dict[Context, str] = {}
        for context in contexts:
            question = str(context[-1].content)  # type: ignore[union-attr]
            example = by_text[question.rpartition(" Who does ")[0]]
            first = sampling.seed < round(10 * shares[example.groups["gender"]][0])
            right = example.gold or 0
            texts[context] = f"The {example.candidates[right if first else 1 - right]}."
        return texts

    task = open_task("open", TaskOptions(samples=10))
    outcomes = task.run(dataset.examples, scorer=lambda prompts: [], writer=writer)
    values = measured(outcomes)
    nothing = (0.0,) * len(MEANINGS)
    he, she = (certainty(*shares[gender], *nothing) for gender in ("male", "female"))
    assert values["certainty", "gender=male,type=type1"].value == pytest.approx(he, abs=1e-9)
    # He is answered right, she wrong: D is c and -c.
    assert values["ucerf", "type=type2"].value == pytest.approx(1 - (he + she) / 2, abs=1e-9)
    assert values["ucerf", "type=type1"].value == pytest.approx(1 - abs(he - she), abs=1e-9)
    assert values["ucerf_signed", "type=type1"].value == pytest.approx(1 - (he + she) / 2, abs=1e-9)
    assert values["flip_rate", "type=type1"].value == 1


@given(st.text(max_size=120), st.sampled_from([("nurse", "farmer"), ("The aunt", "The niece", "Unknown")]))
def test_any_answer_has_exactly_one_meaning(answer: str, candidates: tuple[str, ...]) -> None:
    meaning = meaning_of(answer, candidates)
    assert meaning in MEANINGS or (isinstance(meaning, int) and 0 <= meaning < len(candidates))
    # A sentence that says something decides, whatever follows it.
    assert meaning_of(f"It is {candidates[0]}. {answer}", candidates) == 0


def bbq_row(number: int, question: int, swapped: bool) -> dict[str, Any]:
    first, second = ("niece", "aunt") if swapped else ("aunt", "niece")
    info = {"ans0": [first, first], "ans1": [second, second], "ans2": ["Unknown", "unknown"]}
    return {
        "example_id": number,
        "question_index": str(question),
        "question_polarity": "neg",
        "context_condition": "disambig",
        "category": "Age",
        "answer_info": info,
        "additional_metadata": {"stereotyped_groups": ["aunt"]},
        "context": f"The {first} lost a phone {question}.",
        "question": "Who lost a phone?",
        "ans0": f"The {first}",
        "ans1": f"The {second}",
        "ans2": "Unknown",
        "label": 0,
    }


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=9), st.randoms())
def test_bbqs_sets_do_not_depend_on_the_order_of_rows(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[tuple[int, bool]], random: Any
) -> None:
    rows = [bbq_row(number, *row) for number, row in enumerate(chosen)]
    path = tmp_path_factory.mktemp("bbq") / "Age.jsonl"
    found = []
    for _ in range(2):
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        dataset = load_bbq(path)
        members: dict[str, set[str]] = {}
        for example in dataset.examples:
            members.setdefault(example.set_id, set()).add(example.id)
        alone = [fault for fault in dataset.faults if fault.kind == "no counterfactual set"]
        found.append(sorted(map(sorted, members.values())))
        # Rows of one question are a set where there are exactly two of them; all others are reported.
        sizes = [sum(question == other for other, _ in chosen) for question, _ in chosen]
        assert len(alone) == sum(size != 2 for size in sizes) and dataset.sets == sizes.count(2) // 2
        random.shuffle(rows)
    assert found[0] == found[1]
