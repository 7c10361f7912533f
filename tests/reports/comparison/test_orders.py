"""Two datasets order the runs alike, the other way round, or not at all: as planted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from equipoise.reports.comparison.compare import Choices, Comparison, compare
from equipoise.reports.comparison.orders import OPPOSITE, SAME, UNSETTLED, order_sentences, orders
from equipoise.reports.comparison.page import comparison_page

from equipoise.records import Prompt
from equipoise.run import audit
from equipoise.scoring.planted.stereotype import PlantedEngine


@dataclass(frozen=True)
class Shaky(PlantedEngine):
    """A planted engine with other noise, so other flips, on sentences about moods."""

    on_moods: float = 0.0
    label: str = ""

    @property
    def name(self) -> str:
        return self.label

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        if "swapped" not in self.truth[prompt.example_id].groups:
            return super()._logprobs(prompt)
        other = PlantedEngine(strength=self.strength, bias=0, noise=self.on_moods)
        other.truth.update(self.truth)
        return other._logprobs(prompt)


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
    several = [order for order in orders(compared) if order.first.metric == "ucerf"]
    resolvable = {order.first.runs: order for order in several if "resolvable" in order.first.kind}
    assert {runs: order.verdict for runs, order in resolvable.items()} == {
        "calm − shaky": SAME,
        "calm − mixed": UNSETTLED,
        "shaky − mixed": UNSETTLED,
    }
    assert resolvable["calm − mixed"].missing == "sentiment · next-word, resolvable"
    assert all({order.first.kind, order.second.kind} != {"resolvable (type 2)", "neutral"} for order in several)
    sentence = next(iter(order_sentences(several)))
    assert "of 3 pairs of runs, 1 in the same order, 0 in the opposite order, 2 not settled" in sentence
    assert "Do the datasets give the same order?" in comparison_page(compared)


def test_the_opposite_order_is_named(tmp_path: Path) -> None:
    runs = []
    for label, noise, on_moods in (("one", 0.05, 2.0), ("other", 2.0, 0.05)):
        engine = Shaky(strength=0.5, bias=0, noise=noise, on_moods=on_moods, label=label)
        audit(engine, ["builtin", "sentiment"], limit=140, out=tmp_path / label, metrics=["ucerf"], by=[], resamples=10)
        runs.append(tmp_path / label)
    made = orders(compare(runs, Choices(metrics=("ucerf",), permutations=1500, resamples=20)))
    assert {order.verdict for order in made} == {OPPOSITE}
    assert all(sentence.endswith(": the two runs are in the opposite order.") for sentence in order_sentences(made))


def test_runs_on_one_dataset_have_no_order_to_follow(planted_run: Path, mild_run: Path) -> None:
    made = compare([planted_run, mild_run], Choices(metrics=("ucerf",), permutations=20, resamples=20))
    assert orders(made) == [] and list(order_sentences([])) == []
    assert "order the runs alike" not in comparison_page(made)
