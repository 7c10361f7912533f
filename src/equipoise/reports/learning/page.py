"""The page of a tuning run: before and after, learning curves, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..page.html import page, write_page
from ..page.rendering import Panel, Section, panels, render
from .charts import charts, figure
from .curves import Curves, read_curves

NAMES = {
    "loss": "validation loss",
    "accuracy": "accuracy",
    "ucerf": "UCerF, answerable sets",
    "signed": "UCerF signed, unanswerable sets",
    "flips": "flips, answerable sets",
    "flips_unanswerable": "flips, unanswerable sets",
    "certainty": "certainty",
    "mass": "candidate mass",
    "first": "first person chosen",
    "perplexity": "perplexity of neutral text",
}
OUTSIDE_NAMES = {
    "outside_accuracy": "accuracy",
    "outside_first": "accuracy, right person mentioned first",
    "outside_second": "accuracy, right person mentioned second",
    "outside_ucerf": "UCerF",
    "outside_flips": "flips",
}


def before_and_after(report: Mapping[str, Any]) -> list[tuple[tuple[str, str, str], list[tuple[str, str, str]]]]:
    """Return the tables of a tuning run, each as its headings and rows: validation sets, then built-in sentences."""
    before, after = report["before"], report["after"]
    count, outside = report.get("validation_sets"), report.get("outside_sets")
    captions = (
        "on the validation sets" if count is None else f"on {count:,} validation sets",
        f"on {outside or 0:,} built-in sets, never trained on",
    )
    tables = []
    for caption, names in zip(captions, (NAMES, OUTSIDE_NAMES), strict=True):
        rows = [(label, f"{before[name]:.3f}", f"{after[name]:.3f}") for name, label in names.items() if name in before]
        if rows:
            tables.append(((caption, "before", "after"), rows))
    return tables


def write_learning_page(folder: Path) -> Path:
    """Write `curves.svg` and `report.html` into the folder `training` of a tuning run; return where the page is."""
    curves = read_curves(folder)
    write_page(folder / "curves.svg", str(figure(charts(curves))))
    return write_page(folder / "report.html", learning_page(curves))


def learning_page(curves: Curves) -> str:
    """Return the page as one file that fetches nothing."""
    settings = curves.settings
    title = f"Tuning {settings['model']}"
    facts = [
        ("Data", str(settings["data"])),
        ("Method", str(settings["method"])),
        ("UCerF weight", f"{settings['weight']:g}"),
        ("Seed", str(settings["seed"])),
        ("Kept", "nothing" if curves.refused else f"step {curves.kept} of {len(curves.steps)}"),
        ("Validation sets", "" if curves.validation_sets is None else f"{curves.validation_sets:,}"),
    ]
    header = render("site_header.html", kicker="tuning for balance", title=title, facts=facts, crumbs=[])
    several = [Panel(chart.title, chart.drawing(), chart.caption, chart.values) for chart in charts(curves)]
    drawn = panels("The validation sets have sentence templates that no training sentence has.", several)
    sections = [
        Section("values", "Before and after", _before_and_after(curves)),
        Section("curves", "Learning curves", drawn or Markup("")),
        Section("settings", "Settings", _table(("setting", "value"), _settings(settings))),
    ]
    return page(title, header, sections)


def _before_and_after(curves: Curves) -> Markup:
    tables = [_table(headings, rows) for headings, rows in before_and_after(curves.report)]
    end = ", so nothing was kept." if curves.refused else ", so an earlier one was kept."
    faults = [f"At the last step {fault}{end}" for fault in curves.report["faults_at_the_end"]]
    held_out = ", ".join(curves.report["held_out_occupations"])
    notes = [*faults, f"These occupations were in no training sentence: {held_out}."]
    warning = (
        "The validation sets chose the step that was kept, and the built-in sets decided whether it passed, so both "
        "flatter it. Audit the adapter on other data."
    )
    return Markup("").join([*tables, *(Markup("<p>{}</p>").format(note) for note in (*notes, warning))])


def _settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), str(value)) for name, value in settings.items() if not isinstance(value, Mapping)]


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Markup:
    return render("plain_table.html", headings=headings, rows=rows)
