"""The tables of a paper by their numbers: what is printed, and what the runs here give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

import numpy as np

from ..comparing.matching import places
from ..datasets.identity import NAME as IDENTITY
from ..files import write_file
from ..media.paper import TABLE_FORMATS, table_files
from ..metrics import METRICS
from ..records import EquipoiseError, Measurement
from ..records.showing import Cell, Column, Content, Row, Table
from ..runs.run import Part, Run
from ..stats.paired import is_detected
from ..stats.ranks import Rank, ranks_of
from ..suites.status import DONE, Status
from ..topics.leaderboard.rivals import Rivals, differences
from ..topics.published import DOUBTFUL
from .experiments import Paper
from .published import ERRATA, Published, published

DIFFERENCE = "difference"
"""The row of Fig. 5 that takes the anti-stereotypical group from the pro-stereotypical one."""

HEADINGS = ("data", "task", "type", "marker on", "attribute", "group", "metric")

Parts = Mapping[tuple[str, str, str], Part]
"""A finished cell of the suite by model, data and task, as the suite names them."""


def finished_parts(status: Status) -> dict[tuple[str, str, str], Part]:
    """Return the runs of the cells that are done."""
    return {(c.model.name, c.data, c.task): Run(c.folder, name=c.model.name).parts[0] for c in status.of(DONE)}


def parts_of(runs: Iterable[Run]) -> dict[tuple[str, str, str], Part]:
    """Return the parts of finished runs by model, data and task, as the suite of a paper would name them."""
    parts = {}
    several = list(runs)
    for run, name in zip(several, _names(several), strict=True):
        for part in run.parts:
            # Marked sentences are named after their base, too.
            data = IDENTITY if part.dataset.startswith(f"{IDENTITY}-") else part.dataset
            if (name, data, part.task) in parts:
                raise EquipoiseError(f"two runs are of {name} on {data} as {part.task}; name only one of them")
            parts[name, data, part.task] = part
    return parts


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the names of the runs; two of one model, data and task are named by their folders."""
    asked = Counter((run.name, part.dataset, part.task) for run in runs for part in run.parts)
    repeated = {name for (name, _, _), count in asked.items() if count > 1}
    return [f"{run.name} ({run.path.resolve().name})" if run.name in repeated else run.name for run in runs]


def write_tables(paper: Paper, parts: Parts, folder: Path) -> list[Path]:
    """Return the files of the paper's tables: Markdown, CSV and LaTeX of each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in table_files(paper_tables(paper, parts), TABLE_FORMATS, "longtable"):
        paths.append(folder / name)
        write_file(paths[-1], content)
    return paths


def paper_tables(paper: Paper, parts: Parts) -> Iterator[Table]:
    """Yield each table or figure with numbers of the paper: columns of the published models, then of those here."""
    models = list(dict.fromkeys(model for model, _, _ in parts))
    for place, title in paper.places.items():
        printed = [number for number in published() if (number.paper, number.place) == (paper.name, place)]
        rows = list(_rows(printed, {model: _of(parts, model) for model in models}, paper))
        columns = [Column(HEADINGS[at], words=True) for at in _used(printed)]
        columns += [Column(f"paper: {model}") for model in _models(printed)]
        columns += [Column(f"here: {model}") for model in models]
        about = {"place": place.lower()}
        yield Table(f"{place}: {title}", columns, rows, paper.name, about, list(_notes(printed, paper)))


def _of(parts: Parts, model: str) -> dict[tuple[str, str], Part]:
    return {(data, task): part for (name, data, task), part in parts.items() if name == model}


def _used(printed: Sequence[Published]) -> list[int]:
    """Return which of the headings say something about these numbers."""
    return [at for at, _ in enumerate(HEADINGS) if any(number.cell[at] for number in printed)]


def _models(printed: Sequence[Published]) -> list[str]:
    return list(dict.fromkeys(number.model for number in printed))


def _rows(
    printed: Sequence[Published], ours: Mapping[str, Mapping[tuple[str, str], Part]], paper: Paper
) -> Iterator[Row]:
    """Yield what a number is of, what the paper prints for each of its models, and what the runs here give."""
    wanted = {number.cell: number for number in reversed(printed)}
    values = {(number.cell, number.model): number for number in printed}
    for cell in dict.fromkeys(number.cell for number in printed):
        number = wanted[cell]
        theirs = _theirs([values.get((cell, model)) for model in _models(printed)], number, paper)
        measured = {model: _our_value(number, parts) for model, parts in ours.items()}
        folders = {model: parts.get((number.dataset, number.task)) for model, parts in ours.items()}
        values_of_ours = _ours(measured, _ranks(measured, folders, _ranked_by(number, paper)), number, paper)
        yield Row((*(cell[at] for at in _used(printed)), *theirs, *values_of_ours))


def _theirs(known: Sequence[Published | None], wanted: Published, paper: Paper) -> list[Content]:
    """Return the printed numbers, with ranks and in bold where the paper prints them so."""
    better = _ranked_by(wanted, paper)
    values = [number.value for number in known if number is not None]
    ranks = iter(places(values, better)) if better else iter([None] * len(values))
    limit = paper.bold.get(wanted.place, inf)
    return [
        None
        if number is None
        else Cell(
            number.printed + (DOUBTFUL if number.doubt else ""), number.value > limit, after=_ordinal(next(ranks))
        )
        for number in known
    ]


def _ours(values: Mapping[str, Content], ranks: Mapping[str, Rank], wanted: Published, paper: Paper) -> list[Content]:
    """Return the values here, in bold as the paper prints them, with their ranks."""
    limit = paper.bold.get(wanted.place, inf)
    return [
        Cell(value, value.value > limit, after=f"({ranks[model]})" if model in ranks else "")
        if isinstance(value, Measurement)
        else value
        for model, value in values.items()
    ]


def _ranks(values: Mapping[str, Content], parts: Mapping[str, Part | None], better: str) -> dict[str, Rank]:
    """Return the ranks of the models here, sentence by sentence: a range where the test settles no order.

    Nothing where the paper prints none, or where a model has no value.
    """
    rows = {model: value for model, value in values.items() if isinstance(value, Measurement)}
    known = {model: part for model, part in parts.items() if part is not None}
    if not better or not len(rows) == len(known) == len(values) > 1:
        return {}
    row, part = next(iter(rows.values())), next(iter(known.values()))
    runs = tuple((model, other.run.path) for model, other in known.items())
    rivals = Rivals(runs, part.dataset, part.task, (row.metric,), row.estimate.level)
    kind = row.parts.get("type", "") if set(row.parts) <= {"type"} else ""
    apart, _ = differences(rivals, row.metric, kind, {model: other.estimate for model, other in rows.items()})
    sign = 1 if better == "higher" else -1
    ahead = {pair if sign * test.value > 0 else pair[::-1] for pair, test in apart.items() if is_detected(test)}
    return dict(zip(rows, ranks_of(np.array([[(a, b) in ahead for b in rows] for a in rows])), strict=True))


def _ranked_by(wanted: Published, paper: Paper) -> str:
    """Return the better end of a metric where the paper prints ranks of it, else "".

    Perplexity is ranked in both halves of Fig. 6, in tables only where no answer is right: to hesitate is better there.
    """
    if wanted.place not in paper.ranked:
        return ""
    if wanted.metric == "perplexity":
        return "higher" if wanted.type == "type1" else "lower" if wanted.place == "Fig. 6" else ""
    better = METRICS[wanted.metric].better
    return better if better != "neither" else ""


def _ordinal(rank: int | None) -> str:
    if rank is None:
        return ""
    return f"{rank}{'th' if rank % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(rank % 10, 'th')}"


def _notes(printed: Sequence[Published], paper: Paper) -> Iterator[str]:
    yield "Printed values are the paper's, those here have 95% intervals and n."
    place = printed[0].place
    if place in paper.ranked:
        yield "Ranks are among the models of the paper, or among those here: a range where no test settles the order."
    if place in paper.bold:
        yield f"Values above {paper.bold[place]:g} are bold, as in the paper."
    if any(number.gender == DIFFERENCE for number in printed):
        yield "A dash: the run has no sentence about a physician and a nurse."
    for name in dict.fromkeys(number.doubt for number in printed if number.doubt):
        yield f"{DOUBTFUL} {ERRATA[name].text}"


def _our_value(wanted: Published, parts: Mapping[tuple[str, str], Part]) -> Content:
    """Return our value of a printed number with its interval and n; None where no run has it."""
    part = parts.get((wanted.dataset, wanted.task))
    if part is None:
        return None
    if wanted.metric in ("tpr", "tpd"):
        return _case_study(part, wanted)
    return part.measured.get(wanted.metric, **wanted.groups)


def _case_study(part: Part, wanted: Published) -> Content:
    """Return TPR or TPD of nurses and physicians: of the sentences about the physician, the male-stereotyped one."""
    items = part.items
    rows = items[(items["type"] == wanted.type) & (items["occupation"] == "physician") & (items["other"] == "nurse")]
    if wanted.metric == "tpd":
        rows = rows[rows["correct"] == 1]
    values = rows["correct"] if wanted.metric == "tpr" else (rows["desirability"] + 1) / 2
    means = values.groupby(rows["stereotype"]).mean()
    if wanted.gender != DIFFERENCE:
        count = int((rows["stereotype"] == wanted.gender).sum())
        return Cell(float(means[wanted.gender]), after=f"(n = {count:,})") if count else None
    return float(means["pro"] - means["anti"]) if {"pro", "anti"} <= set(means.index) else None
