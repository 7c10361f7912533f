"""The gate: which end of which interval is tested, and that nothing passes by not being there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.records import EquipoiseError, Estimate
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine, open_planted
from equipoise.verdict.gate import Check, Rules, gate, junit, junit_error, warnings


def measured(run: Path, metric: str, **group: str) -> object:
    return Run(run).parts[0].measured.get(metric, **group)


def test_the_interval_is_tested_not_the_point(planted_run: Path) -> None:
    row = measured(planted_run, "ucerf", type="type2")
    assert row.low < row.value < row.high
    between = f"ucerf[type=type2] >= {(row.low + row.value) / 2:.6f}"
    assert (gate(planted_run, [between])[0].outcome, gate(planted_run, [between])[0].passed) == ("undecided", False)
    assert gate(planted_run, [between], test_at="value")[0].passed
    assert gate(planted_run, [between], test_at="high")[0].passed
    assert not gate(planted_run, [between], test_at="low")[0].passed
    assert gate(planted_run, [f"ucerf[type=type2] >= {row.low - 1e-6:.8f}"])[0].passed
    odds = measured(planted_run, "eo_sum")
    assert gate(planted_run, [f"eo_sum <= {odds.high + 1e-6:.8f}"])[0].passed
    assert not gate(planted_run, [f"eo_sum <= {(odds.value + odds.high) / 2:.8f}"])[0].passed
    assert gate(planted_run, [f"eo_sum <= {(odds.value + odds.high) / 2:.8f}"], test_at="value")[0].passed


def test_what_was_found_is_the_reason_where_there_is_one_else_the_number() -> None:
    check = Check("ucerf >= 0.9", "all", "low end", 0.5, ">=", 0.9, "undecided", more=7, at_least=3, at_most=40)
    needed = "about 7 more sets would decide it (8 in 10 such audits take 3 to 40)"
    assert check.found == f"low end 0.5000; the bound is inside the interval, {needed}"
    assert replace(check, at_most=None).found.endswith("(8 in 10 such audits take 3 to over 1,000,000)")
    assert replace(check, at_least=7, at_most=7).found.endswith(
        "about 7 more sets would decide it, were all like those seen"
    )
    assert replace(check, more=None).found.endswith("1,000,000 more sets would not decide half of such audits")
    assert replace(check, at_least=None, more=None).found.endswith("more data cannot decide it")
    assert replace(check, outcome="FAILED").found == "low end 0.5000"
    measured = Estimate(0.6, 0.5, 0.7, 0.95, 1234, "m")
    found = replace(check, outcome="FAILED", estimate=measured).found
    assert found == "low end 0.5000 of 0.600 [0.500, 0.700], n = 1,234"
    assert replace(check, why="no interval").found == "no interval"


def test_a_check_shows_the_estimate_with_its_interval_and_the_n_of_the_report(planted_run: Path) -> None:
    row = measured(planted_run, "accuracy", type="type2")
    (check,) = gate(planted_run, ["accuracy[type=type2] >= 0.01"])
    assert check.found == f"low {row.low:.4f} of {row.estimate}, n = {row.n}"


def test_a_metric_with_a_slip_is_told_its_name(planted_run: Path) -> None:
    with pytest.raises(EquipoiseError, match=r"it has no metric 'fliprate'; did you mean 'flip_rate'\?$"):
        gate(planted_run, ["fliprate <= 0.1"])


def test_a_bound_that_is_the_value_itself_takes_many_more_sets(planted_run: Path) -> None:
    row = measured(planted_run, "ucerf", type="type2")
    (check,) = gate(planted_run, [f"ucerf[type=type2] >= {row.value!r}"])
    # The value is that of a sample: the truth is a little off the bound, and more sets show on which side.
    assert check.outcome == "undecided" and check.more is not None and check.more > 2 * row.n


def test_a_gate_knows_three_answers(planted_run: Path) -> None:
    row = measured(planted_run, "ucerf", type="type2")
    bounds = {"passed": row.low - 0.01, "undecided": (row.low + row.value) / 2, "FAILED": row.high + 0.01}
    checks = gate(planted_run, [f"ucerf[type=type2] >= {bound:.6f}" for bound in bounds.values()])
    assert [check.outcome for check in checks] == list(bounds)
    assert [check.passed for check in checks] == [True, False, False]
    lenient = gate(planted_run, [check.requirement for check in checks], undecided="pass")
    assert [check.passed for check in lenient] == [True, True, False]
    # Half the reach of the interval takes four times the sets at most: what was added for few sets fades sooner.
    assert checks[1].more is not None and 0.5 * row.n < checks[1].more < 3.1 * row.n
    assert f"about {checks[1].more:,} more sets would decide it" in checks[1].found
    # The end of the interval itself: one more set or two.
    assert gate(planted_run, [f"ucerf[type=type2] >= {row.low + 1e-9:.12f}"])[0].more in (1, 2)
    # Sentences are counted as the sets they are in: two to a set here.
    right = measured(planted_run, "accuracy", type="type2")
    (check,) = gate(planted_run, [f"accuracy[type=type2] >= {(right.low + right.value) / 2:.8f}"])
    assert right.n == 2 * row.n and check.more is not None and 0.5 * row.n < check.more < 5 * row.n
    (check,) = gate(planted_run, [f"accuracy[type=type2] <= {(right.high + right.value) / 2:.8f}"])
    assert check.more is not None and 0.5 * row.n < check.more < 5 * row.n
    # What is not a mean narrows with the square root of the number of sets.
    gap = measured(planted_run, "accuracy_gap", type="type2")
    (check,) = gate(planted_run, [f"accuracy_gap[type=type2] <= {(gap.high + gap.value) / 2:.8f}"])
    assert check.more is not None and 0.5 * row.n < check.more < 5 * row.n
    with pytest.raises(EquipoiseError, match="undecided must be pass or fail, not 'maybe'"):
        gate(planted_run, ["eo_sum <= 2"], undecided="maybe")
    with pytest.raises(EquipoiseError, match=r"^test_at must be one of"):
        gate(planted_run, ["eo_sum <= 2"], undecided="maybe", test_at="middle")


def test_one_pair_decides_nothing(tmp_path: Path) -> None:
    run = audit(PlantedEngine(strength=5, bias=0), limit=1, out=tmp_path / "one", resamples=50)
    (check,) = gate(run.path, ["ucerf[type=type2] >= 0.99"], insist=True)
    row = measured(run.path, "ucerf", type="type2")
    assert row.value == 1 and check.outcome == "undecided" and not check.passed
    # Where all sets are 1, about 3.7 in n may not be.
    assert check.more == pytest.approx(370, rel=0.05)
    # One of the two sentences of a set is counted as a set, not as half of one.
    row = measured(run.path, "accuracy", type="type2", stereotype="pro")
    (check,) = gate(run.path, ["accuracy[type=type2,stereotype=pro] >= 0.99"], insist=True)
    assert row.n == row.value == 1 and check.more == pytest.approx(370, rel=0.05)


@pytest.mark.parametrize(
    ("required", "reason"),
    [
        ("ucerf >= 0.5", "ucerf was not measured for all, but for type=type1; type=type2"),
        ("ucerf[type=type3] >= 0.5", "not measured for type=type3"),
        ("ucerf[type=type2,dataset=winobias] >= 0.5", "names nothing"),
        ("nonsense >= 0.5", "no metric 'nonsense'"),
        ("ucerf[type=type2] => 0.5", "is not a requirement"),
        ("ucerf[type=type2] >= high", "is not a requirement"),
        ("ucerf[type=type2] >= 1e", "'1e' is not a number"),
        ("ucerf[type2] >= 0.5", "key=value"),
        ("", "is not a requirement"),
    ],
)
def test_what_names_nothing_is_an_error_never_a_pass(planted_run: Path, required: str, reason: str) -> None:
    with pytest.raises(EquipoiseError, match=reason.replace("[", r"\[")):
        gate(planted_run, [required])


def test_an_error_lists_at_most_twelve_groups(planted_run: Path) -> None:
    groups = [group for group in Run(planted_run).parts[0].measured.groups_of("certainty") if "occupation" not in group]
    with pytest.raises(EquipoiseError) as error:
        gate(planted_run, ["certainty[type=type3] >= 0.5"])
    assert len(groups) > 12 and str(error.value).endswith(f"but for {'; '.join(groups[:12])}")


def test_nothing_required_or_half_a_baseline_is_an_error(planted_run: Path, mild_run: Path) -> None:
    with pytest.raises(EquipoiseError, match="at least one requirement"):
        gate(planted_run, [])
    with pytest.raises(EquipoiseError, match="max_drop needs a baseline"):
        gate(planted_run, [], max_drop=["ucerf=0.02"])
    with pytest.raises(EquipoiseError, match="max_drop needs a baseline"):
        gate(planted_run, ["eo_sum <= 2"], baseline=mild_run)
    with pytest.raises(EquipoiseError, match="test_at must be one of"):
        gate(planted_run, ["eo_sum <= 2"], test_at="middle")


def test_groups_datasets_and_tasks_are_chosen_in_brackets(planted_run: Path) -> None:
    (check,) = gate(planted_run, ["accuracy[stereotype=pro, type=type2, dataset=builtin, task=next-word] > 0"])
    row = measured(planted_run, "accuracy", stereotype="pro", type="type2")
    assert check.number == row.low and check.passed


def test_without_an_interval_nothing_is_kept(make_run: Callable[..., Path]) -> None:
    run = make_run("open", limit=20, by=[])
    table = Run(run).measurements
    table.loc[table["metric"] == "eo_sum", ["low", "high"]] = np.nan
    Run(run).folder.add({"measurements.csv": table})
    (check,) = gate(run, ["eo_sum <= 2"], insist=True)
    assert not check.passed and "no interval" in check.why


def test_a_drop_is_taken_in_the_worse_direction_on_the_same_sentences(planted_run: Path, mild_run: Path) -> None:
    worse = gate(planted_run, [], baseline=mild_run, max_drop=["ucerf[type=type2]=0.02", "eo_sum[type=type2]=0.02"])
    assert [check.passed for check in worse] == [False, False]
    assert all(check.number > 0.02 for check in worse)
    better = gate(mild_run, [], baseline=planted_run, max_drop=["ucerf[type=type2]=0.02", "eo_sum[type=type2]=0.02"])
    assert [check.passed for check in better] == [True, True]
    drop = measured(mild_run, "ucerf", type="type2").value - measured(planted_run, "ucerf", type="type2").value
    (value,) = gate(planted_run, [], baseline=mild_run, max_drop=["ucerf[type=type2]=0.02"], test_at="value")
    assert value.number == pytest.approx(drop)
    (low,) = gate(planted_run, [], baseline=mild_run, max_drop=["ucerf[type=type2]=0.02"], test_at="low")
    assert low.number < value.number < worse[0].number
    wrong = {"perplexity=0.1": "has no better direction", "nope=1": "unknown metric 'nope'", "ucerf": "is not a drop"}
    for text, reason in wrong.items():
        with pytest.raises(EquipoiseError, match=reason):
            gate(planted_run, [], baseline=mild_run, max_drop=[text])


def test_a_drop_of_calibration_is_taken_on_the_same_sentence_pairs(cloze_runs: tuple[Path, Path]) -> None:
    far, close = cloze_runs
    rise = measured(far, "ece").value - measured(close, "ece").value
    assert rise > 0.02
    (worse,) = gate(far, [], baseline=close, max_drop=["ece=0.02"], test_at="value")
    assert worse.number == pytest.approx(rise) and not worse.passed
    (cautious,) = gate(far, [], baseline=close, max_drop=["ece=0.02"])
    assert cautious.tested == "high" and cautious.number > worse.number and not cautious.passed
    (better,) = gate(close, [], baseline=far, max_drop=["ece=0.02"])
    assert -rise < better.number < 0 and better.passed


@pytest.fixture(scope="module")
def identity_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return runs of a model that is 0.3 less sure of old people than of others, and of one that is not."""
    data = identity_dataset(open_dataset("builtin").limited(80), recipe(augmentations=["R", "C"], attributes=["age"]))
    folder = tmp_path_factory.mktemp("identities")
    # Noise is the same for the same text and seed, so the seeds must differ for the difference to vary.
    for name, planted in (("worse", "lead:old=-0.3,seed=1"), ("before", "seed=2")):
        engine = open_planted(f"lead=0.5,noise=0.1,{planted}")
        audit(engine, data, out=folder / name, resamples=30, metrics=["confidence"])
    return folder / "worse", folder / "before"


@pytest.mark.slow
def test_a_drop_of_identities_is_chosen_by_augmentation_and_attribute(identity_runs: tuple[Path, Path]) -> None:
    worse, before = identity_runs
    group = {"type": "type2", "augmentation": "R"}
    rise = measured(worse, "confidence_drop", **group).value - measured(before, "confidence_drop", **group).value
    assert rise == pytest.approx(0.15, abs=0.02)  # one of the two markers of age
    drop = "confidence_drop[type=type2,augmentation=R]=0.05"
    (check,) = gate(worse, [], baseline=before, max_drop=[drop], test_at="value")
    assert check.number == pytest.approx(rise) and "augmentation R" in check.where
    (cautious,) = gate(worse, [], baseline=before, max_drop=[drop])
    assert cautious.outcome == "FAILED" and cautious.number > rise
    (allowed,) = gate(worse, [], baseline=before, max_drop=["confidence_drop[type=type2,augmentation=R]=0.25"])
    assert allowed.passed
    (by_attribute,) = gate(
        *(worse, []), baseline=before, max_drop=["confidence_disparity[attribute=age,augmentation=C]=0.1"]
    )
    assert by_attribute.outcome == "FAILED" and "attribute age" in by_attribute.where
    every = gate(worse, [], baseline=before, max_drop=["confidence_drop=0.05"])
    assert len(every) == 4 and len({check.where for check in every}) == 4
    with pytest.raises(EquipoiseError, match=r"matches nothing .*: confidence_drop is compared for augmentation=C"):
        gate(worse, [], baseline=before, max_drop=["confidence_drop[augmentation=NR]=0.05"])


def test_a_drop_from_other_sentences_is_an_error(make_run: Callable[..., Path], mild_run: Path) -> None:
    fewer = make_run("shorter", limit=30, by=[])
    with pytest.raises(EquipoiseError, match="different items"):
        gate(fewer, [], baseline=mild_run, max_drop=["ucerf=0.02"])


def test_junit_counts_and_survives_any_name(hostile_run: Path) -> None:
    checks = gate(hostile_run, ["ucerf[type=type2] >= 0", "ucerf[type=type2] > 1"], insist=True)
    suite = ElementTree.fromstring(junit(checks, "run\x00\x1b"))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (failure,) = suite.iter("failure")
    assert failure.get("type") == "requirement"
    assert "required is > 1" in str(failure.get("message")) and "\ufffd" in str(failure.text)
    assert "<script>" in str(next(suite.iter("testcase")).get("classname"))


def test_junit_skips_what_is_undecided_and_may_pass() -> None:
    check = Check("ucerf >= 0.9", "all", "low", 0.5, ">=", 0.9, "undecided", more=7, passed=True)
    checks = [check, replace(check, passed=False), replace(check, outcome="passed"), replace(check, outcome="passed")]
    suite = ElementTree.fromstring(junit(checks, "run"))
    counts = ("tests", "failures", "errors", "skipped")
    assert [suite.get(name) for name in counts] == ["4", "1", "0", "1"]
    error = ElementTree.fromstring(junit_error("no such run", "run"))
    assert [error.get(name) for name in counts] == ["1", "0", "1", "0"]


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd, env=os.environ)


@pytest.mark.slow
def test_exit_codes_tell_passed_failed_and_impossible_apart(planted_run: Path, tmp_path: Path) -> None:
    run = str(planted_run)
    kept = command("equipoise", "gate", run, "--require", "ucerf[type=type2] >= 0.01", cwd=tmp_path)
    assert (kept.returncode, kept.stderr) == (0, "") and "passed" in kept.stdout
    broken = command(
        *("equipoise", "gate", run, "--require", "ucerf[type=type2] >= 0.999", "--junit", "gate.xml"), cwd=tmp_path
    )
    assert broken.returncode == 1 and "FAILED" in broken.stdout and "Traceback" not in broken.stderr
    assert b'failures="1"' in (tmp_path / "gate.xml").read_bytes()
    row = measured(planted_run, "ucerf", type="type2")
    between = f"ucerf[type=type2] >= {(row.low + row.value) / 2:.6f}"
    undecided = command("equipoise", "gate", run, "--require", between, "--junit", "gate.xml", cwd=tmp_path)
    assert undecided.returncode == 3 and "more sets would decide it" in undecided.stdout
    assert b'type="undecided"' in (tmp_path / "gate.xml").read_bytes()
    lenient = ("--undecided", "pass", "--junit", "gate.xml")
    assert command("equipoise", "gate", run, "--require", between, *lenient, cwd=tmp_path).returncode == 0
    green = (tmp_path / "gate.xml").read_bytes()
    assert b'failures="0"' in green and b'skipped="1"' in green
    impossible = command("equipoise", "gate", run, "--require", "ucerf >= 0.5", "--junit", "gate.xml", cwd=tmp_path)
    assert impossible.returncode == 2 and len(impossible.stderr.splitlines()) == 1
    suite = ElementTree.fromstring((tmp_path / "gate.xml").read_bytes())
    assert [suite.get(count) for count in ("tests", "failures", "errors", "skipped")] == ["1", "0", "1", "0"]
    assert "was not measured for all" in str(next(suite.iter("error")).get("message"))


def test_what_is_not_usable_never_passes_unless_the_user_insists(tmp_path: Path) -> None:
    choices = {"limit": 60, "resamples": 20, "by": []}
    run = audit(PlantedEngine(strength=0, bias=0, mass=0.01, noise=1), out=tmp_path / "run", **choices)
    (check,) = gate(run, "ucerf[type=type2] >= 0.10", undecided="pass")
    assert (check.outcome, check.passed) == ("not usable", False) and check.why.startswith("Not usable: ")
    assert gate(run, "ucerf[type=type2] >= 0.10", insist=True)[0].outcome == "passed"
    (failure,) = ElementTree.fromstring(junit([check], "run")).iter("failure")
    assert failure.get("type") == "not usable"


def test_published_ucerf_on_ambiguous_sets_needs_company(planted_run: Path) -> None:
    (warning,) = warnings(planted_run, ["ucerf[type=type1] >= 0.9", "accuracy[type=type2] >= 0.5"])
    assert "require ucerf_signed or flip_rate, too" in warning
    for fine in (["ucerf[type=type2] >= 0.9"], ["ucerf[type=type1] >= 0.9", "flip_rate[type=type1] <= 0.1"]):
        assert not list(warnings(planted_run, fine))


def test_of_several_reasons_the_first_is_told(planted_run: Path, mild_run: Path) -> None:
    with pytest.raises(EquipoiseError, match=r"^test_at must be one of cautious, low, value, high, not 'x'$"):
        Rules("x", "y")
    with pytest.raises(EquipoiseError, match=r"^undecided must be pass or fail, not 'y'$"):
        Rules("low", "y")
    with pytest.raises(EquipoiseError, match=r"^a gate needs at least one requirement, such as "):
        gate(planted_run, [], baseline=mild_run)
    both = "^max_drop needs a baseline to drop from, and a baseline needs a max_drop to allow$"
    with pytest.raises(EquipoiseError, match=both):
        gate(planted_run, ["eo_sum <= 2"], baseline=mild_run)
