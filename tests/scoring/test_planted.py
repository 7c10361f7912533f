"""The planted engine says exactly what it was told to."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.options import EngineOptions
from equipoise.records import Example, ModelError, Prompt
from equipoise.scoring import planted
from equipoise.scoring.engine import identity_key
from equipoise.scoring.opening import open_engine
from equipoise.scoring.planted import PlantedEngine, open_planted


def example(**changes: Any) -> Example:
    fields: dict[str, Any] = {
        "id": "a",
        "text": "The baker thanked the clerk.",
        "candidates": ("baker", "clerk"),
        "gold": 0,
        "answerable": True,
        "stereotype": 0,
        "groups": {},
        "set_id": "p",
    }
    return Example(**{**fields, **changes})


def probabilities(engine: PlantedEngine, asked: Example, *, options: int = 2, context: str = "Who?") -> list[float]:
    prompt = Prompt(asked.id, "task", "", context, tuple(f" {number}" for number in range(options)))
    engine.prepare([asked])
    ((score,),) = engine.score([[prompt]])
    return [math.exp(value) for value in score.logprobs]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("gold", [0, 1])
@pytest.mark.parametrize("stereotype", [0, 1])
@given(strength=st.floats(-20, 20), bias=st.floats(-20, 20))
def test_the_right_answer_has_the_probability_that_was_planted(
    gold: int, stereotype: int, strength: float, bias: float
) -> None:
    engine = PlantedEngine(strength=strength, bias=bias, mass=1.0)
    found = probabilities(engine, example(gold=gold, stereotype=stereotype))
    expected = sigmoid(strength + (bias if gold == stereotype else -bias))
    assert found[gold] == pytest.approx(expected, rel=1e-9)
    assert math.fsum(found) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("gold", [None, 1])
def test_without_a_right_answer_the_stereotype_alone_decides_even_where_there_is_a_label(gold: int | None) -> None:
    found = probabilities(PlantedEngine(bias=1.5, mass=1.0), example(gold=gold, answerable=False, stereotype=1))
    assert found[1] == pytest.approx(sigmoid(1.5), rel=1e-12)


def test_without_a_stereotype_the_strength_alone_decides() -> None:
    found = probabilities(PlantedEngine(strength=1.0, bias=5.0, mass=1.0), example(stereotype=None))
    assert found[0] == pytest.approx(sigmoid(1.0), rel=1e-12)


def test_mass_is_shared_by_all_candidates() -> None:
    for options in (2, 3, 5):
        assert math.fsum(probabilities(PlantedEngine(mass=0.3), example(), options=options)) == pytest.approx(0.3)


def test_other_is_the_logit_of_every_further_option() -> None:
    baker, clerk, *others = probabilities(PlantedEngine(2.0, 0.5, other=-1.0), example(), options=4)
    assert others[0] == others[1]
    assert math.log(baker / clerk) == pytest.approx(2.5)
    assert math.log(others[0] / clerk) == pytest.approx(-1.0 + 0.25)


@pytest.mark.parametrize("stereotype", [0, 1, 2])
def test_any_of_three_candidates_can_be_the_stereotypical_one(stereotype: int) -> None:
    asked = example(candidates=("baker", "clerk", "cook"), gold=None, answerable=False, stereotype=stereotype)
    engine = PlantedEngine(bias=1.5, other=0.0)
    found = probabilities(engine, asked, options=3)
    for index in {0, 1, 2} - {stereotype}:
        assert math.log(found[stereotype] / found[index]) == pytest.approx(1.5)


@pytest.mark.parametrize("strength", [-5000.0, 5000.0])
def test_a_strength_beyond_the_range_of_exp_is_still_a_score(strength: float) -> None:
    found = probabilities(PlantedEngine(strength=strength, mass=1.0), example())
    assert found == pytest.approx([1, 0] if strength > 0 else [0, 1])


def test_noise_depends_on_the_text_alone() -> None:
    engine = PlantedEngine(noise=1.0)
    one, same, other = (probabilities(engine, example(), context=text) for text in ("One?", "One?", "Other?"))
    assert one == same != other
    assert one == probabilities(engine, example(id="b"), context="One?")


def test_noise_is_normal_with_the_deviation_asked_for() -> None:
    engine = PlantedEngine(strength=1.0, bias=0.5, noise=0.7)
    draws = []
    for number in range(4000):
        first, second = probabilities(engine, example(), context=f"Question {number}?")
        draws.append(math.log(first / second) - 1.5)
    assert np.mean(draws) == pytest.approx(0, abs=4 * 0.7 / math.sqrt(4000))
    assert np.std(draws) == pytest.approx(0.7, rel=0.05)
    assert np.mean(np.abs(draws) < 1.96 * 0.7) == pytest.approx(0.95, abs=0.015)


def test_an_example_it_was_not_told_about_is_an_error() -> None:
    prompt = Prompt("unknown", "task", "", "Who?", (" a", " b"))
    with pytest.raises(ModelError, match="was not prepared with example unknown"):
        list(PlantedEngine().score([[prompt]]))


def test_what_it_is_prepared_with_adds_up_and_is_not_part_of_its_value() -> None:
    engine = PlantedEngine()
    engine.prepare([example()])
    engine.prepare(iter([example(id="b")]))
    assert set(engine.truth) == {"a", "b"}
    assert engine == PlantedEngine() and engine.identity == PlantedEngine().identity
    assert replace(engine).truth == {}


def test_a_device_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ModelError, match="unknown device 'abacus'"):
        open_engine("planted", EngineOptions(device="abacus"))
    open_engine("planted", EngineOptions(device="cuda:1", dtype="bfloat16"))


def test_batches_hold_every_prompt_once_and_scores_follow_their_order() -> None:
    engine = PlantedEngine(noise=1.0)
    engine.prepare([example()])
    prompts = [Prompt("a", "task", "", f"Question {number}?", (" a", " b")) for number in range(5000)]
    batches = engine.batches(prompts)
    assert [index for batch in batches for index in batch] == list(range(5000))
    assert len(batches) > 1
    scores = [score for part in engine.score([prompts[i] for i in batch] for batch in batches) for score in part]
    assert [score.prompt_key for score in scores] == [prompt.key(identity_key(engine)) for prompt in prompts]


@pytest.mark.parametrize("change", [{"strength": 3.0}, {"bias": 0.0}, {"other": 0.0}, {"noise": 0.1}, {"mass": 0.5}])
def test_every_setting_is_part_of_its_identity(change: dict[str, float]) -> None:
    assert identity_key(replace(PlantedEngine(), **change)) != identity_key(PlantedEngine())


def test_it_is_opened_by_its_settings() -> None:
    assert open_engine("planted:strength=1, bias=-0.25,noise=0.5") == PlantedEngine(1.0, -0.25, noise=0.5)
    assert open_engine("planted:") == PlantedEngine()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("size=3", "planted: unknown setting 'size'; the settings are: strength, bias, other, noise, mass"),
        ("truth=3", "unknown setting 'truth'"),
        ("bias=much", "planted: bias must be a number, not 'much'"),
        ("bias", "planted: bias must be a number, not ''"),
        ("bias=nan", "planted: bias must be finite, not 'nan'"),
        ("strength=inf", "planted: strength must be finite"),
        ("echo=1", r"planted: echo must be in \[0, 1\)"),
        ("lead:old=much", "planted: lead:old must be a number, not 'much'"),
        ("mass=0", r"planted: mass must be in \(0, 1\]"),
        ("mass=1.5", r"planted: mass must be in \(0, 1\]"),
        ("noise=-1", "noise, male, wording and sentence must not be negative"),
    ],
)
def test_a_setting_it_does_not_take_is_refused(settings: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        open_planted(settings)


LEADS = "lead=0.3,lead:old=-0.1,lead:female=-0.03,lead:old*female=-0.05,lead:disadvantaged*anti=-0.02"


@pytest.mark.parametrize("gold", [0, 1])
@pytest.mark.parametrize("answerable", [True, False])
@pytest.mark.parametrize(
    ("groups", "lead"),
    [
        ({}, 0.3),
        ({"gender": "female"}, 0.27),
        ({"gender": "male", "marker": "old", "augmentation": "R"}, 0.2),
        ({"gender": "female", "marker": "old", "augmentation": "C"}, 0.12),
        ({"gender": "female", "marker": "old", "augmentation": "NR"}, 0.27),
        ({"stereotype": "anti", "marker": "old", "privilege": "disadvantaged", "augmentation": "R"}, 0.18),
        ({"stereotype": "anti", "marker": "old", "privilege": "disadvantaged", "augmentation": "NR"}, 0.3),
    ],
)
def test_leads_add_up_over_marker_gender_and_their_crossing(
    gold: int, answerable: bool, groups: dict[str, str], lead: float
) -> None:
    engine = replace(open_planted(LEADS), mass=0.8)
    every = {"gender": "female", "stereotype": "anti", "marker": "old", "privilege": "disadvantaged"}
    asked = example(gold=gold, answerable=answerable, groups=groups)
    engine.prepare([asked, example(id="other", groups={**every, "augmentation": "R"})])
    ((score,),) = engine.score([[Prompt("a", "task", "", "Who?", (" baker", " clerk"))]])
    found = [math.exp(value) for value in score.logprobs]
    assert found[gold] - found[1 - gold] == pytest.approx(lead, abs=1e-12) == engine.lead(asked)
    assert math.fsum(found) == pytest.approx(0.8)


def test_a_lead_is_added_to_what_strength_and_bias_give_and_is_cut_at_the_mass() -> None:
    before = probabilities(PlantedEngine(1.0, 0.5), example())
    after = probabilities(PlantedEngine(1.0, 0.5, leads={"": -0.2}), example())
    assert (after[0] - after[1]) - (before[0] - before[1]) == pytest.approx(-0.2)
    cut = probabilities(PlantedEngine(1.0, 0.5, leads={"": 5.0}), example())
    assert cut[0] - cut[1] == pytest.approx(0.99 * 0.9)
    assert probabilities(PlantedEngine(1.0, 0.5, leads={"": 0.4}), example(gold=None, answerable=False)) == (
        probabilities(PlantedEngine(1.0, 0.5), example(gold=None, answerable=False))
    )


def test_a_name_that_no_sentence_has_is_refused() -> None:
    with pytest.raises(ModelError, match="no sentence of the dataset has 'odl'; the names are: male"):
        open_planted("lead:yuong=0.2,lead:odl=-0.1,lead:male=0.1").prepare([example(groups={"gender": "male"})])


def test_the_share_said_with_the_marker_is_taken_from_the_marked_candidate() -> None:
    asked = example(slots={"marked:0": "young baker"})
    prompt = Prompt("a", "task", "", "Who?", (" baker", " clerk", " young baker"))
    for echo in (0.25, 0.0):
        engine = open_planted(f"lead=0.4,echo={echo}")
        engine.prepare([asked])
        ((score,),) = engine.score([[prompt]])
        baker, clerk, marked = (math.exp(value) for value in score.logprobs)
        assert baker + marked - clerk == pytest.approx(0.4) and marked == pytest.approx(0.65 * echo, abs=1e-11)
    # The third option of a multiple choice is no name with a marker.
    *_, none = probabilities(open_planted("lead=0.4,echo=0.25,other=-1"), asked, options=3)
    assert none == pytest.approx(0.9 * math.exp(-1) / (2 + math.exp(-1)))


def test_a_base_sentence_has_one_disturbance_for_all_its_variants_and_a_seed_draws_others() -> None:
    engine = PlantedEngine(strength=1.0, bias=0.0, sentence=0.7)
    same = {tuple(probabilities(engine, example(id=name, set_id="p"), context=name)) for name in ("a", "b")}
    assert len(same) == 1
    draws = []
    for number in range(4000):
        first, second = probabilities(engine, example(set_id=f"sentence {number}"))
        draws.append(math.log(first / second) - 1)
    assert np.mean(draws) == pytest.approx(0, abs=4 * 0.7 / math.sqrt(4000))
    assert np.std(draws) == pytest.approx(0.7, rel=0.05)
    again = [
        math.log(np.divide(*probabilities(replace(engine, seed=3), example(set_id=f"sentence {number}")))) - 1
        for number in range(400)
    ]
    assert abs(np.corrcoef(draws[:400], again)[0, 1]) < 0.2


SETTINGS = (
    *("", "strength=1,bias=2", "noise=1", "noise=1,seed=3", "mass=0.5,other=-1", "male=2", "sentence=1,seed=2"),
    *("wording=1", "wording=1,seed=5", "favour=3", "echo=0.4", "lead=0.3", "lead=0.9,lead:female=0.4,echo=0.2"),
    *("lead:pro=-0.2,strength=1", "lead:old=0.2,lead:old*female=-0.1", "strength=900"),
)


def test_what_every_setting_plants_is_as_it_was_kept() -> None:
    people = {"candidates": ("baker", "clerk"), "slots": {"marked:0": "old baker", "marked:1": "clerk of 9"}}
    groups = {"gender": "female", "stereotype": "pro", "augmentation": "R", "marker": "old", "privilege": "high"}
    asked = [
        example(id="plain", groups={"gender": "male", "stereotype": "anti"}, stereotype=1),
        example(id="marked", groups=groups, set_id="m", **people),
        example(id="other", groups={**groups, "augmentation": "NR"}, gold=1, set_id="m", good=1, cluster_id="c"),
        example(id="open", gold=None, answerable=False, stereotype=None, groups={"gender": "neutral"}, set_id="o"),
        example(id="three", candidates=("a", "b", "c"), gold=2, groups={"gender": "female"}, set_id="t"),
    ]
    found = {}
    for settings in SETTINGS:
        engine = open_planted(settings)
        try:
            engine.prepare(asked)
        except ModelError as error:
            found[settings] = str(error)
            continue
        rows = []
        for one in asked:
            names = (*one.candidates, *one.slots.values(), *(["none"] if one.id == "plain" else []))
            for variant in ("", "seed=1,wording=two", "p_true=1"):
                prompt = Prompt(one.id, "t", variant, f"{one.text} {variant}", tuple(f" {name}" for name in names))
                ((score,),) = engine.score([[prompt]])
                rows.append([one.id, variant, engine.lead(one), [math.exp(value) for value in score.logprobs]])
        found[settings] = [dict(engine.identity), rows]
    assert_kept("scoring/planted", found)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("mass=0", "planted: mass must be in (0, 1], and noise, male, wording and sentence must not be negative"),
        ("mass=1.01", "planted: mass must be in (0, 1], and"),
        ("noise=-0.1", "planted: mass must be in"),
        ("male=-0.1", "planted: mass must be in"),
        ("wording=-0.1", "planted: mass must be in"),
        ("sentence=-0.1", "planted: mass must be in"),
        ("echo=1", "planted: echo must be in [0, 1)"),
        ("mass=0,echo=1", "planted: mass must be in (0, 1], and"),
        ("echo=-0.1", "planted: echo must be in [0, 1)"),
        ("bias=x", "planted: bias must be a number, not 'x'"),
        ("bias=", "planted: bias must be a number, not ''"),
        ("bias=inf", "planted: bias must be finite, not 'inf'"),
        ("lead:old=nan", "planted: lead:old must be finite, not 'nan'"),
        ("colour=1", "planted: unknown setting 'colour'; the settings are: strength, bias, other, noise, mass, male,"),
    ],
)
def test_each_setting_that_makes_no_sense_is_one_sentence(settings: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(sentence)}"):
        open_planted(settings)


def test_settings_at_their_ends_are_taken() -> None:
    assert open_planted(" mass = 1 ,, echo=0,male=0,noise=0").mass == 1
    assert (open_planted("lead=0.4").strength, open_planted("lead=0.4").bias) == (0, 0)
    assert (open_planted("lead=0.4,bias=2").bias, open_planted("lead:old=0.4").strength) == (2, 2)


def test_a_good_answer_is_favoured_in_the_first_sentence_of_a_set() -> None:
    engine = PlantedEngine(strength=0.0, bias=0.0, favour=1.5, mass=1.0)
    first = example(gold=None, answerable=False, stereotype=None, good=1)
    assert probabilities(engine, first)[1] == pytest.approx(sigmoid(1.5))
    assert probabilities(engine, replace(first, id="b"))[1] == pytest.approx(0.5)
    assert probabilities(engine, replace(first, id="c", set_id="q", good=0))[0] == pytest.approx(sigmoid(1.5))
    assert probabilities(engine, replace(first, id="d", set_id="r", good=None))[0] == pytest.approx(0.5)


@pytest.mark.parametrize("lead", [-9.0, 9.0])
@pytest.mark.parametrize("mass", [0.25, 1.0])
def test_a_lead_takes_no_more_than_the_mass_of_both(lead: float, mass: float) -> None:
    found = probabilities(open_planted(f"lead={lead},mass={mass}"), example())
    assert math.fsum(found) == pytest.approx(mass) and min(found) == pytest.approx((1 - planted.WHOLE) / 2 * mass)
    assert (found[0] > found[1]) == (lead > 0)


def test_settings_after_a_lead_are_read() -> None:
    engine = open_planted(" lead=0.1 , lead:old=-0.2,mass=0.5,,strength=3")
    assert (dict(engine.leads), engine.mass, engine.strength, engine.bias) == ({"": 0.1, "old": -0.2}, 0.5, 3.0, 0.0)
    assert open_planted("lead:old=1,mass=0.5").strength == PlantedEngine().strength
