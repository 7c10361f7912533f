"""What a suite leaves when its cells are done: a leaderboard, the answers of its gates, one table of all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..files import write_file
from ..metrics.requirement import FAILED, UNDECIDED, parse_requirement
from ..progress import Progress
from ..records import EquipoiseError
from ..report import SiteOptions, write_run_page, write_site
from ..runs import Run
from ..runs.csv_files import to_csv
from ..topics.leaderboard.boards import write_measurements
from ..verdict.gate import NOT_USABLE, Check, gate, junit
from ..verdict.summary import VERDICTS
from .status import DONE, Status
from .suite_file import Gates, Suite, SuiteError


@dataclass(frozen=True)
class Results:
    """What was written, and the checks of the gates with the cell of each."""

    site: Path
    measurements: Path
    checks: Sequence[tuple[str, Check]]

    @property
    def failed(self) -> list[Check]:
        """The checks that failed, and those of runs that are not usable."""
        return [check for _, check in self.checks if check.outcome in (FAILED, NOT_USABLE)]

    @property
    def undecided(self) -> list[Check]:
        """The checks that are undecided and do not pass."""
        return [check for _, check in self.checks if check.outcome == UNDECIDED and not check.passed]


def check_gates(gates: Gates) -> None:
    """Refuse a requirement that cannot be read, before anything runs."""
    for text in gates.require:
        parse_requirement(text)


def write_results(suite: Suite, status: Status, *, progress: Progress | None = None) -> Results | None:
    """Write the results of the cells that are done, and return them; None where there are none."""
    folders = [cell.folder for cell in status.of(DONE)]
    if not folders:
        return None
    for folder in folders:
        _with_page(Run(folder))
    site = suite.out / "leaderboard"
    options = SiteOptions(title=suite.title, metric=suite.metric)
    made = write_site(folders, site, options, progress=progress)
    table = write_measurements(made.submissions.entries, suite.out / "measurements.parquet")
    checks = _gate(suite, status)
    if suite.gates.require:
        write_file(suite.out / "gates.xml", junit([check for _, check in checks], str(suite.path)))
        rows = [{"cell": cell, "required": c.requirement, "of": c.where, "outcome": c.outcome} for cell, c in checks]
        write_file(suite.out / "gates.csv", to_csv(pd.DataFrame(rows, columns=["cell", "required", "of", "outcome"])))
    return Results(site, table, checks)


def _with_page(run: Run) -> None:
    """Write the page of a cell whose suite was killed after it was measured, and before its page was in its place."""
    if VERDICTS not in run.manifest.files or not all((run.path / name).is_file() for name in run.manifest.files):
        write_run_page(run)


def _gate(suite: Suite, status: Status) -> list[tuple[str, Check]]:
    """Return every requirement checked in each cell that has what it names; one that names nothing is an error."""
    checks: list[tuple[str, Check]] = []
    runs = {cell.name: Run(cell.folder) for cell in status.of(DONE)}
    for text in suite.gates.require:
        answered = []
        for name, run in runs.items():
            try:
                several = gate(run, text, undecided=suite.gates.undecided)
            except EquipoiseError:  # this cell does not have the metric or the group; another one may
                continue
            answered += [(name, check) for check in several]
        if not answered:
            raise SuiteError(f"{suite.path}: {text!r} matches nothing in the {len(runs)} finished cells")
        checks += answered
    return checks
