"""Uploading, against a server on loopback that speaks the hub's protocol and keeps what it is sent."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from httpx import Request, Response
from huggingface_hub.errors import HfHubHTTPError

import equipoise
from equipoise.cli import app
from equipoise.exports import hub as module
from equipoise.exports.hub import Upload, dataset_files, push, run_files
from equipoise.records import EquipoiseError


@dataclass
class Hub:
    """What the server was sent: repositories, and the files of each commit."""

    address: str = ""
    refuse: bool = False
    made: list[dict[str, object]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)


def serve(hub: Hub) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def reply(self, content: object, status: int = 200) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def do_GET(self) -> None:
            if hub.refuse:
                return self.reply({"error": "Invalid token"}, 401)
            return self.reply({"id": "me/results", "sha": "0" * 40, "siblings": [], "private": True})

        def do_POST(self) -> None:
            content = self.body()
            if hub.refuse:
                self.reply({"error": "Invalid token"}, 401)
            elif self.path.endswith("/repos/create"):
                hub.made.append(json.loads(content))
                self.reply({"url": f"{hub.address}/datasets/me/results"})
            elif self.path.endswith("/api/validate-yaml"):
                self.reply({"errors": [], "warnings": []})
            elif "/preupload/" in self.path:
                files = json.loads(content)["files"]
                modes = [{**file, "uploadMode": "regular", "shouldIgnore": False} for file in files]
                self.reply({"files": modes})
            elif "/commit/" in self.path:
                for line in content.splitlines():
                    item = json.loads(line)
                    if item["key"] == "file":
                        hub.files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
                address = f"{hub.address}/datasets/me/results/commit/{'1' * 40}"
                self.reply({"commitUrl": address, "commitOid": "1" * 40, "success": True})
            else:
                self.reply({"error": f"unknown {self.path}"}, 404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    return server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    state = Hub()
    server = serve(state)
    monkeypatch.setenv("HF_ENDPOINT", state.address)
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    monkeypatch.setenv("no_proxy", "*")
    yield state
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("pushed") / "run"
    equipoise.audit("planted:strength=2", limit=10, resamples=20, out=out)
    return out


def test_a_run_is_uploaded_without_its_sentences(hub: Hub, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["export", "hub", str(run), "--to", "me/results", "--yes"], standalone_mode=False)
    assert "uploaded: " in capsys.readouterr().out
    assert hub.made[0]["visibility"] == "private" and hub.made[0]["type"] == "dataset"
    assert set(hub.files) == {
        "README.md", "report.html", "manifest.json", "measurements.csv", "outcomes.parquet", "pairs.parquet"
    }  # fmt: skip
    assert hub.files["outcomes.parquet"] == (run / "outcomes.parquet").read_bytes()
    assert b"# Audit of planted" in hub.files["README.md"]
    sentence = equipoise.load(run).examples["text"].iloc[0].encode()
    assert not [name for name, content in hub.files.items() if sentence in content]


def test_sentences_are_uploaded_on_request(hub: Hub, run: Path) -> None:
    words = ["export", "hub", str(run), "--to", "me/results", "--yes", "--quiet", "--sentences", "--public"]
    app(words, standalone_mode=False)
    assert "examples.parquet" in hub.files and hub.made[0]["visibility"] == "public"


def test_a_dataset_is_uploaded_whole(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text\na\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "DATASHEET.md").write_text("# Mine")
    app(["export", "hub", str(tmp_path), "--to", "me/mine", "--yes", "--quiet"], standalone_mode=False)
    assert hub.files == {"mine.csv": b"text\na\n", "part/DATASHEET.md": b"# Mine"}


def test_nothing_is_uploaded_without_a_yes(hub: Hub, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: "n")
    monkeypatch.setattr("typer.confirm", lambda *_: False)
    with pytest.raises(EquipoiseError, match="nothing was uploaded"):
        app(["export", "hub", str(run), "--to", "me/results"], standalone_mode=False)
    assert not hub.files and not hub.made


def test_refusals_are_one_sentence(hub: Hub, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.refuse = True
    with pytest.raises(EquipoiseError, match=r"the hub refused me/results: .*is a token set \(HF_TOKEN\)\?"):
        app(["export", "hub", str(run), "--to", "me/results", "--yes"], standalone_mode=False)
    with pytest.raises(EquipoiseError, match="'a/b/c' is not the name of a repository"):
        app(["export", "hub", str(run), "--to", "a/b/c", "--yes"], standalone_mode=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(EquipoiseError, match="the hub cannot be reached"):
        app(["export", "hub", str(run), "--to", "me/results", "--yes"], standalone_mode=False)


def test_files_of_a_run_and_of_a_dataset(tmp_path: Path) -> None:
    for name in ("manifest.json", "pairs.parquet", "examples.parquet", "reasoning.jsonl", ".hidden", "note.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "measurements.csv").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "hidden.").write_text("")
    plain = [("manifest.json", tmp_path / "manifest.json"), ("pairs.parquet", tmp_path / "pairs.parquet")]
    told = [(name, tmp_path / name) for name in ("examples.parquet", "reasoning.jsonl")]
    assert run_files(tmp_path, sentences=False) == plain
    assert run_files(tmp_path, sentences=True) == [*plain, *told]
    names = ["examples.parquet", "manifest.json", "note.txt", "pairs.parquet", "reasoning.jsonl", "sub/hidden."]
    assert dataset_files(tmp_path) == [(name, tmp_path / name) for name in names]
    (tmp_path / "empty").mkdir()
    with pytest.raises(EquipoiseError, match=r"empty: holds no files to upload$"):
        dataset_files(tmp_path / "empty")


def test_the_size_is_of_all_files_together(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert Upload("o/n", (("a", tmp_path / "a"), ("b", b"123"))).size == 8


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:1"])
def test_what_the_hub_is_asked(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Api:
        def __init__(self, **choices: Any) -> None:
            asked.append(choices)

        def create_repo(self, *given: Any, **choices: Any) -> None:
            asked.append((given, choices))

        def create_commit(self, name: str, operations: list[Any], **choices: Any) -> Any:
            asked.append((name, [(one.path_in_repo, one.path_or_fileobj) for one in operations], choices))
            return SimpleNamespace(commit_url="http://there")

    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    monkeypatch.setattr(module, "HfApi", Api)
    (tmp_path / "a").write_bytes(b"12")
    upload = Upload("o.w-n/n_1", (("a", tmp_path / "a"), ("b", b"123")))
    assert push(upload) == push(upload, private=False) == "http://there"
    for number, private in ((0, True), (3, False)):
        assert asked[number : number + 3] == [
            {"endpoint": endpoint or None},
            (("o.w-n/n_1",), {"repo_type": "dataset", "private": private, "exist_ok": True}),
            (
                "o.w-n/n_1",
                [("a", str(tmp_path / "a")), ("b", b"123")],
                {"commit_message": "Add results", "repo_type": "dataset"},
            ),
        ]
    for name in ("owner", "o/n/m", "o/", "/n", "o/n x", "o/n\n"):
        with pytest.raises(EquipoiseError, match=r"is not the name of a repository, such as owner/name$"):
            push(Upload(name, ()))
    assert len(asked) == 6


@pytest.mark.parametrize("step", ["create_repo", "create_commit"])
def test_why_the_hub_refused_or_was_not_reached(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Exception] = [
        HfHubHTTPError(
            "401 Client\n\n Error:  wrong token", response=Response(401, request=Request("GET", "http://h"))
        ),
        TimeoutError("secret"),
    ]
    sentences = [
        "the hub refused o/n: 401 Client Error: wrong token; is a token set (HF_TOKEN)?",
        "the hub cannot be reached (TimeoutError); nothing was uploaded",
    ]
    for fault, sentence in zip(faults, sentences, strict=True):
        api = Mock(**{f"{step}.side_effect": fault})
        monkeypatch.setattr(module, "HfApi", lambda api=api, **_: api)
        with pytest.raises(EquipoiseError) as refused:
            push(Upload("o/n", ()))
        assert str(refused.value) == sentence
        assert api.create_repo.call_count == 1 and api.create_commit.call_count == (step == "create_commit")
