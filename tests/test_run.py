"""An audit from Python: what a run holds, that it can be measured anew, continued, and repeated to the byte."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equipoise
from equipoise import audit, load, remeasure
from equipoise.datasets import open_dataset
from equipoise.records import EquipoiseError, ModelError, Prompt, RunError, Score, parse_group
from equipoise.runs.measurements import measurements_frame
from equipoise.runs.run import Run
from equipoise.scoring.engine import EngineDefaults
from equipoise.scoring.planted import PlantedEngine

QUICK = {"limit": 24, "resamples": 50}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a small finished run of two tasks, one of them with two seeds."""
    out = tmp_path_factory.mktemp("run") / "two-tasks"
    return audit("planted:noise=0.7", task=["next-word", "mcq"], orders=2, out=out, **QUICK)


@pytest.fixture(scope="module")
def tiny_run(tiny_llama: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run of a real transformers model whose folder is gone afterwards."""
    model = tiny_llama(seed=1)
    made = audit(str(model), out=tmp_path_factory.mktemp("run") / "tiny", limit=6, resamples=20, device="cpu")
    shutil.rmtree(model)
    return made


class Failing(EngineDefaults):
    """The planted engine, in batches of ten, that gives up after some of them."""

    name = "planted"

    def __init__(self, planted: PlantedEngine, after: int = 2) -> None:
        self.planted = planted
        self.after = after

    @property
    def identity(self) -> dict[str, object]:
        return dict(self.planted.identity)

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return [list(range(start, min(start + 10, len(prompts)))) for start in range(0, len(prompts), 10)]

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        for number, batch in enumerate(batches):
            if number == self.after:
                raise ModelError("the cable was pulled")
            yield from self.planted.score([batch])


def failing(after: int) -> Failing:
    examples = open_dataset("builtin").limited(QUICK["limit"]).examples
    planted = PlantedEngine(noise=0.7)
    planted.prepare(examples)
    return Failing(planted, after)


def test_the_measurements_have_the_columns_promised(run: Run) -> None:
    columns = "metric,model,dataset,task,group,value,low,high,level,n,better,method,p,p_corrected"
    assert ",".join(run.measurements.columns) == columns
    assert (run.path / "measurements.csv").read_text().splitlines()[0] == columns


def test_the_measurements_read_back_with_the_method_of_their_interval(run: Run) -> None:
    methods = run.measurements["method"]
    assert (methods != "").all() and methods.str.contains("betting").any()
    measurements = [measurement for part in run.parts for measurement in part.measured]
    assert [measurement.estimate.method for measurement in measurements] == methods.tolist()
    pd.testing.assert_frame_equal(measurements_frame(measurements), run.measurements)


def test_every_measurement_says_what_it_is_about(run: Run) -> None:
    table = run.measurements
    assert set(table["model"]) == {"planted"} and set(table["dataset"]) == {"builtin"}
    assert set(table["task"]) == {"next-word", "mcq"}
    assert set(table["better"]) <= {"higher", "lower", "neither"}
    assert (table["level"] == 0.95).all()
    # Where nobody is in the subset that a metric needs, it has the bounds of what is possible, and no value.
    assert table[table["value"].isna()][["low", "high"]].notna().all(axis=None)
    assert set(table["metric"][table["value"].isna()]) <= {
        "tpd",
        "fpd",
        "ucerf_groups",
        "ucerf_group_disparity",
        "ucerf_group_disparity_strict",
    }
    assert set(table["metric"][table["n"] == 0]) <= {"tpd", "fpd"}
    defined = table.dropna(subset=["low", "high"])
    assert len(defined) and (defined["low"] <= defined["high"]).all()
    for label in table["group"].unique():
        assert label == "all" or list(parse_group(label)) == sorted(parse_group(label))
    assert {"all", "type=type1", "type=type2", "gender=female,type=type1"} <= set(table["group"])
    assert table["group"].str.fullmatch(r"occupation=[a-z ]+,type=type2").any()


def test_the_outcomes_hold_an_item_a_row(run: Run) -> None:
    outcomes = run.outcomes
    promised = {"probs", "logprobs", "perplexity", "certainty", "desirability", "correct", "set_id", "example_id"}
    assert promised <= set(outcomes.columns)
    next_word, mcq = (outcomes[outcomes["task"] == task] for task in ("next-word", "mcq"))
    assert len(next_word) == 2 * QUICK["limit"] and len(mcq) == 2 * len(next_word)
    assert set(next_word["variant"]) == {""} and set(mcq["variant"]) == {"seed=0", "seed=1"}
    assert {len(probs) for probs in next_word["probs"]} == {2} and {len(probs) for probs in mcq["probs"]} == {3}
    assert all(abs(sum(probs) - 1) < 1e-9 for probs in outcomes["probs"])


def test_the_pairs_hold_both_sides_and_u(run: Run) -> None:
    pairs = run.pairs[run.pairs["task"] == "next-word"]
    assert {"set_id", "d_male", "d_female", "c_male", "c_female", "u", "u_eq3", "u_signed"} <= set(pairs.columns)
    assert len(pairs) == QUICK["limit"] and pairs["set_id"].is_unique
    answerable = pairs[pairs["type"] == "type2"]
    expected = 1 - (answerable["d_male"] - answerable["d_female"]).abs() / 2
    pd.testing.assert_series_equal(answerable["u"], expected, check_names=False)


def test_the_examples_are_what_was_asked(run: Run) -> None:
    asked = {example.id: example for example in open_dataset("builtin").limited(QUICK["limit"]).examples}
    kept = run.examples.set_index("id")
    assert set(kept.index) == set(asked)
    for id, row in kept.iterrows():
        example = asked[str(id)]
        assert (row["text"], tuple(row["candidates"])) == (example.text, example.candidates)
        assert json.loads(row["groups"]) == dict(example.groups)
        assert (None if pd.isna(row["gold"]) else row["gold"]) == example.gold


def test_a_limit_keeps_whole_pairs(run: Run) -> None:
    assert (run.examples.groupby("set_id").size() == 2).all()
    assert run.examples["set_id"].nunique() == QUICK["limit"]


def test_the_manifest_says_how_the_numbers_came_about(run: Run) -> None:
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["model"] == "planted" and manifest["engine"]["noise"] == 0.7
    limited = open_dataset("builtin").limited(QUICK["limit"])
    assert manifest["datasets"]["builtin"]["sha256"] == limited.sha256
    assert manifest["datasets"]["builtin"]["sets"] == QUICK["limit"]
    assert manifest["settings"]["seed"] == 0 and manifest["tasks"]["mcq"]["seeds"] == [0, 1]
    assert manifest["versions"]["equipoise"] == equipoise.__version__
    assert {"python", "numpy", "pandas", "torch", "transformers"} <= set(manifest["versions"])
    assert manifest["command"] and manifest["started"] <= manifest["finished"]


def test_the_manifest_identifies_the_weights(tiny_run: Run) -> None:
    manifest = tiny_run.manifest
    assert manifest.model == "tiny-llama-1"
    assert len(manifest.engine["weights"]) == 64 and manifest.engine["weights"] == manifest.engine["sha256"]
    assert manifest.engine["dtype"] == "float32" and manifest.engine["bos"] == "auto"
    assert len(manifest.engine["tokenizer"]) == 64 and manifest.engine["architecture"] == "LlamaForCausalLM"


def test_measuring_anew_equals_an_audit_with_those_settings(tmp_path: Path) -> None:
    other = {"estimators": ["renyi", "margin"], "level": 0.8, "by": ["form"], "resamples": 70}
    audit("planted:noise=0.7", out=tmp_path / "a", limit=24)
    anew = remeasure(tmp_path / "a", **other)
    straight = audit("planted:noise=0.7", out=tmp_path / "b", **{**QUICK, **other})
    for name in ("measurements.csv", "outcomes.parquet", "pairs.parquet"):
        assert (anew.path / name).read_bytes() == (straight.path / name).read_bytes(), name
    assert anew.manifest.notes == straight.manifest.notes
    assert anew.manifest.settings == straight.manifest.settings


def test_measuring_anew_twice_repeats_no_note(tmp_path: Path) -> None:
    audit("planted", out=tmp_path, limit=6, resamples=20)
    notes = remeasure(tmp_path).manifest.notes
    assert notes and len(notes) == len(set(notes))


def test_measuring_one_metric_adds_it_and_keeps_the_rest(tmp_path: Path) -> None:
    before = audit("planted:noise=1", out=tmp_path, limit=24, resamples=30, metrics=["accuracy", "ucerf"])
    kept = before.measurements
    added = remeasure(load(tmp_path), metrics=["flip_rate", "ucerf"]).measurements
    assert set(added["metric"]) == {"accuracy", "ucerf", "flip_rate"}
    pd.testing.assert_frame_equal(added[added["metric"] != "flip_rate"].reset_index(drop=True), kept)
    replaced = remeasure(tmp_path, metrics=["ucerf"], level=0.5).measurements
    assert set(replaced["metric"]) == set(added["metric"]) and set(replaced["level"]) == {0.5}


def test_measuring_anew_needs_no_model(tiny_run: Run) -> None:
    assert not Path(tiny_run.manifest.engine["source"]).exists()
    anew = remeasure(tiny_run.path, estimators=["entropy"])
    assert "certainty_entropy" in set(anew.measurements["metric"])


def test_several_estimators_come_from_one_scoring(tmp_path: Path) -> None:
    made = audit("planted:noise=1", out=tmp_path, estimators=["perplexity", "margin", "fisher-rao"], **QUICK)
    assert {"ucerf", "ucerf_margin", "ucerf_fisher_rao"} <= set(made.measurements["metric"])
    assert {"certainty", "certainty_margin", "certainty_fisher_rao"} <= set(made.outcomes.columns)
    assert {"u", "u_margin", "u_fisher_rao", "d_male_margin"} <= set(made.pairs.columns)
    assert len((tmp_path / "scores.jsonl").read_bytes().splitlines()) == 1


def test_they_is_asked_on_request(tmp_path: Path) -> None:
    made = audit("planted", out=tmp_path, pronouns=["he", "she", "they"], limit=64, resamples=50)
    sizes = made.examples.groupby("set_id").size()
    assert set(sizes) == {3}
    assert set(made.outcomes["gender"]) == {"male", "female", "neutral"}
    assert {"d_neutral", "c_neutral"} <= set(made.pairs.columns)
    assert len(made.pairs) == 64


def test_several_datasets_are_kept_apart(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(
        "text,pronoun,candidate_1,candidate_2,gold\n"
        "The baker thanked the judge because he had helped.,he,baker,judge,judge\n"
        "The baker thanked the judge because she had helped.,she,baker,judge,judge\n"
    )
    made = audit("planted", data=["builtin", str(table)], task="next-word", out=tmp_path / "run", limit=5, resamples=20)
    assert list(made.measurements["dataset"].unique()) == ["builtin", "mine"]
    assert made.outcomes.groupby("dataset").size().to_dict() == {"builtin": 10, "mine": 2}
    assert set(made.manifest.datasets) == {"builtin", "mine"}


def test_a_name_that_looks_like_no_value_survives(tmp_path: Path) -> None:
    table = tmp_path / "NA.csv"
    table.write_text(
        "text,pronoun,candidate_1,candidate_2,gold\n"
        "The baker thanked the judge because he had helped.,he,baker,judge,judge\n"
        "The baker thanked the judge because she had helped.,she,baker,judge,judge\n"
    )
    made = audit("planted", data=str(table), out=tmp_path / "run", resamples=20)
    assert set(made.measurements["dataset"]) == {"NA"}
    assert set(remeasure(made.path).outcomes["dataset"]) == {"NA"}


def test_an_interrupted_run_continues_to_the_same_numbers(tmp_path: Path, run: Run) -> None:
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    with pytest.raises(ModelError, match="cable"):
        audit(failing(after=2), out=broken, **QUICK)
    kept = (broken / "scores.jsonl").read_bytes()
    assert len(kept.splitlines()) == 2
    with pytest.raises(RunError, match="was not finished; run its command again"):
        load(broken)
    audit(failing(after=99), out=broken, **QUICK)
    audit(failing(after=99), out=whole, **QUICK)
    assert (broken / "scores.jsonl").read_bytes().startswith(kept)
    for name in ("measurements.csv", "outcomes.parquet", "pairs.parquet"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
    assert load(broken).manifest.finished


def test_the_same_call_again_asks_the_model_nothing(tmp_path: Path) -> None:
    audit(failing(after=99), out=tmp_path, **QUICK)
    again = audit(failing(after=0), out=tmp_path, **QUICK)
    assert again.manifest.finished


def test_progress_tells_what_is_done(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    audit("planted", out=tmp_path, progress=lambda *step: steps.append(step), **QUICK)
    scoring = [(done, total) for what, done, total in steps if what == "builtin · next-word"]
    assert scoring[0] == (0, 48) and scoring[-1] == (48, 48)
    assert steps[-1][0] == "measuring" and steps[-1][1] == steps[-1][2]


def test_what_cannot_be_is_refused_before_the_model_is_asked(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    with pytest.raises(EquipoiseError, match=r"no item has a group 'nope'; known groups: .*gender"):
        audit("planted", by=["nope"], out=tmp_path / "a", progress=lambda *step: steps.append(step), **QUICK)
    assert not [what for what, _, _ in steps if "next-word" in what]
    with pytest.raises(EquipoiseError, match="no probabilities for words without their sentence"):
        audit("planted", token_aggregate="pmi", out=tmp_path / "b", **QUICK)


def test_a_folder_of_another_planted_engine_is_left_alone(tmp_path: Path) -> None:
    audit("planted:bias=1", out=tmp_path, **QUICK)
    audit("planted:bias=1", out=tmp_path, **QUICK)
    with pytest.raises(RunError, match="holds another run: the model planted has other bias"):
        audit("planted:bias=2", out=tmp_path, **QUICK)


def test_a_table_that_mixes_both_kinds_in_one_type_is_told_why_it_has_no_ucerf(tmp_path: Path) -> None:
    rows = [
        f"s{number},The nurse told the driver that {pronoun} was late.,{pronoun},nurse,driver,{gold},{kind}"
        for number, gold in ((1, "nurse"), (2, ""))
        for pronoun in ("he", "she")
        for kind in ("mixed",)
    ]
    table = tmp_path / "mine.csv"
    table.write_text("pair,text,pronoun,candidate_1,candidate_2,gold,type\n" + "\n".join(rows) + "\n")
    run = audit("planted", data=str(table), out=tmp_path / "run", resamples=5)
    assert not len(run.measurements.query("metric == 'ucerf' and group == 'type=mixed'"))
    assert any("ucerf is undefined for type=mixed (answerable and unanswerable" in note for note in run.manifest.notes)


@pytest.mark.slow
def test_two_processes_agree_to_the_byte(tmp_path: Path) -> None:
    for number in (1, 2):
        code = f"import equipoise; equipoise.audit('planted:noise=1', task=['mcq'], orders=2, out='{number}', limit=20)"
        # Another hash seed orders every set of strings differently.
        env = {**os.environ, "PYTHONHASHSEED": str(number)}
        subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=env)
    for name in ("measurements.csv", "outcomes.parquet", "pairs.parquet", "examples.parquet", "scores.jsonl"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a run folder by name, without locks."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(".lock")}


def test_the_folder_of_another_model_is_left_alone(tiny_run: Run) -> None:
    before = files_of(tiny_run.path)
    with pytest.raises(RunError, match="holds another run: the model is tiny-llama-1, not planted; choose another out"):
        audit("planted", out=tiny_run.path, **QUICK)
    assert before == files_of(tiny_run.path)


def test_what_was_loaded_is_what_was_returned(run: Run) -> None:
    again = load(str(run.path))
    assert (again.path, again.manifest) == (run.path, run.manifest)
    pd.testing.assert_frame_equal(again.measurements, run.measurements)
    with open(run.path / "measurements.csv", newline="", encoding="utf-8") as handle:
        written = [float(row["value"] or "nan") for row in csv.DictReader(handle)]
    np.testing.assert_array_equal(again.measurements["value"], written)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"limit": 0}, "limit must be at least 1, not 0"),
        ({"orders": 0}, "orders must be at least 1"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"resamples": 0}, "resamples must be at least 1"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"level": float("nan")}, "level must lie between 0 and 1"),
        ({"disparity": "mode"}, "disparity must be auto, range, pairwise or deviation"),
        ({"metrics": ["acuracy"]}, "did you mean 'accuracy'"),
        ({"estimators": ["reny"]}, "did you mean 'renyi'"),
        ({"by": ["shoe size"]}, "no item has a group 'shoe size'; known groups: form, gender"),
        ({"token_aggregate": "median"}, "token_aggregate must be sum, mean, pmi or max, not 'median'"),
        ({"pronouns": ["he", "xyz"]}, "unknown pronouns 'xyz'; known: he, she, they, xe"),
        ({"task": "nextword"}, "did you mean 'next-word'"),
        ({"data": "bultin"}, "did you mean 'builtin'"),
    ],
    ids=str,
)
def test_a_wrong_choice_is_an_error_with_the_fact_needed(
    choices: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(EquipoiseError, match=sentence.replace("(", r"\(")):
        audit("planted", out=tmp_path / "run", **{"limit": 4, "resamples": 10, **choices})


class OnlyChoices(PlantedEngine):
    """A planted engine that, like some servers, can be asked multiple choice only."""

    @property
    def tasks(self) -> Sequence[str]:
        return ("mcq",)


def test_the_usual_task_follows_what_the_engine_can_be_asked(tmp_path: Path) -> None:
    run = audit(OnlyChoices(strength=1), out=tmp_path / "fitted", limit=4, resamples=5)
    assert [part.task for part in run.parts] == ["mcq"]
    assert "cannot be asked as next-word, the usual task, so it was asked as mcq" in run.manifest.notes[0]
    asked = audit(OnlyChoices(strength=1), task="next-word", out=tmp_path / "asked", limit=4, resamples=5)
    assert [part.task for part in asked.parts] == ["next-word"] and not any("usual" in n for n in asked.manifest.notes)
