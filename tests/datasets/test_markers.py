"""Markers as data: ours are the paper's, a user's own are read the same way, and what is wrong is named by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.datasets import markers
from equipoise.datasets.markers import choose, read_markers
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


SECTION = """[age]
privileged = ["young", "middle-aged"]
disadvantaged = ["old", "elderly"]
contrasts = [["young", "old"], ["elderly", "young"]]
a = ["elderly"]
an = ["young"]
"""


def test_contrasts_go_both_ways_and_articles_follow_the_lists(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SECTION)
    (age,) = read_markers(path).values()
    words = {word: [other.word for other in others] for word, others in age.contrasts.items()}
    assert words == {"young": ["old", "elderly"], "middle-aged": [], "old": ["young"], "elderly": ["young"]}
    assert [(m.word, m.attribute, m.side, m.article) for m in age.markers] == [
        ("young", "age", "privileged", "an"),
        ("middle-aged", "age", "privileged", "a"),
        ("old", "age", "disadvantaged", "an"),
        ("elderly", "age", "disadvantaged", "a"),
    ]
    crossed = {word: [other.word for other in others] for word, others in age.crossed().contrasts.items()}
    assert crossed == {
        "young": ["old", "elderly"],
        "middle-aged": ["old", "elderly"],
        "old": ["young", "middle-aged"],
        "elderly": ["young", "middle-aged"],
    }
    assert age.demographic and age.crossed().name == "age"


FAULTS = [
    ("[age\n", "mine.toml:1: is not TOML (Expected ']' at the end of a table declaration (at line 1, column 5))"),
    ("[age]\n\nx = \n", "mine.toml:3: is not TOML (Invalid value (at line 3, column 5))"),
    ("", "mine.toml: names no attribute; write a section such as [age]"),
    ("# note\nage = 3\n", "mine.toml:2: 'age' is outside of a section; write [age] and its words below"),
    ('[x]\nneutral = [\n"old"]\n[age]\nold = 1\n', "mine.toml:5: 'old' is not one of"),
    ("[age]\nx = [\n", "mine.toml:1: is not TOML ("),
    ("[age]\nz = 1\nb = 1\n", "mine.toml:2: 'z' is not one of"),
    ("[age]\nneutral = ['x', 'y', 'x', 'y']\n", "mine.toml:2: duplicate 'x' in [age]"),
    ("[age]\nold = 1\n", "mine.toml:2: 'old' is not one of privileged, disadvantaged, neutral, contrasts, a, an"),
    (
        "# x\n[age] # y\nprivileged = ['a']\nneutral = ['b']\n",
        "mine.toml:4: [age] has neutral words and sides; it can have one or the other",
    ),
    ("[x]\nneutral=['b']\n['age']\nprivileged = ['a']\n", "mine.toml:3: [age] has no disadvantaged words"),
    ('["age"]\ndisadvantaged = ["a"]\n', "mine.toml:1: [age] has no privileged words"),
    ("[age]\n", "mine.toml:1: [age] has no privileged words"),
    ("[age]\nneutral = []\n", 'mine.toml:2: neutral must be a list of words such as ["young"]'),
    ("[age]\n[age.neutral]\nneutral = 1\n", 'mine.toml:1: neutral must be a list of words such as ["young"]'),
    ("[age]\nneutral = 'x'\n", 'mine.toml:2: neutral must be a list of words such as ["young"]'),
    ("[age]\nneutral = ['x']\na = 'x'\n", 'mine.toml:3: a must be a list of words such as ["young"]'),
    ("[age]\nneutral = ['x', 3]\n", "mine.toml:2: 3 among the neutral words is not a word"),
    ("[age]\nneutral = ['x', ' ']\n", "mine.toml:2: ' ' among the neutral words is not a word"),
    ("[age]\nneutral = ['a  b']\n", "mine.toml:2: 'a  b' among the neutral words is not a word"),
    ("[age]\nneutral = ['x',\n'y',\n'X']\n", "mine.toml:4: duplicate 'X' in [age]"),
    ("[age]\nneutral = ['x',\n'y',\n'x']\n", "mine.toml:4: duplicate 'x' in [age]"),
    ("[age]\nneutral = ['x']\n[race]\nneutral = ['X']\n", "mine.toml:4: 'X' is in 'age' too"),
    (SECTION.replace('["young", "old"]', '"young"'), "mine.toml:4: contrasts must be pairs of words such as"),
    (SECTION.replace('["young", "old"]', '["young"]'), "mine.toml:4: contrasts must be pairs of words such as"),
    (SECTION.replace('["young", "old"]', '["young", "ill"]'), "mine.toml:4: 'ill' among the contrasts is not a"),
    (
        SECTION.replace('["young", "old"]', '["elderly", "old"]'),
        "mine.toml:4: 'elderly' and 'old' are on the same side",
    ),
]
"""What a file holds, and how the reason begins for which it is refused."""


@pytest.mark.parametrize(("content", "reason"), FAULTS)
def test_every_fault_of_a_file_is_named_with_its_line(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(DatasetError) as error:
        read_markers(path)
    assert str(error.value).startswith(reason)


BEFORE = """[first]
neutral = [
"age",
"neutral",
"privileged",
"disadvantaged",
"contrasts",
"race"]
"""
"""A section whose words are the keys of the next one: a line must not be that of another section."""


@pytest.mark.parametrize(
    ("content", "reason"),
    [row for row in FAULTS if "TOML" not in row[1] and row[0].startswith("[") and "[x]" not in row[0]],
)
def test_a_line_is_that_of_its_own_section(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(BEFORE + content)
    with pytest.raises(DatasetError) as error:
        read_markers(path)
    file, line, rest = reason.split(":", 2)
    assert str(error.value).startswith(f"{file}:{int(line) + BEFORE.count(chr(10))}:{rest}")


def test_attributes_are_chosen_by_name_or_those_with_sides(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[\"body type\"]\nneutral = ['x']\n" + SECTION)
    known = read_markers(path)
    assert [a.name for a in choose(known, None, crossed=False)] == ["age"]
    assert [a.name for a in choose({"body type": known["body type"]}, None, crossed=False)] == ["body type"]
    assert [a.name for a in choose(known, [" Body_Type", "age", "age"], crossed=False)] == ["body type", "age"]
    assert choose(known, ["age"], crossed=True) == [known["age"].crossed()] != choose(known, ["age"], crossed=False)
    with pytest.raises(DatasetError, match=r"^unknown attribute 'agee'; did you mean 'age'\?$"):
        choose(known, ["agee"], crossed=False)
    with pytest.raises(DatasetError, match=r"^unknown attribute 'zzz'; known: body type, age$"):
        choose(known, ["zzz"], crossed=False)


def test_the_line_of_a_message_is_the_first_number_after_that_word() -> None:
    for message, line in (
        ("Expected '=' (at line 3, column 4)", 3),
        ("a line of text, line 12", 12),
        ("a line, and column 4", None),
        ("", None),
    ):
        assert markers._line_in(message) == line


def test_the_first_word_that_is_there_twice_is_named(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    sides = markers.SIDES
    file.write_text(f'[age]\n{sides[0]} = ["a", "b"]\n{sides[1]} = ["B", "A"]\n')
    with pytest.raises(DatasetError, match=r"m\.toml:3: duplicate 'B' in \[age\]$"):
        markers.read_markers(file)


def test_names_that_differ_in_more_than_case_are_two_attributes(tmp_path: Path) -> None:
    sides = 'privileged = ["{0}a"]\ndisadvantaged = ["{0}b"]\n'
    names = ("Maße", "Masse", "body type")
    text = "".join(f'["{name}"]\n{sides.format(place)}' for place, name in enumerate(names))
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    known = read_markers(tmp_path / "mine.toml")
    asked = ["maße", "MASSE", "Body-Type", " body_type "]
    assert [one.name for one in choose(known, asked, crossed=False)] == ["Maße", "Masse", "body type", "body type"]
