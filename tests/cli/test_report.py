"""`equipoise report --as`: what it makes of a run, and which options have no use for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from noted import noted, said
from typer.testing import CliRunner

from equipoise.cli import app, report
from equipoise.cli.report import FIGURES, TABLES, Format, Wanted
from equipoise.exports.certificate import NAME as CERTIFICATE
from equipoise.records import EquipoiseError


@pytest.fixture
def run(planted_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a run, to write into."""
    return Path(shutil.copytree(planted_run, tmp_path / "run"))


def made(*words: str | Path) -> str:
    result = CliRunner().invoke(app, ["report", *map(str, words)])
    assert result.exit_code == 0, result.exception
    return result.output


def test_a_run_is_shown_as_what_was_asked_for(run: Path, tmp_path: Path) -> None:
    assert "tables" in made(run, "--as", "tables", "--format", "csv")
    assert {file.suffix for file in (run / "tables").iterdir()} == {".csv"}
    assert " files in " in made(run, "--as", "figures", "--format", "svg", "--out", tmp_path / "drawn")
    assert {file.suffix for file in (tmp_path / "drawn").iterdir()} == {".svg"}
    card = made(run, "--as", "card")
    assert "model-index" in card
    assert made(run, "--as", "card", "--out", tmp_path / "card.md") == f"{tmp_path / 'card.md'} is written\n"
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == card
    before = (run / "report.html").read_bytes() if (run / "report.html").is_file() else b""
    made(run, "--as", "page", "--quiet")
    assert (run / "report.html").read_bytes() and b"<html" in (run / "report.html").read_bytes()[:200]
    assert before == b"" or before[:15] == (run / "report.html").read_bytes()[:15]


def test_notes_on_undefined_metrics_are_printed_with_all_the_rest(planted_run: Path) -> None:
    assert "are not defined for some occupations" not in made(planted_run)
    assert "are not defined for some occupations" in made(planted_run, "--all")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--bins", "5"), "--bins is for --as reliability, not for --as page"),
        (("--as", "card", "--json"), "--json is for --as page, not for --as card"),
        (("--as", "tables", "--where", "gender=male"), "--where is for --as page, not for --as tables"),
        (("--as", "tables", "--format", "png"), "--format must be one of markdown, latex, csv here, not png"),
        (("--as", "figures", "--format", "csv"), "--format must be one of pdf, svg, png here, not csv"),
        (
            ("--as", "figures", "--width", "longtable"),
            "--width longtable is for tables; figures are as wide as a column",
        ),
        (("--as", "card", "other"), "this is made of one run; give one run folder (`equipoise compare` shows several)"),
        (("--as", "identities", "--bins", "3"), "--bins is for --as reliability, not for --as identities"),
    ],
)
def test_an_option_without_a_use_is_refused(words: tuple[str, ...], sentence: str, planted_run: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(planted_run), *words])
    assert result.exit_code != 0 and sentence in str(result.exception)


@pytest.fixture
def noted_report(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the notes of what a report does of a run, which is only its name."""
    notes = {}
    for name in ("check_trackers", "write_page", "show_run", "log_run"):
        notes[name] = noted(monkeypatch, f"equipoise.cli.report.{name}")
    notes["part_of"] = noted(monkeypatch, "equipoise.cli.report.part_of", "part")
    return notes


def test_every_option_of_a_page_is_handed_on(noted_report: dict[str, Any]) -> None:
    words = ("--where", "a=b", "--log", "wandb", "--out", "o", "--html", "p.html", "--no-sentences", "--all", "--json")
    said("report", "run", *words)
    assert noted_report["check_trackers"] == [((["wandb"],), {})]
    assert noted_report["part_of"] == [((Path("run"), ["a=b"], Path("o")), {"quiet": True})]
    page = {"no_html": False, "out": Path("p.html"), "sentences": False}
    assert noted_report["write_page"] == [(("part",), page)]
    assert noted_report["show_run"] == [
        (("part",), {"quiet": False, "as_json": True, "every": True, "elsewhere": Path("p.html")})
    ]
    assert noted_report["log_run"] == [(("part", ["wandb"]), {"quiet": True})]
    said("report", "run", "--quiet", "--no-html")
    assert noted_report["part_of"][1] == ((Path("run"), None, None), {"quiet": True})
    assert noted_report["write_page"][1] == (("part",), {"no_html": True, "out": None, "sentences": True})
    assert noted_report["show_run"][1] == (
        ("part",),
        {"quiet": True, "as_json": False, "every": False, "elsewhere": None},
    )
    assert noted_report["log_run"][1] == (("part", ()), {"quiet": True})
    said("report", "run")
    assert noted_report["part_of"][2][1] == noted_report["log_run"][2][1] == {"quiet": False}


WANTED = Wanted([Path("a")], None, (), "column", False, "", 10, False)


def test_one_run_or_an_error_and_formats_that_are_allowed() -> None:
    assert WANTED.run == Path("a") and WANTED.formats_among(FIGURES, (Format.png,)) == ("png",)
    with pytest.raises(
        EquipoiseError, match=r"^this is made of one run; give one run folder \(`equipoise compare` shows several\)$"
    ):
        _ = replace(WANTED, runs=[Path("a"), Path("b")]).run
    some = replace(WANTED, formats=(Format.svg, Format.pdf))
    assert some.formats_among(FIGURES, (Format.png,)) == ("svg", "pdf")
    with pytest.raises(EquipoiseError, match=r"^--format must be one of markdown, latex, csv here, not svg$"):
        some.formats_among(TABLES, TABLES)


def test_figures_are_of_a_run_of_datasets_apart_or_of_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    of_run = noted(monkeypatch, "equipoise.report.run_figures", "of run")
    apart = noted(monkeypatch, "equipoise.topics.scale.spreads_apart", ["chart"])
    drawn = noted(monkeypatch, "equipoise.media.paper.figure_files", "apart")
    of_several = noted(monkeypatch, "equipoise.report.comparison_figures", "of several")
    compared = noted(monkeypatch, "equipoise.cli.report.compared", "comparison")
    kept = noted(monkeypatch, "equipoise.cli.report._write_all")
    monkeypatch.setattr("equipoise.runs.run.Run", lambda folder: folder)
    two = replace(WANTED, runs=[Path("a"), Path("b")], width="page", intersect=True, quiet=True)
    report._figures(WANTED)
    report._figures(two)
    monkeypatch.setattr("equipoise.topics.scale.spreads_apart", lambda runs: [])
    report._figures(two)
    every = ("pdf", "svg", "png")
    assert of_run == [((Path("a"),), {"width": "column", "formats": every})]
    assert apart == [(([Path("a"), Path("b")],), {})] and drawn == [((["chart"], every, "page"), {})]
    assert of_several == [(("comparison",), {"width": "page", "formats": every})]
    assert compared == [(([Path("a"), Path("b")], {"intersect": True}), {"quiet": True})]
    assert [given for given, _ in kept] == [
        ("of run", WANTED, "figures"),
        ("apart", two, "figures"),
        ("of several", two, "figures"),
    ]


def test_tables_are_of_a_run_or_of_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    of_run = noted(monkeypatch, "equipoise.report.run_tables", "of run")
    of_several = noted(monkeypatch, "equipoise.report.comparison_tables", "of several")
    noted(monkeypatch, "equipoise.cli.report.compared", "comparison")
    kept = noted(monkeypatch, "equipoise.cli.report._write_all")
    monkeypatch.setattr("equipoise.runs.run.Run", lambda folder: folder)
    two = replace(WANTED, runs=[Path("a"), Path("b")], width="longtable")
    report._tables(WANTED)
    report._tables(two)
    every = ("markdown", "latex", "csv")
    assert of_run == [((Path("a"),), {"fit": "column", "formats": every})]
    assert of_several == [(("comparison",), {"fit": "longtable", "formats": every})]
    assert [given for given, _ in kept] == [("of run", WANTED, "tables"), ("of several", two, "tables")]


def test_files_are_written_into_the_run_or_elsewhere_and_counted(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [("a.csv", b"1"), ("b.csv", b"2")]
    report._write_all(files, replace(WANTED, runs=[run]), "tables")
    assert capsys.readouterr().out == f"2 files in {run}/tables/\n" and (run / "tables" / "b.csv").read_bytes() == b"2"
    out = replace(WANTED, runs=[run, run], out=tmp_path / "o", quiet=True)
    report._write_all(files, out, "tables")
    assert capsys.readouterr().out == "" and (tmp_path / "o" / "a.csv").read_bytes() == b"1"
    with pytest.raises(EquipoiseError, match=r"^--out is needed to write the tables of several runs$"):
        report._write_all(files, replace(out, out=None), "tables")


def test_a_certificate_and_identities_are_written_where_asked(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.exports.certificate.certificate", lambda run: b"certificate")
    monkeypatch.setattr("equipoise.exports.certificate.paragraph", lambda run: "A paragraph\x07.")
    wanted = replace(WANTED, runs=[run])
    report._certificate(wanted)
    said_of = capsys.readouterr().out.splitlines()
    assert said_of == ["A paragraph\N{REPLACEMENT CHARACTER}.", f"{run / CERTIFICATE} is written"]
    assert (run / CERTIFICATE).read_bytes() == b"certificate"
    report._certificate(replace(wanted, out=tmp_path / "there.json"))
    assert capsys.readouterr().out.splitlines() == [said_of[0], f"{tmp_path / 'there.json'} is written"]
    assert (tmp_path / "there.json").read_bytes() == b"certificate"
    report._certificate(replace(wanted, out=tmp_path / "c.json", quiet=True))
    assert (tmp_path / "c.json").read_bytes() == b"certificate" and capsys.readouterr().out == ""
    asked = noted(monkeypatch, "equipoise.report.identity_figures", [("radar.png", b"png")])
    report._identities(wanted)
    assert capsys.readouterr().out == f"{run}/figures/radar.png\n" and asked[0][1] == {"formats": ("png",)}
    report._identities(replace(wanted, out=tmp_path / "o", formats=(Format.svg,), quiet=True))
    assert capsys.readouterr().out == "" and (tmp_path / "o" / "radar.png").read_bytes() == b"png"
    bins = noted(monkeypatch, "equipoise.cli.calibration.reliability")
    report._reliability(replace(wanted, by="gender", bins=4))
    assert bins == [((run,), {"by": "gender", "bins": 4, "quiet": False})]
