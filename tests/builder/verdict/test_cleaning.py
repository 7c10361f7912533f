"""What is left after people have answered, in both formats, read back by the loaders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept
from local_parts import write_records
from survey_raters import new_sqlite, survey_of, vote, votes_for
from typer.testing import CliRunner

import equipoise
from equipoise.builder.rules.filters import FilterOptions, filter_drafts
from equipoise.builder.steps import (
    BuildError,
    BuildFolder,
    Draft,
    Sentence,
    Step,
    Variant,
)
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.verdict.cleaning import (
    SIMULATED_LINE,
    Cleaned,
    CleanOptions,
    Sheet,
    base_id,
    clean,
    dataset_files,
    extended_rows,
    synthbias_rows,
    winobias_files,
)
from equipoise.builder.verdict.consensus import Coverage, Criteria, Rule
from equipoise.builder.verdict.questions import questions_of
from equipoise.builder.verdict.summary import rows_of, summarise
from equipoise.builder.verdict.votes import Answer, RaterRecord
from equipoise.builder.wordlist import occupations
from equipoise.cli import app
from equipoise.datasets import load_table, load_winobias
from equipoise.datasets.markers import read_markers
from equipoise.datasets.pronouns import pronoun_sets
from equipoise.files import write_together

WORDS = occupations()


def write(folder: Path, cleaned: Cleaned, sheet: Sheet) -> None:
    write_together(folder, {name: text.encode() for name, text in dataset_files(cleaned, sheet).items()})


def test_both_formats_say_the_same(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentences = some_sentences(40)
    cleaned = clean(sentences, [answer for s in sentences for answer in votes_for(s)], CleanOptions())
    assert len(cleaned.kept) == 40 and not cleaned.reasons and not cleaned.flipped
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"))
    steps = [Step("filter", 50, 40, {"one pronoun": 10})]
    write(tmp_path / "dataset", cleaned, Sheet("mine", "CC0-1.0", WORDS, steps, store.results.summary()))
    table = load_table(tmp_path / "dataset" / "mine.csv")
    files = load_winobias(tmp_path / "dataset" / "winobias_format", name="mine")
    assert (table.sets, files.sets) == (40, 40)
    assert not table.faults
    assert {fault.kind for fault in files.faults} <= {"referent first"}
    assert {e.text for e in table.examples} == {e.text for e in files.examples}
    by_text = {e.text: e for e in files.examples}
    for example in table.examples:
        other = by_text[example.text]
        assert (example.candidates, example.stereotype) == (other.candidates, other.stereotype)
        if example.answerable:
            assert (example.gold, example.groups) == (other.gold, other.groups)
    for file in (tmp_path / "dataset" / "winobias_format").iterdir():
        lines = file.read_text().splitlines()
        assert [line.partition(" ")[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    sheet = (tmp_path / "dataset" / "DATASHEET.md").read_text()
    assert "| filter | 50 | 40 | one pronoun 10 |" in sheet and "CC0-1.0" in sheet


def test_people_decide_who_is_meant(some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentence = next(one for one in some_sentences(40) if one.type == "type2")
    cleaned = clean([sentence], votes_for(sentence, flipped=True), CleanOptions())
    assert cleaned.flipped == 1
    rows = synthbias_rows(cleaned, WORDS)
    assert {row["occ_1"] for row in rows} == {sentence.other}
    flags = {row["pronoun"]: row["is_stereotypical"] for row in rows}
    assert sorted(flags.values()) == ["False", "True"]
    assert "[the " + sentence.other in " ".join(winobias_files(cleaned, WORDS).values()).lower()


def test_withdrawn_answers_and_missing_ones(some_sentences: Callable[[int], list[Sentence]]) -> None:
    first, second = some_sentences(2)
    answers = [Answer(a.sentence, a.rater, 0, a.vote, 1.0, True) for a in votes_for(first)]
    cleaned = clean([first, second], answers, CleanOptions())
    assert cleaned.reasons == {"not asked": 2} and not cleaned.kept


def test_what_is_not_settled_is_left_out_and_named(some_sentences: Callable[[int], list[Sentence]]) -> None:
    first, second, third = some_sentences(3)
    undecided = [vote(True, number < 3, True) for number in range(5)]  # 60% agree: it could go either way
    answers = votes_for(first) + votes_for(second, count=3)
    answers += [Answer(third.id, f"r{n}", 0, vote, 1.0, False) for n, vote in enumerate(undecided)]
    cleaned = clean([first, second, third], answers, CleanOptions())
    assert [sentence.id for sentence, _ in cleaned.kept] == [first.id]
    assert cleaned.unsettled == (second.id, third.id)
    assert cleaned.reasons == {"not settled": 2}
    loose = clean([first, second, third], answers, CleanOptions(allow_unsettled=True))
    assert {sentence.id for sentence, _ in loose.kept} == {first.id, second.id} and loose.unsettled_kept == 1
    ten = [Answer(third.id, f"r{n}", 0, undecided[n % 5], 1.0, False) for n in range(10)]
    assert clean([third], ten, CleanOptions()).unsettled == ()  # ten answers settle it, and it is not kept


def test_clean_on_the_command_line(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentences = some_sentences(3)
    write_records(BuildFolder(tmp_path).kept, sentences)
    answers = votes_for(sentences[0]) + votes_for(sentences[1], count=1)
    survey_of(tmp_path / "survey.sqlite", sentences, answers)
    result = CliRunner().invoke(app, ["build", "clean", str(tmp_path), "--name", "mine"])
    assert result.exit_code == 0, result.output
    assert f"1 sentences are not settled (left out): {sentences[1].id}" in result.output
    assert "3 sentences in, 1 pairs out (not settled 1; not asked 1)" in result.output
    sheet = (tmp_path / "dataset" / "DATASHEET.md").read_text()
    assert "by the method of the UCerF paper" in sheet and "5 answers by 4 raters" in sheet
    CliRunner().invoke(app, ["build", "clean", str(tmp_path), "--name", "mine", "--allow-unsettled"])
    sheet = (tmp_path / "dataset" / "DATASHEET.md").read_text()
    assert "**1 of the 2 sets are not settled**" in sheet and "with the changes stated here" in sheet
    result = CliRunner().invoke(app, ["build", "clean", str(tmp_path), "--criteria", "nonsense"])
    assert result.exit_code == 2 and "'nonsense' is not one of 'section-4.3', 'appendix-d'" in result.stderr


def test_simulated_answers_say_so_first(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentences = some_sentences(2)
    write_records(BuildFolder(tmp_path).kept, sentences)
    answers = votes_for(sentences[0]) + votes_for(sentences[1], origin="simulated")
    survey_of(tmp_path / "survey.sqlite", sentences, answers)
    result = CliRunner().invoke(app, ["build", "clean", str(tmp_path), "--name", "mine"])
    assert result.output.startswith(SIMULATED_LINE)
    made = tmp_path / "dataset"
    assert (made / "mine-simulated.csv").is_file() and not (made / "mine.csv").exists()
    names = {path.name for path in made.rglob("*") if path.parent == made}
    assert all("-simulated" in name for name in names), names
    for name in ("DATASHEET-simulated.md", "verdicts-simulated.jsonl"):
        assert SIMULATED_LINE in (made / name).read_text().splitlines()[0]
    assert "by the method of the UCerF paper" not in (made / "DATASHEET-simulated.md").read_text()
    CliRunner().invoke(app, ["build", "clean", str(tmp_path), "--name", "mine", "--people-only"])
    assert SIMULATED_LINE not in (made / "DATASHEET.md").read_text() and (made / "mine.csv").is_file()


def test_any_pronouns_and_markers_become_a_dataset_that_can_be_audited(tmp_path: Path) -> None:
    texts = [
        "The old cook met the nurse before he left town.",
        "The old cook thanked the nurse for carrying his heavy bag.",
    ]
    markers = {marker.word: read_markers()["age"] for marker in read_markers()["age"].markers}
    options = FilterOptions(pronouns=pronoun_sets(["he", "she", "they", "xe"]), markers=markers)
    drafts = [Draft(f"d{n}", f"type{n + 1}", "cook", "nurse", text, text, "r", "old") for n, text in enumerate(texts)]
    sentences = filter_drafts(drafts, WORDS, options).kept
    assert [len(sentence.versions()) for sentence in sentences] == [12, 12]  # four sets x old, young, unmarked
    answers = [answer for sentence in sentences for answer in votes_for(sentence)]
    cleaned = clean(sentences, answers, CleanOptions())
    assert not cleaned.only_pairs
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"))
    write(tmp_path / "made", cleaned, Sheet("mine", "", WORDS, [], store.results.summary()))
    table = load_table(tmp_path / "made" / "mine.csv", {"group:marker": "marker"})
    assert len(table.examples) == 24 and table.sets == 6 and not table.faults
    by_set = defaultdict(set)
    for example in table.examples:
        by_set[example.set_id].add(example.groups["gender"])
        assert example.candidates == ("cook", "nurse")
        assert example.answerable is (example.groups["type"] == "type2") and example.gold in (None, 0)
    assert all(genders == {"male", "female", "neutral", "xe"} for genders in by_set.values())
    sheet = (tmp_path / "made" / "DATASHEET.md").read_text()
    assert "6 male, 6 female, 6 neutral, 6 xe" in sheet and "identity marker" in sheet
    run = equipoise.audit(
        "planted:strength=2,bias=0.5", data=[str(tmp_path / "made" / "mine.csv")], out=str(tmp_path / "run")
    )
    assert run is not None


def test_pairs_are_of_he_and_she_and_have_no_marker(some_sentences: Callable[[int], list[Sentence]]) -> None:
    pair = some_sentences(1)[0]
    marked = replace(pair, marker="old")
    single = replace(pair, variants=())
    for sentence, only_pairs in ((pair, True), (marked, False), (single, False)):
        cleaned = Cleaned({}, {}, ((sentence, "first"),), Counter(), 0, (), 0, 0)
        assert cleaned.only_pairs is only_pairs


def test_the_datasheet_counts_types_and_says_whether_the_paper_s_method_was_followed(some_sentences) -> None:
    sentence = replace(some_sentences(1)[0], type="type2")
    answers = votes_for(sentence)

    def sheet(options: CleanOptions, locale: str) -> str:
        raters = [RaterRecord(f"r{n}", "passed", 1.0, locale) for n in range(4)]
        described = Sheet("mine", "", WORDS, [], summarise(rows_of(answers)[0], raters, (1, 1)), options)
        return dataset_files(clean([sentence], answers, CleanOptions()), described)["DATASHEET.md"]

    plain = sheet(CleanOptions(), "")
    assert "2 sentences in 1 counterfactual sets: 0 of type 1" in plain and "and 2 of type 2" in plain
    assert "Raters were not asked for their locale." in plain and "de-CH 4" in sheet(CleanOptions(), "de-CH")
    followed = "by the method of the UCerF paper"
    assert followed in plain and followed in sheet(CleanOptions(Rule(criteria=Criteria(inclusive=True))), "")
    assert followed not in sheet(CleanOptions(Rule(criteria=Criteria(meant=0.9))), "")
    assert followed not in sheet(CleanOptions(Rule(Coverage(enough=3))), "")


def test_the_files_of_a_dataset_are_as_they_were_kept(some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentences = some_sentences(8)
    given = [answer for sentence in sentences[1:] for answer in votes_for(sentence)]
    given += [Answer(sentences[0].id, f"r{n}", n, vote(n > 0, n != 1, n < 3), 5.0 + n, n == 2) for n in range(5)]
    cleaned = clean(sentences, given, CleanOptions())
    raters = [RaterRecord(f"r{n}", "passed", 1.0, "en") for n in range(5)]
    summary = summarise(rows_of(given)[0], raters, (len(sentences), len(cleaned.kept)))
    steps = [Step("filter", 50, 40, {"one pronoun": 10})]
    files = dataset_files(cleaned, Sheet("mine", "CC0-1.0", WORDS, steps, summary))
    assert_kept("builder/dataset", cleaned, summary, files)


OWN = questions_of(
    "mine",
    [
        {"name": "more", "choices": ["first", "second", "same"]},
        {"name": "sure", "choices": ["yes", "no"], "when": {"more": "first"}},
    ],
)


def told(cleaned: Cleaned, options: CleanOptions, name: str) -> dict[str, Any]:
    """Return the files of a dataset, its pictures by their size alone."""
    raters = [RaterRecord(f"r{n}", "passed", 1.0, "") for n in range(5)]
    rows = [(id, f"r{n}", vote, 5.0) for id, votes in cleaned.votes.items() for n, vote in enumerate(votes)]
    summary = summarise(rows, raters, (len(cleaned.sentences), 1), cleaned.simulated, options.rule.questions)
    files = dataset_files(cleaned, Sheet(name, "CC0-1.0", WORDS, [], summary, options))
    return {file: text if not file.endswith(".svg") else "a picture" for file, text in files.items()}


def test_questions_of_ones_own_and_markers_have_files_of_their_own_as_kept(
    some_sentences: Callable[[int], list[Sentence]],
) -> None:
    plain, other, third = (replace(one, id=f"é{n}") for n, one in enumerate(some_sentences(3)))
    marked = replace(
        other, marker="old", variants=(Variant("They ran.", "they", "neutral", "old"), Variant("He ran.", "he", "male"))
    )
    votes = {plain.id: ("first", "yes"), marked.id: ("same", ""), third.id: ("second", "")}
    answers = [Answer(id, f"r{n}", 0, said, 5.0, False) for id, said in votes.items() for n in range(4)]
    answers += [Answer(f"{plain.id}-twin2", f"r{n}", 1, ("first", "no"), 5.0, False) for n in range(1)]
    options = CleanOptions(Rule(questions=OWN), allow_unsettled=True)
    cleaned = clean([plain, marked, third], answers, options)
    assert_kept("builder/dataset-own", cleaned, told(cleaned, options, "mine"))
    strict = clean([plain, marked, third], answers, CleanOptions(Rule(questions=OWN)))
    assert_kept("builder/dataset-own-strict", strict.verdicts, strict.reasons, strict.unsettled, strict.unsettled_kept)


def test_pairs_with_questions_of_ones_own_have_the_columns_of_these_questions(
    some_sentences: Callable[[int], list[Sentence]],
) -> None:
    (pair,) = some_sentences(1)
    cleaned = Cleaned({}, {pair.id: [("first", "yes")]}, ((pair, ""),), Counter(), 0, (), 0, 0)
    files = told(cleaned, CleanOptions(Rule(questions=OWN)), "mine")
    assert cleaned.only_pairs and not any(file.startswith("winobias_format") for file in files)
    assert files["mine.csv"].splitlines()[0].endswith("more,sure")


def test_simulated_answers_and_any_pronouns_are_as_they_were_kept(
    some_sentences: Callable[[int], list[Sentence]],
) -> None:
    first, second = some_sentences(2)
    wide = replace(first, variants=(*first.variants, Variant(first.text.replace(" he ", " they "), "they", "neutral")))
    answers = votes_for(wide, origin="simulated") + votes_for(second, flipped=True, count=5)
    cleaned = clean([wide, second], answers, CleanOptions())
    assert_kept("builder/dataset-simulated", cleaned, told(cleaned, CleanOptions(), "mine"))
    assert [base_id(id) for id in ("s", "s-twin", "s-twin12", "s-twinx", "twin")] == ["s", "s", "s", "s-twinx", "twin"]


def test_a_person_who_is_not_in_the_sentence_is_refused(some_sentences: Callable[[int], list[Sentence]]) -> None:
    (sentence,) = some_sentences(1)
    cleaned = Cleaned(
        {}, {}, ((sentence, "driver" if "driver" not in sentence.text else "cook"),), Counter(), 0, (), 0, 0
    )
    with pytest.raises(BuildError, match=r"^the (driver|cook) is not in "):
        winobias_files(cleaned, WORDS)


def test_one_sentence_of_another_kind_makes_a_dataset_of_any_pronouns(
    some_sentences: Callable[[int], list[Sentence]],
) -> None:
    pair, other = some_sentences(2)
    for odd in (replace(other, marker="old"), replace(other, variants=())):
        assert not Cleaned({}, {}, ((pair, ""), (odd, "")), Counter(), 0, (), 0, 0).only_pairs
    assert Cleaned({}, {}, ((pair, ""), (other, "")), Counter(), 0, (), 0, 0).only_pairs


def test_the_reply_of_a_question_that_some_were_asked_is_kept(some_sentences: Callable[[int], list[Sentence]]) -> None:
    (sentence,) = some_sentences(1)
    for votes, replies in (
        ([("first", "yes"), ("second", ""), ("first", "no"), ("first", "no")], ("first", "no")),
        ([("second", ""), ("second", "")], ("second", "")),
    ):
        cleaned = Cleaned({}, {sentence.id: votes}, ((sentence, ""),), Counter(), 0, (), 0, 0)
        rows = extended_rows(cleaned, OWN)
        assert [(row["more"], row["sure"]) for row in rows] == [replies] * len(sentence.versions())
        assert [row["id"] for row in rows] == [f"{sentence.id}-{n}" for n in range(len(rows))]
