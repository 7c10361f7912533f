"""What a command has just written into a run folder, and hands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ..records import Context, Measurement, Outcomes
from .checked_tables import checked_table
from .tables import Rows


@dataclass
class Held:
    """What a command has just written into a run folder, and hands on: it is not read again.

    `tables` are by file name; `texts` are what the model wrote, with their questions. `contents` are files that were
    read before, as they are: unpacked they take many times the memory.
    """

    tables: dict[str, pd.DataFrame | Rows | bytes]
    outcomes: dict[tuple[str, str], Outcomes]
    measurements: Sequence[Measurement]
    texts: Sequence[tuple[Context, str]] | None = None
    contents: Mapping[str, bytes] = field(default_factory=dict)

    def table(self, name: str) -> Any:
        """Return an arrow table as it would be read, once; None where the command did not write it.

        What it is made of, such as every example, is let go.
        """
        content = self.tables.pop(name, None)
        return checked_table(name, content.table()) if isinstance(content, Rows) else None
