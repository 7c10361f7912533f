"""The pages of a leaderboard as sections: ranks that lead to cases, forests, history, and what was left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.records import EquipoiseError, Measurement
from equipoise.records.showing import Cell, Chart, Dot, Finding, Section, Table, cases_link, every
from equipoise.subset import subset_run
from equipoise.topics.leaderboard import pages as topic
from equipoise.topics.leaderboard.boards import Board, read_submissions, run_folders
from equipoise.topics.leaderboard.pages import Site, SitePage, board_order, forest, pages
from equipoise.topics.published import PublishedValue

CLEAR = "planted (strength 3, bias 0, mass 0.9)"
BIASED = "planted (strength 1, bias 2.5, mass 0.9)"
LOST = "planted (strength 1, bias 2.5, mass 0.01)"


@pytest.fixture(scope="module")
def site(board_runs: Path) -> Site:
    return Site(read_submissions(run_folders([board_runs]), verified=[board_runs / "clear"]), "Pronouns")


@pytest.fixture(scope="module")
def made(site: Site) -> dict[str, SitePage]:
    return {page.address: page for page in pages(site)}


def table_of(page: SitePage, section: str) -> Table:
    (wanted,) = [shown for shown in page.sections if shown.id == section]
    return next(wanted.every(Table))


def cells_of(table: Table, name: str) -> list[Cell | None]:
    (row,) = [row for row in table.rows if isinstance(row.cells[0], Cell) and row.cells[0].content == name]
    return [cell for cell in row.cells[1:] if cell is None or isinstance(cell, Cell)]


def test_there_is_a_page_for_each_metric_dataset_and_model(site: Site, made: dict[str, SitePage]) -> None:
    assert set(made) >= {"index.html", "metrics/flip-rate.html", "metrics/ucerf-renyi.html"}
    assert set(site.models.values()) | set(site.datasets.values()) | set(site.metric_pages.values()) == set(made)
    assert list(site.models) == [LOST, BIASED, CLEAR]
    assert replace(site, main="accuracy").metric_pages["accuracy"] == "index.html"


def test_a_metric_that_no_run_has_is_refused_by_name(site: Site) -> None:
    site.check()
    replace(site, main="accuracy").check()
    with pytest.raises(EquipoiseError, match=r"^unknown metric of these runs 'fliprate'; did you mean 'flip_rate'\?$"):
        replace(site, main="fliprate").check()
    with pytest.raises(EquipoiseError, match=r"^unknown metric of these runs 'unheard'; .*flip_rate, .*ucerf"):
        replace(site, main="unheard").check()
    bare = replace(site, main="flip_rate")
    bare.__dict__["boards"] = []
    with pytest.raises(EquipoiseError, match=r"^the runs have none of the metrics of a leaderboard; measure them with"):
        bare.check()


def test_a_board_without_any_metric_lists_its_models(board_runs: Path, tmp_path: Path) -> None:
    part = subset_run(board_runs / "clear", ["gender=male"], out=tmp_path / "part", resamples=2)
    site = Site(read_submissions([part.path]))
    boards = {board.kind: board for board in site.boards}
    assert not topic.metric_names([boards["type1"]]), "without a second pronoun, ambiguous sentences have no metric"
    (page,) = [page for page in pages(site) if page.kicker == "dataset"]
    tables = [table for section in page.sections for table in section.every(Table)]
    assert [len(table.rows) for table in tables] == [1, 1] and [column.title for column in tables[1].columns] == [
        "model",
        "audited",
    ]


def test_the_index_ranks_every_model_and_leads_to_its_cases(made: dict[str, SitePage]) -> None:
    table = table_of(made["index.html"], "board")
    assert [column.title for column in table.columns][:2] == [
        "model",
        "builtin (120 sentences) · next-word, resolvable (type 2)",
    ]
    assert table.filters == {
        "dataset": ["builtin (120 sentences)", "builtin (40 sentences)"],
        "type": ["resolvable (type 2)", "ambiguous (type 1)"],
    }
    assert [row.cells[0].content for row in table.rows] == [CLEAR, LOST, BIASED], "sorted by the first column"
    first, *_ = cells_of(table, CLEAR)
    assert first is not None and isinstance(first.content, Measurement) and first.content.metric == "ucerf"
    assert (first.before, first.strong) == ("1", True)
    assert first.link.startswith("runs/") and first.link.endswith(
        "#filter=part:builtin%20%C2%B7%20next-word,type:type2"
    )
    second, *_, last = cells_of(table, BIASED)
    assert second is not None and (second.before, second.strong) == ("2", False)
    assert last is None, "it was not asked the fewer sentences"
    lost, *_ = cells_of(table, LOST)
    assert lost is not None and lost.content == "not usable" and "did not understand" in lost.hint


def test_the_index_begins_with_the_models_in_order_as_the_ranks_have_them(
    site: Site, made: dict[str, SitePage]
) -> None:
    first = made["index.html"].sections[0]
    assert first.id == "order" and "p-values" in list(first.every(Finding))[-1].text
    chart = next(first.every(Chart))
    assert isinstance(first.shown[0], Finding) and first.shown[1] is chart, "one sentence, then the picture"
    boards = {board.title: board for board in site.boards}
    assert chart.panels
    for panel in chart.panels:
        board, dots = boards[panel.title], list(panel.marks_of(Dot))
        metric = board.ranked_by("ucerf")
        standings = {standing.entry.model: standing for standing in board.standings(metric)}
        assert LOST not in panel.y.names, "what is not usable has no place in the order"
        ranks = [standings[dot.label].rank for dot in dots]
        assert [rank.best for rank in ranks] == sorted(rank.best for rank in ranks)
        ordering = board_order(board, metric)
        for one, other in combinations(ordering.names, 2):
            ahead, behind = standings[one].rank, standings[other].rank
            assert ordering.are_apart(one, other) == (ahead.worst < behind.best), "two models: ranks tell them apart"
        assert all(dot.link.startswith("models/") for dot in dots)
    told = [finding.text for finding in first.every(Finding) if finding.topic == "order"]
    assert f"{CLEAR} is better than {BIASED} by " in told[0] and "after correction" in told[0]


def test_other_metrics_and_estimators_are_choices(made: dict[str, SitePage]) -> None:
    choices = table_of(made["index.html"], "board").choices
    assert [cell.content for cell in choices["estimator"]] == ["perplexity", "renyi"]
    assert [cell.content for cell in choices["metric"] if cell.strong] == ["UCerF"]
    assert {cell.content: cell.link for cell in choices["metric"]}["Flip rate"] == "metrics/flip-rate.html"
    choices = table_of(made["metrics/ucerf-renyi.html"], "board").choices
    assert [cell.link for cell in choices["estimator"]] == ["../index.html", "../metrics/ucerf-renyi.html"]
    assert [cell.content for cell in choices["estimator"] if cell.strong] == ["renyi"]


def test_a_metric_without_a_better_direction_has_no_ranks(made: dict[str, SitePage]) -> None:
    board = made["metrics/flip-bias.html"].sections[0]
    assert "no better direction" in board.intro and "rank;" not in board.intro
    cells = [cell for row in next(board.every(Table)).rows for cell in row.cells if isinstance(cell, Cell)]
    assert not any(cell.before or cell.strong for cell in cells)


def test_a_dataset_shows_its_models_by_every_metric_the_best_first(site: Site, made: dict[str, SitePage]) -> None:
    page = made["datasets/builtin-120-sentences.html"]
    assert page.facts == [("Sentences", "120"), ("Tasks", "next-word")]
    table, (chart, *_) = table_of(page, "board-0"), list(every(page.sections, Chart))
    assert {"UCerF", "Flip rate", "Flip bias", "Accuracy"} <= {column.title for column in table.columns}
    assert len(table.rows) == 3
    titles = [panel.title for panel in chart.panels]
    assert "UCerF" in titles and "Flip bias" not in titles
    panel = chart.panels[titles.index("UCerF")]
    assert list(panel.y.names) == [f"1 · {CLEAR}", f"2 · {BIASED}"], "a run that is not usable has no place"
    assert LOST in {row.cells[0].content for row in table.rows if isinstance(row.cells[0], Cell)}
    dots = list(panel.marks_of(Dot))
    assert [dot.x.value for dot in dots] == sorted((dot.x.value for dot in dots), reverse=True)
    fewer = next(board for board in site.boards if board.variant == "40 sentences")
    assert all(forest(fewer, metric) is None for metric in site.metrics), "one model is not compared"


def test_a_model_shows_what_was_found_its_ranks_and_its_runs(made: dict[str, SitePage]) -> None:
    page = made["models/planted-strength-3-bias-0-mass-0.9.html"]
    found, ranks, runs = page.sections
    assert [section.id for section in page.sections] == ["findings", "ranks", "runs"], "one run has no history"
    titles = [section.title for section in found.shown if isinstance(section, Section)]
    assert len(titles) == 2 and all(title.startswith("builtin · next-word, 20") for title in titles)
    sentences = [finding.text for finding in found.every(Finding) if not finding.short]
    assert any("changed the answer in" in sentence for sentence in sentences)
    assert {finding.name for finding in found.every(Finding) if finding.short} >= {"accuracy", "median candidate mass"}
    assert all(section.link.startswith("../runs/") for section in found.shown if isinstance(section, Section))
    assert [row.cells[1] for row in next(ranks.every(Table)).rows] == [3, 3, 1, 1]
    facts = [dict(tuple(row.cells) for row in table.rows) for table in runs.every(Table)]
    assert sorted("verified" in str(shown["Finished (UTC)"]) for shown in facts) == [False, True]
    assert all(shown["Engine"] == "planted" for shown in facts)


def test_a_model_with_two_runs_has_a_history(made: dict[str, SitePage]) -> None:
    (history,) = [s for s in made["models/planted-strength-1-bias-2.5-mass-0.9.html"].sections if s.id == "history"]
    table, chart = next(history.every(Table)), next(history.every(Chart))
    assert len(table.rows) == 2 and [column.title for column in table.columns][:2] == ["finished (UTC)", "version"]
    panel = chart.panels[[panel.title for panel in chart.panels].index("UCerF")]
    place = [column.title for column in table.columns].index("UCerF")
    assert [dot.y for dot in panel.marks_of(Dot)] == [row.cells[place].estimate for row in table.rows]


def test_how_to_read_a_site_is_its_last_section(site: Site) -> None:
    (facts,) = next(pages(site)).sections[-1].every(Table)
    texts = {str(row.cells[0]): row.cells[1] for row in facts.rows}
    assert "paired test" in str(texts["Ranks"]) and "95% interval" in str(texts["Ranks"])
    assert set(texts) > {"Columns", "Not valid", "Submit a run"}


def test_published_values_are_on_the_pages_of_their_metric_and_dataset(site: Site) -> None:
    values = [
        PublishedValue("some-paper", "Big-70B", "builtin", "next-word", "type=type2", metric, printed)
        for metric, printed in (("ucerf", "0.123"), ("accuracy", "0.456"))
    ]
    told = {page.address: page for page in pages(replace(site, published=values))}

    def printed(address: str) -> set[object]:
        sections = [section for section in told[address].sections if section.id == "published"]
        return {row.cells[-1] for table in every(sections, Table) for row in table.rows}

    assert printed("index.html") == {"0.123"} and printed("metrics/accuracy.html") == {"0.456"}
    assert printed("datasets/builtin-120-sentences.html") == {"0.123", "0.456"}
    assert not printed("metrics/flip-rate.html")


def test_what_is_described_is_as_it_was_kept(made: dict[str, SitePage], board_runs: Path) -> None:
    # Those of models have a chart over time.
    for address, page in ((at, page) for at, page in made.items() if not at.startswith("models")):
        name = address.removesuffix(".html").replace("/", "-")
        assert_kept(f"topics/leaderboard/{name}", page, hide=[str(board_runs)])


@pytest.mark.parametrize(("name", "sign"), [("flip_rate", 1), ("ucerf", -1)])
def test_a_column_has_the_models_of_its_board_alone_the_best_first(site: Site, name: str, sign: int) -> None:
    (metric,) = [metric for metric in site.metrics if metric.name == name]
    several = set()
    for board in site.boards:
        rows = topic._by_metric(site, [board], metric, "").rows
        shown = [row.cells[0].content for row in rows]  # type: ignore[union-attr]
        assert sorted(shown) == sorted({entry.model for entry in board.entries})
        standings = {model: board.standing(model, board.ranked_by(name)) for model in shown}
        values = [sign * one.row.value for one in standings.values() if one is not None and one.row is not None]
        assert values == sorted(values)
        several.add(len(shown))
    assert len(several) > 1, "a board has fewer models than another"


def test_the_page_of_a_metric_says_what_it_is_and_counts_what_there_is(site: Site) -> None:
    texts = {}
    for metric in site.metrics:
        page = topic.metric_page(site, metric)
        (board,) = [section for section in page.sections if section.id == "board"]
        having = [one for one in site.boards if any(row.row for row in one.standings(metric.name))]
        (table,) = board.shown
        assert isinstance(table, Table) and len(table.columns) == len(having) + 2
        texts[metric.better] = board.intro.removeprefix(f"{metric.summary[:1].upper()}{metric.summary[1:]}. ")
        newest = max(run.finished for run in site.submissions.runs)
        counts = [f"{len(counted)}" for counted in (site.models, site.datasets, site.submissions.runs)]
        assert page.facts == [*zip(("Models", "Datasets", "Runs"), counts, strict=True), ("Newest", newest)]
    ranks = f"{topic.RANKS} All ranges of a column hold together with 95% confidence. Bold: may be first."
    assert texts == {
        "higher": f"{topic.BETTER['higher']} {ranks}",
        "lower": f"{topic.BETTER['lower']} {ranks}",
        "neither": "It has no better direction, so there are no ranks. ",
    }


def test_a_board_without_the_metric_has_no_column(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (metric,) = [metric for metric in site.metrics if metric.name == "flip_rate"]
    kinds = {board.kind for board in site.boards}
    own = Board.standings

    def some(board: Board, name: str) -> Any:
        return own(board, name) if board.kind == "type2" else [replace(one, row=None) for one in own(board, name)]

    given: list[Any] = []
    monkeypatch.setattr(Board, "standings", some)
    monkeypatch.setattr(topic, "_by_metric", lambda site, having, *_: given.extend(having) or Table("", [], []))
    topic.metric_page(site, metric)
    assert {board.kind for board in given} == {"type2"} < kinds


@pytest.mark.parametrize("paired", [[True, True], [True, False], [False, False]])
def test_how_models_were_told_apart_is_said(site: Site, monkeypatch: pytest.MonkeyPatch, paired: list[bool]) -> None:
    (metric,) = [metric for metric in site.metrics if metric.name == "flip_rate"]
    board = site.boards[0]
    ordering = topic.board_order(board, "flip_rate")
    assert ordering is not None
    given = iter(replace(ordering, paired=are_paired) for are_paired in paired)
    monkeypatch.setattr(topic, "board_order", lambda *_: next(given))
    (section,) = topic.order_sections(site, [board, board], metric, "")
    how = "Every two models are tested sentence by sentence, as `equipoise compare` does"
    if not all(paired):
        how = "Where a column has more than 24 models, or runs cannot be paired, their own intervals decide"
    assert list(section.every(Finding))[-1].text == f"{how}; p-values are corrected for all pairs of a column (Holm)."
    (chart,) = section.every(Chart)
    assert chart.layout == "multiples" and len(chart.panels) == 2


def test_values_over_time_take_two_runs_that_have_them(site: Site) -> None:
    (metric,) = [metric for metric in site.metrics if metric.name == "flip_rate"]
    board = site.boards[0]
    entry, kind = board.entries[0], board.kind
    row = entry.measured.get("flip_rate", type=kind)
    assert row is not None

    def at(date: str, measured: Any = entry.measured) -> Any:
        return SimpleNamespace(submission=SimpleNamespace(finished=date), measured=measured)

    without = at("2026-01-02T00:00:00", SimpleNamespace(get=lambda *_, **__: None))
    assert topic.over_time([at("2026-01-01T00:00:00"), without], board, metric) is None
    panel = topic.over_time([at("2026-01-01T10:00:00"), without, at("2026-01-03T11:00:00")], board, metric)
    assert panel is not None and list(panel.x.names) == ["2026-01-01", "2026-01-03"]
    assert [(dot.x, dot.y, dot.label) for dot in panel.marks_of(Dot)] == [
        (0.0, row.estimate, "2026-01-01T10:00:00"),
        (1.0, row.estimate, "2026-01-03T11:00:00"),
    ]
    assert panel.title == metric.title


def test_a_model_without_a_value_on_the_first_board_comes_last(site: Site) -> None:
    (metric,) = [metric for metric in site.metrics if metric.name == "ucerf"]
    fewer, more = (end(site.boards, key=lambda board: len({e.model for e in board.entries})) for end in (min, max))
    rows = topic._by_metric(site, [fewer, more], metric, "").rows
    known = [row.cells[1] is not None for row in rows]
    assert known == sorted(known, reverse=True) and len(set(known)) == 2


def test_the_facts_of_a_run_are_what_makes_it_again(site: Site) -> None:
    run = site.submissions.runs[0]
    engine = {"engine": "hf", "dtype": "", "weights": "abc"}
    manifest = replace(run.manifest, engine=engine, command="equipoise audit m", versions={"platform": "p", "x": "1"})
    for verified, known in ((True, engine), (False, {"engine": "hf", "dtype": "float32"})):
        told = topic._run_facts(replace(run, manifest=replace(manifest, engine=known), verified=verified))
        facts = {str(row.cells[0]): getattr(row.cells[1], "content", row.cells[1]) for row in told.rows}
        assert facts == {
            "Asked": f"{', '.join(manifest.datasets)} · {', '.join(manifest.tasks)}",
            "Finished (UTC)": run.finished + (" · verified: hashes and measurements" if verified else ""),
            "Engine": "hf" if verified else "hf, float32",
            "Weights": known.get("weights", "–"),
            "Command": "equipoise audit m",
            "Versions": "x 1",
        }
        links = {getattr(row.cells[1], "link", "") for row in told.rows}
        assert links == {"", f"../{run.page}"}


def test_a_cell_has_the_rank_the_value_and_the_way_to_its_cases(site: Site) -> None:
    board = site.boards[0]
    (standing,) = [one for one in board.standings("ucerf") if one.rank and one.rank.best == 1]
    entry, row = standing.entry, standing.row
    link = f"../{entry.submission.page}{cases_link(part=f'{entry.dataset} · {entry.task}', type=standing.kind)}"
    assert topic._cell(standing) == Cell(row, True, link=link, before=str(standing.rank))
    assert topic._cell(replace(standing, rank=None)) == Cell(row, False, link=link)
    assert topic._cell(standing, "") == Cell(row, True, link=link.removeprefix("../"), before=str(standing.rank))
    second = replace(standing, rank=standing.rank._replace(best=2, worst=3))
    assert topic._cell(second) == Cell(row, False, link=link, before=str(second.rank))
    assert topic._cell(None) is None and topic._cell(replace(standing, row=None)) is None
    (lost,) = [one for one in board.standings("ucerf") if one.entry.model == LOST]
    other = link.replace(entry.submission.page, lost.entry.submission.page)
    for invalid in (lost, replace(lost, row=None), replace(lost, row=row)):
        assert topic._cell(invalid) == Cell("not usable", link=other, hint=lost.entry.invalid) and lost.entry.invalid


def test_a_page_of_a_model_has_its_facts_its_boards_and_the_history_of_each(site: Site) -> None:
    page = topic.model_page(site, BIASED)
    runs = [run for run in site.submissions.runs if run.model == BIASED]
    assert page.facts == [("Engine", "planted"), ("Architecture", ""), ("Parameters", ""), ("Runs", f"{len(runs)}")]
    assert (page.address, page.title, page.kicker) == (site.models[BIASED], BIASED, "model")
    several = [board for board in site.boards if BIASED in {entry.model for entry in board.entries}]
    ranks = table_of(page, "ranks")
    assert [row.cells[:2] for row in ranks.rows] == [
        (Cell(board.title, link=f"../{site.datasets[board.dataset_title]}"), len(board.entries)) for board in several
    ]
    (history,) = topic._history(several, BIASED)
    assert history.intro == "Every run of this model, board by board. Only the newest run is ranked."
    with_history = [board for board in several if len(board.history(BIASED)) > 1]
    assert [shown.title for shown in history.shown] == [board.title for board in with_history]  # type: ignore[union-attr]
    for board, table, chart in zip(with_history, history.every(Table), history.every(Chart), strict=True):
        assert chart.title == f"{board.title} over time" and chart.layout == "multiples"
        names = [column.title for column in table.columns]
        assert names[:2] == ["finished (UTC)", "version"] and "Flip bias" not in names and table.sortable
        for row, entry in zip(table.rows, board.history(BIASED), strict=True):
            run = entry.submission
            assert row.cells[0] == Cell(run.finished, link=f"../{run.page}")
            assert row.cells[1] == run.manifest.versions["equipoise"]
            assert row.cells[names.index("UCerF")] == entry.measured.get("ucerf", type=board.kind)


def test_parameters_are_counted_where_they_are_known(site: Site) -> None:
    def told(**engine: Any) -> dict[str, str]:
        entries = [
            replace(
                entry, submission=replace(entry.submission, manifest=replace(entry.submission.manifest, engine=engine))
            )
            for entry in site.submissions.entries
        ]
        return dict(
            topic.model_page(replace(site, submissions=replace(site.submissions, entries=entries)), CLEAR).facts
        )

    known = told(engine="hf", architecture="Llama", parameters=1234567)
    assert known == {"Engine": "hf", "Architecture": "Llama", "Parameters": "1,234,567", "Runs": known["Runs"]}
    assert told(parameters="many")["Parameters"] == "" == told()["Engine"]


@pytest.mark.parametrize(("count", "title"), [(1, "1 folder was left out"), (2, "2 folders were left out")])
def test_folders_that_were_left_out_are_counted(site: Site, count: int, title: str) -> None:
    notes = [f"{at} is damaged" for at in range(count)]
    told = topic._about(replace(site, level=0.9, submissions=replace(site.submissions, left_out=notes)), "../")
    table, folded = told.shown
    assert isinstance(folded, Section) and folded.title == title and folded.folded
    assert [finding.text for finding in folded.every(Finding)] == notes
    assert isinstance(table, Table) and "90% interval" in str(table.rows[0].cells[1]) + str(table.rows[1].cells[1])
    assert table.rows[-1].cells[1] == Cell("measurements.parquet", link="../measurements.parquet")
    assert len(topic._about(replace(site, submissions=replace(site.submissions, left_out=[])), "").shown) == 1
