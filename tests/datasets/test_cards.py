"""Cards are complete, pinned, and true of the real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.datasets.cards import CARDS, card_of
from equipoise.datasets.downloads import file_faults
from equipoise.records import EquipoiseError


def test_cards_are_complete_and_pinned() -> None:
    for name, of in CARDS.items():
        assert of.name == name and of.title and of.licence and of.licence_url.startswith("https://")
        for file in of.files:
            assert len(file.sha256) == 64 and file.size > 0
            assert of.revision in of.url(file) and not Path(file.path).is_absolute() and ".." not in file.path
    assert (len(CARDS["winobias"].files), len(CARDS["synthbias"].files)) == (8, 5)
    with pytest.raises(EquipoiseError, match="did you mean 'winobias'"):
        card_of("winobas")
    with pytest.raises(TypeError):
        CARDS["mine"] = CARDS["winobias"]  # type: ignore[index]


@pytest.mark.parametrize("name", ["winobias", "synthbias"])
def test_cards_describe_the_real_files(real_data, name: str) -> None:
    folder = real_data(name)
    assert all((folder / file.path).is_file() for file in CARDS[name].files)
    assert file_faults(CARDS[name], folder) == []
