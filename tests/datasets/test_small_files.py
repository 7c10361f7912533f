"""What small files of every format become, as it was kept: every example with every field, and every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept
from small_files import FILES, bbq_row, bbq_rows, lines

from equipoise.datasets import open_dataset
from equipoise.datasets.bbq import is_bbq, load_bbq
from equipoise.datasets.dataset import Dataset
from equipoise.datasets.winobias import load_winobias
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError

CHOICES: dict[str, list[dict[str, Any]]] = {
    "slots.csv": [{}, {"pronouns": ("they", "xe")}],
    "gender": [{}, {"pronouns": ("she", "they", "fae")}],
    "wino": [{}, {"as_published": True}],
}


def write(folder: Path, name: str) -> Path:
    for file, text in FILES[name].items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    return folder / name


def written(dataset: Dataset) -> dict[str, Any]:
    about = f"{dataset.name}, {dataset.sets} sets, {dataset.licence}, {dataset.source}, {dataset.label}"
    return {"about": about, "examples": dataset.examples, "faults": dataset.faults}


@pytest.mark.parametrize("name", FILES)
def test_a_small_file_becomes_what_it_became(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    opened = [written(open_dataset(path, DatasetOptions(**choice))) for choice in CHOICES.get(name, [{}])]
    assert_kept(f"datasets/small/{path.stem}", *opened, hide=[str(tmp_path)])


@pytest.mark.parametrize("as_published", [False, True])
def test_rows_of_bbq_become_what_they_became(tmp_path: Path, as_published: bool) -> None:
    path = tmp_path / "Gender_identity.jsonl"
    path.write_text(lines(bbq_rows()))
    kept = written(load_bbq(path, as_published=as_published))
    assert_kept(f"datasets/small/bbq{'-as-published' if as_published else ''}", kept, hide=[str(tmp_path)])


BROKEN: dict[str, dict[str, Any]] = {
    "category": {"context_condition": "dark"},
    "polarity": {"question_polarity": None},
    "metadata": {"additional_metadata": None},
    "info": {"answer_info": {"ans0": ["Ann", "F"]}},
    "three people": {"answer_info": {"ans0": ["Ann", "F"], "ans1": ["Tom", "M"], "ans2": ["Eva", "F"]}},
    "one person": {"answer_info": {"ans0": ["Ann", "F"], "ans1": ["Ann", "F"], "ans2": ["unknown", "unknown"]}},
    "short info": {"answer_info": {"ans0": ["Ann"], "ans1": [], "ans2": ["unknown", "unknown"]}},
    "label": {"label": 3},
    "label of an ambiguous one": {"label": 0},
    "label of a settled one": {"context_condition": "disambig"},
    "empty context": {"context": " "},
    "a number as context": {"context": 7},
    "empty question": {"question": ""},
    "empty answer": {"ans1": None},
}


def test_a_row_of_bbq_that_is_broken_is_refused_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "Gender_identity.jsonl"
    said = {}
    for name, cells in BROKEN.items():
        path.write_text(lines([bbq_row(0), bbq_row(1, **cells)]))
        try:
            said[name] = f"{len(load_bbq(path).examples)} examples"
        except DatasetError as error:
            said[name] = str(error)
    assert_kept("datasets/small/bbq-refused", said, hide=[str(tmp_path)])


ASKED = "Ann met Tom. It rained! Who sang?"
TASKS: dict[str, Any] = {
    "good": {"input": ASKED, "target_scores": {"Ann": 1, "Not enough info.": 0, "Tom": 0}},
    "unknown": {"input": f"  {ASKED} ", "target_scores": {"Ann": 0, "Tom  B": 0, "Cannot be determined": 1}},
    "two right": {"input": ASKED, "target_scores": {"Ann": 1, "Unknown": 1, "Tom": 0}},
    "none right": {"input": ASKED, "target_scores": {"Ann": 0, "Unknown": 0, "Tom": 0}},
    "two answers": {"input": ASKED, "target_scores": {"Ann": 1, "Unknown": 0}},
    "a list": {"input": ASKED, "target_scores": ["Ann"]},
    "no unknown": {"input": ASKED, "target_scores": {"Ann": 1, "Eva": 0, "Tom": 0}},
    "two unknown": {"input": ASKED, "target_scores": {"Ann": 1, "Unknown": 0, "not known.": 0}},
    "no question": {"input": "Ann met Tom.", "target_scores": {"Ann": 1, "Unknown": 0, "Tom": 0}},
    "only a question": {"input": "Who sang?", "target_scores": {"Ann": 1, "Unknown": 0, "Tom": 0}},
    "no text": {"input": 3, "target_scores": {"Ann": 1, "Unknown": 0, "Tom": 0}},
}


def test_questions_of_big_bench_are_read_or_refused_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "age" / "task.json"
    path.parent.mkdir()
    said: dict[str, Any] = {}
    for name, task in TASKS.items():
        path.write_text(json.dumps({"examples": [TASKS["good"], task]}))
        try:
            said[name] = open_dataset(path).examples[1]
        except DatasetError as error:
            said[name] = str(error)
    other = tmp_path / "mine.json"
    path.rename(other)
    other.write_text(json.dumps({"examples": [TASKS["good"]]}))
    said["another name"] = [example.id for example in open_dataset(other).examples]
    assert_kept("datasets/small/big-bench", said)
    mixed = json.dumps({"examples": [TASKS["good"], {"a": 1}]})
    others = ('{"examples": 3, "target_scores": 1}', '{"examples": [{"a": "target_scores"}]}', '["target_scores"]')
    for content in (mixed, *others):
        other.write_text(content)
        assert not is_bbq(other)
    assert is_bbq(write_age(tmp_path)) and not is_bbq(tmp_path / "Age.txt") and is_bbq(tmp_path)


def write_age(folder: Path) -> Path:
    (folder / "Age.txt").write_text("x")
    (folder / "other.jsonl").write_text("x")
    (folder / "Age.jsonl").write_text(lines([bbq_row(0)]))
    return folder / "Age.jsonl"


NAMES: dict[str, list[str]] = {
    "one file": ["pro_type1.txt"],
    "one of two": ["anti_stereotyped_type2.txt.dev"],
    "twice": ["pro_type1.txt", "pro-type1.txt", "anti_type1.txt"],
    "other endings": ["pro_type1.md", "anti_type1.csv"],
    "other words": ["product_type1.txt", "antique_type1.txt"],
    "other types": ["pro_type3.txt", "anti_type12.txt"],
    "hidden": [".pro_type1.txt", ".anti_type1.txt"],
    "good": ["PRO-Type_1.TXT", "anti.type-1.txt"],
    "splits": ["pro_type1.txt.dev", "anti_type1.txt.dev", "pro_type1.txt.test", "anti_type1.txt.test"],
    "mixed splits": ["pro_type1.txt.dev", "anti_type1.txt.test"],
}


def test_files_of_winobias_are_known_by_their_names_as_they_were(tmp_path: Path) -> None:
    said: dict[str, Any] = {}
    for name, files in NAMES.items():
        folder = tmp_path / name
        folder.mkdir()
        for file in files:
            word = "she" if "anti" in file.lower() else "he"
            end = "ran" if "test" not in file else "sat"
            (folder / file).write_text(f"1 [The guard] met the nurse and [{word}] {end}.\n")
        try:
            dataset = load_winobias(folder)
            said[name] = [(example.id, example.groups.get("split", "")) for example in dataset.examples]
        except DatasetError as error:
            said[name] = str(error)
    for path in (tmp_path / "none", tmp_path / "other words" / "product_type1.txt"):
        with pytest.raises(DatasetError) as error:
            load_winobias(path)
        said[path.name] = str(error.value)
    one = load_winobias(tmp_path / "splits" / "pro_type1.txt.dev")
    said["one split"] = [example.id for example in one.examples]
    (tmp_path / "good" / "PRO-Type_1.TXT").write_text(" \n")
    with pytest.raises(DatasetError, match=r"^PRO-Type_1\.TXT: is empty$"):
        load_winobias(tmp_path / "good")
    assert_kept("datasets/small/winobias-names", said, hide=[str(tmp_path)])


def changed(name: str, before: str, after: str) -> dict[str, str]:
    """Return a file of ours in which a text is another one."""
    assert any(before in text for text in FILES[name].values()), (name, before)
    return {file: text.replace(before, after, 1) for file, text in FILES[name].items()}


CHANGES: list[tuple[str, str, str]] = [
    ("table.csv", ",he,the guard", ",heron,the guard"),
    ("table.csv", ",they,guard", ",the,guard"),
    ("table.csv", ",subject,", ",dative,"),
    ("table.csv", "cook,3,yes", "cook,,yes"),
    ("table.csv", ",yes,guard,", ",yes,pro,"),
    ("table.csv", ",own,", ",table-00001,"),
    ("table.csv", "guard,nurse,cook,3,yes,guard,2,,own", "guard,nurse,,1,yes,guard,2,,table-00001"),
    ("table.csv", "xe,cook,guard,pilot", "xe,cook,guard,"),
    ("table.csv", "xe,cook,guard,pilot", "xe,cook,guard,cook"),
    ("table.csv", "hir,cook,guard,nurse,,,,,,,,Trans", "hir,cook,guard,nurse,,,,,,,,"),
    ("table.csv", "Ulm,glad", "U=lm,glad"),
    ("slots.csv", "___ hat", "The hat"),
    ("slots.csv", "___ hat", "___ ___ hat"),
    ("slots.csv", ",object,", ",dative,"),
    ("slots.csv", "{pronoun} was late", "{pronoun}'s late"),
    ("classes.csv", ",men,n1", ",,n1"),
    ("classes.csv", "rude|kind|odd,2,no", "rude|kind,2,no"),
    ("classes.csv", "rude|kind|odd,,,,women", "rude|kind|odd,,yes,,women"),
    ("classes.csv", ",own,", ",classes-00001,"),
    ("discrim.csv", ",male,Asian", ",,Asian"),
    ("discrim.csv", "flat?,8", "flat?,"),
    ("discrim.csv", "Should Tim get the flat?", ""),
    ("pairs.csv", "rang her friend", "rang  his friend"),
    ("pairs.csv", ",stereo,", ",maybe,"),
    ("pairs.csv", ",antistereo,", ",2,"),
    ("pairs.csv", "She were late.", "were late."),
    ("pairs.csv", ",one\n", ",pairs-00001\n"),
    ("gender", "cook.guest.0.male.txt", "cook.guest.2.male.txt"),
    ("gender", "cook.guest.0.male.txt", "cook.guest.0.robot.txt"),
    ("gender", "cook.guest.0.male.txt", "cook.guest.0.male"),
    ("gender", "guest that he had watched his pot himself", "guest that she had watched it"),
    ("gender", "sentid", "id"),
    ("gender", "bls_pct_female", "share"),
    ("synth.csv", "type1,The guard met the clerk and she", "type3,The guard met the clerk and she"),
    ("synth.csv", ",she,ambiguous", ",it,ambiguous"),
    ("synth.csv", ",she,ambiguous", ",her,ambiguous"),
    ("synth.csv", "nurse,cook,he", "nurse,chef,he"),
    ("synth.csv", "nurse,cook,he", "nurse,nurse,he"),
    ("wino", "1 [The guard] met the nurse because [she]", "1 [The guard met the nurse because [she]"),
    ("wino", "1 [The guard] met the nurse because [she]", "1 [The guard] met [the nurse] because [she]"),
    ("wino", "1 [The guard] met the nurse because [she]", "1 The guard met the nurse because [she]"),
    ("wino", "1 [The guard] met the nurse because [she]", "1 [The guard] met the nurse because she"),
    ("wino", "1 [The guard] met the nurse because [she]", "1 The guard met the nurse because she"),
    ("wino", "1 [The guard] met the nurse because [she]", "1 [The wizard] met the elf because [she]"),
    ("made.toml", '"people.toml"', '"missing.toml"'),
    ("made.toml", "[gender]", "[gender"),
    ("made.toml", "licence =", "license ="),
    ("made.toml", "licence =", "licence"),
    ("made.toml", 'others = { person = "heir", name = "unicorn" }', ""),
    ("made.toml", 'others = { person = "heir", name = "unicorn" }', 'others = { person = "heir" }'),
    ("made.toml", 'others = { person = "heir", name = "unicorn" }', "others = 3"),
    ("made.toml", 'others = { person = "heir", name = "unicorn" }', 'others = { pronoun = "he" }'),
    ("made.toml", '"heir"', "[]"),
    ("made.toml", '"heir"', '" "'),
    ("made.toml", '"heir"', "7"),
    ("made.toml", '"heir"', '["heir", 7]'),
    ("made.toml", '"heir"', '["heir", " "]'),
    ("made.toml", '"she"', '"it"'),
    ("made.toml", 'id = "flat"', 'id = "loan"'),
    ("made.toml", 'id = "flat"', 'id = ""'),
    ("made.toml", 'id = "flat"', 'name = "flat"'),
    ("made.toml", '{a person} and {a name} rent a flat."', '{a house}"'),
    ("made.toml", '{a person} and {a name} rent a flat."', '{House}"'),
    ("made.toml", 'candidates = ["no", "yes", "later"]', 'candidates = "no"'),
    ("made.toml", 'candidates = ["no", "yes", "later"]', 'candidates = ["no", ""]'),
    ("made.toml", 'good = "later"', 'good = "never"'),
    ("made.toml", 'right = "no"', 'right = "never"'),
    ("made.toml", 'questions = ["Yes, {person}?"]', "questions = [3]"),
    ("made.toml", '"age"', '"race"'),
    ("made.toml", '["age"]', '["age", "race", "class"]'),
    ("made.toml", 'good = "yes"\n', ""),
    ("made.toml", 'groups = "people.toml"', "groups = 3"),
]


def test_a_file_with_one_fault_is_refused_or_read_as_it_was(tmp_path: Path) -> None:
    said: dict[str, Any] = {}
    for number, (name, before, after) in enumerate(CHANGES):
        folder = tmp_path / str(number)
        folder.mkdir()
        for file, text in changed(name, before, after).items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        try:
            dataset = open_dataset(folder / name)
            result = f"{len(dataset.examples)} examples, {dataset.sha256[:12]}, {len(dataset.faults)} faults"
        except DatasetError as error:
            result = str(error).replace(str(folder), "…")
        said[f"{name}: {before!r} -> {after!r}"] = result
    assert_kept("datasets/small/refused", said)
