"""What each function of report.py hands to which medium: nothing is drawn here, so every argument is seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise import report
from equipoise.media.page.html import LEFT_OUT
from equipoise.records import EquipoiseError
from equipoise.records.showing import Chart, Section, Table
from equipoise.report import SiteOptions, check_place
from equipoise.topics import cases


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let every medium tell what it is given, and every topic say its name."""
    calls: list[Any] = []

    def medium(place: str) -> Callable[..., Any]:
        def draw(*given: Any, **named: Any) -> str:
            plain = [list(part) if hasattr(part, "__next__") else part for part in given]
            calls.append((place.rpartition(".")[2], *plain, *([named] if named else [])))
            return place

        return draw

    for place in (
        *("page.html.page", "page.charts.svg", "terminal.sections", "terminal.draw", "terminal.listed"),
        *("notebook.html", "notebook.Plots", "paper.figure_files", "paper.table_files"),
    ):
        monkeypatch.setattr(f"equipoise.media.{place}", medium(place))
    monkeypatch.setattr("equipoise.media.page.html.Head", lambda *facts: facts)
    return calls


def section(name: str, *parts: Any) -> Section:
    return Section(name, list(parts), name)


CHART, TABLE = Chart("c", [], "named"), Table("t", (), [], "named")
TOPICS = (lambda run: section("a", CHART, Chart("c", [])), lambda run: None, lambda run: section("b", TABLE))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(report, "page_topics", lambda *_: [*TOPICS, *report.WITH_TEXTS])
    monkeypatch.setattr(report, "WITH_TEXTS", (lambda run: section("texts"),))
    monkeypatch.setattr(report, "IN_TERMINAL", TOPICS[2:])
    monkeypatch.setattr(report, "COMPARED", (*TOPICS, *TOPICS))
    monkeypatch.setattr(report.background, "facts", lambda run: ["facts"])
    monkeypatch.setattr(report.standings, "facts", lambda comparison: ["standing"])
    monkeypatch.setattr(report, "packers", lambda run, *, sentences: [lambda: f"cases {sentences}"])
    monkeypatch.setattr(report, "are_many", lambda run: run.many)
    for module in (report, cases):
        monkeypatch.setattr(module, "fill_memory", lambda run: run.too_many)
    monkeypatch.setattr(report, "summary", lambda run: f"summary of {run.name}")
    return SimpleNamespace(name="model", names=["x", "y"], parts=[], many=False, too_many=False)


def names(sections: list[Section]) -> list[str]:
    return [one.id for one in sections]


def test_pages_of_runs_and_comparisons(run: Any, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for sentences in (True, False):
        report.run_page(run, sentences=sentences)
        kind, head, shown, rest = told.pop()
        assert (kind, head) == ("page", ("model", "Audit of", ["facts"]))
        made = [one() for one in shown]
        assert made[1] is None and names([*made[:1], *made[2:]]) == ["a", "b", *(["texts"] if sentences else [])]
        assert [pack() for pack in rest.pop("cases")] == [f"cases {sentences}"]
        assert rest == {"scripts": report.RUN_SCRIPTS, "shared": None, "left_out": LEFT_OUT}
    run.many = True
    report.run_page(run)
    assert told.pop()[3]["shared"]() == "summary of model", "which the sections of a large page share"
    run.too_many, gone = True, []
    run.let_go = lambda *names: gone.append(names)
    report.run_page(run)
    _, _, shown, rest = told.pop()
    assert rest["shared"] is None and not gone
    assert [section and section.id for section in (made() for made in shown)] == ["a", None, "b", "texts"]
    assert [pack() for pack in rest["cases"]] == ["cases True"]
    assert gone == [("outcomes.parquet", "pairs.parquet", "examples.parquet")] * 5, "what was read for each"
    monkeypatch.setattr(report.standings, "beside_published", lambda comparison, published: published or None)
    monkeypatch.setattr(report, "differing", lambda comparison: section("differing"))
    report.comparison_page(run)
    kind, head, shown = told.pop()
    assert head == ("x and y", "Comparison of", ["standing"]) and names(shown) == ["a", "b", "a", "b"]
    run.names = ["x", "y", "z"]
    report.comparison_page(run, section("published"), sentences=True)  # type: ignore[arg-type]
    kind, head, shown = told.pop()
    assert head[0] == "3 runs" and names(shown) == ["a", "differing", "b", "published", "a", "b"]
    monkeypatch.setattr(report, "differing", lambda comparison: None)
    report.comparison_page(run, sentences=True)
    assert names(told.pop()[2]) == ["a", "b", "a", "b"]


def test_terminals_and_notebooks(run: Any, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for every in (False, True):
        report.run_text(run, all_rows=every)
        kind, shown, rest = told.pop()
        assert (kind, names(shown), rest) == ("sections", ["b"], {"every": every})
    monkeypatch.setattr(report.power, "power", lambda *given: given)
    report.plan_text("wish", "where", [])
    assert told.pop() == ("draw", ("wish", "where", []))
    monkeypatch.setattr(report.asked, "asked", lambda *given: given)
    report.asked_text(run, ["s"], ["l"])
    assert told.pop() == ("sections", [(run, ["s"], ["l"])], {"charts": True})
    report.asked_html(run, ["s"], ["l"])
    assert told.pop() == ("html", "model", [(run, ["s"], ["l"])])
    monkeypatch.setattr(report.differences, "summary", lambda comparison: ("summary", comparison))
    report.comparison_text(run)
    assert told.pop() == ("draw", ("summary", run))
    monkeypatch.setattr(report.differences, "findings", TOPICS[0])
    monkeypatch.setattr(report.differences, "differences", TOPICS[2])
    report.comparison_html(run)
    kind, title, shown = told.pop()
    assert (kind, title, names(shown)) == ("html", "x · y", ["a", "b"])
    monkeypatch.setattr(report.seen, "findings", lambda tests: [("seen", tests)])
    monkeypatch.setattr(report.differences, "moves", lambda moved: [("moved", moved)])
    report.datasets_text(["m"], ["t"])  # type: ignore[list-item]
    assert told.pop() == ("listed", [("seen", ["t"]), ("moved", ["m"])])
    part = SimpleNamespace(__str__=lambda: "part")
    run.parts = [part]
    monkeypatch.setattr(report.first_screen, "lines", lambda part: ["line"])
    monkeypatch.setattr(report.numbers, "metrics", lambda part: "metrics")
    monkeypatch.setattr(report.flips, "flips", lambda part: ["flips"])
    report.run_html(run)
    kind, title, (shown,) = told.pop()
    assert (kind, title, list(shown.shown)) == ("html", "model", ["line", "metrics", "flips"])


def test_figures_and_tables(run: Any, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    report.run_figures(run)
    assert told.pop() == ("figure_files", [CHART], ("pdf",), "column"), "a chart without a name is no file"
    report.run_figures(run, width="page", formats=["svg"])
    assert told.pop() == ("figure_files", [CHART], ["svg"], "page")
    report.comparison_figures(run, formats=["svg"])
    assert told.pop() == ("figure_files", [CHART, CHART], ["svg"], "column")
    report.run_tables(run, formats=["csv"])
    assert told.pop() == ("table_files", [TABLE], ["csv"], "column")
    report.comparison_tables(run, formats=["csv"], fit="page")
    assert told.pop() == ("table_files", [TABLE, TABLE], ["csv"], "page")
    report.run_plots(run)
    kind, plots = told.pop()
    assert kind == "Plots" and list(plots()) == [CHART]
    monkeypatch.setattr(report, "named_parts", lambda runs: [("named", runs)] if runs else [])
    monkeypatch.setattr(report, "named_apart", lambda runs: ["apart", *runs])
    monkeypatch.setattr(report.identities, "pictures", lambda named: named)
    report.identity_figures([run])
    assert told.pop() == ("figure_files", [("named", [run])], ("png",), "page", {"title": True})
    report.identity_figures([run, run], formats=["svg"])
    assert told.pop() == ("figure_files", [("named", ["apart", run, run])], ["svg"], "page", {"title": True})
    with pytest.raises(EquipoiseError, match=r"^the run has no marked sentences; audit with --data winoidentity"):
        report.identity_figures([])


def test_datasets_and_training(run: Any, told: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(model: str) -> Any:
        return SimpleNamespace(test=SimpleNamespace(first="d1", second="d2", row=SimpleNamespace(model=model)))

    for name in ("between_datasets", "dataset_section"):
        owner = report.differences if name == "between_datasets" else report.scale
        monkeypatch.setattr(owner, name, lambda given, name=name: (name, given))
    monkeypatch.setattr(report.seen, "section", lambda tests: ("seen", tests))
    several = [moved("m"), moved("n"), moved("m")]
    report.datasets_page(several, ["run"])  # type: ignore[list-item]
    head = ("d1 and d2", "Datasets", [("Runs", "m, n")])
    parts = [("between_datasets", several), ("dataset_section", ["run"])]
    assert told.pop() == ("page", head, parts)
    report.datasets_page(several, ["run"], ["t"])  # type: ignore[list-item]
    assert told.pop() == ("page", head, [("seen", ["t"]), *parts])
    curves = SimpleNamespace(settings={"model": "m"})
    for name in ("picture", "facts", "sections"):
        monkeypatch.setattr(report.training, name, lambda curves, name=name: name)
    monkeypatch.setattr(report.training, "read_curves", lambda folder: curves)
    page, found = report.write_training_page(tmp_path)
    assert (page, found) == (tmp_path / "report.html", curves)
    assert told == [
        ("svg", "picture", {"alone": True}),
        ("page", ("Tuning m", "tuning for balance", "facts"), "sections"),
    ]
    assert (tmp_path / "curves.svg").read_text() == "page.charts.svg" and page.read_text() == "page.html.page"


def test_where_a_site_may_be_written(tmp_path: Path) -> None:
    check_place(tmp_path / "none", "mark", "a site")
    check_place(tmp_path, "mark", "a site")
    (tmp_path / "file").write_text("")
    with pytest.raises(EquipoiseError, match=r"holds files that are not a site; choose another folder$"):
        check_place(tmp_path, "mark", "a site")
    with pytest.raises(EquipoiseError, match=r"file is a file; a site needs a folder$"):
        check_place(tmp_path / "file", "mark", "a site")
    (tmp_path / "mark").write_text("")
    check_place(tmp_path, "mark", "a site")


def test_a_page_is_written_with_marks_for_what_cannot_be_written(tmp_path: Path) -> None:
    assert report.write_page(tmp_path / "p.html", "a\ud800b") == tmp_path / "p.html"
    assert (tmp_path / "p.html").read_bytes() == b"a?b"


def test_a_run_s_page_goes_into_its_folder_or_elsewhere(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[Any] = []
    monkeypatch.setattr(report, "run_page", lambda run, *, sentences: f"page {sentences}")
    monkeypatch.setattr(report, "verdicts_json", lambda run: "verdicts")
    run.folder = SimpleNamespace(add=lambda *given, **named: added.append((*given, named)))
    run.path, run.manifest = tmp_path, "manifest"
    assert report.write_run_page(run) == tmp_path / "report.html"
    files = {"report.html": b"page True", report.VERDICTS: "verdicts"}
    assert added == [(files, {"made_from": "manifest"})] and not (tmp_path / "report.html").exists()
    assert report.write_run_page(run, out=tmp_path / "x.html", sentences=False) == tmp_path / "x.html"
    assert (tmp_path / "x.html").read_text() == "page False" and len(added) == 1


def test_a_site_is_made_of_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[Any]) -> None:
    made: list[Any] = []
    submissions = SimpleNamespace(runs=["r"], entries="entries")
    refused: list[Exception] = []

    def check() -> None:
        for error in refused:
            raise error

    site = SimpleNamespace(metrics=["a", "b"], datasets=["d"], models=["m"], title="T", check=check)

    def read(folders: Any, **named: Any) -> Any:
        made.append((folders, named["verified"]))
        return submissions

    monkeypatch.setattr(report, "run_folders", lambda paths: ("folders", *paths))
    monkeypatch.setattr(report, "read_submissions", read)
    monkeypatch.setattr(report, "Site", lambda *facts: made.append(facts) or site)
    monkeypatch.setattr(
        report, "_site_pages", lambda site, *, sentences: [("index.html", f"{sentences}"), ("a/b", "p")]
    )
    monkeypatch.setattr(report, "write_measurements", lambda *given: made.append(given))
    steps: list[Any] = []
    out = tmp_path / "site"
    options = SiteOptions("T", "metric", 0.9, False, ["v"], ["p"])  # type: ignore[list-item]
    (tmp_path / ".site.next").mkdir()
    (tmp_path / ".site.next" / "left").write_text("of a killed command")
    assert report.write_site(["x"], out, options, progress=lambda *step: steps.append(step)) is site
    assert made == [
        (("folders", "x"), ["v"]),
        (submissions, "T", 0.9, "metric", ["p"]),
        ("entries", tmp_path / ".site.next" / "measurements.parquet"),
    ]
    assert steps == [("writing pages", 1, 5), ("writing pages", 2, 5)]
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()) == [
        *(report.MARK, "a/b", "index.html"),
    ]
    assert (out / "index.html").read_text() == "False"
    refused.append(EquipoiseError("nothing to rank"))
    with pytest.raises(EquipoiseError, match=r"^nothing to rank$"):
        report.write_site(["x"], out)
    assert (out / "index.html").is_file()


def test_the_tabs_of_a_site_s_pages(monkeypatch: pytest.MonkeyPatch, told: list[Any]) -> None:
    def shown(address: str, title: str) -> Any:
        return SimpleNamespace(address=address, title=title, kicker="kicker", facts=["f"], sections=["s"])

    pages = [shown("index.html", "T"), shown("models/a.html", "A")]
    monkeypatch.setattr(report, "pages", lambda site: pages)
    files = SimpleNamespace(content=lambda name, manifest: f"{name} of {manifest.files}".encode())
    manifests = {"with": ["report.html"], "without": []}

    def opened(folder: str, *, name: str) -> Any:
        return SimpleNamespace(name=name, folder=files, manifest=SimpleNamespace(files=manifests[folder]))

    monkeypatch.setattr(report, "Run", opened)
    monkeypatch.setattr(report, "run_page", lambda run, *, sentences: f"made {run.name} {sentences}")
    runs = [SimpleNamespace(folder=name, model=f"m-{name}", page=f"runs/{name}") for name in manifests]
    site = SimpleNamespace(title="T", submissions=SimpleNamespace(runs=runs))
    found = dict(report._site_pages(site, sentences=True))  # type: ignore[arg-type]
    assert [call[1] for call in told] == [
        ("T", "kicker", ["f"], [], "T: kicker"),
        ("A", "kicker", ["f"], [("T", "../index.html")], "T: A"),
    ]
    assert list(found) == ["index.html", "models/a.html", "runs/with", "runs/without"]
    assert found["runs/with"] == "report.html of ['report.html']" and found["runs/without"] == "made m-without True"
    bare = dict(report._site_pages(site, sentences=False))  # type: ignore[arg-type]
    assert bare["runs/with"] == "made m-with False"
