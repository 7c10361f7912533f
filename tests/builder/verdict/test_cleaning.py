"""What is left after people have answered, in both formats, read back by the loaders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.builder.steps import BuildError, BuildFolder, Sentence, Step, json_lines, read_records, write_records
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.verdict.cleaning import Sheet, clean, winobias_files, write_dataset
from equipoise.builder.verdict.consensus import Thresholds
from equipoise.builder.verdict.votes import Answer, Vote
from equipoise.builder.wordlist import occupations
from equipoise.cli import app
from equipoise.datasets import load_table, load_winobias

WORDS = occupations()


def votes_for(sentence: Sentence, *, flipped: bool = False) -> list[Answer]:
    first = sentence.type == "type1" or (sentence.target == sentence.first) is not flipped
    second = sentence.type == "type1" or (sentence.target == sentence.second) is not flipped
    return [Answer(sentence.id, f"r{n}", 0, Vote(True, first, second), 5.0, False) for n in range(4)]


def test_both_formats_say_the_same(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentences = some_sentences(40)
    cleaned = clean(sentences, [one for s in sentences for one in votes_for(s)], WORDS, Thresholds())
    assert len(cleaned.rows) == 80 and not cleaned.reasons and not cleaned.flipped
    store = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}")
    steps = [Step("filter", 50, 40, {"one pronoun": 10})]
    write_dataset(tmp_path / "dataset", cleaned, Sheet("mine", "CC0-1.0", WORDS, steps, store.summary()))
    table = load_table(tmp_path / "dataset" / "mine.csv")
    files = load_winobias(tmp_path / "dataset" / "winobias_format", name="mine")
    assert (table.pairs, files.pairs) == (40, 40)
    assert not table.faults
    assert {fault.kind for fault in files.faults} <= {"referent first"}
    assert {e.text for e in table.examples} == {e.text for e in files.examples}
    by_text = {e.text: e for e in files.examples}
    for example in table.examples:
        other = by_text[example.text]
        assert (example.candidates, example.stereotype) == (other.candidates, other.stereotype)
        if example.answerable:
            assert (example.gold, example.groups) == (other.gold, other.groups)
    sheet = (tmp_path / "dataset" / "DATASHEET.md").read_text()
    assert "| filter | 50 | 40 | one pronoun 10 |" in sheet and "CC0-1.0" in sheet


def test_people_decide_who_is_meant(some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentence = next(one for one in some_sentences(40) if one.type == "type2")
    cleaned = clean([sentence], votes_for(sentence, flipped=True), WORDS, Thresholds())
    assert cleaned.flipped == 1
    assert {row["occ_1"] for row in cleaned.rows} == {sentence.other}
    flags = {row["pronoun"]: row["is_stereotypical"] for row in cleaned.rows}
    assert sorted(flags.values()) == ["False", "True"]
    assert "[the " + sentence.other in " ".join(winobias_files(cleaned.rows, WORDS).values()).lower()


def test_withdrawn_answers_and_missing_ones(some_sentences: Callable[[int], list[Sentence]]) -> None:
    one, other = some_sentences(2)
    answers = [Answer(a.sentence, a.rater, 0, a.vote, 1.0, True) for a in votes_for(one)]
    cleaned = clean([one, other], answers, WORDS, Thresholds())
    assert cleaned.reasons == {"not asked": 2} and not cleaned.rows


def test_steps_say_what_is_missing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["build", "filter", str(tmp_path)])
    assert isinstance(result.exception, BuildError)
    assert "drafts.jsonl does not exist; run `equipoise build generate` first" in str(result.exception)
    write_records(BuildFolder(tmp_path).kept, [])
    result = CliRunner().invoke(app, ["build", "clean", str(tmp_path)])
    assert "run `equipoise build survey` first" in str(result.exception)


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path, some_sentences) -> None:
    path = tmp_path / "kept.jsonl"
    write_records(path, some_sentences(3))
    assert len(read_records(path, Sentence, made_by="filter")) == 3
    whole = path.read_text()
    path.write_text(whole + '{"id": "cut o')  # a crash: the last line is left out
    assert len(list(json_lines(path))) == 3
    path.write_text('{"id": broken}\n' + whole)
    with pytest.raises(BuildError, match=r"kept.jsonl:1: not JSON"):
        read_records(path, Sentence, made_by="filter")
    path.write_text('{"id": "x"}\n')
    with pytest.raises(BuildError, match=r"kept.jsonl:1: not a sentence"):
        read_records(path, Sentence, made_by="filter")


def test_a_rehearsal_tells_the_bill(tmp_path: Path, some_sentences) -> None:
    write_records(BuildFolder(tmp_path).kept, some_sentences(4))
    said = CliRunner().invoke(
        app,
        ["build", "simulate", str(tmp_path), "--raters", "6", "--accuracy", "1", "--incoherent", "0", "--pay", "10"],
    )
    assert said.exit_code == 0, said.output
    assert "6 entered, 6 passed" in said.output
    assert "16, 4.00 a sentence" in said.output
    assert "4 of 4 sentences" in said.output and "4 by the paper's criteria" in said.output
