"""What an audit was asked until it was settled: each requirement, what came of it, and how much had to be asked."""

from __future__ import annotations

from ..records.showing import Cell, Column, Finding, Row, Section, Table
from ..runs.run import Run
from ..verdict.settled import decisions_of


def settled(run: Run) -> Section | None:
    """Return a table of the requirements, and what the error is shared by; None for audits without any."""
    rows, error = [], 1 - run.level
    for part in run.parts:
        for decision in decisions_of(part):
            asked = f"{decision.sets:,} of {decision.of:,}"
            interval = f"{decision.value:.3f} [{decision.low:.3f}, {decision.high:.3f}]"
            about = f"{part}, {decision.group}"
            needed = f"about {decision.needed:,}" if decision.needed else None
            required = Cell(decision.requirement, code=True)
            rows.append(
                Row((Cell(decision.word or decision.outcome, strong=True), required, about, interval, asked, needed))
            )
    if not rows:
        return None
    columns = [
        Column("outcome", words=True),
        Column("required", words=True),
        Column("of", words=True, spare=True),
        Column("found"),
        Column("sets asked", words=True),
        Column("sets that would settle it", words=True, spare=True),
    ]
    note = (
        f"Sets were asked in random order. At most {100 * error:.3g}% of such audits pass or fail one of these"
        " requirements wrongly, all together; half of this is for stopping early, half for the interval of all data."
        " It is about sentences like these, not about this list alone."
    )
    shown: list[Table | Finding] = [Table("", columns, rows, "settled"), Finding(note, state="note")]
    return Section("What was settled", shown, "settled", "Settled")
