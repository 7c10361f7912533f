"""Runs on two datasets: the order of the runs as planted, independent differences, and ranks that move."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from kept_texts import assert_kept
from knowing_engine import KnowingEngine
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.comparing.comparison import Choices, Comparison, compare
from equipoise.comparing.comparison import Tested as Difference
from equipoise.comparing.datasets import (
    OPPOSITE,
    SAME,
    UNSETTLED,
    Moved,
    Order,
    _ranks,
    are_apart,
    between_datasets,
    orders,
)
from equipoise.records import EquipoiseError, Estimate, Measurement, Prompt
from equipoise.records.showing import Table
from equipoise.report import datasets_page
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.stats.independent import independent_difference
from equipoise.topics.comparison.differences import moves, order_findings, order_section
from equipoise.topics.scale import dataset_spreads

QUICK = {"resamples": 60, "progress": False, "metrics": ["ucerf", "accuracy"]}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return runs of two planted models on the built-in sentences and on a table of six of our own."""
    folder = tmp_path_factory.mktemp("runs")
    table = folder / "mine.csv"
    rows = [
        f"The nurse {verb} the pilot because {pronoun} was tired.,nurse,pilot,nurse,{pronoun},{number}"
        for number, verb in enumerate(("called", "met", "thanked"))
        for pronoun in ("he", "she")
    ]
    table.write_text("\n".join(["text,candidate_1,candidate_2,gold,pronoun,pair", *rows, ""]), encoding="utf-8")
    for name, bias in (("weak", 0.2), ("strong", 3)):
        engine = f"planted:strength=1,bias={bias}"
        equipoise.audit(engine, ["builtin", str(table)], out=folder / name, **QUICK)
    return [str(folder / "weak"), str(folder / "strong")]


def opened(folders: list[str]) -> list[Run]:
    return [equipoise.load(folder) for folder in folders]


def test_each_difference_is_of_its_own_run_and_ranks_are_of_each_dataset(folders: list[str]) -> None:
    moved = between_datasets(opened(folders), ("builtin", "mine"), metrics=("ucerf", "accuracy"))
    assert {row.test.row.metric for row in moved} == {"accuracy", "ucerf"} and len(moved) >= 2
    for row in moved:
        run, metric, difference = row.test.row.model, row.test.row.metric, row.test.difference
        folder = folders[0] if "weak" in run or "0.2" in run else folders[1]
        values = [
            part.measured.get(metric, type=row.kind)
            for part in equipoise.load(folder).parts
            if part.dataset in ("builtin", "mine")
        ]
        assert [row.values[0].value, row.values[1].value] == [value.value for value in values if value]
        assert difference.value == pytest.approx(row.values[0].value - row.values[1].value)
        assert difference.low < difference.value < difference.high
        assert row.test.difference.p_corrected >= row.test.difference.p
        assert row.ranks is not None and set(row.ranks) <= {1, 2}


def test_the_interval_of_a_difference_comes_from_both_and_covers() -> None:
    first, second = (Estimate(v, v - 0.03, v + 0.04, 0.95, 100, "") for v in (0.8, 0.7))
    difference = independent_difference(first, second)
    assert difference.low == pytest.approx(0.1 - math.hypot(0.03, 0.04))
    assert difference.high == pytest.approx(0.1 + math.hypot(0.04, 0.03))
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        means = [rng.normal(truth, 0.1, 50) for truth in (0.5, 0.3)]
        ends = [(m.mean(), 1.96 * m.std(ddof=1) / math.sqrt(50)) for m in means]
        estimates = [Estimate(m, m - r, m + r, 0.95, 50, "") for m, r in ends]
        made = independent_difference(*estimates)
        hits += made.low <= 0.2 <= made.high
    assert 0.91 < hits / 400 < 0.98


def test_datasets_are_apart_unless_one_is_the_neutral_form_of_the_other(folders: list[str]) -> None:
    assert are_apart(("winobias", "synthbias")) and not are_apart(("genderlex", "genderlex-someone"))
    with pytest.raises(EquipoiseError, match=r"has no dataset 'synthbias' in .*; there are builtin, mine"):
        between_datasets(opened(folders), ("builtin", "synthbias"))
    with pytest.raises(EquipoiseError, match="has no dataset 'synthbias'"):
        between_datasets(opened(folders), ("synthbias", "winobias"))


def test_two_runs_of_a_model_may_have_a_dataset_each(folders: list[str], tmp_path: Path) -> None:
    other = equipoise.audit("planted:strength=1,bias=0.2", "builtin", out=tmp_path / "other", **QUICK)
    with pytest.raises(EquipoiseError, match="has no dataset 'mine'"):
        between_datasets([other], ("builtin", "mine"))
    table = Path(folders[0]).parent / "mine.csv"
    mine = equipoise.audit("planted:strength=1,bias=0.2", str(table), out=tmp_path / "mine", **QUICK)
    joined = between_datasets([other, mine], ("builtin", "mine"), metrics=("accuracy",))
    whole = between_datasets(opened(folders[:1]), ("builtin", "mine"), metrics=("accuracy",))
    assert [row.test.row.value for row in joined] == [row.test.row.value for row in whole]
    apart, together = (
        [replace(chart, title="", about={}) for chart in dataset_spreads(runs)]
        for runs in ([other, mine], opened(folders[:1]))
    )
    assert apart == together and {key.label.split(":")[0] for key in apart[0].legend} == {"builtin", "mine"}
    command = ["report", str(other.path), str(mine.path), "--as", "figures", "--format", "svg", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, command).exit_code == 0
    drawn = {path.name for path in tmp_path.glob("spread-of-datasets-*.svg")}
    assert {name.split("-")[3] for name in drawn} >= {"D", "U"}, "Fig. 8, of two runs"


def test_the_command_writes_a_page_and_prints_what_holds(folders: list[str], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["compare", folders[0], "--data", "builtin", "--data", "mine", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "differences between the datasets hold after correction" in result.output
    page = out.read_text(encoding="utf-8")
    assert "builtin and mine" in page and "D and U on each dataset" in page


def test_what_holds_between_datasets_is_told_with_both_values(folders: list[str]) -> None:
    moved = between_datasets(opened(folders), ("builtin", "mine"), metrics=("accuracy",))
    row = replace(moved[0].test.row, estimate=Estimate(-0.2, -0.3, -0.1, 0.95, 6, ""))
    held = replace(moved[0], test=replace(moved[0].test, row=row).corrected(0.01))
    told, count = moves([held, *(move for move in moved[1:] if not move.test.detected)])
    first, second = held.values
    assert f"accuracy is {first.value:.3f} on builtin (n = {first.n:,}) and {second.value:.3f} on mine" in told.text
    assert told.text.endswith("a difference of -0.200 [-0.300, -0.100].") and told.rests_on == [first, second]
    assert count.text.startswith("1 of ")
    assert '<td class="number shown">-0.200' in datasets_page([held], [])


@dataclass(frozen=True)
class Shaky(KnowingEngine):
    """A planted engine with other noise, so other flips, on sentences about moods."""

    on_moods: float = 0.0
    label: str = ""

    @property
    def name(self) -> str:
        return self.label

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        if "swapped" not in self.known[prompt.example_id].groups:
            return super()._logprobs(prompt)
        return self.like(PlantedEngine(strength=self.strength, bias=0, noise=self.on_moods), prompt)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Return runs that are calm on both, shaky on both, and shaky on coreference alone."""
    folder, runs = tmp_path_factory.mktemp("orders"), []
    shown = {"metrics": ["ucerf", "ucerf_signed", "flip_rate"], "by": [], "resamples": 20}
    for label, noise, on_moods in (("calm", 0.05, 0.05), ("shaky", 2.0, 2.0), ("mixed", 2.0, 0.05)):
        engine = Shaky(strength=0.5, bias=0, noise=noise, on_moods=on_moods, label=label)
        audit(engine, ["builtin", "sentiment"], limit=60, out=folder / label, **shown)
        runs.append(folder / label)
    return compare(runs, Choices(metrics=("ucerf", "flip_rate"), permutations=1500, resamples=20))


def test_the_order_is_the_planted_one_and_counts_only_where_both_detect_it(compared: Comparison) -> None:
    several = [order for order in orders(compared) if order.first.row.metric == "ucerf"]
    resolvable = {order.first.row.model: order for order in several if "resolvable" in order.first.kind}
    assert {runs: order.verdict for runs, order in resolvable.items()} == {
        "calm − shaky": SAME,
        "calm − mixed": UNSETTLED,
        "shaky − mixed": UNSETTLED,
    }
    assert not resolvable["calm − mixed"].second.detected and resolvable["calm − mixed"].first.detected
    assert all({order.first.kind, order.second.kind} != {"resolvable (type 2)", "neutral"} for order in several)
    told = next(iter(order_findings(several)))
    assert "of 3 pairs of runs, 1 in the same order, 0 in the opposite order, 2 not settled" in told.text
    section = order_section(compared)
    assert section is not None and section.title == "Do the datasets give the same order?"
    table = next(section.every(Table))
    rows = [row for row in table.rows if not row.heading]
    assert len(rows) == len(orders(compared)) and {row.cells[-1] for row in rows} == {SAME, UNSETTLED}


def test_the_opposite_order_is_named(tmp_path: Path) -> None:
    runs = []
    for label, noise, on_moods in (("one", 0.05, 2.0), ("other", 2.0, 0.05)):
        engine = Shaky(strength=0.5, bias=0, noise=noise, on_moods=on_moods, label=label)
        audit(engine, ["builtin", "sentiment"], limit=140, out=tmp_path / label, metrics=["ucerf"], by=[], resamples=10)
        runs.append(tmp_path / label)
    made = orders(compare(runs, Choices(metrics=("ucerf",), permutations=1500, resamples=20)))
    assert {order.verdict for order in made} == {OPPOSITE}
    assert all(told.text.endswith(": the two runs are in the opposite order.") for told in order_findings(made))


def test_runs_on_one_dataset_have_no_order_to_follow(planted_run: Path, mild_run: Path) -> None:
    made = compare([planted_run, mild_run], Choices(metrics=("ucerf",), permutations=20, resamples=20))
    assert orders(made) == [] and list(order_findings([])) == []
    assert order_section(made) is None


def test_the_tests_are_as_they_were_kept(folders: list[str], compared: Comparison) -> None:
    moved = between_datasets(opened(folders), ("builtin", "mine"), metrics=("ucerf", "accuracy"))
    assert_kept("comparing/datasets", moved, orders(compared))


def moved(first: float, second: float, ranks: tuple[int, int] | None, better: str = "higher", p: float = 0.01) -> Moved:
    def row(dataset: str, value: float) -> Measurement:
        return Measurement("m", "a", dataset, "t", "all", Estimate(value, value, value, 0.95, 9, ""), better)  # type: ignore[arg-type]

    apart = Estimate(first - second, first - second - 0.01, first - second + 0.01, 0.95, 9, "", p, p)
    test = Difference(Measurement("m", "a", "d − e", "t", "all", apart, better), "d", "e")  # type: ignore[arg-type]
    return Moved(test, "", (row("d", first), row("e", second)), ranks)


def test_moved_ranks_are_told_in_words() -> None:
    assert moved(0.5, 0.4, None).shift == "" and moved(0.5, 0.4, (2, 1)).shift == "2 → 1"
    assert moved(0.5, 0.4, (2, 2)).shift == "2, as before"


def test_an_order_is_settled_where_both_tests_detect_a_difference() -> None:
    up, down = moved(0.5, 0.3, None).test, moved(0.3, 0.5, None).test
    unsure = moved(0.5, 0.3, None, p=0.2).test
    verdicts = [Order(*pair).verdict for pair in ((up, up), (up, down), (up, unsure), (unsure, down), (unsure, unsure))]
    assert verdicts == [SAME, OPPOSITE, UNSETTLED, UNSETTLED, UNSETTLED]


def test_ranks_are_among_rivals_on_each_dataset() -> None:
    values = [moved(first, second, None).values for first, second in ((0.5, 0.1), (0.4, 0.2), (0.4, 0.3))]
    assert [_ranks(pair, values) for pair in values] == [(1, 3), (2, 2), (2, 1)]
    assert _ranks(values[0], values[:1]) is None
    neither = [moved(first, second, None, "neither").values for first, second in ((0.5, 0.1), (0.4, 0.2))]
    assert _ranks(neither[0], neither) is None
    lower = [moved(first, second, None, "lower").values for first, second in ((0.5, 0.1), (0.4, 0.2))]
    assert [_ranks(pair, lower) for pair in lower] == [(2, 1), (1, 2)]


def test_orders_are_of_the_same_runs_metric_task_and_kind_on_two_datasets(compared: Comparison) -> None:
    for order in orders(compared):
        first, second = order.first.row, order.second.row
        assert (first.metric, first.model, first.task) == (second.metric, second.model, second.task)
        assert first.dataset != second.dataset and first.metric in ("ucerf", "ucerf_signed", "flip_rate")
    other = replace(compared, tests=[replace(t, row=replace(t.row, metric="accuracy")) for t in compared.tests])
    assert orders(other) == []


def test_datasets_that_share_nothing_are_refused(folders: list[str]) -> None:
    with pytest.raises(EquipoiseError) as error:
        between_datasets(opened(folders), ("builtin", "mine"), metrics=("nothing",))
    assert str(error.value) == "builtin and mine have no task, type and metric in common"
    assert not are_apart(("winobias",)) and not are_apart(("a", "b", "c")) and not are_apart(("a", "a"))
