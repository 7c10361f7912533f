"""`equipoise export`: what is written for other tools, and what is uploaded only after a yes."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from noted import noted, refusal, said

from equipoise.exports.card import run_card
from equipoise.exports.hub import Upload, dataset_files, run_files
from equipoise.run import load

HUB = ("export", "hub")
PUSH = "equipoise.exports.hub.push"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a dataset of two files."""
    (tmp_path / "mine").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "mine" / name).write_bytes(b"x" * 600_000)
    return tmp_path / "mine"


def test_a_group_without_a_command_shows_its_help() -> None:
    out, _ = said("export")
    assert out.startswith("Usage: ") and "lm-eval" in out and "inspect" in out and "hub" in out


def test_what_would_be_sent_is_shown_before_the_question(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = noted(monkeypatch, PUSH, "https://hub/owner/name")
    out, _ = said(*HUB, folder, "--to", "owner/name", input="y\n")
    question = "Upload 2 files (1.2 MB) to owner/name? [y/N]: y"
    assert out.splitlines() == ["  a.csv", "  b.csv", question, "uploaded: https://hub/owner/name"]
    upload = Upload("owner/name", tuple(dataset_files(folder)))
    assert pushed == [((upload,), {"private": True})]


def test_without_a_yes_nothing_is_uploaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = noted(monkeypatch, PUSH, "address")
    assert refusal(*HUB, folder, "--to", "owner/name", input="n\n") == "nothing was uploaded" and pushed == []


def test_a_yes_on_the_command_line_asks_nothing_and_quiet_says_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed = noted(monkeypatch, PUSH, "address")
    assert said(*HUB, folder, "--to", "o/n", "--yes", "--public") == ("  a.csv\n  b.csv\nuploaded: address\n", "")
    assert said(*HUB, folder, "--to", "o/n", "--yes", "--quiet") == ("", "")
    assert [named for _, named in pushed] == [{"private": False}, {"private": True}]
    out, _ = said(*HUB, folder, "--to", "o/n", "--quiet", input="y\n")
    assert out.startswith("  a.csv\n  b.csv\nUpload 2 files") and "uploaded" not in out, "who is asked sees of what"


@pytest.mark.parametrize("sentences", [False, True])
def test_a_run_is_uploaded_with_its_card_and_page(
    planted_run: Path, monkeypatch: pytest.MonkeyPatch, sentences: bool
) -> None:
    pushed = noted(monkeypatch, PUSH, "address")
    monkeypatch.setattr("equipoise.report.run_page", lambda run, sentences: f"page {sentences}")
    said(*HUB, planted_run, "--to", "o/n", "--yes", *(["--sentences"] if sentences else []))
    (((upload,), _),) = pushed
    card, page, *rest = upload.files
    assert upload.repository == "o/n" and card == ("README.md", run_card(load(planted_run)).encode())
    assert page == ("report.html", f"page {sentences}".encode())
    assert rest == run_files(planted_run, sentences=sentences)


def test_what_is_not_a_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(*HUB, tmp_path / "no", "--to", "o/n") == f"{tmp_path / 'no'} is not a folder"


@pytest.mark.parametrize(("tool", "writer"), [("lm-eval", "write_lm_eval_tasks"), ("inspect", "write_inspect_tasks")])
def test_every_dataset_is_written_as_every_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, writer: str
) -> None:
    written = noted(monkeypatch, f"equipoise.exports.task_folders.{writer}", "name")
    asked = ("--data", "builtin", "--data", "fresh", "--task", "mcq", "--task", "next-word", "--orders", "3")
    out, _ = said("export", tool, *asked, "--limit", "2", "--out", tmp_path)
    given = [(dataset.name, task.name, type(options).__name__, place) for (dataset, task, options, place), _ in written]
    asked_of = product(("builtin", "fresh"), ("mcq", "next-word"))
    assert given == [(data, task, "TaskOptions", tmp_path) for data, task in asked_of]
    assert all(dataset.sets == 2 for (dataset, *_), _ in written)
    prompts = [task.prompts(dataset.examples[0]) for (dataset, task, *_), _ in written if task.name == "mcq"]
    assert [len(several) for several in prompts] == [3, 3]
    run, back = out.splitlines()
    assert back == f"to read back:  equipoise import --format {tool} logs"
    command = {
        "lm-eval": f"lm_eval run --include_path {tmp_path} --tasks name,name,name,name --log_samples"
        " --output_path logs --model hf --model_args pretrained=MODEL,dtype=float32",
        "inspect": "inspect eval name name name name --model hf/MODEL",
    }
    assert run == f"to run them:   {command[tool]}"
    assert said("export", tool, *asked, "--limit", "2", "--quiet") == ("", "")
    assert written[-1][0][-1] == Path("tasks")
