"""Markers as data: ours are the paper's, a user's own are read the same way, and what is wrong is named by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.datasets.markers import read_markers
from equipoise.records import DatasetError


def test_ours_are_those_of_the_paper() -> None:
    attributes = {name: one for name, one in read_markers().items() if one.demographic}
    assert len(attributes) == 10
    markers = [marker for one in attributes.values() for marker in one.markers]
    assert len(markers) == 25
    assert sum(marker.side == "privileged" for marker in markers) == 11
    assert [m.word for m in attributes["religion"].markers if m.side == "disadvantaged"] == ["Muslim", "Jewish"]
    assert len(read_markers()["non-demographic"].markers) == 9


def test_a_user_brings_their_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[Alter]\nprivileged = ["junge"]\ndisadvantaged = ["alte", "sehr alte"]\n', encoding="utf-8")
    (attribute,) = read_markers(file).values()
    assert [marker.word for marker in attribute.contrasts["junge"]] == ["alte", "sehr alte"]
    assert [marker.word for marker in attribute.contrasts["alte"]] == ["junge"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[age]\nprivileged = ["young"\n', r"mine.toml:\d: is not TOML"),
        ('[age]\nprivileged = ["young"]\n', "mine.toml:1: .age. has no disadvantaged words"),
        ('[age]\nprivileged = ["young"]\ndisadvantaged = "old"\n', "mine.toml:3: disadvantaged must be a list"),
        ('[age]\nprivileged = ["young"]\ndisadvantaged = [" "]\n', "mine.toml:3: ' ' among the disadvantaged words"),
        ('[age]\nprivileged = ["young"]\ndisadvantaged = [3]\n', "mine.toml:3: 3 among the disadvantaged"),
        ('[age]\nprivileged = ["young"]\n\nunderprivileged = ["old"]\n', "mine.toml:4: 'underprivileged' is not one"),
        ('[age]\nprivileged = ["old"]\ndisadvantaged = ["old"]\n', "mine.toml:3: duplicate 'old'"),
        (
            '[age]\nprivileged = ["young"]\ndisadvantaged = ["old"]\n[body]\nprivileged = ["thin"]\n'
            'disadvantaged = ["old"]\n',
            "mine.toml:6: 'old' is in 'age' too",
        ),
        (
            '[age]\nprivileged = ["young"]\ndisadvantaged = ["old"]\ncontrasts = [["young", "aged"]]\n',
            "mine.toml:4: 'aged' among the contrasts is not a marker",
        ),
        ('[x]\nneutral = ["calm"]\nprivileged = ["young"]\n', "mine.toml:2: .x. has neutral words and sides"),
        ('age = ["young"]\n', "mine.toml:1: 'age' is outside of a section"),
        ("# nothing\n", "mine.toml: names no attribute"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=says):
        read_markers(file)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="cannot be read"):
        read_markers(tmp_path / "none.toml")
