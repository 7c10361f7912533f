"""Sections that other packages add to the page of a run (entry point `equipoise.topics`)."""

from __future__ import annotations

from ..catalog import find, names
from ..records import EquipoiseError
from ..records.showing import Section
from ..runs.run import Run

KIND = "topic"


def listed() -> list[str]:
    """Return the names of what is plugged in."""
    return names({}, kind=KIND)


def section(name: str, run: Run) -> Section | None:
    """Return the section of a plug-in; an error of its code goes up as it is."""
    made: Section | None = find(name, {}, kind=KIND)(run)
    return made


def on_page(name: str, run: Run) -> Section | None:
    """Return the section of a plug-in or, where its code fails, why: nobody's page is lost for another's fault."""
    try:
        return section(name, run)
    except EquipoiseError as error:
        reason = str(error)
    except Exception as error:  # anybody's code
        reason = f"the plug-in for topic {name!r} fails: {type(error).__name__}: {error}"
    return Section(name, (), f"plugged-{name}", intro=f"This section is missing: {reason}.")
