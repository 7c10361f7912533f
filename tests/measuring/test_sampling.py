"""Audits that stop early on marked sentences: what is asked, and what their intervals are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept
from test_kept_measurements import asked, builtin

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring import sampling
from equipoise.measuring.identities import confidence_disparities
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan
from equipoise.measuring.sampling import Look, Sampled, dataset_samples, sample_of, until_precise, with_samples
from equipoise.measuring.stopping import Sample
from equipoise.metrics import METRICS
from equipoise.records import EquipoiseError, Example, ModelError, RunKey, RunManifest
from equipoise.scoring.planted import PlantedEngine, open_planted
from equipoise.scoring.score_store import ScoreStore
from equipoise.tasks import open_task

PENALTIES = {"old": 0.12, "young": 0.02, "Black": 0.1, "Asian": 0.05, "White": 0.0, "Hispanic": 0.05}
ENGINE = PlantedEngine(
    strength=0, bias=0, leads={"": 0.4, "female": -0.03} | {marker: -cost for marker, cost in PENALTIES.items()}
)
AGES = open_planted("lead=0.4,lead:female=-0.03,lead:old=-0.12,lead:young=-0.02,noise=0.06")


@pytest.fixture(scope="module")
def data():
    return identity_dataset(open_dataset("builtin").limited(120), recipe(attributes=["age", "race", "non-demographic"]))


def outcomes_of(engine: PlantedEngine, dataset, path: Path):
    task = open_task("next-word")
    engine.prepare(dataset.examples)

    def ask(examples):
        prompts = [prompt for example in examples for prompt in task.prompts(example)]
        with ScoreStore(path) as store:
            return task.outcomes(examples, prompts, store.scorer(engine)(prompts))

    return ask


def test_sampling_stops_early_and_covers_what_asking_all_would_give(data, tmp_path: Path) -> None:
    data = identity_dataset(open_dataset("builtin"), recipe(augmentations=["R"], attributes=["age"]))
    ask = outcomes_of(AGES, data, tmp_path / "scores.jsonl")
    plan = Plan([], resamples=300)
    found = until_precise(data, ask, plan, width=0.05)
    assert found.sample is not None
    assert len(found.dataset.examples) < len(data.examples) / 2
    assert found.looks[-1].width < 0.05
    everything = confidence_disparities(Items(ask(data.examples)), plan, Sample())
    for name, estimate in confidence_disparities(Items(ask(found.dataset.examples)), plan, found.sample).items():
        assert estimate.low <= everything[name].value <= estimate.high
    exact = until_precise(data, ask, plan, width=1e-9)
    assert exact.sample is None and exact.dataset is data
    types = {e.groups["type"] for e in found.dataset.examples}
    assert types == {e.groups["type"] for e in data.examples}


@pytest.mark.slow
def test_markers_of_settled_attributes_are_not_asked_again(tmp_path: Path) -> None:
    data = identity_dataset(open_dataset("builtin"), recipe(augmentations=["R"], attributes=["age", "race"]))
    ask = outcomes_of(replace(ENGINE, noise=0.1, sentence=0.2), data, tmp_path / "scores.jsonl")
    plan = Plan([], resamples=300)
    everything = confidence_disparities(Items(ask(data.examples)), plan, Sample())
    first = until_precise(data, ask, plan, width=2.0)
    assert first.sample is not None and len(first.looks) == 1
    rows = confidence_disparities(Items(ask(first.dataset.examples)), plan, first.sample).values()
    # Race has more markers than age, so its disparity takes longer to be known.
    between = sum(row.high - row.low for row in rows) / 2
    thin, whole = (until_precise(data, ask, plan, width=between, drop=drop) for drop in (True, False))
    assert thin.sample is not None and len(thin.dataset.examples) < len(whole.dataset.examples)
    disparities = confidence_disparities(Items(ask(thin.dataset.examples)), plan, thin.sample)
    asked = {name.split(",")[0]: row.n for name, row in disparities.items()}
    assert asked == {"attribute=age": thin.looks[0].sentences, "attribute=race": thin.looks[-1].sentences}
    for name, estimate in disparities.items():
        assert estimate.low <= everything[name].value <= estimate.high
        assert 0 < estimate.high - estimate.low < between


@pytest.mark.slow
def test_what_is_never_settled_is_asked_of_all_sentences(tmp_path: Path) -> None:
    data = identity_dataset(open_dataset("builtin"), recipe(augmentations=["R"], attributes=["age", "race"]))
    ask = outcomes_of(replace(ENGINE, noise=0.3, sentence=0.6), data, tmp_path / "scores.jsonl")
    plan = Plan([], resamples=200)
    last = until_precise(data, ask, plan, width=1e-9).looks[-1]
    assert "race" in last.widest
    hard = until_precise(data, ask, plan, width=last.width - 1e-6, drop=True)
    assert hard.sample is not None and not hard.sample.population
    rows = confidence_disparities(Items(ask(hard.dataset.examples)), plan, hard.sample)
    asked = {name.split(",")[0]: row.n for name, row in rows.items()}
    assert asked["attribute=race"] == last.of > asked["attribute=age"]
    assert all(row.high > row.low for row in rows.values())


def test_an_audit_with_a_precision_says_how_it_stopped(tmp_path: Path) -> None:
    choices = {"base": "builtin", "augment": ["R"], "attributes": ["age"], "resamples": 200, "metrics": ["confidence"]}
    run = equipoise.audit(AGES, "winoidentity", out=tmp_path, until_width=0.1, **choices)
    assert any("stopped at look 1 of" in note for note in run.manifest.notes)
    assert len(run.examples) == 96 * 2 * 3
    before = run.measurements
    again = equipoise.remeasure(tmp_path, resamples=200).measurements
    assert before["low"].equals(again["low"]) and before["high"].equals(again["high"])
    looks = run.frame("looks.csv")
    assert looks["look"].tolist() == [1] and looks["sentences"].tolist() == [96] and looks["width"][0] < 0.1


def test_a_precision_is_a_width(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="until_width must be above 0"):
        equipoise.audit(
            AGES,
            "winoidentity",
            base="builtin",
            augment=["R"],
            attributes=["age"],
            out=tmp_path / "2",
            until_width=-1.0,
        )


def test_examples_that_cannot_be_asked_are_left_out_if_they_are_few() -> None:
    dataset = open_dataset("builtin")
    long_ones = {dataset.examples[0].id, dataset.examples[-1].id}
    asked: list[int] = []

    def ask(examples: Sequence[Example]) -> Any:
        asked.append(len(examples))
        failing = [example.id for example in examples if example.id in long_ones]
        if failing:
            fault = ModelError("too long")
            fault.example_ids = (failing[0],)
            raise fault
        return [example.id for example in examples]

    left: Any = sampling.outcomes_of(dataset, ask)
    assert not long_ones & set(left) and len(left) == len(dataset.without(long_ones).examples) and len(asked) == 3
    long_ones |= {example.id for example in dataset.examples[: len(dataset.examples) // 15]}
    with pytest.raises(ModelError, match="examples, more than 5%, would be left out with their sets: too long"):
        sampling.outcomes_of(dataset, ask)


def test_audits_that_stop_early_are_as_kept() -> None:
    data = builtin(200)
    plan = Plan([METRICS[name] for name in ("ucerf", "accuracy", "flip_rate")], by=(), resamples=20, seed=3)
    made = {}
    for width, joint in ((0.5, False), (0.5, True), (0.01, False)):
        found = until_precise(data, lambda some: asked(Dataset("some", tuple(some))), plan, width=width, joint=joint)
        made[f"width {width}, joint {joint}"] = {
            "looks": [found.looks[0], asdict(found.looks[-1])],
            "count": [len(found.looks), len(found.dataset.examples), found.dataset.examples[0].id],
            "note": found.note,
            "sample": found.sample,
        }
        assert found.decisions == ()
    assert_kept("measured/stopped", made)
    assert Sampled(data, (Look(1, 2, 3, 4, 5, 0.1, "x"),), Sample()).note.endswith(
        "intervals of disparities are about all of them, and hold at any look"
    )
    with pytest.raises(EquipoiseError, match=r"^width must be greater than 0, not 0$"):
        until_precise(data, asked, plan, width=0)


def test_marked_sentences_stop_as_kept() -> None:
    data = identity_dataset(builtin(330), recipe(augmentations=["R"], attributes=["age", "race"]))
    plan = Plan([], resamples=20)
    made = {}
    model = "lead=0.4,lead:old=-0.3,lead:female=-0.03,noise=0.06"

    def ask(some: Sequence[Example]) -> Any:
        return asked(Dataset("some", tuple(some)), model=model)

    for width, joint, drop in ((0.4, True, False), (0.0175, False, True), (0.0089, False, True), (0.001, False, True)):
        found = until_precise(data, ask, plan, width=width, joint=joint, drop=drop)
        numbers = [len(found.looks), len(found.dataset.examples), found.dataset.examples[0].id]
        made[f"width {width}, joint {joint}, drop {drop}"] = [*found.looks, numbers, found.sample, found.note]
    assert_kept("measured/stopped-marked", made)
    first = until_precise(data, ask, plan, width=0.4).looks[0]
    assert len(until_precise(data, ask, plan, width=first.width).looks) == 2, "not narrower than that"


def test_one_set_may_always_be_left_out_and_one_in_twenty_of_many() -> None:
    dataset = builtin(20)
    for failing, refused in ((1, False), (2, True)):
        wrong = [example.id for example in dataset.examples[: 2 * failing : 2]]

        def ask(examples: Sequence[Example], wrong: list[str] = wrong) -> Any:
            present = [example.id for example in examples if example.id in wrong]
            if present:
                fault = ModelError("too long")
                fault.example_ids = tuple(present)
                raise fault
            return len(examples)

        if refused:
            with pytest.raises(
                ModelError, match=r"^4 of 40 examples, more than 5%, would be left out with their sets: too long$"
            ):
                sampling.outcomes_of(dataset, ask)
        else:
            assert sampling.outcomes_of(dataset, ask) == 38

    def too_long(examples: Sequence[Example]) -> Any:
        fault = ModelError("too long")
        fault.example_ids = (examples[0].id,)
        raise fault

    with pytest.raises(ModelError, match=r"^no example of builtin can be asked: too long$"):
        sampling.outcomes_of(builtin(1), too_long)

    def always(examples: Sequence[Example]) -> Any:
        raise ModelError("no answer")

    with pytest.raises(ModelError, match=r"^no answer$"):
        sampling.outcomes_of(dataset, always)


def test_the_manifest_says_how_sentences_were_drawn() -> None:
    manifest = RunManifest("m", {}, {"d": {}}, {"t": {"samples": 8}, "u": {}}, {}, {}, "c", "now", notes=["before"])
    assert dataset_samples(manifest, "t") == {} == dataset_samples(manifest, "missing")
    key, other = RunKey("m", "d", "t"), RunKey("m", "e", "t")
    drawn = Sampled(builtin(2), (Look(1, 2, 3, 4, 5, 0.1, "x"),), Sample({"a": 7}, looks=2))
    whole = Sampled(builtin(2), (), None)
    after = with_samples(manifest, [(key, drawn), (other, whole)])
    assert sample_of(after, key) == Sample({"a": 7}, looks=2) and sample_of(after, other) is None
    assert after.notes == [f"{key}: {drawn.note}", f"{other}: {whole.note}", "before"] and after.tasks["u"] == {}
    assert dict(manifest.tasks["t"]) == {"samples": 8}


@pytest.mark.parametrize(
    ("until", "width", "called"), [(["goal"], None, "settled"), (["goal"], 0.1, "settled"), ([], 0.1, "precise")]
)
def test_goals_come_before_a_width_and_all_is_asked_without_either(
    monkeypatch: pytest.MonkeyPatch, until: list[Any], width: float | None, called: str
) -> None:
    chosen = SimpleNamespace(dataset=SimpleNamespace(examples="some"))
    calls: list[Any] = []
    for name in ("until_settled", "until_precise"):
        monkeypatch.setattr(
            sampling, name, lambda *given, name=name, **named: calls.append((name, given, named)) or chosen
        )
    options: Any = SimpleNamespace(at_most=3, until_width=width, joint=True, drop_settled=False)
    got: Any = sampling.asked_as_needed("data", lambda examples: f"asked {examples}", "plan", "key", options, until)  # type: ignore[arg-type]
    assert got == (chosen.dataset, "asked some", chosen)
    ((name, given, named),) = calls
    assert name == f"until_{called}"
    if called == "settled":
        assert given[2:] == ("plan", "key", until) and named == {"at_most": 3}
    else:
        assert given[2:] == ("plan",) and named == {"width": 0.1, "joint": True, "drop": False}


def test_what_is_not_settled_at_the_last_of_several_looks_is_asked_of_each_other_sentence_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = identity_dataset(builtin(20), recipe(augmentations=["R"], attributes=["age", "race"]))
    of_family: dict[str, list[Example]] = {}
    for example in data.examples:
        of_family.setdefault(sampling._family(example), []).append(example)
    age, race = (sorted(name for name in of_family if attribute in name) for attribute in ("age", "race"))
    widths = dict.fromkeys(age, 0.01) | dict.fromkeys(race, 0.5)
    estimates = {name: SimpleNamespace(width=width) for name, width in widths.items()}
    monkeypatch.setattr(sampling, "planned_looks", lambda units: [2, 3, 5])
    monkeypatch.setattr(sampling, "confidence_disparities", lambda *_: estimates)
    monkeypatch.setattr(sampling, "Items", lambda outcomes: outcomes)
    found = until_precise(data, lambda examples: len(examples), Plan([]), width=0.1, drop=True)  # type: ignore[arg-type, return-value]
    assert [look.sentences for look in found.looks] == [2, 3, 5] and found.sample is not None
    asked = [example.id for example in found.dataset.examples]
    assert len(asked) == len(set(asked)), "none twice"
    for names, sentences in ((age, 2), (race, found.looks[0].of)):
        examples = [e for e in found.dataset.examples if sampling._family(e) in names]
        assert len({example.cluster_id for example in examples}) == sentences
