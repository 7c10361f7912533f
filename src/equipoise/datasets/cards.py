"""The dataset cards: source, licence, citation, and the exact files of each dataset; the facts are in `cards.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .. import packaged
from ..catalog import find


@dataclass(frozen=True, slots=True)
class CardFile:
    """One file of a dataset: its path below the dataset's folder, and what it must be."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """What a user should know of a dataset before using it, and what `fetch` needs to get it.

    `folder` is where its files are below a folder of datasets, if that is not its name.
    """

    name: str
    title: str
    licence: str
    licence_url: str
    home: str
    revision: str
    base_url: str
    citation: str
    notes: tuple[str, ...]
    files: tuple[CardFile, ...]
    folder: str = ""

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        return sum(file.size for file in self.files)

    def url(self, file: CardFile) -> str:
        """Return where the file is published, at the pinned revision."""
        return f"{self.base_url}{file.path}"


def _card(name: str, fields: Mapping[str, Any]) -> Card:
    rest = {key: value.strip() for key, value in fields.items() if key not in ("notes", "files")}
    files = tuple(CardFile(**file) for file in fields["files"])
    return Card(name=name, notes=tuple(fields["notes"]), files=files, **rest)


CARDS: Mapping[str, Card] = MappingProxyType(
    {name: _card(name, fields) for name, fields in packaged.toml(__package__, "cards.toml").items()}
)
"""Name -> card, for every dataset that has a name."""


def card_of(name: str) -> Card:
    """Return the card of that dataset; an unknown name is an error that says which there are."""
    # Not kind="dataset": a plug-in of that kind is a loader, not a card.
    return find(name, CARDS, kind="dataset card")
