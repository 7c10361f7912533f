"""A forger changes one cell and seals the folder again: every change of a result is found, whichever file it is in."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.files import sha256
from equipoise.run import audit
from equipoise.verification import verify

CHANGES = 500
MEASURING = ("resamples", "level", "seed", "metrics", "estimators", "by")
"""Settings that measurements follow from; how the model was asked is in the tasks."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest") / "run"
    few = {"metrics": ["ucerf", "flip_rate", "accuracy", "flip_bias"], "by": ["gender"], "resamples": 10}
    audit("planted:noise=1", task=["next-word", "mcq"], limit=8, out=folder, estimators=["perplexity", "renyi"], **few)
    return folder


def other(value: Any, rng: random.Random) -> Any:
    """Return another value of the same kind, which is not within rounding of the one given."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((1, -1, 7))
    if isinstance(value, float):
        return rng.choice([entry for entry in (value + 0.01, -7.5, 1e300, value - 1e-4) if entry != value])
    if isinstance(value, str):
        return rng.choice((f"{value}x", value[:-1] if value else "x", "other"))
    if isinstance(value, list) and value:
        place = rng.randrange(len(value))
        return [*value[:place], other(value[place], rng), *value[place + 1 :]]
    return "other" if value is None else [*value, "x"] if isinstance(value, list) else {**value, "x": 1}


def changed_table(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return a Parquet table with one other cell, and the column."""
    table = pq.read_table(io.BytesIO(content))
    number = rng.randrange(table.num_columns)
    field, cells = table.schema.field(number), table.column(number).to_pylist()
    row = rng.randrange(len(cells))
    value = cells[row]
    if value is None:
        cells[row] = 0.25 if pa.types.is_floating(field.type) else "x"
    else:
        cells[row] = None if pa.types.is_floating(field.type) and rng.random() < 0.2 else other(value, rng)
    file = io.BytesIO()
    pq.write_table(table.set_column(number, field, pa.array(cells, type=field.type)), file)
    return file.getvalue(), field.name


def changed_csv(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return a CSV with one other cell, and the column."""
    rows = list(csv.reader(io.StringIO(content.decode())))
    row, column = rng.randrange(1, len(rows)), rng.randrange(len(rows[0]))
    cell = rows[row][column]
    try:
        number = int(cell) if rows[0][column] == "n" else float(cell or "nan")
        rows[row][column] = "0.01" if number != number else repr(other(number, rng))
    except ValueError:
        rows[row][column] = other(cell, rng)
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode(), rows[0][column]


def changed_scores(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return a score store with another value or key, and the right checksum."""
    lines = content.splitlines()
    number = rng.randrange(len(lines))
    batch = json.loads(lines[number].partition(b" ")[2])
    score = rng.choice(batch)
    part = rng.choice((0, 1, 1, 1, 3))
    if part == 1:
        tokens = rng.choice(score[1])
        tokens[rng.randrange(len(tokens))] -= rng.choice((1e-3, 0.1, 4.0))
    else:
        score[part] = score[part][::-1] if part == 0 else [*score[part], "split-join"]
    payload = json.dumps(batch, separators=(",", ":")).encode()
    lines[number] = b"%08x %s" % (zlib.crc32(payload), payload)
    return b"\n".join(lines) + b"\n", ("key", "logprobs", "", "flags")[part]


def changed_manifest(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return a manifest with another value of one field, or of one field within it, and the name of the field."""
    manifest = json.loads(content)
    names = [name for name in manifest if name not in ("sha256", "files")]
    name = rng.choice(names)
    path, holder, key = [name], manifest, name
    while isinstance(holder[key], dict) and holder[key]:
        holder, key = holder[key], rng.choice(list(holder[key]))
        path.append(key)
    holder[key] = other(holder[key], rng)
    return json.dumps(manifest).encode(), "/".join(path)


KINDS: dict[str, Callable[[bytes, random.Random], tuple[bytes, str]]] = {
    "outcomes.parquet": changed_table,
    "pairs.parquet": changed_table,
    "measurements.csv": changed_csv,
    "scores.jsonl": changed_scores,
    "manifest.json": changed_manifest,
}


def seal(folder: Path) -> None:
    """Write the hashes of all files as they are now, and the hash of the manifest."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content.pop("sha256")
    content["files"] = {name: sha256((folder / name).read_bytes()) for name in content["files"]}
    content["sha256"] = sha256(json.dumps(content, sort_keys=True).encode())
    path.write_text(json.dumps(content))


def is_a_result(place: str, identity: list[str]) -> bool:
    """Return whether a field of the manifest is a result, or what results follow from."""
    field, _, inside = place.partition("/")
    if field == "settings":
        return inside in MEASURING
    if field == "engine":
        return inside in identity
    if field == "datasets":
        return inside.endswith(("/sha256", "/examples", "/sets"))
    return field in ("model", "tasks")


@pytest.mark.slow
def test_five_hundred_changes_of_a_cell_are_found(honest: Path, tmp_path: Path) -> None:
    assert all(finding.passed for finding in verify(honest))
    whole = {file.name: file.read_bytes() for file in honest.iterdir() if file.is_file()}
    identity = json.loads(whole["manifest.json"])["engine"]["identity"]
    folder = Path(shutil.copytree(honest, tmp_path / "forged"))
    rng, found, results, missed = random.Random(20261116), Counter[str](), Counter[str](), []
    for number in range(CHANGES):
        name = list(KINDS)[number % len(KINDS)]
        content, place = KINDS[name](whole[name], rng)
        (folder / name).write_bytes(content)
        seal(folder)
        refused = not all(finding.passed for finding in verify(folder))
        if name != "manifest.json" or is_a_result(place, identity):
            results[name] += 1
            found[name] += refused
            if not refused:
                missed.append((number, name, place))
        for file in (name, "manifest.json"):
            (folder / file).write_bytes(whole[file])
    print(dict(results), dict(found))
    assert not missed and sum(results.values()) > 0.85 * CHANGES
    assert all(finding.passed for finding in verify(folder)), "the honest run still holds"
