"""`equipoise view`: what is served, exported and refused, without a server."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from noted import noted, refusal, said

from equipoise.metrics.requirement import parse_requirement
from equipoise.options import RunOptions
from equipoise.view.guard import Door

TOKEN = "a-token_of-16-letters"


class Served(SimpleNamespace):
    """What a command served, and the model that it opened for it."""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return what would be served; nothing listens."""
    notes = Served(box=[], judged=0)
    monkeypatch.setenv("EQUIPOISE_VIEW_TOKEN", TOKEN)
    door = SimpleNamespace(getsockname=lambda: ("127.0.0.1", 4711))
    notes.listening = noted(monkeypatch, "equipoise.serving.listening", door)
    notes.serve = noted(monkeypatch, "equipoise.serving.serve_at")
    notes.app = noted(monkeypatch, "equipoise.view.app.view_app", "app")

    def box(opened: Any, task: Any, **choices: Any) -> str:
        notes.box.append((opened, task, choices))
        return "box"

    def judge(self: Any) -> None:
        notes.judged += 1

    monkeypatch.setattr("equipoise.view.ask_box.AskBox", box)
    monkeypatch.setattr("equipoise.view.app.Viewer.judge", judge)
    notes.door = door
    return notes


def test_a_folder_is_served_at_the_address_that_is_printed(served: Any, tmp_path: Path) -> None:
    out, _ = said("view", tmp_path, "--quiet")
    assert out == f"Open http://127.0.0.1:4711/{TOKEN}/ in a browser. Ctrl-C ends it.\n"
    assert served.listening == [(("127.0.0.1", 8717), {})] and served.serve == [((served.door, "app"), {})]
    (((viewer, door), _),) = served.app
    assert viewer.index.folder == tmp_path.resolve() and viewer.limits == [] and viewer.box is None
    assert door == Door(TOKEN, {"localhost", "127.0.0.1"}) and served.box == [] and served.judged == 1


def test_every_option_is_handed_on(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gate.toml").write_text('[gate]\nrequire = ["flip_rate <= 0.2"]\n')
    words = ("--host", "FE80::1", "--port", "0", "--require", "ucerf >= 0.8", "--config", tmp_path / "gate.toml")
    asked = noted(monkeypatch, "equipoise.scoring.opening.open_engine", "engine")
    out, _ = said("view", tmp_path, *words, "--model", "planted:bias=1", "--task", "mcq", "--chat")
    assert out.startswith(f"Open http://[FE80::1]:4711/{TOKEN}/") and served.listening == [(("FE80::1", 0), {})]
    (((viewer, door), _),) = served.app
    assert viewer.limits == [parse_requirement("ucerf >= 0.8"), parse_requirement("flip_rate <= 0.2")]
    assert viewer.box == "box" and door.names == {"localhost", "fe80::1"}
    ((opened, task, choices),) = served.box
    assert task == "mcq" and choices["chat"] is True
    assert opened() == "engine" and asked[0][0][0] == "planted:bias=1"


def test_a_server_alone_is_a_model_to_ask(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted(monkeypatch, "equipoise.scoring.opening.open_engine")
    said("view", tmp_path, "--server", "http://127.0.0.1:9/v1")
    ((opened, task, _),) = served.box
    opened()
    (((model, options), _),) = asked
    assert (model, options.server, task) == ("smollm2", "http://127.0.0.1:9/v1", RunOptions.task)


@pytest.mark.parametrize(("token", "is_fine"), [("a" * 15, False), ("a" * 16, True), ("a" * 16 + "/", False)])
def test_a_token_needs_sixteen_letters(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, is_fine: bool
) -> None:
    monkeypatch.setenv("EQUIPOISE_VIEW_TOKEN", token)
    if is_fine:
        assert f"/{token}/" in said("view", tmp_path)[0]
    else:
        sentence = "EQUIPOISE_VIEW_TOKEN needs at least 16 letters and digits, such as a random word"
        assert refusal("view", tmp_path) == sentence and served.listening == []


def test_without_a_token_of_ones_own_each_start_has_another(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EQUIPOISE_VIEW_TOKEN")
    first, second = (said("view", tmp_path)[0].split("/")[3] for _ in range(2))
    assert first != second and min(len(first), len(second)) >= 32


def test_a_port_that_is_taken_is_one_sentence(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted(monkeypatch, "equipoise.serving.listening", OSError(errno.EADDRINUSE, "Address already in use"))
    sentence = "127.0.0.1:80 cannot be used (address already in use); choose another --port"
    assert refusal("view", tmp_path, "--port", "80") == sentence


def test_pages_are_written_instead_of_served(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = noted(monkeypatch, "equipoise.view.export.export", 1200)
    looked = noted(monkeypatch, "equipoise.view.index.Index.look")
    out, _ = said("view", tmp_path, "--export", "site", "--require", "ucerf >= 0.8")
    assert out == "1,200 files are in site/. Open index.html there, or serve the folder.\n"
    (((index, place, limits), _),) = written
    assert index.folder == tmp_path.resolve() and place == Path("site")
    assert limits == [parse_requirement("ucerf >= 0.8")] and served.listening == [] and len(looked) == 1
    assert said("view", tmp_path, "--export", "site", "--quiet") == ("", "")
