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
    until_better: str | None = option(
        None,
        "Ask the sets of this earlier run, in random order, until it is settled which of the two is better.",
        STOPPING,
        path=True,
        asked=42,
    )
    better_in: Sequence[str] = option(
        (), "With --until-better: the metric, such as 'flip_rate[type=type2]'.", STOPPING, asked=43
    )
    margin: float = option(
        0.0,
        "With --until-better: also stop once the two are shown to differ by less than this.",
        STOPPING,
        least=0,
        asked=44,
    )
    one_sided: bool = option(
        False,
        "With --until-better: only settle whether this model is worse than the earlier one by more than --margin.",
        STOPPING,
        asked=45,
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
        settles = bool(self.until) or self.until_better is not None
        if settles and self.until_width is not None:
            sentence = "until and until_better settle something, until_width waits for intervals; give one of them"
            raise OptionError(sentence, "until", "until_better", "until_width")
        if self.at_most is not None and not settles:
            raise OptionError("at_most needs until: it is the budget of what is to be settled", "at_most", "until")
        if (self.until_better is None) == bool(self.better_in):
            sentence = "until_better names a run, and better_in the metrics to compare it in; give both"
            raise OptionError(sentence, "until_better", "better_in")
        if (self.margin or self.one_sided) and self.until_better is None:
            raise OptionError("margin and one_sided need until_better", "margin", "one_sided", "until_better")
        for name in ("joint", "drop_settled"):
            if getattr(self, name) and self.until_width is None:
                raise OptionError(f"{name} needs until_width: without it every sentence is asked", name, "until_width")
