"""A user's own table: what loads, and the one sentence that says why something does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from equipoise.datasets.dataset import Dataset
from equipoise.datasets.rows import READERS
from equipoise.datasets.synthbias import load_synthbias
from equipoise.datasets.user_table import load_table
from equipoise.records import DatasetError

HEADER = "text,pronoun,candidate_1,candidate_2,gold"
HE = "The pilot paid the waiter because he had eaten.,he,waiter,pilot,pilot"
SHE = "The pilot paid the waiter because she had eaten.,she,waiter,pilot,pilot"
ROW = {
    "text": "The pilot paid the waiter because he had eaten.",
    "pronoun": "he",
    "candidates": ["pilot", "waiter"],
    "gold": "pilot",
}


def write(folder: Path, *lines: str, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_jsonl(folder: Path, *rows: Mapping[str, Any]) -> Path:
    return write(folder, *map(json.dumps, rows), name="mine.jsonl")


def message(path: Path, columns: Mapping[str, str] | None = None) -> str:
    with pytest.raises(DatasetError) as error:
        load_table(path, columns or {})
    text = str(error.value)
    assert "\n" not in text
    return text


def kinds(dataset: Dataset) -> list[str]:
    return [fault.kind for fault in dataset.faults]


def test_two_rows_that_differ_in_the_pronoun_are_a_pair(tmp_path: Path) -> None:
    dataset = load_table(write(tmp_path, HEADER, HE, SHE))
    first, second = dataset.examples
    assert (dataset.name, dataset.sets, dataset.faults) == ("mine", 1, ())
    assert (first.id, first.set_id, second.set_id) == ("mine-00001", second.set_id, "mine-pair-of-mine-00001")
    assert first.candidates == ("pilot", "waiter")  # in order of mention, not as listed
    assert (first.gold, first.answerable, first.stereotype) == (0, True, None)
    assert first.groups == {
        "type": "type2",
        "gender": "male",
        "form": "subject",
        "occupation": "pilot",
        "other": "waiter",
        "position": "first",
    }
    assert second.slots == {"pronoun": "she"}


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet"])
def test_every_format_gives_the_same_examples(tmp_path: Path, ending: str) -> None:
    expected = load_table(write(tmp_path, HEADER, HE, SHE, name="mine.csv"))
    rows = [dict(zip(HEADER.split(","), line.split(","), strict=True)) for line in (HE, SHE)]
    path = tmp_path / f"mine{ending}"
    if ending == ".tsv":
        write(tmp_path, *("\t".join(line.split(",")) for line in (HEADER, HE, SHE)), name=path.name)
    elif ending == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif ending == ".json":
        path.write_text(json.dumps(rows, indent=1))
    elif ending != ".csv":
        write(tmp_path, *map(json.dumps, rows), name=path.name)
    assert load_table(path).sha256 == expected.sha256


def test_without_gold_a_row_has_no_right_answer(tmp_path: Path) -> None:
    example = load_table(write_jsonl(tmp_path, {**ROW, "gold": None})).examples[0]
    assert (example.gold, example.answerable, example.groups["type"]) == (None, False, "type1")


def test_type_1_with_a_label_is_not_answerable_unless_the_table_says_so(tmp_path: Path) -> None:
    rows = [{**ROW, "type": "Type 1"}, {**ROW, "type": 1, "answerable": "yes"}, {**ROW, "answerable": False}]
    examples = load_table(write_jsonl(tmp_path, *rows)).examples
    assert [(e.gold, e.answerable, e.groups["type"]) for e in examples] == [
        (0, False, "type1"),
        (0, True, "type1"),
        (0, False, "type1"),
    ]


def test_stereotype_of_known_occupations_comes_from_the_table(tmp_path: Path) -> None:
    row = {**ROW, "text": "The nurse paid the cook because he had cooked.", "candidates": "nurse|cook", "gold": "nurse"}
    example = load_table(write_jsonl(tmp_path, row)).examples[0]
    assert (example.stereotype, example.groups["stereotype"], example.groups["side"]) == (1, "anti", "female")


def test_a_map_names_columns_and_makes_groups(tmp_path: Path) -> None:
    path = write(tmp_path, "s,p,a,b,where,who", "The pilot saw the waiter and xe left.,xe,pilot,waiter,Ulm,nonbinary")
    columns = {
        "text": "s",
        "pronoun": "p",
        "candidate_1": "a",
        "candidate_2": "b",
        "group": "who",
        "group:town": "where",
    }
    example = load_table(path, columns).examples[0]
    assert (example.groups["gender"], example.groups["town"], example.groups["form"]) == ("nonbinary", "Ulm", "")


def test_rows_pair_by_the_pronoun_alone_then_by_all_of_its_gender(tmp_path: Path) -> None:
    def row(text: str, pronoun: str) -> dict[str, object]:
        return {**ROW, "text": f"The pilot met the waiter; {text}", "pronoun": pronoun}

    rows = [
        row("he thanked her.", "he"),
        row("she thanked her.", "she"),
        row("he lost his hat.", "his"),
        row("she lost her hat.", "her"),
        row("she lost her hat.", "she"),
        row("he saw it.", "he"),
        row("she saw it.", "she"),
        row("he saw it.", "he"),
    ]
    dataset = load_table(write_jsonl(tmp_path, *rows))
    pairs = [example.set_id for example in dataset.examples]
    assert pairs[0] == pairs[1] and pairs[2] == pairs[3] and pairs[5] == pairs[6]
    assert [example.set_id == example.id for example in dataset.examples].count(True) == 2
    assert dataset.examples[3].groups["form"] == "possessive"
    assert sorted(kinds(dataset)) == ["not a minimal pair"] * 2 + ["repeated sentence"]


def test_her_without_a_counterpart_has_no_form(tmp_path: Path) -> None:
    row = {**ROW, "text": "The pilot met the waiter and saw her leave.", "pronoun": "her"}
    dataset = load_table(write_jsonl(tmp_path, row, {**row, "form": "object", "id": "b"}))
    assert [example.groups["form"] for example in dataset.examples] == ["", "object"]


def test_a_pair_column_is_followed_and_a_doubtful_pair_reported(tmp_path: Path) -> None:
    other = {**ROW, "text": "The pilot saw the waiter and she left.", "pronoun": "she", "pair": 3}
    dataset = load_table(write_jsonl(tmp_path, {**ROW, "pair": 3}, other, {**ROW, "pair": "x"}, {**ROW, "pair": "x"}))
    assert [example.set_id for example in dataset.examples] == ["mine-pair-3"] * 2 + ["mine-pair-x"] * 2
    assert sorted(kinds(dataset)) == ["not a minimal pair"] * 2 + ["repeated sentence"] * 2


def test_a_slot_is_filled_with_each_pronoun(tmp_path: Path) -> None:
    lines = [
        "text,form,candidate_1,candidate_2,gold,id",
        "The pilot met the waiter and {pronoun} left.,subject,pilot,waiter,,a",
        "___ hat was lost by the pilot or the waiter.,possessive,pilot,waiter,,",
    ]
    dataset = load_table(write(tmp_path, *lines), pronouns=("he", "she", "they"))
    assert [example.id for example in dataset.examples][:4] == ["a-he", "a-she", "a-they", "mine-00002-he"]
    assert [example.text[:9] for example in dataset.examples][3:] == ["His hat w", "Her hat w", "Their hat"]
    assert [example.groups["gender"] for example in dataset.examples] == ["male", "female", "neutral"] * 2
    assert (dataset.sets, dataset.faults) == (2, ())


def test_a_candidate_not_in_the_sentence_is_reported_and_kept(tmp_path: Path) -> None:
    dataset = load_table(write_jsonl(tmp_path, {**ROW, "candidates": ["waiter", "judge"], "gold": "judge"}))
    assert dataset.examples[0].candidates == ("waiter", "judge")
    assert "candidate not mentioned" in kinds(dataset)


def test_three_candidates_load(tmp_path: Path) -> None:
    row = {**ROW, "text": "The pilot, the waiter and the judge met when he left.", "candidates": "judge|pilot|waiter"}
    example = load_table(write_jsonl(tmp_path, {**row, "gold": 1})).examples[0]
    assert (example.candidates, example.gold) == (("pilot", "waiter", "judge"), 2)
    assert (example.groups["position"], "other" in example.groups) == ("third", False)


@pytest.mark.slow
def test_synthbias_loads_as_a_table_with_the_same_content(real_data) -> None:
    path = real_data("synthbias") / "synthbias_data.csv"
    mine, published = load_table(path), load_synthbias(path)
    assert mine.sets == published.sets == 15864
    for one, other in zip(mine.examples, published.examples, strict=True):
        assert (one.text, one.candidates, one.gold, one.stereotype) == (
            other.text,
            other.candidates,
            other.gold,
            other.stereotype,
        )
        assert (one.groups, one.slots, one.answerable) == (other.groups, other.slots, other.answerable)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({**ROW, "pronoun": "hers"}, "mine.jsonl:1: pronoun 'hers' is not in the sentence"),
        ({**ROW, "pronoun": ""}, "mine.jsonl:1: pronoun is empty"),
        ({**ROW, "pronoun": "the"}, "mine.jsonl:1: pronoun 'the' is not known"),
        ({**ROW, "text": None}, "mine.jsonl:1: text is empty"),
        ({**ROW, "text": 7}, "mine.jsonl:1: text 7 is not text"),
        ({**ROW, "text": "he \ud800"}, "mine.jsonl:1: text has half of a surrogate pair"),
        ({**ROW, "candidates": ["pilot", 7]}, "mine.jsonl:1: candidate 7 is not text"),
        ({**ROW, "candidates": ["pilot"]}, "mine.jsonl:1: needs at least two candidates, has 1"),
        ({**ROW, "gold": "judge"}, "mine.jsonl:1: gold 'judge' is not one of the candidates pilot, waiter"),
        ({**ROW, "gold": "", "answerable": True}, "mine.jsonl:1: is answerable, but its right answer is not given"),
        ({**ROW, "answerable": "perhaps"}, "mine.jsonl:1: answerable 'perhaps' is neither true nor false"),
        (
            {**ROW, "gold": "", "stereotype": "pro"},
            "mine.jsonl:1: stereotype 'pro' needs a right answer and two candidates",
        ),
        ({**ROW, "form": "dative"}, "mine.jsonl:1: unknown form 'dative'; known: subject"),
    ],
)
def test_a_bad_cell_is_named_with_file_and_line(tmp_path: Path, row: dict[str, object], expected: str) -> None:
    assert message(write_jsonl(tmp_path, row)).startswith(expected)


def test_csv_lines_count_the_header_blank_lines_and_quoted_line_breaks(tmp_path: Path) -> None:
    two_lines = HE.replace("because he", "\nbecause he").replace("The pilot", '"The pilot').replace("eaten.", 'eaten."')
    path = write(tmp_path, HEADER, two_lines, "", SHE.replace(",she,", ",hers,"))
    assert message(path).startswith("mine.csv:5: pronoun 'hers' is not in the sentence")


def test_slots_need_a_form_and_one_place(tmp_path: Path) -> None:
    header = "text,form,candidates"
    assert "mine.csv:2: needs one slot for the pronoun" in message(write(tmp_path, header, "No slot.,subject,a|b"))
    assert "mine.csv:2: unknown form ''" in message(write(tmp_path, header, "A ___ slot.,,a|b"))


def test_parquet_errors_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    pq.write_table(pa.Table.from_pylist([ROW, {**ROW, "candidates": ["pilot", None]}]), path)
    assert message(path).startswith("mine.parquet:2: candidate None is not text")


def test_rows_must_go_together(tmp_path: Path) -> None:
    twice = write_jsonl(tmp_path, {**ROW, "id": "a"}, {**ROW, "id": "a"})
    assert message(twice) == "mine.jsonl:2: duplicate id 'a', already used at mine.jsonl:1"
    three = write_jsonl(tmp_path, ROW, {**ROW, "candidates": "pilot|waiter|judge"})
    assert message(three).startswith("mine.jsonl:2: has 3 candidates, but mine.jsonl:1 has 2")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ending=st.sampled_from([*READERS, ".txt"]), content=st.binary(max_size=200))
def test_arbitrary_bytes_load_or_raise_dataset_error(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"any{ending}"
    path.write_bytes(content)
    with pytest.raises(DatasetError):
        load_table(path)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["he", "her", "he saw her", "nurse", "nurse|cook", "pro", "1", "²", "type2", '["a", 1]', "___"]),
    st.lists(st.text(max_size=4), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)
NAMES = ["text", "pronoun", "candidates", "gold", "answerable", "stereotype", "group", "pair", "type", "id", "form"]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), min_size=1, max_size=4), st.booleans())
def test_arbitrary_cells_load_or_raise_dataset_error(tmp_path: Path, rows: list[dict[str, Any]], whole: bool) -> None:
    # Half of the time over a good row, so that each cell is reached.
    rows = [{**ROW, **row} if whole else row for row in rows]
    path = tmp_path / "any.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    try:
        dataset = load_table(path)
    except DatasetError as error:
        assert str(error).startswith("any.jsonl")
    else:
        kept = [row for row in rows if any(cell is not None and str(cell).strip() for cell in row.values())]
        assert len(dataset.examples) == len(kept)
        assert dataset.sha256


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(6)))
def test_the_order_of_rows_does_not_change_the_pairs(tmp_path: Path, order: list[int]) -> None:
    texts = [(f"The pilot saw the waiter {n} times and {word} left.", word) for n in range(3) for word in ("he", "she")]
    rows = [{**ROW, "text": texts[i][0], "pronoun": texts[i][1], "id": f"r{i}"} for i in order]
    dataset = load_table(write_jsonl(tmp_path, *rows))
    pair = {example.id: example.set_id for example in dataset.examples}
    assert all(pair[f"r{i}"] == pair[f"r{i + 1}"] for i in (0, 2, 4))
    assert dataset.sets == 3


def load(folder: Path, *rows: str) -> Dataset:
    path = folder / "mine.csv"
    path.write_text("\n".join(["text,pronoun,candidate_1,candidate_2,gold", *rows, ""]), encoding="utf-8")
    return load_table(path)


def test_a_candidate_that_begins_the_sentence_is_mentioned_first(tmp_path: Path) -> None:
    text = "Pilot and waiter met before {} left.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in ("he", "she")))
    assert [(example.candidates, example.gold) for example in dataset.examples] == [(("pilot", "waiter"), 0)] * 2
    assert dataset.faults == ()


@pytest.mark.parametrize(
    ("words", "sets"),
    [(("he", "she"), 1), (("he", "her"), 0), (("him", "her"), 1), (("xe", "she"), 1), (("her", "xe"), 1)],
)
def test_pronouns_go_together_by_their_form_unless_one_is_not_in_the_table(
    tmp_path: Path, words: tuple[str, str], sets: int
) -> None:
    text = "The pilot paid the waiter and saw {}.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in words))
    assert dataset.sets == sets


def test_the_second_copy_of_a_row_goes_with_the_second_copy_of_its_counterpart(tmp_path: Path) -> None:
    text = "The pilot paid the waiter before {} left.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in ("he", "he", "she", "she")))
    first, second, third, fourth = (example.set_id for example in dataset.examples)
    assert first == third != second == fourth
    dataset = load(tmp_path, *(text.format(word, word) for word in ("he", "she", "he")))
    first, second, third = (example.set_id for example in dataset.examples)
    assert first == second != third
    assert [fault.kind for fault in dataset.faults] == ["not a minimal pair", "repeated sentence"]


def test_copies_of_a_row_go_with_as_many_copies_whatever_other_forms_there_are(tmp_path: Path) -> None:
    text = "The pilot saw the waiter and {} sister.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in ("him", "his", "his", "her", "her")))
    him, his, second_his, her, second_her = (example.set_id for example in dataset.examples)
    assert him == her != second_her == second_his != his


def test_pronouns_of_the_other_gender_are_not_blanked(tmp_path: Path) -> None:
    text = "The pilot said that {} saw {}.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, text.format("he", "her", "he"), text.format("she", "him", "she"))
    assert dataset.sets == 0


def test_faults_of_a_sentence_are_told_in_pairs_too_and_groups_are_those_of_the_row(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    texts = ["The pilot paid the guard as {} left.", "The pilot paid the waiter and the nurse as {} left."]
    rows = [f"{text.format(word)},{word},waiter,pilot,{n}" for n, text in enumerate(texts) for word in ("he", "she")]
    path.write_text("\n".join(["text,pronoun,candidate_1,candidate_2,group:part", *rows]), encoding="utf-8")
    dataset = load_table(str(path))
    assert dataset.sets == 2 and [example.groups["part"] for example in dataset.examples] == ["0", "0", "1", "1"]
    assert [(fault.where, fault.what) for fault in dataset.faults] == [
        ("mine.csv:2", "candidate 'waiter' is not in the sentence"),
        ("mine.csv:2", "also names guard"),
        ("mine.csv:3", "candidate 'waiter' is not in the sentence"),
        ("mine.csv:3", "also names guard"),
        ("mine.csv:4", "also names nurse"),
        ("mine.csv:5", "also names nurse"),
    ]


def test_a_candidate_that_is_not_named_is_told_of_a_pair(tmp_path: Path) -> None:
    text = "The pilot left as {} was late.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in ("he", "she")))
    assert dataset.sets == 1 and kinds(dataset) == ["candidate not mentioned"] * 2


def test_a_sentence_with_two_pronouns_that_are_asked_about_is_not_repeated(tmp_path: Path) -> None:
    text = "The pilot told the waiter that {} saw {}.,{},waiter,pilot,pilot"
    words = [("he", "her", "he"), ("he", "her", "her"), ("she", "her", "she"), ("he", "him", "him")]
    dataset = load(tmp_path, *(text.format(*several) for several in words))
    first, second, third, fourth = (example.set_id for example in dataset.examples)
    assert first == third != second == fourth and not dataset.faults


@pytest.mark.parametrize(("pair", "set_id"), [("mine", "mine-pair-mine"), ("", "mine-pair-00001")])
def test_sentences_from_one_slot_are_a_pair_named_by_the_table_or_by_their_row(
    tmp_path: Path, pair: str, set_id: str
) -> None:
    path = tmp_path / "mine.csv"
    row = f"The pilot met the waiter before {{pronoun}} left.,subject,pilot,waiter,{pair}"
    path.write_text(f"text,form,candidate_1,candidate_2,pair\n{row}\n", encoding="utf-8")
    assert [example.set_id for example in load_table(path).examples] == [set_id] * 2


def test_a_table_with_synthbias_s_columns_has_right_answers_in_type_2(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    row = "{},The cook met the nurse and {} left.,nurse,cook,{},{}"
    labels = {("type2", "he"): "False", ("type2", "she"): "True"}
    kinds = [(kind, word) for kind in ("type1", "type2") for word in ("he", "she")]
    rows = [row.format(kind, word, word, labels.get((kind, word), "ambiguous")) for kind, word in kinds]
    lines = ["type,sample,occ_1,occ_2,pronoun,is_stereotypical", *rows, ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    dataset = load_table(path)
    assert [example.gold for example in dataset.examples] == [None, None, 1, 1]
    assert {example.candidates for example in dataset.examples} == {("cook", "nurse")}
