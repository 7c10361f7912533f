"""Two hundred run folders from strangers: commands refuse them in one sentence, or harm nothing around them."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from equipoise.cli import app
from equipoise.cli.errors import clear_errors
from equipoise.files import file_sha256, sha256

SMALL = ("--limit", "4", "--resamples", "2", "--metric", "accuracy", "--metric", "ucerf", "--quiet")
TABLES = ("measurements.csv", "outcomes.parquet", "pairs.parquet", "examples.parquet")
FILES = ("manifest.json", "scores.jsonl", *TABLES, "report.html", ".run.lock", "scores.lock")
FOLDERS = ("figures", "tables")

Hostility = Callable[[Path], None]
"""Does something to a run folder; `victim`, a folder beside it, must stay as it is."""

ALWAYS = (
    ("measure", "{run}", "--resamples", "2", "--quiet"),
    ("report", "{run}", "--as", "tables", "--format", "csv", "--quiet"),
    ("audit", "planted:noise=1", *SMALL, "--out", "{run}"),
)
SOMETIMES = (
    ("report", "{run}"),
    ("report", "{run}", "--json", "--no-html"),
    ("verify", "{run}"),
    ("gate", "{run}", "--require", "accuracy >= 0.1", "--insist", "--quiet"),
    ("compare", "{run}", "{run}", "--out", "{out}/c.html", "--permutations", "2", "--resamples", "2", "-q"),
    ("leaderboard", "{run}", "--out", "{out}/site", "--quiet"),
    ("report", "{run}", "--as", "reliability", "--format", "svg", "--quiet"),
    ("study", "calibration", "{run}", "--splits", "2", "--method", "platt", "--quiet"),
    ("report", "{run}", "--as", "identities", "--out", "{out}/drawn"),
    ("report", "{run}", "--as", "card"),
    ("study", "estimators", "{run}", "--out", "{out}/estimators", "--resamples", "2"),
    ("study", "wording", "{run}"),
    ("measure", "{run}", "--where", "gender=female", "--out", "{out}/part", "--quiet", "--no-html"),
    ("report", "{run}", "--as", "figures", "--format", "svg", "--quiet"),
)
"""Commands that read a run folder; {run} is the folder, {out} another one."""


def run(*words: str | Path) -> None:
    app([str(word) for word in words], standalone_mode=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    run("audit", "planted:noise=1", *SMALL, "--out", folder)
    run("report", folder, "--as", "tables", "--format", "csv", "--quiet")
    return folder


def reseal(folder: Path, **changes: Any) -> None:
    """Write a manifest with these values, the hashes of the files as they are now, and its own."""
    path = folder / "manifest.json"
    content = {**json.loads(path.read_text()), **changes}
    content.pop("sha256")
    if "files" not in changes:
        content["files"] = {name: file_sha256(folder / name) or digest for name, digest in content["files"].items()}
    content["sha256"] = sha256(json.dumps(content, sort_keys=True).encode())
    path.write_text(json.dumps(content))


def link(name: str, target: str) -> Hostility:
    def make(folder: Path) -> None:
        place, victim = folder / name, folder.parent / "victim"
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        place.parent.mkdir(exist_ok=True)
        targets = {
            "folder": victim,
            "gone": victim / "none",
            "itself": place,
            "up": folder.parent,
            "zeros": "/dev/zero",
        }
        place.symlink_to(targets.get(target, victim / target))
        if name != "manifest.json":
            named = (
                {f"{name}/{file.name}": file_sha256(file) for file in victim.iterdir()} if target == "folder" else {}
            )
            manifest = json.loads((folder / "manifest.json").read_text())
            kept = {key: file_sha256(folder / key) or digest for key, digest in manifest["files"].items()}
            reseal(folder, files={**kept, **named})

    return make


def special(name: str, kind: str) -> Hostility:
    def make(folder: Path) -> None:
        place = folder / name
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(place)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as made:
                # The path of a socket may have a hundred characters.
                here = os.getcwd()
                os.chdir(place.parent)
                made.bind(place.name)
                os.chdir(here)
        else:
            place.mkdir()
            (place / "inside").write_text("x")

    return make


def named(name: str) -> Hostility:
    """The manifest names a file outside, with its right hash."""

    def make(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        digest = file_sha256(folder.parent / "victim" / "letter.txt")
        spelled = name.format(victim=folder.parent / "victim")
        reseal(folder, files={**manifest["files"], spelled: digest})

    return make


def huge(name: str) -> Hostility:
    """A file of a terabyte that takes no room on the disk."""

    def make(folder: Path) -> None:
        with open(folder / name, "ab") as file:
            file.truncate(2**40)

    return make


def parts(name: str) -> Hostility:
    """Links with the names that half-written files of every process have."""

    def make(folder: Path) -> None:
        for process in {os.getpid(), *range(1, 50)}:
            (folder / f".{name}.{process}.part").symlink_to(folder.parent / "victim" / "letter.txt")
        (folder / f".{name}.next").symlink_to(folder.parent / "victim" / "letter.txt")

    return make


def deep(name: str) -> Hostility:
    def make(folder: Path) -> None:
        text = "[" * 100_000 + "]" * 100_000
        (folder / name).write_text(text if name == "manifest.json" else f"00000000 {text}\n")

    return make


def mistyped(rng: random.Random) -> Hostility:
    """One value of the manifest, at any depth, is of another kind; all hashes are right."""
    values: list[Any] = [None, True, -1, 2.5, 1e400, "", "x", [], [[]], {}, {"x": {"y": None}}, [1, "a"], 10**30]
    value, seed = rng.choice(values), rng.random()

    def make(folder: Path) -> None:
        inner = random.Random(seed)
        manifest = json.loads((folder / "manifest.json").read_text())
        holder, key = manifest, inner.choice([name for name in manifest if name not in ("sha256", "files")])
        while isinstance(holder[key], dict) and holder[key] and inner.random() < 0.85:
            holder, key = holder[key], inner.choice(list(holder[key]))
        holder[key] = value
        manifest.pop("sha256")
        reseal(folder, **manifest)

    return make


def nonsense(rng: random.Random) -> Hostility:
    """A column of a table holds something else; all hashes are right."""
    name, number, kind = rng.choice(TABLES), rng.randrange(60), rng.choice(("gone", "texts", "numbers", "none", "ends"))

    def make(folder: Path) -> None:
        csv = name.endswith(".csv")
        frame = pd.read_csv(folder / name) if csv else pd.read_parquet(folder / name)
        column = frame.columns[number % len(frame.columns)]
        others = {"texts": "x", "numbers": 7, "none": None, "ends": float("inf")}
        frame = frame.drop(columns=column) if kind == "gone" else frame.assign(**{column: others[kind]})
        frame.to_csv(folder / name, index=False) if csv else frame.to_parquet(folder / name, index=False)
        reseal(folder)

    return make


def damaged(rng: random.Random) -> Hostility:
    """A file has other bytes; its hash says so."""
    name, place, kind = rng.choice(FILES[:6]), rng.random(), rng.choice(("cut", "flip", "zeros", "empty"))

    def make(folder: Path) -> None:
        content = (folder / name).read_bytes()
        at = int(place * len(content))
        middles = {"cut": b"", "flip": bytes([content[at] ^ 1]) + content[at + 1 :], "zeros": bytes(512), "empty": b""}
        (folder / name).write_bytes(b"" if kind == "empty" else content[:at] + middles[kind])

    return make


def hostilities() -> Iterator[tuple[str, Hostility]]:
    rng = random.Random(20261116)
    targets = ("letter.txt", "folder", "gone", "itself", "zeros")
    yield from ((f"link {name} {target}", link(name, target)) for name in FILES for target in targets)
    yield from (
        (f"link {name} {target}", link(name, target)) for name in FOLDERS for target in ("folder", "gone", "up")
    )
    yield from ((f"{kind} {name}", special(name, kind)) for name in FILES for kind in ("pipe", "socket", "folder"))
    yield from ((f"{kind} {name}", special(name, kind)) for name in FOLDERS for kind in ("pipe", "socket"))
    spelled = ("../victim/letter.txt", "{victim}/letter.txt", "tables/../../victim/letter.txt", "", ".", "..", "a\0b")
    yield from ((f"named {name!r}", named(name)) for name in (*spelled, "x" * 5000, "manifest.json", "tables"))
    yield from ((f"huge {name}", huge(name)) for name in (*FILES[:2], "outcomes.parquet", "report.html"))
    yield from ((f"parts {name}", parts(name)) for name in ("manifest.json", "measurements.csv", "report.html"))
    yield from ((f"deep {name}", deep(name)) for name in ("manifest.json", "scores.jsonl"))
    yield from ((f"mistyped {number}", mistyped(rng)) for number in range(50))
    yield from ((f"nonsense {number}", nonsense(rng)) for number in range(30))
    yield from ((f"damaged {number}", damaged(rng)) for number in range(20))


def surroundings(place: Path) -> dict[str, tuple[int, str | None]]:
    """Return the kind and content of everything around the run folder."""
    around = [path for path in sorted(place.rglob("*")) if path.relative_to(place).parts[0] not in ("run", "out")]
    return {str(path.relative_to(place)): (path.lstat().st_mode, file_sha256(path)) for path in around}


def in_one_sentence(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """Return how a command ended: `done`, or `refused` with one sentence; anything else is raised."""
    capsys.readouterr()
    try:
        with clear_errors():
            app(list(words), standalone_mode=False)
    except SystemExit as ended:
        said = capsys.readouterr().err
        assert ended.code == 2 and said.startswith("equipoise: ") and said.count("\n") == 1, said
        return "refused"
    return "done"


@pytest.mark.slow
def test_two_hundred_hostile_folders_harm_nothing(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim, folder, out = (tmp_path / name for name in ("victim", "run", "out"))
    victim.mkdir()
    for name in ("letter.txt", "photo.png", "table.csv"):
        (victim / name).write_bytes(name.encode() * 9)
    before, ends, count = surroundings(tmp_path), Counter[str](), 0
    for count, (name, make) in enumerate(hostilities(), 1):
        for number, command in enumerate((*ALWAYS, *(SOMETIMES[(count * 3 + i) % len(SOMETIMES)] for i in range(3)))):
            # Each command meets the folder as the stranger made it.
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(finished, folder)
            make(folder)
            words = tuple(word.format(run=folder, out=out / str(number)) for word in command)
            try:
                ends[in_one_sentence(words, capsys)] += 1
            except BaseException as error:
                raise AssertionError(f"{name}: {' '.join(command)}: {type(error).__name__}: {error}") from error
            assert surroundings(tmp_path) == before, f"{name}: {' '.join(command)} changed what is around the folder"
            shutil.rmtree(out, ignore_errors=True)
    assert count >= 200
    with capsys.disabled():
        print(f"\n{count} folders, {sum(ends.values())} commands: {dict(ends)}")
