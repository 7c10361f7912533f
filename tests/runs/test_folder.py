"""The run folder: no half file, no silent damage, nothing lost between memory and disk."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from equipoise import audit, load, remeasure
from equipoise.datasets import open_dataset
from equipoise.records import (
    ABSENT,
    Estimate,
    Measurement,
    Outcomes,
    Prompt,
    RunError,
    RunManifest,
    Score,
    SentencePair,
)
from equipoise.runs import Run
from equipoise.runs.folder import RunFolder, default_folder
from equipoise.runs.measurements import measurements_frame, measurements_from_frame
from equipoise.runs.tables import examples_frame, group_names, outcomes_frame, outcomes_from_frame
from equipoise.scoring.engine import Engine
from equipoise.settings import Settings
from equipoise.tasks import open_task

MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")
FILES = ("manifest.json", "measurements.csv", "outcomes.parquet", "pairs.parquet", "examples.parquet")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audit("planted", out=tmp_path_factory.mktemp("run") / "it", limit=6, resamples=20).path


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def one_sentence(error: RunError) -> str:
    text = str(error)
    assert "\n" not in text and len(text) < 600
    return text


def test_a_run_leaves_its_files_and_no_others(finished: Path) -> None:
    locks = {".run.lock", "scores.lock"}
    assert {file.name for file in finished.iterdir()} - locks == {*FILES, "scores.jsonl"}


def test_the_manifest_names_every_table_with_its_hash(finished: Path) -> None:
    hashes = {name: hashlib.sha256((finished / name).read_bytes()).hexdigest() for name in FILES[1:]}
    assert RunFolder(finished).manifest().files == hashes


def test_a_write_that_fails_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    folder.begin(MANIFEST)
    before = (tmp_path / "manifest.json").read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.begin(replace(MANIFEST, notes=["another"]))
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_a_manifest_survives_the_disk(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    manifest = RunManifest("модель", {"a": [1, 2]}, {"d": {"n": 1}}, {}, {"level": 0.95}, {}, "c", "s", "f", ["n"], {})
    folder.commit({}, manifest)
    assert folder.manifest() == manifest


def changed_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, value)
            for name in ("engine", "datasets", "tasks", "settings", "versions", "files")
            for value in ([], "x")
        ),
        *((name, value) for name in ("model", "command", "started") for value in (None, 3)),
        ("finished", 3),
        ("notes", "text"),
        ("notes", [1]),
        ("tasks", {"next-word": 1}),
        ("settings", {"level": "high"}),
        ("settings", {"level": 0}),
        ("settings", {"level": 1}),
        ("settings", {"level": True}),
    ],
)
def test_a_manifest_with_a_value_of_another_type_is_refused_by_name(copy: Path, name: str, value: object) -> None:
    changed_manifest(copy, **{name: value})
    with pytest.raises(RunError) as caught:
        load(copy)
    assert f"manifest.json is damaged ({name} has a value of another kind)" in one_sentence(caught.value)


def test_a_manifest_without_a_field_is_refused_by_its_name(copy: Path) -> None:
    path = copy / "manifest.json"
    content = json.loads(path.read_text())
    for name in content:
        path.write_text(json.dumps({key: value for key, value in content.items() if key != name}))
        with pytest.raises(RunError, match=f"damaged .{name} is missing"):
            load(copy)


def test_a_changed_value_of_the_right_kind_is_noticed(copy: Path) -> None:
    content = json.loads((copy / "manifest.json").read_text())
    for name in content.keys() - {"sha256", "finished"}:
        value = content[name]
        other = (
            f"{value} " if isinstance(value, str) else [*value, "x"] if isinstance(value, list) else {**value, "x": {}}
        )
        changed_manifest(copy, **{**content, name: other if name not in ("files", "versions") else {**value, "x": "y"}})
        with pytest.raises(RunError, match="it was changed after the run wrote it"):
            load(copy)
    (copy / "manifest.json").write_text(json.dumps(content))
    assert load(copy).manifest.model == "planted", "other white space is no damage"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"model": "m"}', "\x00\x01", '"text"'])
def test_a_damaged_manifest_is_named(copy: Path, content: str) -> None:
    (copy / "manifest.json").write_text(content)
    with pytest.raises(RunError) as caught:
        load(copy)
    assert "manifest.json is damaged" in one_sentence(caught.value)


def test_a_manifest_that_is_no_utf8_is_named(copy: Path) -> None:
    (copy / "manifest.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(RunError, match="damaged"):
        load(copy)


@pytest.mark.parametrize("name", ["outcomes.parquet", "pairs.parquet", "examples.parquet", "measurements.csv"])
@pytest.mark.parametrize("damage", ["empty", "garbage", "half", "bit"])
def test_a_damaged_table_is_named(copy: Path, name: str, damage: str) -> None:
    whole = (copy / name).read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    contents = {"empty": b"", "garbage": b"\xff\x00" * 50, "half": whole[: len(whole) // 2], "bit": bytes(flipped)}
    (copy / name).write_bytes(contents[damage])
    with pytest.raises(RunError) as caught:
        RunFolder(copy).frame(name)
    assert f"{name} is damaged" in one_sentence(caught.value)


def test_measuring_anew_names_the_damaged_table(copy: Path) -> None:
    (copy / "outcomes.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        RunError, match=r"run the command that made it again \(it writes the files anew, and its scores are kept"
    ):
        remeasure(copy)


def test_a_missing_table_says_how_to_get_it_back(copy: Path) -> None:
    (copy / "pairs.parquet").unlink()
    with pytest.raises(
        RunError, match=r"pairs\.parquet is damaged \(it is not the file that the run wrote\); run the command"
    ):
        _ = load(copy).pairs
    with pytest.raises(RunError, match=r"has no calibration\.csv; it has: examples\.parquet, measurements\.csv, out"):
        load(copy).frame("calibration.csv")


def test_an_audit_run_again_repairs_a_damaged_folder_from_its_scores(copy: Path) -> None:
    before = load(copy).measurements
    for name in FILES:
        (copy / name).write_bytes(b"{")
    with pytest.raises(
        RunError, match=r"run the command that made it again \(it writes the files anew, and its scores are kept"
    ):
        load(copy)
    again = audit("planted", out=copy, limit=6, resamples=20).measurements
    pd.testing.assert_frame_equal(before, again, check_exact=True)


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("equipoise audit m --out old -q", "equipoise audit m -q --out 'a b/run'"),
        ("python -m equipoise audit m --out=--out --data x", "python -m equipoise audit m --data x --out 'a b/run'"),
        ("equipoise audit m", "equipoise audit m --out 'a b/run'"),
        ("notebook.py --out old", "notebook.py --out old"),
        ("equipoise audit 'm", "equipoise audit 'm"),
    ],
)
def test_advice_names_the_folder_as_it_was_given(
    command: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder(Path("a b/run"))
    folder.path.mkdir(parents=True)
    folder.begin(replace(MANIFEST, command=command))
    with pytest.raises(RunError) as caught:
        load(folder.path)
    assert one_sentence(caught.value).endswith(f"was not finished; run its command again to continue: {advice}")
    changed_manifest(folder.path, notes="text")
    with pytest.raises(RunError) as caught:
        load(folder.path)
    assert one_sentence(caught.value).endswith(f"(it writes the files anew): {advice}")


def test_a_folder_in_use_is_refused_by_name(copy: Path) -> None:
    with RunFolder(copy).held(), pytest.raises(RunError) as caught:
        remeasure(copy)
    assert one_sentence(caught.value) == f"another command is writing into {copy}; wait for it to end"
    assert len(remeasure(copy).measurements)


@pytest.mark.parametrize("place", ["missing", "file"])
def test_what_is_no_run_folder_is_said_to_be_none(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"is not a run folder: it has no manifest\.json"):
        load(tmp_path / place)


def test_a_run_of_other_weights_is_left_alone(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.begin(MANIFEST)
    folder.begin(MANIFEST)
    with pytest.raises(RunError, match="holds a run of m with other settings"):
        folder.begin(RunManifest("m", {"weights": "others"}, {}, {}, {}, {}, "", ""))
    assert folder.manifest().engine == {"weights": "w"}


def scores_of(engine: Engine, prompts: Sequence[Prompt]) -> list[Score]:
    (scores,) = engine.score([prompts])
    return list(scores)


def outcomes() -> Iterator[Outcomes]:
    """Yield real outcomes of both tasks, and some that are hard to keep."""
    from equipoise.scoring.planted.stereotype import PlantedEngine

    examples = open_dataset("builtin").limited(9).examples
    for name in ("next-word", "mcq"):
        engine = PlantedEngine(noise=0.3)
        engine.prepare(examples)
        scorer = partial(scores_of, engine)
        yield open_task(name).run(examples, scorer=scorer, writer=lambda contexts, limit: {})
    text = np.array(["", "a\nb"], dtype=object)
    yield Outcomes(
        example_id=np.array(["1", "NaN"], dtype=object),
        variant=text,
        set_id=np.array(["01", "None"], dtype=object),
        cluster_id=np.array(["null", "1e5"], dtype=object),
        sides=np.array(["male|female", ""], dtype=object),
        probs=np.array([[1.0, 0.0], [1 / 3, 2 / 3]]),
        logprobs=np.array([[-1e-17, -745.1332191019412], [-0.1, -1e300]]),
        gold=np.array([ABSENT, 1]),
        stereotype=np.array([0, ABSENT]),
        answerable=np.array([False, True]),
        groups={"side": np.array(["", "naïve"], dtype=object), "stereotype": np.array(["pro", ""], dtype=object)},
        flags=np.array(["split-join", ""], dtype=object),
    )


@pytest.mark.parametrize("kept", list(outcomes()), ids=["next-word", "mcq", "hard"])
def test_outcomes_survive_the_disk_to_the_bit(kept: Outcomes, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    key = {"model": "m", "dataset": "d", "task": "t"}
    derived = {name: np.zeros(len(kept)) for name in ("correct", "perplexity", "candidate_mass")}
    table = outcomes_frame(key, kept, derived)
    folder.commit({"outcomes.parquet": table}, MANIFEST)
    back = outcomes_from_frame(folder.frame("outcomes.parquet"), list(kept.groups))
    for name in ("example_id", "variant", "set_id", "cluster_id", "sides", "gold", "stereotype", "answerable", "flags"):
        assert getattr(back, name).tolist() == getattr(kept, name).tolist(), name
    for name in ("probs", "logprobs"):
        assert getattr(back, name).tobytes() == getattr(kept, name).tobytes(), name
    assert {name: column.tolist() for name, column in back.groups.items()} == {
        name: column.tolist() for name, column in kept.groups.items()
    }


def test_measurements_survive_the_disk_to_the_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 5e-324, -1.7976931348623157e308, 0.0]
    names = ["NA", "1.0", "null", 'a,"b"', ""]
    measurements = [
        Measurement(
            "ucerf", name, name, "t", "a=b,c=d", Estimate(value, value, value, 0.95, 7, name, p=value), "higher"
        )
        for name, value in zip(names, values, strict=True)
    ]
    table = measurements_frame(measurements)
    folder = RunFolder(tmp_path)
    folder.commit({"measurements.csv": table}, MANIFEST)
    pd.testing.assert_frame_equal(folder.frame("measurements.csv"), table, check_exact=True, check_dtype=False)
    assert measurements_from_frame(folder.frame("measurements.csv")) == measurements


def test_a_measurement_without_interval_stays_without(tmp_path: Path) -> None:
    estimate = Estimate(0.5, float("nan"), float("nan"), 0.95, 7, "no interval")
    folder = RunFolder(tmp_path)
    table = measurements_frame([Measurement("ece_floor", "m", "d", "t", "all", estimate, "neither")])
    folder.commit({"measurements.csv": table}, MANIFEST)
    (back,) = measurements_from_frame(folder.frame("measurements.csv"))
    assert np.isnan([back.low, back.high]).all() and (back.value, back.estimate.method) == (0.5, "no interval")


def test_examples_keep_their_groups(tmp_path: Path) -> None:
    examples = open_dataset("builtin").limited(5).examples
    folder = RunFolder(tmp_path)
    folder.commit({"examples.parquet": examples_frame("builtin", examples)}, MANIFEST)
    back = folder.frame("examples.parquet")
    assert [json.loads(groups) for groups in back["groups"]] == [dict(example.groups) for example in examples]
    assert [None if pd.isna(gold) else int(gold) for gold in back["gold"]] == [example.gold for example in examples]
    assert set(group_names(back)) == {name for example in examples for name in example.groups}


def test_a_sentence_pair_is_kept_with_its_example() -> None:
    pair = SentencePair("The nurse left and", ("he slept.", "she slept."), ("male", "female"))
    (example,) = open_dataset("builtin").examples[:1]
    frame = examples_frame("mine", [example, replace(example, id="other", pair=pair)])
    assert frame["pair"].isna().tolist() == [True, False]
    assert json.loads(frame["pair"].tolist()[1]) == {
        "before": "The nurse left and",
        "rests": ["he slept.", "she slept."],
        "sides": ["male", "female"],
    }


def test_a_run_is_read_by_parts_and_looks_its_measurements_up(finished: Path) -> None:
    run = Run(finished, name="mine")
    (part,) = run.parts
    assert (str(part), str(part.key), part.key.model) == ("builtin · next-word", "builtin · next-word", "mine")
    assert (len(part.items), part.kinds, run.level) == (len(run.outcomes), ["type2", "type1"], 0.95)
    ucerf = part.measured.get("ucerf", type="type2")
    (row,) = run.measurements.query("metric == 'ucerf' and group == 'type=type2'").to_dict("records")
    assert ucerf is not None
    assert {name: value for name, value in ucerf.row().items() if value == value} == {
        name: value for name, value in row.items() if value == value
    }
    assert ucerf.estimate.method
    assert part.measured.get("ucerf", type="type3") is None
    assert part.outcomes.cluster_id.tolist() == part.items["cluster_id"].tolist()


def test_the_default_folder_is_the_same_for_the_same_command() -> None:
    name = default_folder("owner/model: 7B", ["builtin"], ["next-word", "next-word"], Settings().asked)
    assert name == Path("runs/owner-model-7B--builtin--next-word+next-word")


def test_the_default_folder_tells_apart_what_is_asked_but_not_how_it_is_measured() -> None:
    def folder(**choices: object) -> Path:
        return default_folder("m", ["builtin"], ["mcq"], Settings(**choices).asked)  # type: ignore[arg-type]

    several = [{"limit": 4}, {"limit": 8}, {"seeds": 2}, {"pronouns": ["he", "she", "they"]}, {"columns": {"a": "b"}}]
    assert len({folder(), *(folder(**choices) for choices in several)}) == 6
    assert folder(limit=4) == Path("runs/m--builtin--mcq--limit-4")
    assert folder(level=0.9, resamples=10, by=["gender"], pronouns=["he", "she"]) == folder()
    assert len(folder(attributes=[f"attribute{i}" for i in range(99)]).name) <= 120
