"""The survey's commands: what they refuse, signed links, and a whole survey started from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from shlex import quote

import pytest
from chat_faults import Act, misbehaving, reply
from local_parts import free_port, write_records
from typer.testing import CliRunner

from equipoise.builder.steps import BuildFolder, Sentence, read_records
from equipoise.builder.survey.panel import PanelOptions, is_signed, normalised, visit_of
from equipoise.cli import app

KEY = "a key for signed links, 128 bits"
TOKEN = "an administrator's token of 128 bits"


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["build", *arguments])
    assert result.exit_code != 0, result.output
    return str(result.exception) + result.output


def test_what_a_survey_refuses(tmp_path: Path, some_sentences, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path)
    assert f"run `equipoise build filter {quote(str(folder))}` first" in refusal("survey", folder)
    write_records(BuildFolder(tmp_path).kept, some_sentences(1))
    assert "give --public" in refusal("survey", folder, "--host", "0.0.0.0")
    assert "--public must start with http" in refusal("survey", folder, "--public", "survey.example")
    assert "--proxy needs addresses" in refusal("survey", folder, "--proxy", "nonsense")
    assert "'xx' is not one of 'en', 'de'" in refusal("survey", folder, "--language", "xx")
    assert "enough must be between 1 and most" in refusal("survey", folder, "--enough", "11")
    monkeypatch.setenv("EQUIPOISE_ADMIN_TOKEN", "too short")
    assert "at least 128 bits" in refusal("survey", folder)
    assert "does not exist" in refusal("backup", str(tmp_path / "nothing"))


def test_signed_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("Alice\n\n bob \n")
    arguments = ["links", str(ids), "--public", "https://survey.example/"]
    monkeypatch.delenv("EQUIPOISE_PANEL_KEY", raising=False)
    assert "set EQUIPOISE_PANEL_KEY" in refusal(*arguments)
    monkeypatch.setenv("EQUIPOISE_PANEL_KEY", KEY)
    result = CliRunner().invoke(app, ["build", *arguments])
    links = result.output.split()
    assert len(links) == 2 and all(link.startswith("https://survey.example/panel?id=") for link in links)
    parameters = dict(pair.split("=") for pair in links[0].partition("?")[2].split("&"))
    visit = visit_of(parameters)
    assert visit is not None and visit.key == normalised("ALICE") and is_signed(PanelOptions(key=KEY), visit)
    ids.write_text("not an id;\n")
    assert "ids.txt:1" in refusal(*arguments)


def test_any_pronouns_and_markers_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("word,side,share\ncook,male,38\nnurse,female,90\n")
    text = "1. [The old cook] met [the nurse] before [xe] left town.\n2. [The old cook] met [the nurse] and [he] left."
    build = BuildFolder(tmp_path / "mine")
    with misbehaving(*[Act(body=reply(text))] * 20) as server:
        command = ["build", "generate", str(build.path), "--server", server.address, "--model", "m", "--yes", "--quiet"]
        command += [
            "--words",
            str(tmp_path / "words.csv"),
            "--samples",
            "2",
            "--pronouns",
            "they,xe",
            "--identity",
            "age",
        ]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert server.asked.total() == 2 * 2 * 2  # directions, types, markers
    result = CliRunner().invoke(app, ["build", "filter", str(build.path), "--words", str(tmp_path / "words.csv")])
    assert result.exit_code == 0, result.output
    kept = read_records(build.kept, Sentence, made_by="filter")  # the pronouns are those of generate
    assert {sentence.type for sentence in kept} == {"type1", "type2"} and len(kept) == 2
    groups = {(version.group, version.marker) for version in kept[0].versions()}
    assert groups == {(group, marker) for group in ("xe", "neutral") for marker in ("old", "young", "")}
    steps = build.steps()["filter"].reasons
    assert steps["gendered pronoun"] == 8 and steps["identity marker"] > 0


def test_a_survey_from_the_command_line(tmp_path: Path, some_sentences) -> None:
    write_records(BuildFolder(tmp_path).kept, some_sentences(2))
    port = free_port()
    command = [sys.executable, "-m", "equipoise", "build", "survey", str(tmp_path), "--port", str(port)]
    command += ["--invite", "2", "--panel", "--completion-code", "DONE", "--check-every", "5", "--language", "de"]
    environment = {**os.environ, "EQUIPOISE_ADMIN_TOKEN": TOKEN}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            try:
                assert urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).status == 200
                break
            except urllib.error.URLError:
                assert process.poll() is None
                time.sleep(0.1)
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/panel?PROLIFIC_PID=abc", timeout=5).read().decode()
        assert "Wen meint das Pronomen?" in page and 'lang="de"' in page
    finally:
        process.terminate()
        printed, errors = process.communicate(timeout=30)
    assert printed.count(f"http://127.0.0.1:{port}/enter/") == 2
    assert "2 sentences at" in errors and TOKEN not in errors and "Traceback" not in errors
    assert (tmp_path / "panel.sqlite").is_file()
