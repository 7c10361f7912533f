"""A run of sampled answers says what it does not know: on disk, measured again, compared, and at a gate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import equipoise
from equipoise.comparing.comparison import compare
from equipoise.measuring.comparing import WIDENED
from equipoise.records import Example, Prompt, Score
from equipoise.runs.run import Run
from equipoise.scoring.engine import EngineDefaults, identity_key
from equipoise.scoring.planted import PlantedEngine
from equipoise.scoring.server.methods import Samples
from equipoise.verdict.gate import gate
from equipoise.verdict.validity import checks


class WritingApi:
    """A server that only writes: it draws the planted model's answers, as a real one does."""

    model = "planted"

    def __init__(self, planted: PlantedEngine) -> None:
        self._planted, self._rng = planted, np.random.default_rng(0)
        self.prompt: Prompt | None = None

    async def write(self, context: Any, *, tokens: int, temperature: float, count: int = 1) -> list[str]:
        assert self.prompt is not None and temperature == 1.0
        ((score,),) = self._planted.score([[self.prompt]])
        probs = np.exp(score.logprobs)
        words = [*self.prompt.continuations, "something else"]
        return [str(word) for word in self._rng.choice(words, size=count, p=[*probs, max(0.0, 1 - probs.sum())])]


class WritingEngine(EngineDefaults):
    """The planted model behind such a server, asked by the method of servers that return no log-probabilities."""

    name = "writer"

    def __init__(self, bias: float, samples: int = 32) -> None:
        self._planted = PlantedEngine(bias=bias, strength=2.0, noise=0.5)
        self._api, self._samples = WritingApi(self._planted), samples

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**self._planted.identity, "samples": self._samples}

    def prepare(self, examples: Iterable[Example]) -> None:
        self._planted.prepare(examples)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        method = Samples(self._api, None, self._samples)  # type: ignore[arg-type]
        for batch in batches:
            yield [self._score(method, prompt) for prompt in batch]

    def _score(self, method: Samples, prompt: Prompt) -> Score:
        self._api.prompt = prompt
        coroutine = method.score(prompt, prompt.key(identity_key(self)))
        try:  # nothing in it waits for anything
            coroutine.send(None)
        except StopIteration as finished:
            score: Score = finished.value
            return score
        raise AssertionError("the method waited")


def audited(folder: Path, bias: float) -> Run:
    choices = {"limit": 40, "resamples": 100, "by": ["gender"]}
    return equipoise.audit(WritingEngine(bias), data="builtin", out=folder, progress=False, **choices)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("sampled")
    return [audited(folder / "small", 0.0), audited(folder / "large", 0.8)]


def test_the_run_holds_counts_and_widened_intervals_and_says_so(runs: list[Run]) -> None:
    run = runs[0]
    counts = np.stack(run.outcomes["sample_counts"].to_list())
    assert (counts.sum(axis=1) == 32).all() and "prob_low" not in run.outcomes
    part = run.parts[0]
    row = next(m for kind in part.kinds if (m := part.measured.get("flip_rate", type=kind)) is not None)
    assert row.estimate.method.endswith("widened for sampled answers")
    (note,) = [note for note in run.manifest.notes if "32 sampled answers a question" in note]
    assert "so intervals are wider; " in note and note.endswith("more samples narrow them")


def test_a_check_says_how_many_answers_are_open(runs: list[Run]) -> None:
    part = runs[0].parts[0]
    (check,) = [check for check in checks(part) if check.name == "sampled answers"]
    assert check.short == "32" and "flagged prompts" not in [other.name for other in checks(part)]
    assert part.outcomes.limits is not None and part.outcomes.limits.counts is not None
    counts = part.outcomes.limits.counts[:, :2]
    several = sum(binom.cdf(row.min(), row.sum(), 0.5) >= 0.1 for row in counts)
    assert 0 < several < len(counts)
    assert f"In {several} of {len(counts)} prompts another answer may be the most probable one." in check.text


def test_a_run_measured_again_from_its_folder_has_the_same_intervals(runs: list[Run]) -> None:
    before = runs[0].measurements
    again = equipoise.remeasure(runs[0].path, progress=False)
    assert again.measurements.equals(before)
    assert again.manifest.notes == runs[0].manifest.notes
    assert again.parts[0].outcomes.limits is not None


def test_a_comparison_holds_the_leeway_of_both_runs(runs: list[Run]) -> None:
    comparison = compare([run.path for run in runs], permutations=200, resamples=200, progress=False)
    flips = [test for test in comparison.tests if test.row.metric == "flip_rate"]
    assert flips and all(WIDENED in test.difference.method for test in flips)
    for test in comparison.tests:
        difference = test.difference
        if not math.isnan(difference.low) and WIDENED in difference.method and difference.low <= 0 <= difference.high:
            assert not test.detected


def test_a_gate_is_undecided_where_samples_cannot_decide(runs: list[Run]) -> None:
    part = runs[1].parts[0]
    kind = next(kind for kind in part.kinds if part.measured.get("ucerf", type=kind) is not None)
    row = part.measured.get("ucerf", type=kind)
    assert row is not None and row.high - row.low > 0.05
    place = f"[type={kind}]" if kind else ""
    (check,) = gate(runs[1], f"ucerf{place} >= {row.low + 0.01:.4f}", insist=True)
    assert check.outcome == "undecided"
