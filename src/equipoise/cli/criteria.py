"""The options that say when a sentence of a survey is kept: for `build survey`, which asks by them, and `clean`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from ..builder.verdict.consensus import Criteria, Rule

PapersCriteria = Annotated[
    Literal["section-4.3", "appendix-d"] | None,
    typer.Option(
        "--criteria",
        help="The paper's section-4.3 (over 75% coherent) or appendix-d (75% or more); by default as the survey began.",
    ),
]
Coherent = Annotated[float | None, typer.Option("--coherent", help="Share that must say coherent.")]
Meant = Annotated[float | None, typer.Option("--meant", help="Share that must say a person is meant.")]
NotMeant = Annotated[float | None, typer.Option("--not-meant", help="Share below which nobody counts as meant.")]


def criteria_of(
    before: Rule | None,
    name: str | None = None,
    coherent: float | None = None,
    meant: float | None = None,
    not_meant: float | None = None,
) -> Criteria:
    """Return the criteria by name, or those of the survey, with the shares that were given in place of theirs."""
    from dataclasses import replace

    from ..builder.verdict.consensus import CRITERIA, Criteria

    known = CRITERIA[name] if name else before.criteria if before else Criteria()
    given: dict[str, Any] = {"coherent": coherent, "meant": meant, "not_meant": not_meant}
    return replace(known, **{share: value for share, value in given.items() if value is not None})
