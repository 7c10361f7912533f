"""What a gate answered: a table of the checks, and under it what the undecided ones need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..records.showing import Column, Row, Table
from ..verdict.gate import NOT_USABLE, Check


def checked(several: Sequence[tuple[str, Check]]) -> Table:
    """Return a table of checks, each beside the name of what it is about: a name that all share is the title."""
    names = list(dict.fromkeys(name for name, _ in several))
    rows = [Row((check.outcome, check.requirement, name, check.estimate)) for name, check in several]
    columns = [
        Column("", words=True),
        Column("required", words=True),
        Column("of", words=True),
        Column("value", digits=4),  # A bound may lie between two values of three digits.
    ]
    notes = list(dict.fromkeys(note for name, check in several for note in _notes(name, check, alone=len(names) == 1)))
    table = Table("", columns, rows, notes=notes)
    if len(names) > 1:
        return table
    shared = table.picked([0, 1, 3])
    return Table(names[0] if names else "", shared.columns, shared.rows, notes=notes)


def _notes(name: str, check: Check, *, alone: bool) -> Iterator[str]:
    """Yield what the row of a check does not say: why it came out so, and which end of the interval was tested."""
    if check.outcome == NOT_USABLE:
        yield check.reason if alone else f"{name}: {check.reason}"
        return
    if check.reason:
        yield f"{check.requirement}{'' if alone else f' of {name}'}: {check.reason}"
    strict = "low" if check.sign.startswith(">") else "high"
    if check.tested not in (strict, "settled"):
        end = "value" if check.tested == "value" else f"{check.tested} end of the interval"
        yield f"Only the {end} was tested."
