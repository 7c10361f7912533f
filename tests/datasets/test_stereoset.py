"""StereoSet's file is read as sentence pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.datasets import open_dataset
from equipoise.records import DatasetError


def test_stereoset_is_read_as_pairs(tmp_path: Path) -> None:
    def entry(number: int, context: str, *sentences: str) -> dict[str, object]:
        labels = ("anti-stereotype", "unrelated", "stereotype")
        several = [{"sentence": s, "gold_label": label} for s, label in zip(sentences, labels, strict=True)]
        return {"id": f"e{number}", "target": "cook", "bias_type": "profession", "context": context} | {
            "sentences": several
        }

    blank = entry(1, "The cook was BLANK.", "The cook was lazy.", "The cook was purple.", "The cook was busy.")
    follows = entry(2, "We met a cook.", "She was rude.", "Stars shine.", "She was kind.")
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"version": "1.1", "data": {"intersentence": [follows], "intrasentence": [blank]}}))
    first, second = open_dataset(str(path)).examples
    assert (first.candidates, first.gold, first.groups["kind"]) == (("busy", "lazy"), None, "intrasentence")
    assert (second.pair.before if second.pair else "") == "We met a cook. She was"
    assert (second.candidates, second.id) == (("kind", "rude"), "e2")
    del blank["target"]
    path.write_text(json.dumps({"data": {"intrasentence": [blank]}}))
    with pytest.raises(DatasetError, match="intrasentence, entry 1: has no 'target'"):
        open_dataset(str(path))
