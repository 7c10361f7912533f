"""How many sets for what: from planted sets or an earlier run, with plain answers where there are too few."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.metrics.requirement import parse_amount, parse_requirement
from equipoise.options import RunOptions
from equipoise.records import EquipoiseError
from equipoise.runs import Run
from equipoise.settings import Settings
from equipoise.suites.sizes import Planned, Wish, planned

BUILTIN = RunOptions(model="planted", data=("builtin",))


def one(wish: Wish, **choices: object) -> Planned:
    (row,) = planned(BUILTIN, Settings(), [wish], **choices)  # type: ignore[arg-type]
    return row


def detect(text: str) -> Wish:
    amount = parse_amount(text)
    return Wish("detect", amount, amount.bound)


@pytest.mark.slow
def test_smaller_differences_need_more_sets_and_too_few_are_told_plainly() -> None:
    small, large = one(detect("flip_bias[type=type1]=0.05")), one(detect("flip_bias[type=type1]=0.3"))
    assert small.sets is not None and large.sets is not None and small.sets > 10 * large.sets
    assert small.answer == f"no: builtin · next-word has 244 such sets, you would need about {small.sets:,}"
    assert large.answer.startswith("yes: about ") and large.prompts == 2 * large.sets
    sizes, powers = zip(*large.powers, strict=True)
    shares = [power.value for power in powers]
    assert shares == sorted(shares) and large.sets in sizes
    assert all(power.low == power.high for power in powers), "no earlier run leaves anything open"


def test_more_power_needs_more_sets() -> None:
    wish = detect("accuracy_gap[type=type2]=0.1")
    assert (one(wish, power=0.95).sets or 0) > (one(wish, power=0.5).sets or 0) > 0


@pytest.mark.slow
def test_a_requirement_far_from_the_true_value_is_settled_sooner() -> None:
    near, far = (Wish("require", parse_requirement("flip_rate[type=type2] <= 0.10"), 0.0, v) for v in (0.06, 0.01))
    assert (one(near).sets or 0) > 2 * (one(far).sets or 0) > 0
    assert one(Wish("require", near.requirement, 0.0, 0.10)).sets is None


def test_widths_and_spread_come_from_an_earlier_run(make_run: Callable[..., Path]) -> None:
    folder = make_run("noisy", limit=510, by=[], strength=1.0)
    amount = parse_amount("ucerf[type=type2]=0.05")
    wish = Wish("width", amount, amount.bound)
    row = one(wish, like=Run(folder))
    measured = Run(folder).parts[0].measured.get("ucerf", type="type2")
    assert measured is not None and row.sets is not None
    assert row.sets == pytest.approx(measured.n * (measured.estimate.width / 0.05) ** 2, rel=0.25)
    _, power = one(detect("ucerf[type=type2]=0.03"), like=Run(folder)).powers[2]
    assert power.low < power.value < power.high and power.n == measured.n


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ucerf[type=type9]=0.05", "names nothing in builtin"),
        ("perplexity=0.05", "cannot be followed"),
        ("fp[type=type2]=0.05", "made of several means"),
    ],
)
def test_what_cannot_be_planned_is_said(text: str, match: str) -> None:
    with pytest.raises(EquipoiseError, match=match):
        one(detect(text))
