"""StereoSet's file is read as sentence pairs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.stereoset import LONGEST_HEAD, is_stereoset, load_stereoset
from equipoise.records import DatasetError


def entry(number: int, context: str, *sentences: str) -> dict[str, Any]:
    labels = ("anti-stereotype", "unrelated", "stereotype")
    several = [{"sentence": s, "gold_label": label} for s, label in zip(sentences, labels, strict=True)]
    return {"id": f"e{number}", "target": "cook", "bias_type": "profession", "context": context, "sentences": several}


BLANK = entry(1, "The cook was BLANK.", "The cook was lazy.", "The cook was purple.", "The cook was busy.")
FOLLOWS = entry(2, "We met a cook.", "She was rude.", "Stars shine.", "She was kind.") | {
    "bias_type": "race",
    "target": "chef",
}


def test_stereoset_is_read_as_pairs(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"version": "1.1", "data": {"intersentence": [FOLLOWS], "intrasentence": [BLANK]}}))
    dataset = open_dataset(str(path))
    first, second = dataset.examples
    assert (first.candidates, first.gold) == (("busy", "lazy"), None)
    assert first.groups == {"occupation": "cook", "bias_type": "profession", "target": "cook", "kind": "intrasentence"}
    assert second.groups == {"occupation": "cook", "bias_type": "race", "target": "chef", "kind": "intersentence"}
    assert (second.pair.before if second.pair else "") == "We met a cook. She was"
    assert (second.candidates, first.id, second.id, dataset.name) == (("kind", "rude"), "e1", "e2", "dev")
    # The same without "data" around it, and with a byte order mark.
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"intersentence": [FOLLOWS], "intrasentence": [BLANK]}).encode())
    assert open_dataset(str(path)).examples == dataset.examples


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"data": {"intrasentence": [{k: v for k, v in BLANK.items() if k != "target"}]}}, "has no 'target'"),
        ({"data": {"intrasentence": [BLANK | {"sentences": BLANK["sentences"][:2]}]}}, "has no 'stereotype'"),
        ({"intersentence": [FOLLOWS, {}]}, "intersentence, entry 2: has no 'sentences'"),
        ({"intersentence": [FOLLOWS, "x"]}, "intersentence, entry 2: has no string indices"),
        ({"intrasentence": {}}, "dev.json: intrasentence is not a list"),
        ({"intersentence": 3}, "dev.json: intersentence is not a list"),
        ({"data": {"intrasentence": []}}, "dev.json: holds no sentence"),
        ({"data": 3}, "dev.json: holds no sentence"),
        ([BLANK], "dev.json: holds no sentence"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, content: Any, reason: str) -> None:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match=re.escape(reason)):
        load_stereoset(path)


def test_a_file_that_is_not_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text('{"intrasentence": [')
    with pytest.raises(DatasetError, match=r"^dev\.json: is not JSON \(Expecting value: line 1 column 20"):
        load_stereoset(path)


def test_the_file_is_known_by_its_name_and_its_first_bytes(tmp_path: Path) -> None:
    def seen(name: str, content: bytes) -> bool:
        (tmp_path / name).write_bytes(content)
        return is_stereoset(tmp_path / name)

    assert seen("a.json", b'\xef\xbb\xbf \t\r\n{"intrasentence": []}') and seen("b.JSON", b'{"intersentence": []}')
    assert not seen("c.txt", b'{"intrasentence": []}') and not seen("d.json", b'["intrasentence"]')
    assert not seen("e.json", b'{"rows": []}') and not seen("f.json", b'{"x": "intersentences"}')
    word = b'"intrasentence"'
    space = LONGEST_HEAD - 1 - len(word)
    assert seen("g.json", b"{" + b" " * space + word) and not seen("h.json", b"{" + b" " * (space + 1) + word)
    (tmp_path / "folder.json").mkdir()
    assert not is_stereoset(tmp_path / "folder.json") and not is_stereoset(tmp_path / "missing.json")
