"""Every command of a build is killed at the steps of its writing: the folder is as before or after, never a mixture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_faults import Act, misbehaving
from kills import killed_everywhere
from local_parts import write_records
from survey_raters import survey_of, votes_for

from equipoise.builder.draft.generation import Plan, generate, requests_of
from equipoise.builder.draft.prompt_files import read_prompts
from equipoise.builder.steps import DATASET, BuildFolder, Draft, Sentence, read_records
from equipoise.builder.wordlist import occupations
from equipoise.cli import app
from equipoise.files import current, file_sha256
from equipoise.runs import manifest
from equipoise.scoring.server.api import Api
from equipoise.scoring.server.http_client import Client, Limits


@pytest.fixture(autouse=True)
def _one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all steps end at the same time, so that their files can be compared."""
    monkeypatch.setattr(manifest, "now", lambda: "2026-01-01T00:00:00+00:00")


def run(*words: str | Path) -> None:
    app(["build", *(str(word) for word in words)], standalone_mode=False)


def state(folder: Path) -> Any:
    """Return what readers see; that the files are those which the log names is checked on the way."""
    build = BuildFolder(folder)
    for name, digest in build.named().items():
        file = current(folder, name, digest)
        # The files of a dataset are removed before they change: they may be missing, but not of another dataset.
        assert (name.startswith(DATASET) and not file.exists()) or file_sha256(file) == digest, name
    return json.dumps([(step.name, step.went_out, step.files) for step in build.steps().values()])


@pytest.fixture
def server() -> Iterator[Any]:
    text = "1. [The cook] met [the nurse] before [he] left town.\n2. [The cook] saw [the nurse], and [she] smiled."
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], "model": "m"}
    with misbehaving(*[Act(body=body)] * 2000) as started:
        yield started


def test_killed_generate(server: Any, tmp_path: Path) -> None:
    build = BuildFolder(tmp_path / "mine")
    options = Limits(seconds=120)
    plan = Plan(occupations(), samples=2, limit=1)
    requests = requests_of(plan, read_prompts(None), "m")[:2]

    def command() -> None:
        generate(build, requests, Api(Client(server.address, options), "m"), plan=plan, concurrency=1, now=lambda: "")

    steps, seen = killed_everywhere(build.path, command, state, tmp_path)
    assert steps > 8 and len(seen) == 2
    assert len(read_records(build.drafts, Draft, made_by="generate")) == 4


@pytest.mark.slow
def test_killed_filter(tmp_path: Path) -> None:
    build = BuildFolder(tmp_path / "mine")
    texts = ["The cook met the nurse before he left town.", "The cook saw the nurse, and she smiled.", "No."]
    drafts = [Draft(f"d{n}", "type1", "cook", "nurse", text, text, "r") for n, text in enumerate(texts)]
    write_records(build.drafts, drafts)
    run("filter", build.path, "--shortest", "9", "--quiet")
    steps, seen = killed_everywhere(build.path, lambda: run("filter", build.path, "--quiet"), state, tmp_path)
    assert steps > 12 and len(seen) == 2


@pytest.mark.slow
def test_killed_clean(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> None:
    build, sentences = BuildFolder(tmp_path / "mine"), some_sentences(4)
    build.path.mkdir()
    survey_of(build.path / "survey.sqlite", sentences, [a for s in sentences for a in votes_for(s)])
    write_records(build.kept, sentences[:2])
    run("clean", build.path, "--quiet")
    write_records(build.kept, sentences)

    def whole(folder: Path) -> Any:
        """Return what readers see, and which files of the dataset there are."""
        return state(folder), tuple(sorted(str(file) for file in (folder / "dataset").rglob("*") if file.is_file()))

    steps, seen = killed_everywhere(build.path, lambda: run("clean", build.path, "--quiet"), whole, tmp_path, most=13)
    assert steps > 40 and len({logged for logged, _ in seen}) == 2


@pytest.mark.slow
def test_killed_stats(tmp_path: Path) -> None:
    out = tmp_path / "statistics"
    run("stats", "builtin", "--out", out, "--embeddings", "none", "--quiet")
    table = (out / "statistics.csv").read_bytes()
    (out / "statistics.csv").write_bytes(b"old")
    command = ("stats", "builtin", "--out", out, "--embeddings", "none", "--quiet")
    steps, seen = killed_everywhere(
        out, lambda: run(*command), lambda folder: (folder / "statistics.csv").read_bytes(), tmp_path
    )
    assert steps >= 3 and seen == {b"old", table}
