"""Readers of a run folder meet damage and nonsense with one sentence: nothing is believed, nothing ends in a traceback.

Damage is a random change of any file; nonsense has the right hashes, but not the content that Equipoise writes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from equipoise.cli import app
from equipoise.files import sha256
from equipoise.records import EquipoiseError, RunError, RunManifest
from equipoise.runs import Run, RunFolder
from equipoise.scoring import weights

SMALL = ("--resamples", "2", "--metric", "accuracy", "--metric", "ucerf", "--quiet")
TABLES = ("measurements.csv", "outcomes.parquet", "pairs.parquet", "examples.parquet")


def run(*words: str | Path) -> None:
    app([str(word) for word in words], standalone_mode=False)


def audit(folder: Path) -> None:
    run("audit", "planted:noise=1", "--limit", "4", "--out", folder, *SMALL)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    audit(folder)
    run("report", folder, "--as", "tables", "--format", "csv", "--quiet")
    return folder


@pytest.fixture(scope="module")
def whole(finished: Path) -> dict[str, bytes]:
    """Return every file of the run by name."""
    files = [file for file in sorted(finished.rglob("*")) if file.is_file() and not file.name.endswith(".lock")]
    return {str(file.relative_to(finished)): file.read_bytes() for file in files}


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return the content with one of the faults that disks, transfers and people cause."""
    place = rng.randrange(len(content))
    length = rng.choice((1, 8, 512))
    kind = rng.choice(("bit", "byte", "zeros", "cut", "lost", "twice", "empty", "inserted"))
    middle = {
        "bit": bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :],
        "byte": bytes([rng.randrange(256)]) + content[place + 1 :],
        "zeros": bytes(length) + content[place + length :],
        "cut": b"",
        "lost": content[place + length :],
        "twice": content[max(0, place - length) :],
        "inserted": rng.randbytes(length) + content[place:],
    }
    return b"" if kind == "empty" else content[:place] + middle[kind]


def readings(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every way to read a run, by name."""
    yield "manifest", lambda: asdict(Run(folder).manifest)
    for name in TABLES:
        yield name, lambda name=name: Run(folder).frame(name).to_json()
    yield "outcomes", lambda: [part.outcomes.probs.tolist() for part in Run(folder).parts]


@pytest.mark.slow
def test_two_hundred_random_damages_are_noticed_or_harmless(
    finished: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    rng = random.Random(20261115)
    truth = {name: read() for name, read in readings(finished)}
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    noticed = 0
    for _ in range(200):
        name = rng.choice(list(whole))
        (folder / name).write_bytes(damaged(whole[name], rng))
        for what, read in readings(folder):
            try:
                assert read() == truth[what], f"{name} was damaged and {what} believed"
            except RunError as error:
                assert "\n" not in str(error)
                noticed += 1
        (folder / name).write_bytes(whole[name])
    assert noticed > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_an_audit_after_damage_of_its_scores_ends_as_if_there_had_been_none(
    finished: Path, whole: dict[str, bytes], tmp_path: Path, seed: int
) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    (folder / "scores.jsonl").write_bytes(damaged(whole["scores.jsonl"], random.Random(seed)))
    audit(folder)
    changed = {name: (folder / name).read_bytes() for name in TABLES}
    assert changed == {name: whole[name] for name in TABLES}
    notes = RunFolder(folder).manifest().notes
    audit(folder)
    assert not [note for note in RunFolder(folder).manifest().notes if "damaged" in note], f"told twice: {notes}"


def test_a_damaged_note_of_a_hash_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"weights")
    digest = weights.file_sha256(file)
    (note,) = (tmp_path / "cache" / "hashes").iterdir()
    content, rng = note.read_bytes(), random.Random(0)
    for _ in range(50):
        note.write_bytes(damaged(content, rng))
        assert weights.file_sha256(file) == digest


def reseal(folder: Path, **changes: Any) -> None:
    """Write a manifest with these values and the hashes of the files as they are now."""
    path = folder / "manifest.json"
    content = {**json.loads(path.read_text()), **changes}
    content.pop("sha256")
    if "files" not in changes:
        content["files"] = {name: sha256((folder / name).read_bytes()) for name in content["files"]}
    content["sha256"] = sha256(json.dumps(content, sort_keys=True).encode())
    path.write_text(json.dumps(content))


def in_one_sentence(*words: str | Path) -> None:
    """Run a command; it succeeds, or it ends with one sentence."""
    try:
        run(*words)
    except EquipoiseError as error:
        assert "\n" not in str(error) and "Error" not in str(error), error


def every_reader(folder: Path) -> None:
    in_one_sentence("report", folder, "--json")
    in_one_sentence("report", folder, "--no-html")
    in_one_sentence("gate", folder, "--require", "accuracy >= 0.1", "--insist", "--quiet")
    in_one_sentence(
        "compare", folder, folder, "--out", folder / "c.html", "--permutations", "2", "--resamples", "2", "-q"
    )
    in_one_sentence("report", folder, "--as", "tables", "--format", "csv", "--quiet")
    in_one_sentence("measure", folder, "--no-html", *SMALL)
    in_one_sentence("report", folder, "--as", "reliability", "--quiet")
    in_one_sentence("study", "calibration", folder, "--splits", "2", "--method", "platt", "--quiet")
    in_one_sentence("report", folder, "--as", "identities", "--out", folder / "drawn")
    in_one_sentence("report", folder, "--as", "card")
    in_one_sentence("study", "estimators", folder, "--out", folder / "estimators", "--resamples", "2")
    in_one_sentence("study", "wording", folder)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
BOUNDED = settings(
    max_examples=10, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@BOUNDED
@given(st.sampled_from([field.name for field in fields(RunManifest)]), st.booleans(), JSON, st.randoms())
def test_a_manifest_of_nonsense_gives_one_sentence(
    finished: Path, whole: dict[str, bytes], name: str, nested: bool, value: Any, rng: random.Random
) -> None:
    folder = finished.with_name("manifest")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(finished, folder)
    current = json.loads(whole["manifest.json"])[name]
    if nested and isinstance(current, dict) and current:
        value = {**current, rng.choice(list(current)): value}
    reseal(folder, **{name: value})
    every_reader(folder)


OTHERS: dict[str, Callable[[int], Any]] = {
    "texts": lambda n: ["x"] * n,
    "numbers": lambda n: list(range(n)),
    "nothing": lambda n: [None] * n,
    "endless": lambda n: [float("inf")] * n,
    "lists": lambda n: [[0.5] * (1 + place % 2) for place in range(n)],
    "bytes": lambda n: [b"\xff"] * n,
}


def with_nonsense(finished: Path, name: str, number: int | str, change: str) -> Path:
    """Return a copy of the run in which a column of a table holds something else, and all hashes are right."""
    folder = finished.with_name("table")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(finished, folder)
    csv = name.endswith(".csv")
    frame = pd.read_csv(folder / name) if csv else pd.read_parquet(folder / name)
    column = number if isinstance(number, str) else frame.columns[number % len(frame.columns)]
    if change == "gone":
        frame = frame.drop(columns=column)
    elif change == "no rows":
        frame = frame[:0]
    elif change == "reversed":
        frame = frame.assign(**{column: frame[column].to_numpy()[::-1]})
    else:
        cells = np.empty(len(frame), dtype=object)
        cells[:] = OTHERS[change](len(frame))
        frame = frame.assign(**{column: cells.tolist()})
    frame.to_csv(folder / name, index=False) if csv else frame.to_parquet(folder / name, index=False)
    reseal(folder)
    return folder


@settings(BOUNDED, max_examples=25)
@given(st.sampled_from(TABLES), st.integers(0, 60), st.sampled_from(["gone", "no rows", "reversed", *OTHERS]))
def test_a_table_of_nonsense_is_read_or_refused_in_one_sentence(
    finished: Path, name: str, number: int, change: str
) -> None:
    folder = with_nonsense(finished, name, number, change)
    for _, read in readings(folder):
        try:
            read()
        except RunError as error:
            assert "\n" not in str(error)


NONSENSE = [
    ("measurements.csv", "metric", "no rows"),
    ("outcomes.parquet", "type", "numbers"),
    ("outcomes.parquet", "occupation", "bytes"),
    ("outcomes.parquet", "sides", "texts"),
    ("outcomes.parquet", "correct", "gone"),
    ("pairs.parquet", "occupation", "numbers"),
    ("examples.parquet", "slots", "texts"),
]
"""Tables that pass for whole: their hashes are right."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "column", "change"), NONSENSE)
def test_every_command_meets_a_table_of_nonsense_with_one_sentence(
    finished: Path, name: str, column: str, change: str
) -> None:
    every_reader(with_nonsense(finished, name, column, change))


def test_a_table_whose_columns_cannot_be_read_is_named(finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    (folder / "pairs.parquet").write_bytes(b"PAR1")
    reseal(folder)
    with pytest.raises(RunError, match=r"pairs.parquet is damaged \("):
        Run(folder).column_names("pairs.parquet")


def test_a_run_of_which_nothing_could_be_measured_says_so(tmp_path: Path) -> None:
    run("audit", "planted", "--limit", "4", "--metric", "bbq_bias_ambiguous", "--out", tmp_path, "--quiet", "--no-html")
    with pytest.raises(RunError, match="has no measurements: none of its metrics applies to its items; measure it"):
        run("report", tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="names of files are text on Windows")
def test_a_folder_whose_name_is_not_text_is_a_folder_like_others(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"run-\xff")
    audit(folder)
    run("report", folder, "--json")
    run("gate", folder, "--require", "accuracy >= 0", "--insist", "--junit", folder / "junit.xml", "--quiet")
    assert (folder / "report.html").is_file() and (folder / "junit.xml").read_bytes().decode()
