"""BBQ's files rule by rule: which are BBQ's, what a row must hold, and what is said of each set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bbq_rows import row, swapped, written

from equipoise.datasets.bbq import _big_bench, _chosen_files, _from_big_bench, is_bbq, load_bbq, read_bbq
from equipoise.records import DatasetError

TASK = {"input": "An aunt and I met. Who ran?", "target_scores": {"The aunt": 1, "I": 0, "Not known": 0}}


def test_which_paths_are_bbqs(tmp_path: Path) -> None:
    age = written(tmp_path, row())
    assert is_bbq(age) and is_bbq(tmp_path)
    for name in ("Mine.jsonl", "Age.csv", "Age"):
        (tmp_path / name).write_text("{}")
        assert not is_bbq(tmp_path / name)
    deep = tmp_path / "deep"
    (deep / "Age.jsonl").mkdir(parents=True)
    written(deep / "Age.jsonl", row())
    assert not is_bbq(deep), "only files of the folder itself count"
    (deep / "task.json").write_text(json.dumps({"examples": [TASK]}))
    assert is_bbq(deep / "task.json") and not is_bbq(deep)
    odd = tmp_path / "set.json"
    odd.mkdir()
    written(odd, row())
    assert is_bbq(odd), "a folder, whatever its name"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"examples": [TASK]}, 1),
        ({"examples": [TASK, TASK]}, 2),
        ({"examples": [TASK, {"input": "a"}]}, 0),
        ({"examples": [TASK, "target_scores"]}, 0),
        ({"examples": {"target_scores": 1}}, 0),
        ({"target_scores": 1}, 0),
        (["target_scores"], 0),
    ],
)
def test_which_json_is_big_benchs(content: Any, found: int, tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    path.write_text(json.dumps(content))
    assert len(_big_bench(path)) == found and is_bbq(path) is bool(found)
    path.write_text(json.dumps(content)[:-1])
    assert _big_bench(path) == [] and not is_bbq(path)


def test_which_files_of_a_folder_are_chosen(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r": has no file of BBQ, such as Age\.jsonl$"):
        _chosen_files(tmp_path, "")
    with pytest.raises(DatasetError, match=r": has no file of BBQ, such as Age\.jsonl$"):
        _chosen_files(tmp_path, "Age")
    names = ["Age.jsonl", "Disability_status.jsonl", "Religion.jsonl"]
    for name in reversed(names):
        (tmp_path / name).write_text("")
    (tmp_path / "other.jsonl").write_text("")
    assert [file.name for file in _chosen_files(tmp_path, "")] == names
    for category, name in (("age", names[0]), ("Disability status", names[1]), ("RELIGION", names[2])):
        assert [file.name for file in _chosen_files(tmp_path, category)] == [name]
    with pytest.raises(DatasetError, match=r": has no category 'SES'; it has Age, Disability_status, Religion$"):
        _chosen_files(tmp_path, "SES")
    assert _chosen_files(tmp_path / "other.jsonl", "SES") == [tmp_path / "other.jsonl"]


INFO = {"ans0": ["aunt", "old"], "ans1": ["Unknown", "unknown"], "ans2": ["niece", "nonOld"]}
PEOPLE = "needs two different people and one answer that is 'unknown'"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer_info": None}, "has no answer_info for ans0, ans1 and ans2, or no additional_metadata"),
        (
            {"answer_info": {**INFO, "ans3": []}},
            "has no answer_info for ans0, ans1 and ans2, or no additional_metadata",
        ),
        ({"additional_metadata": None}, "has no answer_info for ans0, ans1 and ans2, or no additional_metadata"),
        ({"answer_info": {**INFO, "ans2": ["x", "unknown"]}}, PEOPLE),
        ({"answer_info": {**INFO, "ans1": ["x", "y"]}}, PEOPLE),
        ({"answer_info": {**INFO, "ans2": ["aunt", "nonOld"]}}, PEOPLE),
        ({"label": None}, "label None is not 0, 1 or 2"),
        ({"label": -1}, "label -1 is not 0, 1 or 2"),
        ({"context_condition": "ambig"}, "is ambiguous, but its right answer is 'The aunt'"),
        ({"context_condition": "x"}, "context_condition 'x' is not ambig or disambig"),
        ({"ans2": 3}, "ans2 is not text"),
        ({"question": None}, "question is not text"),
    ],
)
def test_the_first_fault_of_a_row_is_told(tmp_path: Path, changes: Any, message: str) -> None:
    path = written(tmp_path, row(**changes))
    with pytest.raises(DatasetError) as caught:
        read_bbq(path)
    assert str(caught.value) == f"{path.name}:1: {message}"


def test_everything_of_a_row(tmp_path: Path) -> None:
    metadata = {"subcategory": "x Y", "stereotyped_groups": ["Old", "women"]}
    short = {**INFO, "ans2": ["niece"]}
    (found,) = read_bbq(written(tmp_path, row(additional_metadata=metadata, answer_info=short, example_id="7")))
    assert (found.where, found.id, found.category, found.template) == ("Age.jsonl:1", "age-00007", "Age", "1")
    assert (found.condition, found.gold, found.unknown, found.subcategory) == ("disambiguated", 0, "Unknown", "X y")
    assert found.text == "An aunt and a niece met. The aunt lost her phone." and found.question == "Who lost a phone?"
    assert [(one.name, one.group, one.text, one.place) for one in found.people] == [
        ("aunt", "old", "The aunt", 0),
        ("niece", "", "The niece", 2),
    ]
    assert found.target is not None and (found.target.name, found.target_group) == ("aunt", "Old")
    (bare,) = read_bbq(written(tmp_path, row(additional_metadata={}, category=None, question_index=None)))
    assert (bare.id, bare.category, bare.template, bare.subcategory) == ("-00000", "", "", "")
    assert bare.target is None and bare.target_group == ""


@pytest.mark.parametrize(
    ("groups", "stereotyped", "target"),
    [
        (("F-Black", "M-White"), ["Black"], ("a", "Black")),
        (("F-Black", "M-Black"), ["Black"], None),
        (("F", "M"), ["F", "M"], None),
        (("x", "y"), ["z"], None),
        (("x", "low_SES"), ["low"], ("b", "low")),
        (("x", "y"), ["B"], ("b", "B")),
    ],
)
def test_the_person_of_a_stereotyped_group(tmp_path: Path, groups: Any, stereotyped: Any, target: Any) -> None:
    info = {"ans0": ["a", groups[0]], "ans1": ["Unknown", "unknown"], "ans2": ["b", groups[1]]}
    metadata = {"stereotyped_groups": stereotyped}
    (found,) = read_bbq(written(tmp_path, row(answer_info=info, additional_metadata=metadata)))
    assert (found.target and (found.target.name, found.target_group)) == target


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_scores": {"a": 1, "Not known": 0}}, "target_scores needs three answers, one of them right"),
        ({"target_scores": {"a": 1, "b": 1, "Not known": 0}}, "target_scores needs three answers, one of them right"),
        ({"target_scores": ["a", "b", "c"]}, "target_scores needs three answers, one of them right"),
        ({"target_scores": {"a": 1, "b": 0, "c": 0}}, "none or several of the answers a, b, c say that it is unknown"),
        (
            {"target_scores": {"a": 1, "Not known": 0, "Can't answer": 0}},
            "none or several of the answers a, Not known, Can't answer say that it is unknown",
        ),
        ({"input": "Who ran?"}, "input does not end in a context and a question"),
        ({"input": "An aunt ran. I ran."}, "input does not end in a context and a question"),
        ({"input": " "}, "input is not text"),
    ],
)
def test_the_first_fault_of_an_example_of_big_bench(changes: Any, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        _from_big_bench("w", "age", 3, {**TASK, **changes})
    assert str(caught.value) == message


def test_everything_of_an_example_of_big_bench(tmp_path: Path) -> None:
    found = _from_big_bench("w", "age_ambig", 3, TASK)
    assert (found.where, found.id, found.category, found.template) == ("w", "age-ambig-00003", "age_ambig", "")
    assert (found.text, found.question, found.condition) == ("An aunt and I met.", "Who ran?", "disambiguated")
    assert (found.gold, found.unknown, [person.text for person in found.people]) == (0, "Not known", ["The aunt", "I"])
    assert [person.place for person in found.people] == [0, 1]
    for folder, name, category in (("some", "mine.json", "mine"), ("age", "task.json", "age")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(json.dumps({"examples": [TASK, {**TASK, "input": "A ran. Who ran?"}]}))
        first, second = read_bbq(tmp_path / folder / name)
        assert (first.where, second.where) == (f"{name}:1", f"{name}:2")
        assert (first.id, second.id) == (f"{category}-00001", f"{category}-00002")


def faults(tmp_path: Path, *rows: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(one.where, one.kind, one.what, one.handling) for one in load_bbq(written(tmp_path, *rows)).faults]


def test_what_is_said_of_rows_that_are_no_set(tmp_path: Path) -> None:
    alone = "this question about aunt and niece"
    where, kind, what, then = faults(tmp_path, row())[0]
    assert (where, kind, then) == ("Age.jsonl:1", "no counterfactual set", "kept, unpaired")
    assert what == f"no other row asks {alone}"
    three = faults(tmp_path, row(), swapped(), row(example_id=2))
    assert [fault[:3] for fault in three] == [
        (f"Age.jsonl:{number}", "no counterfactual set", f"2 other rows ask {alone}") for number in (1, 2, 3)
    ]


def test_what_is_said_of_the_two_rows_of_a_set(tmp_path: Path) -> None:
    assert faults(tmp_path, row(), swapped()) == []
    same = swapped(label=1)
    assert faults(tmp_path, row(), same) == [
        (
            "Age.jsonl:2",
            "right answer does not swap",
            "the roles swap, but the right answer of Age.jsonl:1 and of this row is aunt",
            "kept as published",
        )
    ]
    groups = [
        {name: [who, "old" if "nown" not in who else "unknown"] for name, (who, _) in one["answer_info"].items()}
        for one in (row(), swapped())
    ]
    one, other = row(answer_info=groups[0]), swapped(answer_info=groups[1])
    assert faults(tmp_path, one, other) == [
        (
            "Age.jsonl:2",
            "right answer stays in one group",
            "both people of this row and of Age.jsonl:1 are of the group old",
            "kept as published",
        )
    ]
    text = swapped(context=row()["context"])
    assert [fault[1:] for fault in faults(tmp_path, row(), text)] == [
        ("roles not swapped", "has the same text as Age.jsonl:1: the roles are not swapped", "kept as a set")
    ]
    assert [fault[1:] for fault in faults(tmp_path, row(), swapped(ans1="An aunt"))] == [
        ("people named differently", "names the people otherwise than Age.jsonl:1", "kept as published")
    ]
    assert faults(tmp_path, row(), swapped(ans1="the AUNT")) == [], "but for capitals"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("An aunt {x} met.", "stray bracket", "'{'"),
        ("An aunt met met her.", "doubled word", "'met met'"),
        ("An aunt Met met her.", "doubled word", "'Met met'"),
        ("The the aunt met.", "two articles", "'The the'"),
        ("She had had it, and that that ran ran.", "doubled word", "'ran ran'"),
    ],
)
def test_slips_of_the_pen_are_told(text: str, kind: str, said: str, tmp_path: Path) -> None:
    found = faults(tmp_path, row(context=text), swapped())
    assert [fault for fault in found if fault[1] == kind] == [
        ("Age.jsonl:1", kind, f"says {said}", "kept as published")
    ]
    assert faults(tmp_path, row(context="She had had it. I know that that is so. An A."), swapped()) == []
