"""Ensembles of known members, dropout, and the keys of both: no score of one setting is used for another."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tiny import LLAMA, make_engine

from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions, EngineOptions
from equipoise.records import ModelError, Prompt, Score, ScoreLimits
from equipoise.run import audit
from equipoise.scoring.engine import Engine, identity_key
from equipoise.scoring.ensemble import EnsembleEngine, _member, agreement, mixture, open_ensemble
from equipoise.scoring.huggingface.dropout import DropoutEngine
from equipoise.scoring.opening import open_engine
from equipoise.scoring.planted import PlantedEngine
from equipoise.scoring.score_store import ScoreStore
from equipoise.tasks import open_task

EXAMPLES = open_dataset("builtin", DatasetOptions(limit=4)).examples
PROMPTS = [prompt for example in EXAMPLES for prompt in open_task("next-word").prompts(example)]  # type: ignore[attr-defined]
TINY = [Prompt("e", "t", "", "The nurse told the driver that he", (" was", " nurse", " told"))]


def scored(engine: Engine, prompts: list[Prompt]) -> list[Score]:
    return next(iter(engine.score([prompts])))


def test_an_ensemble_of_known_members_answers_with_their_mean_distribution() -> None:
    members = [PlantedEngine(strength=3, bias=0), PlantedEngine(strength=0.5, bias=2, mass=0.6)]
    engine = EnsembleEngine(members)
    engine.prepare(EXAMPLES)
    apart = [scored(member, PROMPTS) for member in members]
    for joint, first, second in zip(scored(engine, PROMPTS), *apart, strict=True):
        expected = (np.exp(first.logprobs) + np.exp(second.logprobs)) / 2
        np.testing.assert_allclose(np.exp(joint.logprobs), expected, rtol=1e-12)
        assert 0 <= joint.reductions["ensemble_agreement"] < 1


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([[0.9, 0.1], [0.9, 0.1]], 1.0),
        ([[1.0, 0.0], [0.0, 1.0]], 0.0),
        ([[0.5, 0.5], [0.5, 0.5]], 1.0),
        # Mutual information of shares 3/4 and 1/4, of members that each name one.
        ([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 1 - 0.8112781244591328),
        # A member that never says a candidate does not count.
        ([[0.9, 0.1], [0.0, 1e-30]], 1.0),
    ],
)
def test_agreement_is_one_less_the_mutual_information(members: list[list[float]], expected: float) -> None:
    assert agreement(np.log(np.maximum(members, 1e-300))) == pytest.approx(expected, abs=1e-9)


def test_agreement_falls_as_two_sure_members_part() -> None:
    values = [agreement(np.log([[0.95, 0.05], [p, 1 - p]])) for p in np.linspace(0.95, 0.05, 10)]
    assert values[0] == 1 and all(a > b for a, b in pairwise(values))


def test_a_mixture_keeps_whole_probabilities_where_members_split_words_differently() -> None:
    first = Score("a", ((-1.0, -1.0), (-3.0,)))
    second = Score("b", ((-1.0,), (-1.0, -1.0)))
    joint = mixture("key", [first, second])
    expected = [math.log((math.exp(-2) + math.exp(-1)) / 2), math.log((math.exp(-3) + math.exp(-2)) / 2)]
    np.testing.assert_allclose(joint.logprobs, expected)
    assert [len(tokens) for tokens in joint.token_logprobs] == [2, 1]


def test_no_score_of_one_setting_is_used_for_another(tmp_path: Path) -> None:
    plain = make_engine("LlamaConfig")
    settings = [(0.1, 2, 0), (0.2, 2, 0), (0.1, 3, 0), (0.1, 2, 1)]
    engines: list[Engine] = [plain]
    engines += [DropoutEngine(make_engine("LlamaConfig"), share=s, passes=n, seed=seed) for s, n, seed in settings]
    engines.append(EnsembleEngine([plain, make_engine("LlamaConfig", seed=1, **LLAMA)]))
    engines.append(EnsembleEngine([plain, make_engine("LlamaConfig", seed=2, **LLAMA)]))
    engines.append(EnsembleEngine([plain, DropoutEngine(make_engine("LlamaConfig"), share=0.1, passes=2, seed=0)]))
    assert len({identity_key(engine) for engine in engines}) == len(engines)
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        answers = [store.scorer(engine)(TINY)[0] for engine in engines]
        assert len(store) == len(engines), "each setting was scored by itself"
    assert len({answer.logprobs for answer in answers}) == len(engines)


def test_an_ensemble_by_name(tmp_path: Path) -> None:
    run = audit("ensemble:planted:strength=3+planted:strength=1,bias=1", limit=40, by=[], resamples=20, out=tmp_path)
    assert run.manifest.engine["engine"] == "ensemble" and len(run.manifest.engine["members"]) == 2
    assert "ensemble_agreement" in run.parts[0].outcomes.reductions


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("ensemble:planted:strength=1", "at least two members"),
        ("ensemble:planted:strength=1+planted:strength=1", "members that differ"),
        ("ensemble:planted[colour=red]+planted:bias=1", "unknown setting 'colour=red'"),
    ],
)
def test_a_faulty_ensemble_is_refused(spec: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        open_engine(spec)


def test_limits_of_members_are_averaged_and_sampled_members_are_refused() -> None:
    exact = Score("a", ((math.log(0.5),), (math.log(0.25),)))
    known = Score("b", ((math.log(0.4),), (math.log(0.2),)), limits=ScoreLimits((0.4, 0.0), (0.4, 0.2)))
    limits = mixture("key", [exact, known]).limits
    assert limits is not None and mixture("key", [exact, exact]).limits is None
    assert limits.low == pytest.approx((0.45, 0.125)) and limits.high == pytest.approx((0.45, 0.225))
    sampled = Score("c", exact.token_logprobs, limits=ScoreLimits(counts=(3, 2, 1)))
    with pytest.raises(ModelError, match="not sampled answers"):
        mixture("key", [exact, sampled])


class Told:
    """A member that says what it is told, and in batches of its own."""

    def __init__(self, name: str, size: int, *notes: str) -> None:
        self.name, self._size, self.notes = name, size, notes
        self.identity = {"name": name, "size": size}
        self.description = {"size": size}
        self.prepared: list[object] = []

    def prepare(self, examples: object) -> None:
        self.prepared = list(examples)  # type: ignore[call-overload]

    def batches(self, prompts: list[Prompt]) -> list[list[int]]:
        return [list(range(n, min(n + self._size, len(prompts)))) for n in range(0, len(prompts), self._size)]


def test_what_an_ensemble_says_of_its_members() -> None:
    members = [Told("a", 3, "slow"), Told("b", 2, "slow", "old"), Told("a", 5)]
    engine = EnsembleEngine(members)  # type: ignore[arg-type]
    assert engine.name == "a+b" and engine.notes == ["slow", "old"]
    assert engine.identity == {"engine": "ensemble", "members": [member.identity for member in members]}
    assert engine.description == {"described": [{"name": m.name, "size": m._size} for m in members]}
    assert engine.batches(PROMPTS[:5]) == [[0, 1], [2, 3], [4]], "the member with the smallest batches decides"
    engine.prepare(example for example in EXAMPLES)
    assert all(member.prepared == list(EXAMPLES) for member in members)


def test_members_may_have_choices_of_their_own() -> None:
    usual = EngineOptions(dtype="float32", device="cpu")
    assert _member(" a ", usual) == ("a", usual)
    assert _member("a[]", usual) == ("a", usual)
    name, chosen = _member("owner/a[ adapter = x/y , bos=always,]", usual)
    assert name == "owner/a" and (chosen.adapter, chosen.bos, chosen.dtype) == ("x/y", "always", "float32")
    for spec, reason in {
        "a[b": r"^member 'a\[b' of the ensemble is not MODEL or MODEL\[adapter=FOLDER\]$",
        "": r"^member '' of the ensemble",
        "a[bos]": r"^unknown setting 'bos' of an ensemble's member; known: adapter, bos, dtype, quantize, rev",
        "a[seed=3]": r"^unknown setting 'seed=3'",
    }.items():
        with pytest.raises(ModelError, match=reason):
            _member(spec, usual)
    opened: list[tuple[str, object]] = []

    def opener(spec: str, options: EngineOptions) -> Told:
        opened.append((spec, options.adapter))
        return Told(spec, len(opened))

    engine = open_ensemble("a[adapter=x+y]+b+c", usual, opener)  # type: ignore[arg-type]
    assert engine.name == "a+b+c" and opened == [("a", "x+y"), ("b", None), ("c", None)]


def test_a_mixture_joins_all_that_members_say() -> None:
    first = Score("a", ((0.0,), (-1.0, -1.0)), {"x": 1.0, "y": 5.0}, ("f", "g"))
    second = Score("b", ((0.0,), (-3.0,)), {"x": 2.0}, ("g", "h"))
    joint = mixture("key", [first, second])
    assert joint.prompt_key == "key" and joint.flags == ("f", "g", "h")
    assert joint.reductions == {"x": 1.5, "ensemble_agreement": agreement(np.array([[0.0, -2.0], [0.0, -3.0]]))}
    assert joint.token_logprobs[0] == (0.0,) and len(set(joint.token_logprobs[1])) == 1
    assert math.fsum(joint.token_logprobs[1]) == pytest.approx(math.log((math.exp(-2) + math.exp(-3)) / 2))
    single = mixture("key", [Score("a", ((-1.0,),)), Score("b", ((-2.0,),))])
    assert single.reductions == {}, "one continuation has nothing to agree on"


def test_a_member_whose_probabilities_underflow_counts_nothing() -> None:
    sure, far = [math.log(0.9), math.log(0.1)], [-3000.0, -2999.0]
    for members in ([sure, far], [far, sure]):
        assert agreement(np.array(members)) == pytest.approx(1.0)
