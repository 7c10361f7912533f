"""The options that say when an audit may stop before every sentence is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .option import STOPPING, OptionError, Options, option


@dataclass(frozen=True, kw_only=True)
class StoppingOptions(Options):
    """When an audit may stop before every sentence is asked."""

    until: Sequence[str] = option(
        (),
        "Ask sets in random order until this is settled, such as 'flip_rate[type=type2] <= 0.10'. Repeatable; at most "
        "5% of audits (1 - --level) settle one of them wrongly. Exit codes are those of `equipoise gate`.",
        STOPPING,
        asked=40,
    )
    at_most: int | None = option(
        None,
        "With --until: ask at most N sets of each dataset and task; what is open then is undecided.",
        STOPPING,
        least=1,
        asked=41,
    )
    until_width: float | None = option(
        None,
        "Stop once the intervals of UCerF, flips, accuracy and gaps (or identity disparities) are narrower than this.",
        STOPPING,
        above=0,
        asked=19,
    )
    joint: bool = option(
        False, "With --until-width: hold for all intervals together, not for each.", STOPPING, asked=20
    )
    drop_settled: bool = option(
        False, "With --until-width: also stop asking about settled attributes.", STOPPING, asked=21
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.until and self.until_width is not None:
            raise OptionError("until and until_width both say when to stop; give one of them", "until", "until_width")
        if self.at_most is not None and not self.until:
            raise OptionError("at_most needs until: it is the budget of what is to be settled", "at_most", "until")
        for name in ("joint", "drop_settled"):
            if getattr(self, name) and self.until_width is None:
                raise OptionError(f"{name} needs until_width: without it every sentence is asked", name, "until_width")
