"""Runs to report on, and a browser to look at the reports with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets.dataset import Dataset
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.datasets.sentence_pairs import load_sentence_pairs
from equipoise.records import Example
from equipoise.run import audit
from equipoise.scoring.planted import PlantedEngine

HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">{{7*7}} & \\input{x} | $'
"""What a name or a sentence could try to be instead of text."""


@pytest.fixture(scope="session")
def hostile() -> str:
    """Return what a name could try to be instead of text."""
    return HOSTILE


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that audits a planted engine on some built-in pairs, and gives the run folder."""

    def run(name: str, *, limit: int = 80, seed: int = 0, **engine: float) -> Path:
        folder = tmp_path_factory.mktemp("runs") / name
        audit(PlantedEngine(**{"noise": 0.7, **engine}), limit=limit, out=folder, resamples=60, seed=seed)
        return folder

    return run


@pytest.fixture(scope="session")
def planted_run(make_run: Callable[..., Path]) -> Path:
    """Return the folder of a run with a strong bias."""
    return make_run("strong", strength=1.0, bias=1.2)


@pytest.fixture(scope="session")
def mild_run(make_run: Callable[..., Path]) -> Path:
    """Return the folder of a run with a weak bias, on the same sentences."""
    return make_run("mild", strength=1.6, bias=0.3)


@pytest.fixture(scope="session")
def cloze_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of two runs on the same labelled sentence pairs: far from calibrated, and close to it."""
    folder = tmp_path_factory.mktemp("cloze")
    jobs = [name for name in OCCUPATIONS if " " not in name][:10]
    starts = [f"On day {number} the {job} came and" for job in jobs for number in range(6)]
    rows = [f"{start} he slept.,{start} she slept.,{number * 7 % 10 < 6:d}" for number, start in enumerate(starts)]
    (folder / "pairs.csv").write_text("\n".join(["sent_more,sent_less,y", *rows]), encoding="utf-8")
    pairs = load_sentence_pairs(folder / "pairs.csv", {})
    for name, engine in (("far", PlantedEngine(bias=0, noise=3)), ("close", PlantedEngine(bias=3, noise=0.5))):
        audit(engine, pairs, task="cloze", out=folder / name, resamples=40)
    return folder / "far", folder / "close"


@dataclass(frozen=True)
class HostileEngine(PlantedEngine):
    """A planted engine whose name is an attack."""

    @property
    def name(self) -> str:
        return f"model {HOSTILE}"


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run whose model, dataset, sentences, candidates and groups are all attacks."""
    examples = [
        Example(
            id=f"{HOSTILE}-{number}-{gender}",
            text=f"The nurse {number} {HOSTILE} said that {pronoun} came.",
            candidates=(f"nurse {HOSTILE}", "carpenter"),
            gold=number % 2,
            answerable=True,
            stereotype=int(gender == "male"),
            groups={
                "type": "type2",
                "gender": gender,
                "occupation": f"nurse {HOSTILE}" if number % 2 == 0 else "carpenter",
                "stereotype": "pro" if (number % 2 == 1) == (gender == "male") else "anti",
                "note": HOSTILE if number % 3 else "plain",
            },
            set_id=f"{HOSTILE}-{number}",
            slots={"pronoun": pronoun},
        )
        for number in range(12)
        for gender, pronoun in (("male", "he"), ("female", "she"))
    ]
    folder = tmp_path_factory.mktemp("runs") / "hostile"
    audit(HostileEngine(noise=1.0), data=Dataset(f"data {HOSTILE}", tuple(examples)), out=folder, resamples=30)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Give a real Chromium, or skip; in CI a missing one is a failure."""
    named = os.environ.get("EQUIPOISE_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        reason = "needs Chromium: apt-get install chromium, or name one in EQUIPOISE_CHROMIUM"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=[*quiet, "--disable-sync", "--no-first-run"])
        yield started
        started.close()


CHARTS_WITHOUT_VALUES = """() => {
  for (const box of document.querySelectorAll("details")) box.open = true;
  return new Promise((done) => setTimeout(() => done([...document.querySelectorAll("svg.chart")].filter((chart) => {
    const box = chart.closest("figure") || chart.closest("details");
    return !box || !box.querySelector(".values tbody tr th[scope=row]");
  }).map((chart) => chart.getAttribute("aria-label"))), 0));
}"""
"""Opens every table of a page, and names the charts that have none."""


@pytest.fixture(scope="session")
def charts_without_values() -> str:
    """Return a script that names the charts of a page without a table of their numbers."""
    return CHARTS_WITHOUT_VALUES


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a page; at the end no script failed and nothing but the page was asked for."""
    contexts, troubles, asked = [], [], []

    def visit(path: Path, address: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on(
            "console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None
        )
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("dialog", lambda dialog: (troubles.append("a dialog"), dialog.dismiss()))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.resolve().as_uri() + address)
        tab.wait_for_selector("html[data-cases=ready]", timeout=20_000)
        return tab

    yield visit
    for context in contexts:
        context.close()
    assert troubles == []
    assert all(url.startswith(("file://", "data:")) for url in asked)
    assert sum(url.startswith("file://") for url in asked) == len(contexts)
