"""A column of names as numbers: most rows have a name that others have, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Integers
from ..stats.bootstrap import numbered


@dataclass(frozen=True)
class Names:
    """A column of names: the number of each row's name, and the names by number. Some may have no row."""

    numbers: Integers
    names: NDArray[Any]

    @classmethod
    def of(cls, column: NDArray[Any]) -> Names:
        """Return a column of names as that."""
        return cls(*numbered(column))

    @classmethod
    def of_texts(cls, column: Any) -> Names:
        """Return a chunked arrow column of texts as that."""
        import pyarrow.types as kinds

        column = column.combine_chunks()
        encoded = column if kinds.is_dictionary(column.type) else column.dictionary_encode()
        return cls(encoded.indices.to_numpy(), np.array([*encoded.dictionary.to_pylist(), None], dtype=object)[:-1])

    @classmethod
    def joined(cls, parts: Sequence[Names]) -> Names:
        """Return the rows of several columns, one after the other; a name that several have is one name."""
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part.names) for part in parts)])
        same, names = numbered(np.concatenate([part.names for part in parts]))
        numbers = [part.numbers + start for part, start in zip(parts, starts, strict=False)]
        return cls(same[np.concatenate(numbers)], names)

    def take(self, rows: Any) -> Names:
        """Return these rows."""
        return Names(self.numbers[rows], self.names)

    def by_appearance(self) -> Names:
        """Return the same with names in the order in which rows first have them, and no others."""
        numbers, used = numbered(self.numbers)
        return Names(numbers, self.names[used])

    def values(self) -> NDArray[Any]:
        """Return the name of each row."""
        return self.names[self.numbers]
