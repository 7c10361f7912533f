"""Seen before? Models that remember published sentences are found, others are not, and ease that all share cancels."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.comparing.seen import ACCURACY, BITS, MASS, new_and_published, seen_before
from equipoise.records import Example, Prompt, Score
from equipoise.runs import Run
from equipoise.scoring.engine import EngineDefaults, identity_key

QUICK: dict[str, Any] = {"limit": 240, "resamples": 20, "by": [], "progress": False}
QUICK["metrics"] = ["accuracy", "candidate_mass"]
DATA = ("builtin", "fresh")


@dataclass(frozen=True)
class Reader(EngineDefaults):
    """An engine that knows `remembers` more of the built-in sentences: in accuracy, mass and bits of the sentence."""

    name: str
    remembers: Mapping[str, float] = field(default_factory=dict)
    truth: dict[str, Example] = field(default_factory=dict, compare=False)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"engine": self.name, **self.remembers}

    def prepare(self, examples: Iterable[Example]) -> None:
        self.truth.update({example.id: example for example in examples})

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        for batch in batches:
            yield [self._score(prompt) for prompt in batch]

    def _score(self, prompt: Prompt) -> Score:
        example, rng = self.truth[prompt.example_id], random.Random(f"{prompt.example_id} {self.name}")
        known = self.remembers if example.id.startswith("builtin") else {}
        if prompt.task == "sentence":
            rate = rng.uniform(1.5, 2.5) - known.get(BITS, 0.0)
            values = [-rate * math.log(2) * len(text.strip()) for text in prompt.continuations]
        else:
            is_right = rng.random() < 0.6 + known.get(ACCURACY, 0.0)
            chosen = (example.gold or 0) if is_right else 1 - (example.gold or 0)
            mass = rng.uniform(0.2, 0.4) + known.get(MASS, 0.0)
            values = [math.log(mass * (0.7 if place == chosen else 0.3)) for place in range(2)]
        return Score(prompt.key(identity_key(self)), tuple((value,) for value in values))


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Return a function that audits a reader on published and new sentences, each reader once."""
    folder = tmp_path_factory.mktemp("seen")

    @cache
    def audited(name: str, data: tuple[str, ...] = DATA, out: str = "", **remembers: float) -> Run:
        tasks = ["next-word", "sentence"]
        return equipoise.audit(Reader(name, remembers), list(data), tasks, out=folder / (out or name), **QUICK)

    return audited


def test_what_a_model_remembers_is_found_by_its_measure_and_no_other(read: Callable[..., Run]) -> None:
    for measure, size in ((ACCURACY, 0.35), (MASS, 0.1), (BITS, 0.3)):
        run = read("one" if measure == BITS else f"remembers {measure}", **{measure: size})
        tests = {test.measure: test for test in seen_before([run], DATA)}
        assert set(tests) == {ACCURACY, MASS, BITS}
        assert [name for name, test in tests.items() if test.better] == [measure]
        found = tests[measure]
        assert abs(found.difference.value - size) < 3 * found.adjusted.error
        assert found.detectable < size and found.adjusted.clusters[0] > 50 < found.adjusted.clusters[1]
        assert math.isclose(
            found.adjusted.first - found.difference.value, {ACCURACY: 0.6, MASS: 0.3, BITS: -2}[measure], abs_tol=0.12
        )


def test_a_model_that_remembers_nothing_or_does_worse_is_not_found(read: Callable[..., Run]) -> None:
    assert not any(test.better for test in seen_before([read("new")], DATA))
    worse = seen_before([read("worse", **{BITS: -0.4})], DATA)
    assert not any(test.better for test in worse)
    assert next(test for test in worse if test.measure == BITS).difference.high < 0


def test_ease_that_another_model_shares_cancels_out(read: Callable[..., Run]) -> None:
    easy, other, more = (read(name, **{BITS: bits}) for name, bits in (("one", 0.3), ("two", 0.3), ("three", 0.6)))
    for first, is_beyond in ((easy, False), (more, True)):
        tests = [test for test in seen_before([first, other], DATA) if test.measure == BITS]
        alone, against, beyond = tests
        assert alone.better and against.better and not alone.beyond and beyond.beyond == "two"
        assert beyond.better == is_beyond
        assert abs(beyond.difference.value - (0.3 if is_beyond else 0.0)) < 3 * beyond.adjusted.error


def test_one_run_of_both_and_a_run_of_each_say_the_same_in_the_terminal_and_on_the_page(
    read: Callable[..., Run], tmp_path: Path
) -> None:
    both = read("one", **{BITS: 0.3})
    parts = [read("one", (name,), f"one-{name}", **{BITS: 0.3}) for name in DATA]
    assert new_and_published([both], DATA[::-1]) == DATA == new_and_published(parts, ())
    assert new_and_published([both], ()) is None and new_and_published([parts[0]], DATA) is None
    out = tmp_path / "page.html"
    commands = [[str(both.path), "--data", "builtin", "--data", "fresh"], [str(part.path) for part in parts]]
    printed = []
    for command in commands:
        result = CliRunner().invoke(app, ["compare", *command, "--out", str(out)])
        assert result.exit_code == 0, result.output
        printed.append(" ".join(result.output.split()))
        assert "Seen before?" in out.read_text(encoding="utf-8")
    assert printed[0] == printed[1]
    assert "one does better on builtin than on new sentences of the same kind (fresh): log-probability by" in printed[0]


@pytest.mark.slow
def test_a_small_model_trained_on_winobias_is_found_and_one_trained_on_new_sentences_is_not(
    real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "seen.py"
    environment = {**os.environ, "EQUIPOISE_DATA": str(real_data("winobias").parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), "--seeds", "1", "--limit", "200"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in ended.stdout.splitlines()[2:]]
    found = {kind: count for kind, _, count, *_ in rows}
    assert found == {"published": "1", "published, with answers": "1", "new ones": "0", "another grammar": "0"}


def test_the_tests_are_as_kept(read: Callable[..., Run]) -> None:
    runs = [read("one", **{BITS: 0.3}), read("two", **{BITS: 0.3})]
    rows = [
        (t.model, t.task, t.measure, t.data, t.beyond, t.adjusted, t.detectable, t.better)
        for t in seen_before(runs, DATA)
    ]
    assert_kept("comparing/seen", rows)
    assert seen_before(runs, ("builtin", "mine")) == [] and seen_before(runs, ()) == []


def test_only_a_published_and_a_new_dataset_are_compared(read: Callable[..., Run]) -> None:
    both = read("one", **{BITS: 0.3})
    assert new_and_published([both], ("builtin", "fresh")) == ("builtin", "fresh")
    for names in (("builtin",), ("fresh",), ("builtin", "builtin"), ("builtin", "fresh", "mine"), ("mine", "fresh")):
        assert new_and_published([both], names) is None
