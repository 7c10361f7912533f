"""The leaderboard: comparable runs on one board, ranks as ranges, models named apart, and a site that can be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from equipoise.reports.leaderboard.boards import boards, metric_names
from equipoise.reports.leaderboard.pages import Site, metric_page, model_page
from equipoise.reports.leaderboard.site import SiteOptions, write_site
from equipoise.reports.leaderboard.submissions import Slugs, read_submissions, run_folders

from equipoise.records import EquipoiseError
from equipoise.run import Run, audit
from equipoise.scoring.planted.stereotype import PlantedEngine

CLEAR = "planted (strength 3, bias 0, mass 0.9)"
BIASED = "planted (strength 1, bias 2.5, mass 0.9)"
LOST = "planted (strength 1, bias 2.5, mass 0.01)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    few: dict[str, Any] = {"metrics": ["ucerf", "flip_rate", "flip_bias", "accuracy"], "by": [], "resamples": 40}
    usual = {"limit": 60, **few}
    audit(PlantedEngine(3, 0, noise=0.7), out=folder / "clear", estimators=["perplexity", "renyi"], **usual)
    audit(PlantedEngine(1, 2.5, noise=0.7), out=folder / "deep" / "biased", **usual)
    audit(PlantedEngine(1, 2.5, noise=0.7), out=folder / "deep" / "biased again", **usual)
    audit(PlantedEngine(3, 0, noise=0.7), out=folder / "fewer", limit=20, **few)
    audit(PlantedEngine(1, 2.5, noise=0.7, mass=0.01), out=folder / "lost", **usual)
    return folder


@pytest.fixture(scope="module")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Site]:
    out = tmp_path_factory.mktemp("site") / "board"
    return out, write_site([runs], out, SiteOptions(title="Pronouns", sentences=False))


def test_what_was_asked_the_same_way_is_on_one_board(site: tuple[Path, Site]) -> None:
    made = site[1].boards
    assert [board.title for board in made] == [
        "builtin (120 sentences) · next-word, resolvable (type 2)",
        "builtin (120 sentences) · next-word, ambiguous (type 1)",
        "builtin (40 sentences) · next-word, resolvable (type 2)",
        "builtin (40 sentences) · next-word, ambiguous (type 1)",
    ]
    large = [board for board in made if board.variant == "120 sentences"]
    assert [len(board.entries) for board in large] == [3, 3]
    assert [entry.model for entry in large[0].earlier] == [BIASED]


def test_ranks_are_those_of_the_values_and_what_is_not_valid_has_none(site: tuple[Path, Site]) -> None:
    board = next(one for one in site[1].boards if one.variant == "120 sentences" and one.kind == "type2")
    places = {place.entry.model: place for place in board.places("ucerf")}
    clear, biased, lost = places[CLEAR], places[BIASED], places[LOST]
    assert clear.row.value > biased.row.value
    assert str(clear.rank) == "1" and str(biased.rank) == "2"
    assert lost.rank is None and "did not understand the question" in lost.why
    assert all(place.rank is None for place in board.places("flip_bias"))  # neither way is better


def test_metrics_come_once_for_each_estimator(site: tuple[Path, Site]) -> None:
    names = {(metric.name, metric.estimator) for metric in metric_names(site[1].boards)}
    assert {("ucerf", "perplexity"), ("ucerf_renyi", "renyi"), ("flip_rate", "")} <= names


def test_the_newest_run_of_a_model_counts_and_the_others_are_its_history(site: tuple[Path, Site]) -> None:
    board = next(one for one in site[1].boards if one.variant == "120 sentences" and one.kind == "type2")
    history = board.history(BIASED)
    assert len(history) == 2
    assert {entry.submission.folder.name for entry in history} == {"biased", "biased again"}
    assert 'id="history"' in model_page(site[1], BIASED)
    assert 'id="history"' not in model_page(site[1], CLEAR)


def test_the_site_is_whole_and_every_link_leads_somewhere(site: tuple[Path, Site]) -> None:
    out, made = site
    pages = sorted(out.rglob("*.html"))
    assert {page.parent.name for page in pages} == {"board", "metrics", "models", "datasets", "runs"}
    assert len(list((out / "models").iterdir())) == len(made.models) == 3
    assert len(list((out / "runs").iterdir())) == 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org)", text.split("<main")[1]) or page.parent.name == "runs"
        for address in re.findall(r'href="([^"#]+)', text):
            if not address.startswith(("data:", "http")):
                assert (page.parent / address).is_file(), f"{page.name}: {address}"
    tidy = pd.read_parquet(out / "measurements.parquet")
    assert set(tidy["model"]) == set(made.models)
    assert len(tidy) == sum(len(Run(run.folder).measurements) for run in made.submissions.runs)


@pytest.mark.slow
def test_a_reader_sorts_and_filters(site: tuple[Path, Site], browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site[0] / "index.html").resolve().as_uri())
    page.wait_for_selector("html[data-board=ready]", timeout=60_000)
    first = "table tbody tr:not([hidden]) th"
    assert "strength 3" in page.locator(first).first.inner_text()
    page.locator("thead th button").nth(1).click()  # ascending: the worst first
    assert "strength 1" in page.locator(first).first.inner_text()
    assert page.locator("thead th").nth(1).get_attribute("aria-sort") == "ascending"
    page.fill("[data-search]", "strength 3")
    assert page.locator(first).count() == 1
    assert page.locator("[data-count]").inner_text() == "1 model, 4 columns"
    page.select_option("[data-filter=dataset]", "builtin (40 sentences)")
    assert page.locator("[data-count]").inner_text() == "1 model, 2 columns"
    page.select_option("[data-go=estimator]", label="renyi")
    page.wait_for_url("**/metrics/ucerf-renyi.html", timeout=60_000)
    page.wait_for_selector("html[data-board=ready]", timeout=60_000)
    assert all(url.startswith(("file://", "data:")) for url in asked)
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    for address in ("index.html", *(f"models/{file.name}" for file in (site[0] / "models").iterdir())):
        phone.goto((site[0] / address).resolve().as_uri())
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
    phone.context.close()


def test_no_text_of_a_run_becomes_code(hostile_run: Path, hostile: str, tmp_path: Path) -> None:
    made = write_site([hostile_run], tmp_path / "site")
    text = metric_page(made, made.first_metric)
    assert "<script>window.hacked" not in text and "<img src=x" not in text
    assert "&lt;/script&gt;" in text


def test_a_folder_of_somebody_else_is_left_alone_and_a_site_is_replaced(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(EquipoiseError, match="holds files that are not a leaderboard"):
        write_site([runs / "clear"], tmp_path)
    out = tmp_path / "site"
    write_site([runs / "fewer"], out, SiteOptions(sentences=False))
    (out / "old.html").write_text("old")
    write_site([runs / "fewer"], out, SiteOptions(sentences=False))
    assert not (out / "old.html").exists() and (out / "index.html").is_file()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_is_not_finished_is_named(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="holds no run folder"):
        run_folders([tmp_path])
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "manifest.json").write_text("{}")
    with pytest.raises(EquipoiseError, match=r"none of the 1 folders holds a finished run: .*damaged"):
        read_submissions([damaged])
    read = read_submissions([damaged, runs / "fewer"])
    assert len(read.left_out) == 1 and len(boards(read.entries)) == 2


def test_names_of_pages_are_different_for_different_texts() -> None:
    slugs = Slugs()
    assert [slugs(text) for text in ("A b", "a/b", "///", "a b")] == ["a-b", "a-b-2", "page", "a-b-3"]
