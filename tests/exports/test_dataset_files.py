"""A dataset that was exported reads back as the same sentences, in every format; licences are kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.datasets import load_winobias, open_dataset
from equipoise.datasets.dataset import Dataset
from equipoise.exports.dataset_files import _bracketed, export_dataset
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError


def content(
    dataset: Dataset, *, groups: tuple[str, ...] = ("gender", "stereotype", "type")
) -> list[tuple[object, ...]]:
    return sorted(
        (e.text, e.candidates, e.gold, e.answerable, e.stereotype, *(e.groups.get(name) for name in groups))
        for e in dataset.examples
        if e.gold is not None
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "builtin"
    export_dataset(open_dataset("builtin", DatasetOptions(limit=60)), folder)
    return folder


@pytest.mark.parametrize("file", ["data.csv", "data.jsonl", "data.parquet"])
def test_a_table_reads_back_as_the_same_examples_in_the_same_sets(folder: Path, file: str) -> None:
    before, after = open_dataset("builtin", DatasetOptions(limit=60)), open_dataset(folder / file)
    assert content(after) == content(before) != []
    assert after.sets == before.sets == 60


def test_the_text_format_reads_back_as_the_labelled_pairs(folder: Path) -> None:
    before, after = open_dataset("builtin", DatasetOptions(limit=60)), load_winobias(folder / "winobias")
    resolvable = [row for row in content(before) if row[-1] == "type2"]
    assert [row for row in content(after) if row[-1] == "type2"] == resolvable != []


def test_markers_travel_as_groups(tmp_path: Path) -> None:
    words = ["data", "export", "winoidentity", "--base", "builtin", "--limit", "4", "--augment", "R", "--attributes"]
    result = CliRunner().invoke(app, [*words, "age", "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0 and "data.parquet" in result.output
    examples = open_dataset(tmp_path / "data.jsonl").examples
    assert {e.groups.get("marker", "") for e in examples} == {"", "old", "young"}
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "license: cc0-1.0" in card and "words for identities" in card and "Made with attributes: ['age']" in card


def test_a_licence_that_forbids_changed_copies_is_kept(tmp_path: Path) -> None:
    dataset = open_dataset("builtin", DatasetOptions(limit=2))
    for licence, reason in (
        ("CC BY-NC-ND 4.0", "does not allow passing changed copies"),
        ("none stated", "no licence"),
    ):
        bound = Dataset("bound", dataset.examples, licence=licence)
        with pytest.raises(DatasetError, match=reason):
            export_dataset(bound, tmp_path / "out")
        assert not (tmp_path / "out").exists()
        files = export_dataset(bound, tmp_path / licence, private=True)
        assert "**Private copy: do not pass it on.**" in files[-1].read_text(encoding="utf-8")


def test_sentence_pairs_keep_their_labels(tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text("sent_more,sent_less,y\nThe nurse said he slept.,The nurse said she slept.,0\n")
    before = open_dataset(table)
    export_dataset(before, tmp_path / "out")
    (after,) = open_dataset(tmp_path / "out" / "data.csv").examples
    (example,) = before.examples
    assert (after.pair, after.gold, after.candidates) == (example.pair, example.gold, example.candidates)


def test_brackets_are_around_the_very_word_that_differs() -> None:
    (example, *_) = [one for one in open_dataset("builtin").examples if one.gold is not None]
    words = {"candidates": ("nurse", "cook"), "gold": 0}
    first = replace(example, text="The nurse saw hhr and h+r left.", slots={"pronoun": "h+r"}, **words)
    other = replace(first, text="The nurse saw hhr and his left.", slots={"pronoun": "his"})
    assert _bracketed(first, other) == "[The nurse] saw hhr and [h+r] left."
    assert _bracketed(first, first) == "" and _bracketed(replace(first, slots={}), other) == ""
