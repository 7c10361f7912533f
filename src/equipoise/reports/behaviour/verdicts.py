"""The sentences of a part as the page takes them: escaped. Their one place is reports/summary."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup, escape

from ...runs.run import Part
from ..summary import part_summary
from ..validity import FINE, checks


def part_verdicts(part: Part) -> Iterator[Markup]:
    """Yield what the run shows on one dataset and task, a sentence at a time; all names are escaped."""
    yield from (escape(sentence.text) for sentence in part_summary(part).sentences if sentence.topic != "validity")


def warnings(part: Part) -> Iterator[Markup]:
    """Yield why the numbers of this dataset and task should be doubted, if they should."""
    yield from (escape(f"On {part}: {check.text}") for check in checks(part) if check.state != FINE)
