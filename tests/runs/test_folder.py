"""The run folder: no half file, no silent damage, nothing lost between memory and disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from equipoise import audit, load, remeasure
from equipoise.datasets import open_dataset
from equipoise.runs.folder import (
    RunFolder,
    default_folder,
    examples_frame,
    group_names,
    measurements_frame,
    outcomes_frame,
    outcomes_from_frame,
)
from equipoise.records import ABSENT, Estimate, Measurement, Outcomes, RunError, RunManifest
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
    assert sorted(file.name for file in finished.iterdir()) == sorted((*FILES, "scores.jsonl", "scores.lock"))


def test_a_write_that_fails_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    folder.write_manifest(MANIFEST)
    before = (tmp_path / "manifest.json").read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.write_manifest(RunManifest("other", {}, {}, {}, {}, {}, "", ""))
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_a_manifest_survives_the_disk(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    manifest = RunManifest("модель", {"a": [1, 2]}, {"d": {"n": 1}}, {}, {"level": 0.95}, {}, "c", "s", "f", ["n"])
    folder.write_manifest(manifest)
    assert folder.manifest() == manifest


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
@pytest.mark.parametrize("damage", ["empty", "garbage", "half"])
def test_a_damaged_table_is_named(copy: Path, name: str, damage: str) -> None:
    whole = (copy / name).read_bytes()
    (copy / name).write_bytes({"empty": b"", "garbage": b"\xff\x00" * 50, "half": whole[: len(whole) // 2]}[damage])
    with pytest.raises(RunError) as caught:
        RunFolder(copy).frame(name)
    assert f"{name} is damaged" in one_sentence(caught.value)


def test_measuring_anew_names_the_damaged_table(copy: Path) -> None:
    (copy / "outcomes.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match="run the audit again, its scores are kept"):
        remeasure(copy)


def test_a_missing_table_says_how_to_get_it_back(copy: Path) -> None:
    (copy / "pairs.parquet").unlink()
    with pytest.raises(RunError, match=r"has no pairs\.parquet; run its command again"):
        _ = load(copy).pairs


@pytest.mark.parametrize("place", ["missing", "file"])
def test_what_is_no_run_folder_is_said_to_be_none(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="is no run folder"):
        load(tmp_path / place)


def test_a_run_of_other_weights_is_left_alone(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.begin(MANIFEST)
    folder.begin(MANIFEST)
    with pytest.raises(RunError, match="holds a run of m with other settings"):
        folder.begin(RunManifest("m", {"weights": "others"}, {}, {}, {}, {}, "", ""))
    assert folder.manifest().engine == {"weights": "w"}


def outcomes() -> Iterator[Outcomes]:
    """Yield real outcomes of both tasks, and some that are hard to keep."""
    from equipoise.scoring.planted.stereotype import PlantedEngine

    examples = open_dataset("builtin").limited(9).examples
    for name in ("next-word", "mcq"):
        task = open_task(name)
        prompts = [prompt for example in examples for prompt in task.prompts(example)]
        (scores,) = PlantedEngine(noise=0.3).knowing(examples).score([prompts])
        yield task.outcomes(examples, prompts, scores)
    text = np.array(["", "a\nb"], dtype=object)
    yield Outcomes(
        example_id=np.array(["1", "NaN"], dtype=object),
        variant=text,
        pair_id=np.array(["01", "None"], dtype=object),
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
    labels = {"model": "m", "dataset": "d", "task": "t"}
    folder.write_frame("outcomes.parquet", outcomes_frame(labels, kept, {"correct": np.zeros(len(kept))}))
    back = outcomes_from_frame(folder.frame("outcomes.parquet"), list(kept.groups))
    for name in ("example_id", "variant", "pair_id", "gold", "stereotype", "answerable", "flags"):
        assert getattr(back, name).tolist() == getattr(kept, name).tolist(), name
    for name in ("probs", "logprobs"):
        assert getattr(back, name).tobytes() == getattr(kept, name).tobytes(), name
    assert {name: column.tolist() for name, column in back.groups.items()} == {
        name: column.tolist() for name, column in kept.groups.items()
    }


def test_measurements_survive_the_disk_to_the_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 5e-324, -1.7976931348623157e308, 0.0]
    names = ["NA", "1.0", "null", 'a,"b"', ""]
    table = measurements_frame(
        Measurement("ucerf", name, name, "t", "a=b,c=d", Estimate(value, float("nan"), value, 0.95, 7, ""), "higher")
        for name, value in zip(names, values, strict=True)
    )
    folder = RunFolder(tmp_path)
    folder.write_frame("measurements.csv", table)
    pd.testing.assert_frame_equal(folder.frame("measurements.csv"), table, check_exact=True, check_dtype=False)


def test_examples_keep_their_groups(tmp_path: Path) -> None:
    examples = open_dataset("builtin").limited(5).examples
    folder = RunFolder(tmp_path)
    folder.write_frame("examples.parquet", examples_frame("builtin", examples))
    back = folder.frame("examples.parquet")
    assert [json.loads(groups) for groups in back["groups"]] == [dict(example.groups) for example in examples]
    assert [None if pd.isna(gold) else int(gold) for gold in back["gold"]] == [example.gold for example in examples]
    assert set(group_names(back)) == {name for example in examples for name in example.groups}


def test_the_default_folder_is_the_same_for_the_same_command() -> None:
    builtin, task = open_dataset("builtin").limited(1), open_task("next-word")
    name = default_folder("owner/model: 7B", [builtin], [task, task])
    assert name == Path("runs/owner-model-7B--builtin--next-word+next-word")
