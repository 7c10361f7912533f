"""What an answer can be besides one of the candidates, as reports name it."""

from __future__ import annotations

from ..records import BOTH_OFFERED, OPEN_ANSWER
from .multiple_choice import BOTH_OF_THEM, NONE_OF_THE_ABOVE
from .open_answer import MEANINGS


def further_options(flags: str, count: int) -> tuple[str, ...]:
    """Return the names of the options after the candidates: `count` of them, for an item with these flags."""
    marks = flags.split(",")
    if OPEN_ANSWER in marks:
        options: tuple[str, ...] = MEANINGS
    elif BOTH_OFFERED in marks:
        options = (NONE_OF_THE_ABOVE, BOTH_OF_THEM)
    else:
        options = (NONE_OF_THE_ABOVE,)
    return options[-count:] if count > 0 else ()
