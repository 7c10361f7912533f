"""The whole way, with real parts: a language model behind its server, rules, a browser, raters, a dataset, an audit."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_parts import free_port, missing
from typer.testing import CliRunner

import equipoise
from equipoise.builder.steps import BuildFolder, Sentence, read_records
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import read_test
from equipoise.builder.survey.rater_client import Profile, SimulatedRater, Truth, run_raters, truth_of
from equipoise.builder.survey.rehearsal import UNLIMITED
from equipoise.builder.survey.web.app import survey_app
from equipoise.builder.survey.web.pages import SurveyOptions
from equipoise.builder.verdict.votes import SIMULATED
from equipoise.cli import app
from equipoise.serving import serving

SERVE = """
import sys, time
from xllamacpp import CommonParams, Server
p = CommonParams()
p.model.path, p.port, p.hostnames, p.n_ctx, p.warmup = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"], 2048, False
p.n_parallel = p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
server = Server(p)
while True: time.sleep(1)
"""
TOKEN = "a-token-of-at-least-128-bits"
PROMPTS = Path(__file__).parent / "prompts_for_a_small_model"


@pytest.fixture(scope="module")
def chat_server() -> Iterator[str]:
    """SmolLM2 behind a real OpenAI-compatible server."""
    from equipoise.records import ModelError
    from equipoise.scoring.default_model import gguf_file

    try:
        model = gguf_file()
    except ModelError as error:
        missing(str(error))
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(model), str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}/v1"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/models", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()


def command(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def chromium_rater(address: str, invitation: str, truth: Truth, pictures: Path) -> int:
    """Answer everything in a real browser, as a phone shows it; return how many sentences that were."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    flags += ["--disable-sync", "--no-first-run"]
    answered = 0
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto(f"{address}/enter/{invitation}")
        page.get_by_role("checkbox").check()
        with page.expect_navigation():  # the click alone does not wait for the next page
            page.get_by_role("button", name="Begin").click()
        while page.locator("#question").count():
            vote = truth[page.locator("#sentence").inner_text()]
            for name, reply in zip(("coherent", "first", "second"), vote, strict=True):
                if reply:
                    page.check(f"input[name={name}][value={reply}]")
            assert page.locator(".if-first").is_visible() is (vote[0] == "yes")
            if page.get_by_role("heading", level=1).inner_text() == "Sentence 1":
                page.screenshot(path=pictures / "question.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390  # nothing to scroll sideways
            answered += page.locator("form[action='/answer']").count()
            with page.expect_navigation():
                page.get_by_role("button", name="Next").click()
        assert page.get_by_role("heading", level=1).inner_text() == "That is all. Thank you!"
        browser.close()
    return answered


@pytest.mark.slow
def test_from_a_model_to_an_audit(chat_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("chromium") is None:
        missing("needs Chromium: apt-get install chromium")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.csv").write_text("word,side,share\ncook,male,38\nauditor,female,61\n")
    build = BuildFolder(tmp_path / "mine")
    options = ["--words", "words.csv", "--prompts", PROMPTS, "--samples", 4, "--temperature", 0.6, "--timeout", 300]
    options += ["--concurrency", 1, "--yes", "--quiet", "--server", chat_server, "--model", "smollm2"]
    for seed in range(5):  # a small model: some seeds leave nothing
        command("build", "generate", build.path, *options, "--seed", seed)
        printed = command("build", "filter", build.path, "--words", "words.csv")
        if read_records(build.kept, Sentence, made_by="filter"):
            break
    assert "drafts in" in printed and "target pair" in printed
    sentences = read_records(build.kept, Sentence, made_by="filter")
    assert sentences, "no seed gave a sentence that passes the rules"

    database, test = SurveyDatabase(build.database), read_test(None)
    database.load(sentences)
    truth = truth_of(sentences, test.pool)
    with serving(survey_app(database, SurveyOptions(test, TOKEN, limits=UNLIMITED))) as address:
        (browser,), others = database.raters.invite(1), database.raters.invite(5, origin=SIMULATED)
        assert chromium_rater(address, browser, truth, tmp_path) == len(sentences)
        crowd = [
            SimulatedRater(address, f"/enter/{invitation}", Profile(accuracy=1.0), truth, random.Random(number))
            for number, invitation in enumerate(others)
        ]
        logs = run_raters(crowd)
    assert database.results.counts() == (len(sentences), len(sentences))
    assert sum(len(log.acknowledged) for log in logs) + len(sentences) == len(database.results.answers())
    database.close()

    printed = command("build", "clean", build.path, "--words", "words.csv", "--licence", "CC0-1.0")
    assert f"{len(sentences)} sentences in, {len(sentences)} pairs out" in printed
    made = build.path / "dataset"
    sheet = (made / "DATASHEET-simulated.md").read_text()
    assert "Licence: CC0-1.0" in sheet
    assert sheet.startswith("**SIMULATED RATERS")  # five of the six raters were
    # The model that wrote the sentences is the one that is asked.
    run = equipoise.audit("smollm2", data=[str(made / "mine-simulated.csv")], columns={"text": "sample"}, out="run")
    assert len(run.examples) == 2 * len(sentences)
    assert run.manifest.model == "SmolLM2-135M-Instruct"
    assert run.measurements.query("metric == 'perplexity' and group == 'all'")["value"].between(1, 2).all()
    again = equipoise.audit("planted:strength=2,bias=0.5", data=[str(made / "winobias_format-simulated")], out="again")
    assert len(again.pairs) == len(sentences)
