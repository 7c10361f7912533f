"""A table of any classification: no pronoun, sets by name, wordings with the slots of its columns, shots."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import audit
from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError, EquipoiseError
from equipoise.tasks import Shots, TaskOptions, open_task
from equipoise.tasks.next_word import NextWord

HEADER = "text,candidates,gold,group,set,land\n"
ROWS = (
    "Ann got the job.,good|bad,good,female,a,France\n"
    "Tom got the job.,good|bad,good,male,a,France\n"
    "Ann took the bus.,good|bad,,female,b,Spain\n"
    "Tom took the bus.,good|bad,,male,b,Spain\n"
)
QUESTION = "{text} For people in {land} ({group}) this is"


def table(folder: Path, rows: str = ROWS, *, header: str = HEADER, name: str = "mood.csv") -> Path:
    path = folder / name
    path.write_text(header + rows, encoding="utf-8")
    return path


def test_a_table_without_pronouns_is_sets_of_groups(tmp_path: Path) -> None:
    dataset = open_dataset(table(tmp_path))
    first, second, third, _ = dataset.examples
    assert (dataset.sets, dataset.faults) == (2, ())
    assert first.set_id == second.set_id != third.set_id
    assert (first.candidates, first.gold, first.answerable) == (("good", "bad"), 0, True)
    assert (third.gold, third.answerable, third.stereotype) == (None, False, None)
    assert first.groups == {"type": "answerable", "group": "female"}
    assert third.groups["type"] == "unanswerable"


def test_a_wording_quotes_any_column_and_several_are_variants(tmp_path: Path) -> None:
    example = open_dataset(table(tmp_path)).examples[0]
    (prompt,) = NextWord(questions=(QUESTION,)).prompts(example)
    assert prompt.context == "Ann got the job. For people in France (female) this is"
    assert prompt.continuations == (" good", " bad")
    several = NextWord(questions=(QUESTION, "{text} That is")).prompts(example)
    assert [prompt.variant for prompt in several] == ["wording=1", "wording=2"]
    choice = open_task("mcq", TaskOptions(seeds=(0, 1), questions=(QUESTION, "{text} That is")))
    variants = {prompt.variant for prompt in choice.prompts(example)}  # type: ignore[attr-defined]
    assert variants == {f"seed={seed},wording={number}" for seed in (0, 1) for number in (1, 2)}


def test_a_question_may_stand_in_a_column(tmp_path: Path) -> None:
    rows = "Ann got the job.,good|bad,good,female,a,Is this good or bad?\n"
    (example,) = open_dataset(table(tmp_path, rows, header=HEADER.replace("land", "question"))).examples
    (prompt,) = NextWord().prompts(example)
    assert prompt.context == "Ann got the job. Is this good or bad? Answer:"


@pytest.mark.parametrize(
    ("question", "message"),
    [("{land} is", r"needs the slot \{text\}"), ("{text} {city}", r"has no slot \{city\}; it has .*\{land\}")],
)
def test_a_wording_that_cannot_be_filled_is_refused(tmp_path: Path, question: str, message: str) -> None:
    example = open_dataset(table(tmp_path)).examples[0]
    with pytest.raises(EquipoiseError, match=message):
        NextWord(questions=(question,)).prompts(example)


def test_without_a_wording_there_is_nothing_to_ask(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match="has nothing to ask about; it needs one of pronoun, question, statement, or"
    ):
        NextWord().prompts(open_dataset(table(tmp_path)).examples[0])


def test_shots_come_first_with_their_answers_and_are_never_asked(tmp_path: Path) -> None:
    example = open_dataset(table(tmp_path)).examples[0]
    shots = Shots(open_dataset(table(tmp_path, "Bo sang.,good|bad,bad,male,x,Peru\n", name="shots.csv")).examples)
    (prompt,) = NextWord(questions=("{text} That is",), shots=shots).prompts(example)
    assert prompt.context == "Bo sang. That is bad.\n\nAnn got the job. That is"
    (choice,) = open_task("mcq", TaskOptions(questions=("{text} That is",), shots=shots)).prompts(example)  # type: ignore[attr-defined]
    assert isinstance(choice.context, str)
    shown, asked = choice.context.split("\n\n")
    letter = shown[-1]
    assert f" {letter}.bad" in shown and asked.endswith(" Answer:") and "Bo sang. That is" in shown
    with pytest.raises(EquipoiseError, match="shot mood-00001 is also asked"):
        NextWord(questions=("{text} That is",), shots=Shots((example,))).prompts(example)
    with pytest.raises(EquipoiseError, match="shot mood-00003 has no right answer to show"):
        Shots(open_dataset(table(tmp_path)).examples)


def test_rows_that_are_no_counterfactual_set_are_reported_with_their_line(tmp_path: Path) -> None:
    rows = (
        ROWS + "Eve slept.,good|bad,good,female,c,Oman\nUwe ran.,good|bad,bad,male,d,Oman\n"
        "Udo ran.,good|bad,bad,male,d,Oman\n"
        "Ida ate.,good|bad,bad,female,d,Oman\nJan ate.,bad|good,bad,male,e,Oman\nIne ate.,good|bad,good,female,e,Oman\n"
    )
    faults = {(fault.where, fault.kind) for fault in open_dataset(table(tmp_path, rows)).faults}
    assert faults == {
        ("mood.csv:6", "no counterfactual set"),
        ("mood.csv:7", "not a counterfactual set"),
        ("mood.csv:8", "not a counterfactual set"),
        ("mood.csv:11", "candidates differ"),
    }


def test_german_articles_are_cut_where_all_candidates_have_one(tmp_path: Path) -> None:
    header = "text,pronoun,candidates,gold\n"
    path = table(
        tmp_path, "Die Ärztin rief den Koch und sie lachte.,sie,die Ärztin|den Koch,die Ärztin\n", header=header
    )
    with pytest.raises(DatasetError, match="add a column 'group' that says"):
        open_dataset(path)
    header = "text,pronoun,candidates,gold,group\n"
    rows = "Die Ärztin rief den Koch und sie lachte.,sie,die Ärztin|den Koch,die Ärztin,f\n"
    (example,) = open_dataset(table(tmp_path, rows, header=header)).examples
    assert (example.candidates, example.gold) == (("Ärztin", "Koch"), 0)
    (kept,) = open_dataset(
        table(tmp_path, "A die maker met a cook and he ran.,he,die maker|cook,cook,m\n", header=header)
    ).examples
    assert kept.candidates == ("die maker", "cook")


def test_an_audit_asks_in_the_users_words_and_averages_over_them(tmp_path: Path) -> None:
    path = table(tmp_path)
    run = audit(
        "planted:strength=2", str(path), questions=[QUESTION, "{text} That is"], out=tmp_path / "run", resamples=50
    )
    values = run.measurements.query("metric == 'accuracy'").set_index("group")["value"]
    assert values["all"] == values["wording=1"] == values["wording=2"] == 1.0
    assert run.manifest.tasks["next-word"]["questions"] == [QUESTION, "{text} That is"]


def test_a_table_that_has_neither_pronoun_nor_group_says_what_it_may_name(tmp_path: Path) -> None:
    path = table(tmp_path, "Ann slept.,a|b\n", header="text,candidates\n")
    with pytest.raises(DatasetError, match=r"no column holds the pronoun; .*group=COLUMN for texts without a pronoun"):
        open_dataset(path, DatasetOptions())


def test_every_fault_of_a_set_is_told_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "text,candidates,gold,group,set\n"
        "a,x|y,x,women,s\nb,x|y,y,men,s\nc,y|x,x,men,s\nd,x|y,x,others,s\ne,x|y,,men,t\n"
    )
    dataset = open_dataset(path)
    assert [(fault.where, fault.kind, fault.what, fault.handling) for fault in dataset.faults] == [
        (
            "mine.csv:3",
            "not a counterfactual set",
            "its set 's' has several rows of the group 'men'",
            "kept as the table says",
        ),
        (
            "mine.csv:3",
            "right answers differ",
            "its right answer is not that of mine.csv:2, of the same set",
            "kept as the table says",
        ),
        (
            "mine.csv:4",
            "not a counterfactual set",
            "its set 's' has several rows of the group 'men'",
            "kept as the table says",
        ),
        (
            "mine.csv:4",
            "candidates differ",
            "its candidates are not those of mine.csv:2, of the same set",
            "kept as the table says",
        ),
        ("mine.csv:6", "no counterfactual set", "no other row has its set", "kept, unpaired"),
    ]
    path.write_text("text,candidates,group\na,x|y,men\nb,x|y,men\nc,x|y|z,men\nd,x|y|z,men\n")
    with pytest.raises(DatasetError, match=r"^mine\.csv:4: every row needs 2 candidates, as the first has$"):
        open_dataset(path)
