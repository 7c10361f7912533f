"""What travels to an actor: a model's files, packed and unpacked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.options.table import EngineOptions
from equipoise.records import ModelError
from equipoise.scoring.cluster.actor import Scorer, pack_files, unpack_files
from equipoise.scoring.opening import open_engine


def test_a_model_travels_to_a_node_that_does_not_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # an actor sets it for its process
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "deep" / "weights").write_bytes(b"\0\1")
    arrived = unpack_files(pack_files(folder), "model")
    assert arrived.name == "model" and (arrived / "deep" / "weights").read_bytes() == b"\0\1"
    single = unpack_files(pack_files(folder / "config.json"), "config.json")
    assert single.is_file() and single.read_text() == "{}"
    assert Scorer(open_engine, 1).open(str(tmp_path / "elsewhere"), EngineOptions()) == {"missing": True}


class Telling:
    """An engine that says what it is asked."""

    name, identity, texts_at_once = "telling", {"a": 1}, 3

    def __init__(self) -> None:
        self.description, self.notes = {"mode": "m"}, ("n",)
        self.told: list[Any] = []

    def prepare(self, examples: Any) -> str:
        self.told.append(("prepare", examples))
        return "prepared"

    def batches(self, prompts: Any) -> Any:
        return [prompts]

    def score(self, batches: Any) -> Iterator[Any]:
        for batch in batches:
            if batch == "fails":
                raise ValueError("odd")
            if batch == "refused":
                raise ModelError("too long")
            yield [batch]

    def generate(self, contexts: Any, tokens: int, sampling: Any) -> Any:
        return [contexts, tokens, sampling]

    def expect(self, prompts: int) -> None:
        self.told.append(("expect", prompts))


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> tuple[Scorer, list[Any], Telling]:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    opened: list[Any] = []
    engine = Telling()
    return Scorer(lambda *given: opened.append(given) or engine, 7), opened, engine  # type: ignore[arg-type]


def test_an_actor_opens_its_engine_and_answers(scorer: Any) -> None:
    actor, opened, engine = scorer
    assert os.environ["OMP_NUM_THREADS"] == "7"
    about = actor.open("owner/name", "options")["value"]
    assert opened == [("owner/name", "options")]
    assert (about["name"], about["identity"], about["texts_at_once"]) == ("telling", {"a": 1}, 3)
    assert actor.prepare(["e"]) == {"value": "prepared"} and actor.batches([1]) == {"value": [[1]]}
    actor.expect(9)
    assert engine.told == [("prepare", ["e"]), ("expect", 9)]
    state = ({"mode": "m"}, ["n"])
    scores, seconds, told = actor.score(["x", "y"])["value"]
    assert (scores, told) == ([["x"], ["y"]], state) and 0 <= seconds < 60
    assert actor.generate(["c"], 4, None) == {"value": ([["c"], 4, None], state)}
    actor._engine = object()
    actor.expect(9)  # an engine that does not want to know


def test_an_error_comes_back_as_a_sentence(scorer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    actor, _, _ = scorer
    actor.open("owner/name", "options")
    refused = actor.score(["refused"])["error"]
    assert type(refused) is ModelError and str(refused) == "too long"
    failed = actor.score(["fails"])["error"]
    assert str(failed) == "a worker of the cluster failed: ValueError: odd"
    assert "ValueError: odd" in capsys.readouterr().err, "where it happened is printed for us"


def test_files_are_used_where_the_path_is_not_here(scorer: Any, tmp_path: Path) -> None:
    actor, opened, _ = scorer
    for spec in (f"{tmp_path}/none", f"hf:{tmp_path}/none", f"gguf:{tmp_path}/none.gguf", "~/none-of-ours"):
        assert actor.open(spec, "options") == {"missing": True}
    assert opened == []
    actor.open(f"hf:{tmp_path}/none", "options", {"config.json": b"{}", "deep/w": b"1"})
    folder = Path(opened[0][0])
    assert folder.name == "none" and (folder / "deep" / "w").read_bytes() == b"1"
    actor.open(f"gguf:{tmp_path}/m.gguf", "options", {"m.gguf": b"2"})
    assert Path(opened[1][0]).read_bytes() == b"2" and Path(opened[1][0]).name == "m.gguf"
    actor.open(str(tmp_path), "options")
    assert opened[2] == (str(tmp_path), "options")


def test_unpacked_files_have_a_folder_of_ours_and_are_opened_by_text(tmp_path: Path) -> None:
    opened: list[Any] = []
    scorer = Scorer(lambda spec, options: opened.append(spec) or Telling(), int(os.environ.get("OMP_NUM_THREADS", 1)))  # type: ignore[arg-type,func-returns-value]
    scorer.open(f"gguf:{tmp_path}/none/m.gguf", EngineOptions(), {"m.gguf": b"x"})
    (spec,) = opened
    assert isinstance(spec, str) and Path(spec).name == "m.gguf" and Path(spec).read_bytes() == b"x"
    assert Path(spec).parent.name.startswith("equipoise-model-")
    shutil.rmtree(Path(spec).parent)
