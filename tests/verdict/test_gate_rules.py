"""How a gate decides: every end of every interval, growth, drops, XML, and what it says where it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from stand_in_parts import StandIn
from stand_in_parts import row as told

from equipoise.measuring.settling import Decision
from equipoise.metrics.requirement import parse_drop
from equipoise.records import EquipoiseError, Estimate
from equipoise.runs.run import Run
from equipoise.stats.planning import More
from equipoise.verdict import gate as module
from equipoise.verdict.gate import Check, Rules, gate, junit, junit_error, rows, warnings

TEN = More(5, 10, 20)


def ends(low: float, high: float, value: float = 0.5) -> Estimate:
    return Estimate(value, low, high, 0.95, 40, "")


@pytest.mark.parametrize(("sign", "undecided"), [*product((">=", ">", "<=", "<"), ("pass", "fail"))])
def test_rules_decide_by_every_end_as_an_interval_does(sign: str, undecided: str) -> None:
    meets = {">=": lambda x: x >= 0.5, ">": lambda x: x > 0.5, "<=": lambda x: x <= 0.5, "<": lambda x: x < 0.5}[sign]
    for (low, high), test_at in product(((0.3, 0.4), (0.3, 0.5), (0.4, 0.6), (0.5, 0.7), (0.6, 0.7)), module.ENDS):
        rules = Rules(test_at, undecided)
        check = rules.check("r", "w", ends(low, high, 0.5), (sign, 0.5), lambda *_: TEN)
        end = test_at if test_at != "cautious" else "low" if ">" in sign else "high"
        number = {"low": low, "value": 0.5, "high": high}[end]
        assert (check.tested, check.number, check.sign, check.bound) == (end, number, sign, 0.5)
        assert (check.requirement, check.where, check.why) == ("r", "w", "")
        expected = "passed" if meets(number) else "FAILED"
        if test_at == "cautious" and not meets(number) and meets(high if end == "low" else low):
            expected = "undecided"
            assert (check.more, check.at_least, check.at_most) == (10, 5, 20)
        else:
            assert (check.more, check.at_least, check.at_most) == (None, None, None)
        passes = expected == "passed" or (expected == "undecided" and undecided == "pass")
        assert (check.outcome, check.passed) == (expected, passes)


def test_without_the_end_that_is_tested_nothing_passes() -> None:
    check = Rules().check("r", "w", ends(math.nan, 0.9), (">=", 0.1), lambda *_: TEN)
    assert (check.outcome, check.passed, check.why) == ("FAILED", False, "it has no interval that could be trusted")
    assert check.found == check.why
    assert Rules("value").check("r", "w", ends(math.nan, 0.9), (">=", 0.1), lambda *_: TEN).passed


@pytest.mark.parametrize(
    ("outcome", "undecided", "passes"),
    [("passed", "fail", True), ("FAILED", "pass", False), ("undecided", "fail", False), ("undecided", "pass", True)],
)
def test_what_was_settled_is_a_check(outcome: str, undecided: str, passes: bool) -> None:
    decision = Decision("r", "m", "g", "<=", 0.1, outcome, 0.05, 0.01, 0.09, 0.95, 40, 266, "at most", 300)
    check = Rules(undecided=undecided).settled(decision, "w")
    assert (check.outcome, check.passed, check.more) == (outcome, passes, 260)
    assert (check.requirement, check.where, check.tested, check.number) == ("r", "w", "settled", 0.05)
    assert (check.sign, check.bound, check.why) == ("<=", 0.1, decision.sentence)
    assert Rules().settled(replace(decision, needed=None), "w").more is None
    assert (
        Rules().settled(replace(decision, needed=40), "w").more
        == Rules().settled(replace(decision, needed=3), "w").more
        == 1
    )


def test_how_many_more_sets_are_as_kept() -> None:
    units = np.random.default_rng(3).beta(5, 3, 40)
    seen = module.Seen(units, (0.0, 1.0), 0.95)
    made = {}
    for sign, bound in product((">=", "<"), (0.55, 0.63)):
        for name, known in (("units", seen), ("none", None)):
            found = module._more_sets(ends(0.55, 0.7, 0.63), (sign, bound), seen=known, bounds=(0.0, 1.0))
            made[f"{sign} {bound}, {name}"] = found
    made["twice"] = module._more_sets(replace(ends(0.55, 0.7), n=80), (">=", 0.6), seen=seen, bounds=(0.0, 1.0))
    assert_kept("verdict/more", made)


def test_a_drop_grows_by_the_units_of_its_contest() -> None:
    units = np.random.default_rng(4).normal(0.1, 0.2, 50)
    difference = Estimate(0.1, 0.04, 0.16, 0.9, 50, "")

    def growth(turned: bool, **contest: Any) -> Any:
        facts = None if not contest else SimpleNamespace(**{"units": None, "width": math.inf, **contest})
        return module._drop_growth(SimpleNamespace(contest=facts, difference=difference), turned=turned)  # type: ignore[arg-type]

    kept = growth(False, units=units, width=1.0).keywords
    assert (kept["seen"].units == units).all() and kept["seen"].bounds == kept["bounds"] == (-1.0, 1.0)
    assert kept["seen"].level == 0.9 and (growth(True, units=units, width=1.0).keywords["seen"].units == -units).all()
    for nothing in (growth(False), growth(False, units=units), growth(False, width=1.0)):
        assert nothing.keywords["seen"] is None
    assert growth(False).keywords["bounds"] == (-math.inf, math.inf) and growth(False, width=1.0).keywords[
        "bounds"
    ] == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("drop", "group", "speaks"),
    [
        ("m=1", "type=type2", True),
        ("m=1", "augmentation=R,type=type2", True),
        ("m[type=type2]=1", "type=type2", True),
        ("m[type=type2]=1", "augmentation=R,type=type2", True),
        ("m[type=type1]=1", "type=type2", False),
        ("m[augmentation=R]=1", "augmentation=R,type=type2", True),
        ("m[augmentation=C]=1", "augmentation=R,type=type2", False),
        ("m[augmentation=R]=1", "attribute=age,augmentation=R,type=type2", False),
        ("m[dataset=d]=1", "type=type2", True),
        ("m[dataset=e]=1", "type=type2", False),
        ("m[task=u]=1", "type=type2", False),
        ("m[type=type2]=1", "all", False),
        ("m=1", "all", True),
    ],
)
def test_a_drop_speaks_of_its_type_and_groups(drop: str, group: str, speaks: bool) -> None:
    test = SimpleNamespace(row=told("m", group))
    assert module._speaks_of(parse_drop(drop.replace("m", "ucerf", 1)), test) == speaks  # type: ignore[arg-type]


def test_sentences_are_counted_as_their_share_of_sets() -> None:
    part = StandIn([])  # 160 sentences in 80 sets
    assert module._sets(part, told("flip_rate", n=70)) == 70  # type: ignore[arg-type]
    assert [module._sets(part, told("accuracy", n=n)) for n in (160, 61, 1, 0)] == [80, 30, 1, 1]  # type: ignore[arg-type]
    assert module._sets(part, told("unknown", n=40)) == 20  # type: ignore[arg-type]


def test_checks_are_rows_and_xml_as_kept() -> None:
    check = Check("r <= 1", "d · t, all", "high", 0.12345, "<=", 1.0, "FAILED")
    several = [
        check,
        replace(check, outcome="passed", passed=True),
        replace(check, outcome="undecided", more=3, at_least=1, at_most=9),
        replace(check, outcome="undecided", passed=True, more=3, at_least=3, at_most=3),
        replace(check, outcome="not usable", why="Not usable: <nothing> & \x01."),
    ]
    listed = [*rows(several)]
    assert listed[0] == ("FAILED", "r <= 1", "d · t, all", "high 0.1235")
    assert_kept("verdict/gate", listed, junit(several, "run").decode(), junit_error("no <such> run", "run").decode())


def test_warnings_name_the_requirement_once_and_only_published_ucerf(planted_run: Path) -> None:
    text = "ucerf[type=type1] >= 0.9"
    why = "on ambiguous sets UCerF does not see which answer was given; require ucerf_signed or flip_rate, too"
    assert list(warnings(planted_run, text)) == [f"{text}: {why}"] == list(warnings(Run(planted_run), [text]))
    for fine in ("ucerf[type=type1,dataset=other] >= 0.9", "accuracy[type=type2] >= 0.9", "ucerf >= 0.9"):
        assert list(warnings(planted_run, fine)) == []
    for company in ("ucerf_signed[type=type1] >= 0.9", "flip_bias[type=type1] <= 0.1"):
        assert list(warnings(planted_run, [text, company])) == []


def test_a_metric_or_group_that_a_run_does_not_have_is_told_with_what_it_has(make_run: Callable[..., Path]) -> None:
    run = make_run("told", limit=40, by=[])
    measured_names = sorted(Run(run).parts[0].measured.metrics)
    with pytest.raises(EquipoiseError) as error:
        gate(run, ["nonsense >= 0.5"])
    has = f"names nothing in {run}: it has no metric 'nonsense', but {', '.join(measured_names)}"
    assert str(error.value) == f"'nonsense >= 0.5' {has}"
    with pytest.raises(EquipoiseError) as error:
        gate(run, ["ucerf >= 0.5"])
    but = "ucerf was not measured for all, but for type=type1; type=type2"
    assert str(error.value) == f"'ucerf >= 0.5' names nothing in {run}: {but}"
    with pytest.raises(EquipoiseError) as error:
        gate(run, [], baseline=make_run("told-before", limit=40, by=[], seed=1), max_drop="ucerf[type=type9]=0.1")
    assert str(error.value).startswith("drop 'ucerf[type=type9]=0.1' matches nothing that both ")
    assert str(error.value).endswith(": ucerf is compared for type=type1; type=type2")
