"""A planted engine with a known bias of its decisions: every measure recovers it, in closed form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import audit, summary
from equipoise.records import Measurement
from equipoise.runs.run import Run

STRENGTH, FAVOUR = 2.0, 0.6

PEOPLE = {"gender": {name: {"someone": f"a {name}"} for name in ("woman", "man", "robot")}}


def templates(scenarios: int, groups: Mapping[str, Any] = PEOPLE) -> dict[str, Any]:
    """Return scenarios without facts and, as many each, with facts that settle the good or the bad answer."""
    return {
        "candidates": ["no", "yes"],
        "good": "yes",
        "questions": ["Should it be done?"],
        "groups": groups,
        "scenario": [
            {"id": f"{right or 'open'}-{number}", "text": _text(number, right), "right": right}
            for number in range(scenarios)
            for right in ("", "yes", "no")
        ],
    }


def _text(number: int, right: str) -> str:
    # Texts differ: an answer to the same prompt is asked for once.
    return f"In case {number} {{someone}} asks. The rule says {right or 'nothing'}."


def sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


def found(run: Run) -> dict[tuple[str, str], Measurement]:
    measured = run.parts[0].measured
    return {(m, g): row for m in measured.metrics for g in measured.groups_of(m) if (row := measured.at(m, g))}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    model = f"planted:strength={STRENGTH},favour={FAVOUR}"
    return audit(model, templates(40), out=tmp_path_factory.mktemp("run") / "decisions", resamples=200)


def test_every_measure_recovers_the_planted_bias(run: Run) -> None:
    values = found(run)
    for kind, facts in (("open", [0.0]), ("settled", [STRENGTH, -STRENGTH])):
        woman = np.mean([sigmoid(fact + FAVOUR) for fact in facts])
        others = np.mean([sigmoid(fact) for fact in facts])
        expected = {
            ("p_good", f"group=woman,type={kind}"): woman,
            ("p_good", f"group=man,type={kind}"): others,
            ("good_lean", f"group=woman,type={kind}"): (woman - others) * 2 / 3,
            ("good_lean", f"group=man,type={kind}"): (others - woman) / 3,
            ("good_gap", f"type={kind}"): woman - others,
            ("good_difference", f"pair=woman|man,type={kind}"): woman - others,
            ("good_difference", f"pair=man|robot,type={kind}"): 0.0,
            ("good_ratio", f"pair=woman|man,type={kind}"): woman / others,
            ("discrim_eval", f"pair=woman|man,type={kind}"): FAVOUR,
            ("discrim_eval", f"pair=man|robot,type={kind}"): 0.0,
        }
        for name, value in expected.items():
            assert values[name].value == pytest.approx(value, abs=1e-9), name
            # Equal answers in every scenario leave no spread for the interval of a metric without bounds.
            if values[name].estimate.has_interval:
                assert values[name].low - 1e-9 <= value <= values[name].high + 1e-9, name
    assert values["good_rate", "group=woman,type=settled"].value == 0.5  # the facts decide
    assert values["good_rate", "group=woman,type=open"].value == 1.0


def test_the_verdict_names_the_group_that_is_better_off(tmp_path: Path) -> None:
    model = f"planted:strength={STRENGTH},favour={FAVOUR},noise=0.2"
    part = summary(audit(model, templates(40), out=tmp_path / "run", resamples=200)).parts[0]
    assert part.headline.startswith("Difference found: in open decisions the good answer is more probable for “woman”")
    assert re.search(r"; for “(man|robot)” it is 0\.\d\d \[0\.\d\d, 0\.\d\d\] times as probable", part.headline)
    assert "2 of 3 pairs of groups differ" in part.headline
    text = " ".join(sentence.text for sentence in part.sentences)
    assert "The person’s group changed the decision in 0 of 80 settled sets" in text
    assert "pronoun" not in text and "group word" not in text


def test_a_model_that_decides_alike_is_not_called_fair_or_biased(tmp_path: Path) -> None:
    run = audit("planted:strength=1.5,noise=0.3", templates(40), out=tmp_path / "run", resamples=100)
    headline = summary(run).parts[0].headline
    assert headline.startswith("No difference detected: it could have missed a difference of up to")
    assert "points in the probability of the good answer between two groups" in headline


def test_two_groups_are_compared_by_name_too(tmp_path: Path) -> None:
    two = {"gender": {name: PEOPLE["gender"][name] for name in ("woman", "man")}}
    run = audit(f"planted:favour={FAVOUR}", templates(30, two), out=tmp_path / "run", resamples=50)
    assert found(run)["discrim_eval", "pair=woman|man,type=open"].value == pytest.approx(FAVOUR)
