"""open_dataset: a name or a path, and what is said when it is neither."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets import DATASETS, open_dataset
from equipoise.datasets.cards import CARDS
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError

PRO, ANTI = "1 The cook met [the nurse] and saw [her].\n", "1 The cook met [the nurse] and saw [him].\n"
TABLE = "text,pronoun,a,b\nThe cook saw the nurse and he left.,he,cook,nurse\n"


def message(spec: str | Path, **options: Any) -> str:
    with pytest.raises(DatasetError) as error:
        open_dataset(spec, DatasetOptions(**options))
    return str(error.value)


def test_every_dataset_with_a_name_has_a_card() -> None:
    assert set(DATASETS) == set(CARDS)


@pytest.mark.parametrize(("name", "examples"), [("winobias", 3168), ("synthbias", 31728)])
def test_a_name_opens_the_real_dataset_with_its_licence(real_data, name: str, examples: int) -> None:
    real_data(name)
    dataset = open_dataset(name)
    assert (dataset.name, len(dataset.examples), dataset.licence) == (name, examples, CARDS[name].licence)
    assert "another version" not in {fault.kind for fault in dataset.faults}


def test_files_that_lack_or_are_not_of_the_pinned_revision_are_reported(
    real_data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(real_data("winobias"), tmp_path / "winobias")
    changed = tmp_path / "winobias/pro_stereotyped_type1.txt.dev"
    changed.write_text(changed.read_text() + "\n")
    for label in ("pro", "anti"):
        (tmp_path / f"winobias/{label}_stereotyped_type2.txt.test").unlink()
    monkeypatch.setenv("EQUIPOISE_DATA", str(tmp_path))
    dataset = open_dataset("winobias")
    assert [(fault.where, fault.kind) for fault in dataset.faults[:3]] == [
        ("anti_stereotyped_type2.txt.test", "missing file"),
        ("pro_stereotyped_type1.txt.dev", "another version"),
        ("pro_stereotyped_type2.txt.test", "missing file"),
    ]
    assert len(dataset.examples) == 3168 - 2 * 396


@pytest.mark.parametrize(
    ("files", "gold"), [(("type1-pro.txt", "type1-anti.txt"), None), (("pro_type1.txt", "anti_type1.txt"), 1)]
)
def test_a_folder_or_file_in_the_text_format(tmp_path: Path, files: tuple[str, str], gold: int | None) -> None:
    folder = tmp_path / "My Set"
    folder.mkdir()
    for file, line in zip(files, (PRO, ANTI), strict=True):
        (folder / file).write_text(line)
    for spec in (folder, str(folder / files[0])):
        dataset = open_dataset(spec)
        assert dataset.name == ("synthbias" if gold is None else "my-set")
        assert [example.gold for example in dataset.examples] == [gold, gold]


def test_synthbias_is_known_by_its_columns_and_a_table_by_its_ending(tmp_path: Path) -> None:
    rows = "type1,The cook and the nurse met when {0} left.,cook,nurse,{0},ambiguous\n"
    header = "type,sample,occ_1,occ_2,pronoun,is_stereotypical\n"
    (tmp_path / "copy.csv").write_text(header + rows.format("he") + rows.format("she"))
    assert open_dataset(tmp_path / "copy.csv").name == "synthbias"
    assert open_dataset(tmp_path / "copy.csv", DatasetOptions(columns={"text": "sample"})).name == "copy"
    (tmp_path / "mine.csv").write_text(TABLE)
    assert (
        open_dataset(tmp_path / "mine.csv", DatasetOptions(columns={"candidate_1": "a", "candidate_2": "b"})).name
        == "mine"
    )


def test_what_is_not_there_or_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert message("winobais").startswith("unknown dataset 'winobais'; did you mean 'winobias'?")
    assert "known: builtin, winobias, synthbias" in message("winobais")
    assert message("no.csv") == "no.csv: no such file or folder"
    assert message("a/b") == "a/b: no such file or folder"
    assert "neither a table" in message(tmp_path)
    (tmp_path / "notes.md").write_text("x")
    assert "neither a table" in message("notes.md")


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    assert "winobias is not a table" in message("winobias", columns={"text": "x"})
    assert "synthbias has sentences with he and she only, none with they" in message(
        "synthbias", pronouns=("he", "they")
    )
    (tmp_path / "pro_type1.txt").write_text(PRO)
    (tmp_path / "anti_type1.txt").write_text(ANTI)
    assert "is not a table" in message(tmp_path, columns={"text": "x"})
