"""Files in the formats of WinoBias and SynthBias, and what was read from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from equipoise.datasets.dataset import Dataset

CSV_HEADER = "type,sample,occ_1,occ_2,pronoun,is_stereotypical"


def write_wino(folder: Path, pro: list[str], anti: list[str], *, kind: int = 2, split: str = "dev") -> Path:
    for label, lines in (("pro", pro), ("anti", anti)):
        numbered = [f"{number} {line}" for number, line in enumerate(lines, start=1)]
        (folder / f"{label}_stereotyped_type{kind}.txt.{split}").write_text(
            "\n".join(numbered) + "\n", encoding="utf-8"
        )
    return folder


def write_synth(folder: Path, *rows: str) -> Path:
    path = folder / "synthbias_data.csv"
    path.write_text("\n".join([CSV_HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def check_pairs(dataset: Dataset) -> None:
    members = defaultdict(list)
    for example in dataset.examples:
        members[example.set_id].append(example)
    for pair in members.values():
        if len(pair) > 1:
            assert sorted(example.groups["gender"] for example in pair) == ["female", "male"]
            assert len({(e.groups["form"], e.candidates, e.gold, e.groups["type"]) for e in pair}) == 1
            assert pair[0].groups["form"]


def content(dataset: Dataset) -> Counter[tuple[object, ...]]:
    return Counter(
        (e.text, e.candidates, e.gold, e.answerable, e.stereotype, *sorted(e.groups.items()), *e.slots.items())
        for e in dataset.examples
    )


def pair_texts(dataset: Dataset) -> Counter[tuple[str, ...]]:
    texts = defaultdict(list)
    for example in dataset.examples:
        texts[example.set_id].append(example.text)
    return Counter(tuple(sorted(members)) for members in texts.values())


def kinds(dataset: Dataset) -> Counter[str]:
    return Counter(fault.kind for fault in dataset.faults)


def lines_with(dataset: Dataset, kind: str) -> set[tuple[str, int]]:
    """Return (file without pro/anti, line) of all faults of that kind."""
    places = [fault.where.rsplit(":", 1) for fault in dataset.faults if fault.kind == kind]
    return {(file.split("_stereotyped_")[-1], int(line)) for file, line in places}
