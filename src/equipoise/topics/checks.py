"""What a gate answered: a table of the checks, and under it what the undecided ones need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..records.showing import Column, Row, Table
from ..verdict.gate import NOT_USABLE, Check


def checked(several: Sequence[tuple[str, Check]]) -> Table:
    """Return a table of checks, each beside the name of what it is about.

    What all names begin with, or the one name that there is, is the title.
    """
    names = list(dict.fromkeys(name for name, _ in several))
    places = {name.partition(", ")[0] for name in names}
    title = names[0] if len(names) == 1 else places.pop() if len(places) == 1 else ""
    rows = [
        Row((check.outcome, check.requirement, name.removeprefix(f"{title}, ") if title else name, check.estimate))
        for name, check in several
    ]
    columns = [
        Column("", words=True),
        Column("required", words=True),
        Column("of", words=True),
        Column("value", digits=4),  # A bound may lie between two values of three digits.
    ]
    notes = dict.fromkeys(note for name, check in several for note in _notes(name, check, alone=len(names) == 1))
    table = Table(title, columns, rows, notes=list(notes))
    return table if len(names) > 1 else table.picked([0, 1, 3])


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
