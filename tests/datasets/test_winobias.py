"""WinoBias and SynthBias: the reader on sentences of our own, and every count of the real files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from bias_files import check_pairs, kinds, lines_with, write_wino

from equipoise.datasets.dataset import Dataset, count_by
from equipoise.datasets.synthbias import load_synthbias
from equipoise.datasets.winobias import is_text_format, load_winobias
from equipoise.records import DatasetError


def test_a_minimal_pair_becomes_two_examples(tmp_path: Path) -> None:
    pro = ["The baker met [the driver] and showed [him] the oven."]
    anti = ["The baker met [the driver] and showed [her] the oven."]
    dataset = load_winobias(write_wino(tmp_path, pro, anti))
    first, second = dataset.examples
    assert (first.id, second.id) == ("winobias-type2-dev-0001-pro", "winobias-type2-dev-0001-anti")
    assert first.set_id == second.set_id == "winobias-type2-dev-0001"
    assert first.text == "The baker met the driver and showed him the oven."
    assert first.candidates == second.candidates == ("baker", "driver")
    assert (first.gold, first.answerable, first.stereotype, second.stereotype) == (1, True, 1, 0)
    assert (first.slots, second.slots) == ({"pronoun": "him"}, {"pronoun": "her"})
    assert first.groups == {
        "type": "type2",
        "gender": "male",
        "form": "object",
        "occupation": "driver",
        "other": "baker",
        "position": "second",
        "side": "male",
        "stereotype": "pro",
        "split": "dev",
    }
    assert (second.groups["form"], second.groups["gender"], second.groups["stereotype"]) == ("object", "female", "anti")
    assert second.groups["side"] == "male"
    assert dataset.faults == ()


def test_her_takes_its_form_from_his_and_type_1_is_labelled_but_not_answerable(tmp_path: Path) -> None:
    pro = ["[The driver] paid the baker because [his] cake was ready."]
    anti = ["[The driver] paid the baker because [her] cake was ready."]
    dataset = load_winobias(write_wino(tmp_path, pro, anti, kind=1, split="test"))
    assert {example.groups["form"] for example in dataset.examples} == {"possessive"}
    assert {(example.gold, example.answerable) for example in dataset.examples} == {(0, False)}


def test_spacing_is_mended_and_nothing_else(tmp_path: Path) -> None:
    pro = ["The baker saw  [the construction worker] 's van and said 'so' to [ him] ."]
    anti = ["The baker saw [the construction worker] 's van and said 'so' to [her] ."]
    dataset = load_winobias(write_wino(tmp_path, pro, anti))
    assert dataset.examples[0].text == "The baker saw the construction worker's van and said 'so' to him ."
    assert dataset.examples[0].candidates == ("baker", "construction worker")
    assert dataset.sets == 1


def test_lines_that_differ_beyond_the_pronoun_are_kept_unpaired_and_reported(tmp_path: Path) -> None:
    pro = ["The baker met [the driver] and showed [him] the oven.", "The nurse met [the cook] and greeted [him]."]
    anti = ["The baker met [the driver] and showed [her] an oven.", "The nurse met [the cook] and greeted [her]."]
    dataset = load_winobias(write_wino(tmp_path, pro, anti))
    assert dataset.sets == 1
    assert [example.set_id == example.id for example in dataset.examples] == [True, True, False, False]
    # Nobody knows what form this "her" has.
    assert dataset.examples[1].groups["form"] == ""
    assert [(fault.where, fault.kind) for fault in dataset.faults] == [
        ("pro_stereotyped_type2.txt.dev:1", "not a minimal pair"),
        ("anti_stereotyped_type2.txt.dev:1", "not a minimal pair"),
    ]
    assert "anti_stereotyped_type2.txt.dev:1" in dataset.faults[0].what


@pytest.mark.parametrize(
    ("pro", "anti", "why"),
    [
        ("showed [him] it", "showed [him] it", "same pronoun"),
        ("demanded [he] pay", "demanded [her] pay", "not the counterpart"),
        ("gave him [his] hat", "gave [her] her hat", "no pronoun in brackets"),
    ],
)
def test_pronouns_that_are_no_counterparts_make_no_pair(tmp_path: Path, pro: str, anti: str, why: str) -> None:
    start = "The baker met [the driver] and "
    dataset = load_winobias(write_wino(tmp_path, [start + pro], [start + anti]))
    assert dataset.sets == 0
    assert why in next(fault.what for fault in dataset.faults if fault.kind == "not a minimal pair")


def test_of_two_pronouns_the_first_in_brackets_in_both_lines_is_asked(tmp_path: Path) -> None:
    pro = [
        "The baker told [the driver] that [he] lost [his] key.",
        "The baker took his hat from [the driver] for [him].",
    ]
    anti = [
        "The baker told [the driver] that [she] lost [her] key.",
        "The baker took [her] hat from [the driver] for [her].",
    ]
    dataset = load_winobias(write_wino(tmp_path, pro, anti))
    assert [example.slots["pronoun"] for example in dataset.examples] == ["he", "she", "him", "her"]
    assert dataset.examples[3].groups["form"] == "object"
    assert kinds(dataset) == {"two pronouns": 3, "brackets differ": 2, "pronoun without brackets": 1}
    assert dataset.sets == 2


def test_a_third_occupation_is_no_candidate(tmp_path: Path) -> None:
    # One after the pronoun; two before it, of which one is of the referent's own side, or the farther one.
    starts = [
        ("The driver met [the nurse] and sent [{}] to the lawyer.", ("driver", "nurse")),
        ("The baker said that the driver met [the nurse] and sent [{}] off.", ("driver", "nurse")),
        ("The driver said that the baker met [the nurse] and sent [{}] off.", ("driver", "nurse")),
        ("The cook said that the driver met [the nurse] and sent [{}] off.", ("driver", "nurse")),
    ]
    pro, anti = ([text.format(word) for text, _ in starts] for word in ("her", "him"))
    dataset = load_winobias(write_wino(tmp_path, pro, anti))
    assert [example.candidates for example in dataset.examples[::2]] == [candidates for _, candidates in starts]
    assert kinds(dataset)["third occupation"] == 8


def test_an_occupation_not_of_the_40_follows_the_file_it_stands_in(tmp_path: Path) -> None:
    pro, anti = ["The nurse met [an astronaut] and saw [him]."], ["The nurse met [an astronaut] and saw [her]."]
    first, second = load_winobias(write_wino(tmp_path, pro, anti)).examples
    assert first.candidates == ("nurse", "astronaut")
    assert (first.gold, first.stereotype, second.stereotype) == (1, 1, 0)
    assert (first.groups["side"], second.groups["side"]) == ("male", "male")


def test_a_label_that_the_table_contradicts_is_reported_and_not_followed(tmp_path: Path) -> None:
    pro, anti = ["The cook met [the nurse] and saw [him]."], ["The cook met [the nurse] and saw [her]."]
    dataset = load_winobias(write_wino(tmp_path, pro, anti))
    assert kinds(dataset) == {"wrong label": 2}
    assert [example.groups["stereotype"] for example in dataset.examples] == ["anti", "pro"]


def test_a_repeat_within_a_file_is_kept_once_and_across_files_twice(tmp_path: Path) -> None:
    pro, anti = ["The cook met [the nurse] and saw [her]."], ["The cook met [the nurse] and saw [him]."]
    write_wino(tmp_path, pro * 2, anti * 2, split="dev")
    dataset = load_winobias(write_wino(tmp_path, pro, anti, split="test"))
    assert [example.id for example in dataset.examples] == [
        f"winobias-type2-{split}-0001-{label}" for split in ("dev", "test") for label in ("pro", "anti")
    ]
    assert Counter(fault.handling for fault in dataset.faults) == {"kept once": 2, "both kept": 2}
    assert kinds(dataset) == {"repeated sentence": 4}


def test_a_sentence_of_another_type_or_about_another_person_is_reported_as_such(tmp_path: Path) -> None:
    def repeats(folder: Path) -> set[tuple[str, str]]:
        faults = load_winobias(folder).faults
        return {(fault.kind, fault.handling) for fault in faults if fault.what.startswith("the text of")}

    nurse, cook = "The cook met [the nurse] and saw [{}].", "[The cook] met the nurse and saw [{}]."
    pro, anti = ([text.format(word) for text in (nurse, cook)] for word in ("her", "him"))
    write_wino(tmp_path, pro, anti)
    assert repeats(tmp_path) == {("repeated with occupations exchanged", "both kept")}
    write_wino(tmp_path, pro[:1], anti[:1])
    write_wino(tmp_path, pro[1:], anti[1:], kind=1)
    assert repeats(tmp_path) == {("in both types", "both kept")}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("The baker met [the driver and saw [him].", "txt.dev:2: has a bracket without"),
        ("The baker met [the driver].", "txt.dev:2: needs one occupation and a pronoun in brackets, has 1 and 0 (the "),
        ("The baker met the driver.", "has 0 and 0 (none at all)"),
        ("The baker met the driver and saw [him].", "txt.dev:2: needs one occupation and a pronoun"),
        ("[The baker] met [the driver] and saw [him].", "txt.dev:2: needs one occupation"),
        ("The stranger met [the driver] and saw [him].", "txt.dev:2: names none of the 40 occupations beside 'driver'"),
    ],
)
def test_a_broken_line_is_an_error_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    good = "The cook met [the nurse] and saw [{}]."
    write_wino(tmp_path, [good.format("her"), line], [good.format("him"), line])
    with pytest.raises(DatasetError) as error:
        load_winobias(tmp_path)
    assert message in str(error.value)


def test_files_that_do_not_go_together_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="holds no file in WinoBias's format"):
        load_winobias(tmp_path)
    with pytest.raises(DatasetError, match="no such file or folder"):
        load_winobias(tmp_path / "missing")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DatasetError, match=r"notes\.txt: its name is not of"):
        load_winobias(tmp_path / "notes.txt")
    (tmp_path / "type1-pro.txt").write_text("")
    with pytest.raises(DatasetError, match="not the anti file"):
        load_winobias(tmp_path)
    (tmp_path / "type1-anti.txt").write_text("1 x\n")
    with pytest.raises(DatasetError, match=r"type1-pro\.txt: is empty"):
        load_winobias(tmp_path)
    (tmp_path / "type1_pro.txt").write_text("")
    with pytest.raises(DatasetError, match="claim to be the same part"):
        load_winobias(tmp_path)
    (tmp_path / "type1_pro.txt").unlink()
    (tmp_path / "type1-pro.txt").write_bytes(b"1 a\n2 caf\xe9\n")
    with pytest.raises(DatasetError, match=r"type1-pro\.txt:2: byte 0xe9 is not UTF-8"):
        load_winobias(tmp_path)


def test_a_line_without_counterpart_is_kept(tmp_path: Path) -> None:
    pro = ["The cook met [the nurse] and saw [her].", "The cook called [the nurse] and heard [her]."]
    dataset = load_winobias(write_wino(tmp_path, pro, ["The cook met [the nurse] and saw [him]."]))
    assert (len(dataset.examples), dataset.sets) == (3, 1)
    assert "the counterpart file" in dataset.faults[0].what


def test_one_file_brings_its_counterpart_and_nothing_else(tmp_path: Path) -> None:
    pro, anti = ["The cook met [the nurse] and saw [her]."], ["The cook met [the nurse] and saw [him]."]
    write_wino(tmp_path, pro, anti, kind=1)
    write_wino(tmp_path, pro, anti, kind=2)
    dataset = load_winobias(tmp_path / "anti_stereotyped_type2.txt.dev", name="mine")
    assert [example.id for example in dataset.examples] == ["mine-type2-dev-0001-pro", "mine-type2-dev-0001-anti"]


def test_names_of_files_in_the_format(tmp_path: Path) -> None:
    assert is_text_format(Path("pro_stereotyped_type1.txt.dev"))
    assert is_text_format(Path("type2-anti.txt"))
    assert not is_text_format(Path("dev_type1_pro_stereotype.v4_auto_conll"))
    assert not is_text_format(Path("profile_type1.txt"))
    assert not is_text_format(tmp_path)


# --- the real files: every number below is counted in them, and is in docs/datasets.md


def test_lines_that_differ_in_their_first_letter_are_no_pair(tmp_path: Path) -> None:
    pro, anti = ["A cook met [the nurse] and saw [her]."], ["O cook met [the nurse] and saw [him]."]
    dataset = load_winobias(write_wino(tmp_path, pro, anti))
    assert kinds(dataset) == {"not a minimal pair": 2} and dataset.sets == 0


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("[The veterinarian] and the nurse met before [{}] left.", ("veterinarian", "nurse")),
        ("The nurse met [the Cook] before [{}] left.", ("nurse", "cook")),
        ("The nurse met [the head cook] before [{}] left.", ("nurse", "head cook")),
        ("The nurse met [the cook in chief] before [{}] left.", ("nurse", "cook in chief")),
        ("The nurse met [the head cook aide] before [{}] left.", ("nurse", "head cook aide")),
    ],
)
def test_a_referent_keeps_its_whole_name_and_its_place(tmp_path: Path, text: str, candidates: tuple[str, str]) -> None:
    dataset = load_winobias(write_wino(tmp_path, [text.format("he")], [text.format("she")]))
    assert [example.candidates for example in dataset.examples] == [candidates] * 2


@pytest.mark.parametrize(("kind", "reported"), [(1, 0), (2, 2)])
def test_a_referent_that_comes_first_is_reported_in_type_2_of_winobias(
    tmp_path: Path, kind: int, reported: int
) -> None:
    pro, anti = ["[The cook] met the nurse and she saw [him]."], ["[The cook] met the nurse and she saw [her]."]
    write_wino(tmp_path, pro, anti, kind=kind)
    assert kinds(load_winobias(tmp_path))["referent first"] == reported
    assert "referent first" not in kinds(load_synthbias(tmp_path))


def test_an_occupation_named_twice_is_reported(tmp_path: Path) -> None:
    text = "[The cook] met the nurse before the cook left [{}] bag."
    dataset = load_winobias(write_wino(tmp_path, [text.format("his")], [text.format("her")], kind=1))
    assert kinds(dataset) == {"occupation named twice": 2}


@pytest.fixture(scope="module")
def winobias(real_data) -> Dataset:
    return load_winobias(real_data("winobias"))


@pytest.fixture(scope="module")
def synthbias(real_data) -> Dataset:
    return load_synthbias(real_data("synthbias"))


def test_winobias_has_all_lines_and_1564_pairs(winobias: Dataset) -> None:
    assert (len(winobias.examples), winobias.sets) == (3168, 1564)
    assert count_by(winobias.examples, "type") == {"type1": 1584, "type2": 1584}
    assert count_by(winobias.examples, "split") == {"dev": 1584, "test": 1584}
    assert count_by(winobias.examples, "stereotype") == {"anti": 1584, "pro": 1584}
    assert all(example.gold is not None and example.stereotype is not None for example in winobias.examples)
    assert all(example.answerable == (example.groups["type"] == "type2") for example in winobias.examples)
    assert all(example.groups["stereotype"] == example.id.rsplit("-", 1)[1] for example in winobias.examples)


def test_winobias_faults_stand_where_the_reference_says(winobias: Dataset) -> None:
    assert kinds(winobias) == {
        "two pronouns": 87,
        "not a minimal pair": 40,
        "occupation named twice": 12,
        "brackets differ": 6,
        "repeated sentence": 6,
        "pronoun without brackets": 5,
        "referent first": 4,
        "third occupation": 2,
        "third person": 57,
        "label against the text": 2,
    }
    unpaired = {
        "type1.txt.dev": (92, 212),
        "type1.txt.test": (157, 255, 279, 289, 296),
        "type2.txt.dev": (90, 102, 119, 171, 176, 207, 208, 209),
        "type2.txt.test": (92, 103, 307, 382, 384),
    }
    assert lines_with(winobias, "not a minimal pair") == {(f, line) for f, lines in unpaired.items() for line in lines}
    brackets = {("type1.txt.dev", 162), ("type2.txt.dev", 190), ("type2.txt.dev", 215)}
    assert lines_with(winobias, "brackets differ") == brackets
    assert lines_with(winobias, "pronoun without brackets") == {
        ("type1.txt.test", 255),
        ("type2.txt.dev", 190),
        ("type2.txt.dev", 215),
        ("type2.txt.dev", 236),
    }
    repeated = {("type1.txt.test", 1), ("type2.txt.test", 1), ("type2.txt.test", 2)}
    assert lines_with(winobias, "repeated sentence") == repeated
    assert lines_with(winobias, "referent first") == {("type2.txt.test", 231), ("type2.txt.test", 232)}
    assert lines_with(winobias, "third occupation") == {("type2.txt.dev", 72)}


def test_winobias_pairs_are_of_opposite_gender_and_one_form(winobias: Dataset) -> None:
    check_pairs(winobias)


def test_as_published_keeps_the_detached_s_of_140_lines(real_data: Callable[[str], Path]) -> None:
    folder = real_data("winobias")
    joined, published = load_winobias(folder), load_winobias(folder, as_published=True)
    changed = [(a, b) for a, b in zip(joined.examples, published.examples, strict=True) if a.text != b.text]
    assert len(changed) == 140 and joined.sets == published.sets == 1564
    assert all(b.text.replace(" 's", "'s") == a.text and a.candidates == b.candidates for a, b in changed)
