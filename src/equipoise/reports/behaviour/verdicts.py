"""The sentences of a part as the page takes them: escaped. Their one place is reports/summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from markupsafe import Markup, escape

from ...runs.run import Part, Run
from ..summary import part_summary
from ..validity import DOUBT, INVALID, OF_DATA, checks


def part_verdicts(part: Part) -> Iterator[Markup]:
    """Yield what the run shows on one dataset and task, a sentence at a time; all names are escaped."""
    yield from (escape(sentence.text) for sentence in part_summary(part).sentences if sentence.topic != "validity")


def cautions(
    runs: Iterable[Run],
    is_about: Callable[[Part], bool] = lambda part: True,
    *,
    states: Sequence[str] = (DOUBT, INVALID),
) -> list[tuple[list[str], str]]:
    """Return why numbers of these runs should be doubted: each sentence once, with the places that it is about."""
    places: dict[str, list[str]] = {}
    for run in runs:
        for part in filter(is_about, run.parts):
            for check in checks(part):
                if check.state in states:
                    # A fault of the data is the same whichever model was asked, and however.
                    place = part.dataset if check.name in OF_DATA else f"{run.name} on {part}"
                    places.setdefault(check.text, []).append(place)
    return [(list(dict.fromkeys(several)), text) for text, several in places.items()]
