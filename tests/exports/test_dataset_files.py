"""A dataset that was exported reads back as the same sentences, in every format; licences are kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

from equipoise import __version__
from equipoise.cli import app
from equipoise.datasets import load_winobias, open_dataset
from equipoise.datasets.dataset import Dataset
from equipoise.exports.dataset_files import OWN_GROUPS, _bracketed, example_table, export_dataset, obstacle, text_format
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError, Example


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


def example(number: int, side: str, **changes: Any) -> Example:
    """Return a member of a labelled pair: "he" fits the stereotype, "she" does not."""
    word = {"pro": "he", "anti": "she"}.get(side, "they")
    made = Example(
        id=f"e{number}-{side}",
        text=f"The baker{number} met an engineer when {word} slept; {word} woke.",
        candidates=(f"baker{number}", "engineer"),
        gold=0,
        answerable=True,
        stereotype=0,
        groups={"type": "type2", "stereotype": side, "gender": word, "form": "subject"},
        set_id=f"s{number}",
        slots={"pronoun": word},
    )
    return replace(made, **changes)


def test_the_text_format_has_whole_labelled_pairs_of_two_people_alone() -> None:
    examples = [
        *(example(1, side) for side in ("anti", "pro")),
        *(example(2, side) for side in ("pro", "anti")),
        example(3, "pro"),
        *(example(4, side, candidates=("a", "b", "c")) for side in ("pro", "anti")),
        *(example(5, side, candidates=("nobody", "engineer")) for side in ("pro", "anti")),
        *(example(6, side, groups={"stereotype": side}) for side in ("pro", "anti")),
        *(example(7, side, groups={"stereotype": side, "type": "type1"}) for side in ("pro", "anti")),
        *(example(8, side) for side in ("none", "")),
        *(example(9, side, gold=1) for side in ("pro", "anti")),
    ]
    files = {name: content.decode() for name, content in text_format(examples)}
    line = "[The baker{0}] met an engineer when [{1}] slept; {1} woke.\n"
    second = "The baker9 met [an engineer] when [{0}] slept; {0} woke.\n"
    expected = {}
    for side, word in (("anti", "she"), ("pro", "he")):
        expected[f"winobias/{side}_stereotyped_type1.txt"] = "1 " + line.format(7, word)
        rows = [*(line.format(number, word) for number in (1, 2, 6)), second.format(word)]
        numbered = "".join(f"{number} {row}" for number, row in enumerate(rows, 1))
        expected[f"winobias/{side}_stereotyped_type2.txt"] = numbered
    assert files == expected
    assert list(files) == sorted(files)


def test_brackets_are_around_the_first_pronoun_at_or_after_the_difference() -> None:
    first = example(1, "pro", text="He, baker1, saw that he and THE Engineer left.", gold=1)
    other = replace(first, text="He, baker1, saw that she and THE Engineer left.")
    assert _bracketed(first, other) == "He, baker1, saw that [he] and [THE Engineer] left."
    start = replace(first, text="She, baker1, saw that he and THE Engineer left.")
    assert _bracketed(first, start) == "[He], baker1, saw that he and [THE Engineer] left."
    gone = replace(first, text="He, baker1, saw that he and THE Engineer left,")
    assert _bracketed(first, gone) == "", "no pronoun comes at or after the difference"


def test_the_table_of_examples_is_as_it_was_kept() -> None:
    full = example(1, "pro", good=1, cluster_id="c", slots={"pronoun": "he", "question": "Who?"})
    bare = example(
        2, "anti", gold=None, answerable=False, stereotype=None, slots={}, groups={"group": "g", "form": "f"}
    )
    more = replace(bare, id="x", groups={name: f"own {name}" for name in OWN_GROUPS} | {"mine": "m", "age": "old"})
    assert_kept("written/example-table", example_table([full, bare, more]), example_table([bare]))


LICENCES = {
    "": "",
    "MIT": "",
    "CC BY 4.0": "",
    "none stated": "no licence is stated, so nothing allows passing copies on",
    "CC BY-NC-ND 4.0": "its licence, CC BY-NC-ND 4.0, does not allow passing changed copies on",
    "STANDARD": "",
}


def test_what_licences_allow() -> None:
    examples = open_dataset("builtin", DatasetOptions(limit=2)).examples
    for licence, reason in LICENCES.items():
        assert obstacle(Dataset("d", examples, licence=licence)) == reason


@pytest.mark.parametrize("name", ["builtin", "winoidentity-winobias", "mine"])
def test_the_card_of_a_dataset_is_as_it_was_kept(name: str, tmp_path: Path) -> None:
    examples = open_dataset("builtin", DatasetOptions(limit=2)).examples
    licence = {"builtin": "CC0-1.0", "mine": ""}.get(name, "CC BY-NC-ND 4.0")
    made_with = {"limit": 2, "attributes": ["age"]} if name != "mine" else None
    dataset = Dataset(name, examples, licence=licence)
    files = export_dataset(dataset, tmp_path, private=name.startswith("w"), made_with=made_with)
    shown = [file.relative_to(tmp_path).as_posix() for file in files]
    card = files[-1].read_text(encoding="utf-8")
    assert_kept(f"written/dataset-card-{name}", shown, card, hide=[__version__])


def test_json_lines_leave_out_what_is_not_there_and_keep_letters(tmp_path: Path) -> None:
    named = example(1, "pro", text="The bäcker1 met an engineer; he slept.", candidates=("bäcker1", "engineer"))
    dataset = Dataset("d", (named, example(2, "anti", gold=None, answerable=False, stereotype=None)))
    export_dataset(dataset, tmp_path)
    lines = (tmp_path / "data.jsonl").read_text(encoding="utf-8").splitlines()
    assert "bäcker1" in lines[0] and len(lines) == 2
    assert set(json.loads(lines[0])) - set(json.loads(lines[1])) == {"gold", "stereotype"}


def test_a_pair_is_written_only_where_both_sentences_can_be_marked() -> None:
    pairs = list(open_dataset("builtin", DatasetOptions(limit=4)).examples)
    whole = dict(text_format(pairs))
    (one, *_) = [example for example in pairs if example.groups.get("stereotype") == "anti"]
    without = [replace(example, slots={}) if example is one else example for example in pairs]
    count = sum(content.count(b"\n") for content in whole.values())
    assert count > 2 and sum(content.count(b"\n") for content in dict(text_format(without)).values()) == count - 2
