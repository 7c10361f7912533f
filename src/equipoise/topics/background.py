"""What a reader needs to judge and repeat a run: its data, method, words and papers."""

from __future__ import annotations

from collections.abc import Iterator

from .. import packaged
from ..datasets.cards import CARDS, Card
from ..metrics import METRICS
from ..metrics.naming import metric_of
from ..records.showing import Cell, Column, Content, Finding, Row, Section, Table
from ..runs.run import Run
from ..verdict.validity import faults_command
from ..verdict.words import ways, words_of
from .first_screen import data_checks


def facts(run: Run) -> list[tuple[str, str]]:
    """Return what is said of a run beside its name: its data, tasks, prompts, date and engine."""
    engine = run.manifest.engine
    described = [engine.get(name) for name in ("engine", "dtype", "quantisation", "device")]
    return [
        ("Datasets", ", ".join(run.manifest.datasets)),
        ("Asked as", ", ".join(run.manifest.tasks)),
        ("Prompts", _asked(run)),
        ("Audited", (run.manifest.finished or "").replace("T", " ").replace("+00:00", " UTC")),
        ("Engine", ", ".join(str(fact) for fact in described if fact)),
    ]


def _asked(run: Run) -> str:
    """Return how many prompts were asked, in how many sets and ways to ask."""
    prompts, sets = len(run.items), len(run.pairs[["dataset", "set_id"]].drop_duplicates())
    variants = set(run.pairs["variant"].fillna("").unique()) - {""}
    if not sets:
        return f"{prompts:,} sentence pairs"
    return f"{prompts:,}, {sets:,} sets" + (f" in {len(variants)} {ways(variants)}" if len(variants) > 1 else "")


def _card(name: str, licence: str) -> Card | None:
    """Return the card of a dataset, or that of the whole that it is a part of: `gendered-control`, `bbq-age`."""
    card = CARDS.get(name, CARDS.get(name.partition("-")[0]))
    return card if card is not None and (card.name == name or card.licence == licence) else None


def data(run: Run) -> Section:
    """Return what was asked, under which licence, and what is known to be wrong with it."""
    shown: list[Table | Finding] = []
    for name, facts in run.manifest.datasets.items():
        licence = str(facts.get("licence") or "")
        card = _card(name, licence)
        faults, command = f"{facts['faults']:,}", faults_command(run, name)
        rows: list[tuple[str, Content]] = [
            ("Sentences", f"{facts['examples']:,} in {facts['sets']:,} sets"),
            ("Drawn from", f"{facts['population']:,} possible ones, at random" if "population" in facts else ""),
            ("Licence", licence),
            ("Home", card.home if card else ""),
            ("SHA-256", Cell(str(facts["sha256"]), code=True)),
            ("Faults found", f"{faults} (`{command}` lists them)" if facts["faults"] and command else faults),
        ]
        title = name if card is None else card.title if card.name == name else f"{card.title}: {name}"
        table = Table.of_facts(title, rows)
        notes = list(card.notes) if card is not None and card.name == name else []
        if "ND" in licence:
            notes.append(
                "This licence lets you use the sentences but not pass them on changed or for gain. Before you publish"
                " this page, make it anew with --no-sentences."
            )
        shown.append(Table(table.title, table.columns, table.rows, notes=notes, facts=True))
    checks = [check for name in run.manifest.datasets for check in data_checks(run.parts, name)]
    return Section("Data and its known faults", [*shown, *checks], "data", "Data")


def method(run: Run) -> Section:
    """Return how the numbers came about, and how to get the same ones."""
    manifest = run.manifest
    intro = (
        f"A set is {words_of(run.parts).asked}. The probabilities of the candidates,"
        " renormalised over them, give the certainty c (0: a coin flip, 1: sure). Desirability D is +c for a right and"
        " −c for a wrong answer. U of a set is 1 − |D₁ − D₂| / 2 where there is a right answer, and 1 − |c₁ − c₂| where"
        f" there is none{_of_several(run)}. UCerF is the mean of U. All that is made from one base sentence counts"
        f" together in intervals; those by bootstrap have {manifest.settings['resamples']:,} resamples (seed"
        f" {manifest.settings['seed']}). The column method of measurements.csv says how each was made."
    )
    again = Table.of_facts("To get the same numbers again", [("Command", Cell(manifest.command, code=True))])
    settings = [(name, _listed(value)) for name, value in manifest.settings.items() if name != "metrics"]
    tasks = [
        (f"{task}: {name}", _listed(value)) for task, facts in manifest.tasks.items() for name, value in facts.items()
    ]
    versions = [*manifest.versions.items(), ("started", manifest.started), ("finished", manifest.finished)]
    folded = [
        Table.of_facts("Model", [("Name", manifest.model), *((k, _listed(v)) for k, v in manifest.engine.items())]),
        Table.of_facts("Settings", [*settings, *tasks]),
        Table.of_facts("Versions", versions),
    ]
    files = Section("The model’s files, all settings, and versions", folded, folded=True)
    return Section("Method and versions", [again, files], "method", "Method", intro)


def _of_several(run: Run) -> str:
    """Return what takes the place of the difference of two in sets of more than two; "" where there are none."""
    if not any(part.measured.values_of("pair", kind) for part in run.parts for kind in part.measured.kinds):
        return ""
    kind = str(run.manifest.settings.get("disparity", "auto"))
    return f"; among more than two groups the difference is {SPREADS[kind]}"


SPREADS = {
    "auto": "the range (the mean over pairs, if sets differ in size)",
    "range": "the range",
    "pairwise": "the mean over pairs",
    "deviation": "twice the standard deviation",
}


def _listed(value: object) -> Content:
    """Return a setting as text; a long hash is code."""
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    return Cell(text, code=True) if len(text) > 40 and " " not in text else text


def glossary(run: Run) -> Section:
    """Return what the words of the page mean: those of every page, and the metrics that this run has."""
    word = words_of(run.parts).group_word
    glossary = packaged.toml(__package__, "glossary.toml")
    general = Table.of_facts("", ((name, text.format(word=word)) for name, text in glossary.items()))
    names = dict.fromkeys(metric.name for name in run.measurements["metric"].unique() if (metric := metric_of(name)))
    known = sorted((METRICS[name].label, name, METRICS[name].summary) for name in names if name in METRICS)
    every = Table.of_facts("", ((f"{label} ({name})", summary) for label, name, summary in known))
    folded = Section("Every metric of this page", [every], folded=True)
    return Section("What the words mean", [general, folded], "glossary", "Words")


def citations(run: Run) -> Section | None:
    """Return the papers whose metrics and data were used, as BibTeX."""
    rows = [Row((Cell(entry, code=True),)) for entry in papers(run)]
    table = Table("", (Column("The papers whose metrics and data this page uses", words=True),), rows)
    return Section("Please cite", [table], "cite", "Cite") if rows else None


def papers(run: Run) -> Iterator[str]:
    """Yield the BibTeX of every paper the run rests on, each once."""
    names = [str(name) for name in run.measurements["metric"].unique()]
    estimators = list(run.manifest.settings.get("estimators", ()))
    entries = [
        paper["bibtex"].strip()
        for paper in packaged.toml(__package__, "citations.toml").values()
        if any(name.startswith(tuple(paper.get("metrics", ()))) for name in names)
        or set(estimators) & set(paper.get("estimators", ()))
    ]
    entries += [CARDS[name].citation for name in run.manifest.datasets if name in CARDS and CARDS[name].citation]
    # Two entries of one key (a paper that brings both a metric and a dataset) are one paper.
    yield from {entry.split(",", 1)[0]: entry for entry in reversed(entries)}.values()
