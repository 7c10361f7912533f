"""Asking about a sentence: it is an audit of that sentence, and what cannot be asked is refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from kept_texts import assert_kept
from server_llama_cpp import served
from server_proxy import Proxy
from typer.testing import CliRunner

import equipoise
from equipoise import asking
from equipoise.asking import Question, ask, people_in, question_rows
from equipoise.cli import app
from equipoise.datasets import open_dataset
from equipoise.records import DatasetError, EquipoiseError
from equipoise.tasks import open_task

LATE = "The nurse told the farmer that she was late."
PLANTED = "planted:strength=1,bias=1,noise=0.3"


def table(*words: str) -> list[dict[str, str]]:
    texts = {"he": "he was", "she": "she was", "they": "they were"}
    genders = {"he": "male", "she": "female", "they": "neutral"}
    named = {"candidate_1": "nurse", "candidate_2": "farmer", "pair": "00001"}
    return [
        {"text": f"The nurse told the farmer that {texts[w]} late.", "pronoun": w, "group": genders[w], **named}
        for w in words
    ]


def same_answers(model: Any, task: str, tmp_path: Any, **choices: Any) -> None:
    asked = ask(LATE, model, task, progress=False, **choices)
    rows = table("he", "she", "they")
    run = equipoise.audit(model, rows, task, out=tmp_path, resamples=2, progress=False, **choices)
    assert asked.run.outcomes["example_id"].tolist() == run.outcomes["example_id"].tolist()
    for ours, theirs in zip(asked.run.outcomes["logprobs"], run.outcomes["logprobs"], strict=True):
        assert np.allclose(ours, theirs, atol=1e-6, rtol=0)
    assert np.allclose(asked.run.outcomes["certainty"], run.outcomes["certainty"], atol=1e-6)


@pytest.mark.parametrize("task", ["next-word", "mcq", "cloze", "sentence"])
def test_asking_is_auditing_a_table_of_one_set(task: str, tmp_path: Any) -> None:
    same_answers(PLANTED, task, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["next-word", "mcq", "cloze"])
def test_asking_a_real_model_is_auditing_it(task: str, tmp_path: Any) -> None:
    same_answers("smollm2", task, tmp_path)


@pytest.fixture(scope="module")
def url(default_model_folder: Path) -> Iterator[str]:
    with served() as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("task", ["next-word", "mcq", "cloze"])
def test_asking_a_real_server_is_auditing_it(task: str, url: str, tmp_path: Any) -> None:
    same_answers("smollm2", task, tmp_path, server=url, concurrency=1)


@pytest.mark.slow
def test_a_real_server_that_only_chats_is_asked_what_it_can(url: str) -> None:
    proxy = Proxy(httpx.URL(url).port or 0, "/v1/completions", "/tokenize", "/apply-template")
    try:
        asked = ask(LATE, server=proxy.url, concurrency=1, progress=False)
        notes = " ".join(asked.run.manifest.notes)
        assert asked.run.parts[0].task == "mcq", "the task follows what the server can do"
        assert "cannot be asked as next-word, the usual task, so it was asked as mcq" in notes
        assert len(asked.frame) == 3 and (asked.frame["candidate_mass"] > 0).all()
        with pytest.raises(EquipoiseError) as caught:
            ask(LATE, server=proxy.url, task="next-word", concurrency=1, progress=False)
        assert "next-word" in str(caught.value) and "\n" not in str(caught.value)
    finally:
        proxy.close()


def test_python_itself_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    asked = ask(LATE, PLANTED, progress=False)
    printed = CliRunner().invoke(app, ["ask", LATE, "--model", PLANTED, "--quiet"]).output
    assert printed == f"{asked!r}\n"
    assert "█" in str(asked) and "she: " in str(asked)


def test_nothing_is_left_on_disk_and_the_answers_can_still_be_read() -> None:
    asked = ask(LATE, PLANTED, progress=False)
    assert not asked.run.path.exists()
    assert asked.frame["text"].str.contains("was late|were late").all() and len(asked.frame) == 3


@pytest.mark.parametrize(
    ("sentence", "texts"),
    [
        (LATE, ["that he was late", "that she was late", "that they were late"]),
        ("The cook saw her with the clerk.", ["saw him with", "saw her with", "saw them with"]),
        ("The clerk met the cook at her office.", ["at his office", "at her office", "at their office"]),
        ("The cook and the clerk say that [he] saw her.", ["that he saw her", "that she saw her", "that they saw her"]),
    ],
)
def test_every_pronoun_takes_its_form_and_its_verb(sentence: str, texts: list[str]) -> None:
    asked = ask(sentence, PLANTED, progress=False)
    assert all(any(text in written for written in asked.run.examples["text"]) for text in texts)
    assert not asked.left_out


def test_a_pronoun_whose_verb_is_open_is_left_out_and_named() -> None:
    asked = ask("The nurse told the farmer that she's late.", PLANTED, progress=False)
    assert len(asked.frame) == 2 and "“they” is left out" in asked.left_out[0]


def test_any_words_may_take_the_place_of_a_marked_one() -> None:
    asked = ask("The [old] nurse told the farmer that she left.", PLANTED, groups=["Old", "young"], progress=False)
    assert asked.run.examples["text"].tolist() == [
        f"The {word} nurse told the farmer that she left." for word in ("Old", "young")
    ]
    assert asked.run.outcomes["set_id"].nunique() == 1 and "young" in asked._repr_html_()
    assert asked.run.outcomes["gender"].tolist() == ["old", "young"]


def test_several_sentences_are_several_sets() -> None:
    asked = ask([LATE, "The cook met the clerk before he left."], PLANTED, pronouns=["he", "she"], progress=False)
    assert asked.run.outcomes["set_id"].nunique() == 2 and len(asked.frame) == 4


@pytest.mark.parametrize(
    ("sentence", "people"),
    [
        (LATE, ("nurse", "farmer")),
        ("The CEO told the intern that she was late.", ("CEO", "intern")),
        ("The mother told the boy that he was late.", ("mother", "boy")),
        ("A marine biologist met the chief nurse.", ("marine biologist", "chief nurse")),
        ("The nurse told the nurse's cook to wait.", ("nurse", "cook")),
        ("Anna told Maria that she was late.", ("Anna", "Maria")),
        ("On Monday Anna's bike was lent to Mr. Hill, because he was late.", ("Anna", "Mr. Hill")),
    ],
)
def test_the_two_people_are_found_in_order(sentence: str, people: tuple[str, ...]) -> None:
    assert people_in(sentence) == people


@pytest.mark.parametrize(
    ("sentence", "choices", "words"),
    [
        ("It rained.", {}, "Name them with candidates"),
        ("The nurse met the cook and the clerk before she left.", {}, "it names nurse, cook, clerk"),
        ("The nurse met the cook.", {}, "no pronoun was found"),
        ("Anna told the nurse that she was late.", {}, "it names nurse, Anna; two are needed"),
        ("Anna told Maria and Laura that she was late.", {}, "it names Anna, Maria, Laura; two are needed"),
        ("The nurse saw the cook when he met her.", {}, "has 2 pronouns (he, her); mark the one to ask about: [he]"),
        (LATE, {"groups": ["old", "young"]}, "mark the word to replace with brackets"),
        ("The [old] nurse told the cook that she left.", {"groups": ["old"]}, "at least two group words"),
        ("The [old] nurse told the cook that she left.", {}, "'old' is not a known pronoun"),
        (LATE, {"pronouns": ["he"]}, "at least two different pronouns"),
        (LATE, {"candidates": ["nurse", "nurse"]}, "candidates needs at least two people, not only 'nurse'"),
        ("The nurse told the cook that SHE left.", {}, "has 'SHE' in capitals; write it small"),
        ("The nurse told the cook that they've left.", {}, "nothing to compare: a contraction after the pronoun"),
        ("The nurse told the cook that s/he left.", {}, "has a slash beside 'he'; write one pronoun"),
        ("The nurse told the cook that [he]/she left.", {}, "has a slash beside 'he'; write one pronoun"),
        ("The nurse told the cook that the coat was hers.", {}, "'hers' cannot be exchanged in 'The nurse"),
        ("The nurse told the cook that it was his.", {}, "can be 'hers'; mark it with brackets and name the words"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_out(sentence: str, choices: Any, words: str) -> None:
    with pytest.raises(EquipoiseError) as caught:
        ask(sentence, PLANTED, progress=False, **choices)
    assert words in str(caught.value)


HURT = [
    ("The cook told the clerk that she hurt herself.", "'she' and 'herself'"),
    ("The cook told the clerk that [she] hurt herself.", "'she' and 'herself'"),
    ("The cook told the clerk that she hurt [herself].", "'she' and 'herself'"),
    ("The cooks told the clerks that they hurt themselves.", "'they' and 'themselves'"),
]


@pytest.mark.parametrize(("sentence", "words"), HURT)
def test_a_pronoun_is_not_exchanged_where_its_reflexive_would_stay(sentence: str, words: str) -> None:
    with pytest.raises(DatasetError, match=f"{words} would have to change together"):
        question_rows([Question(sentence)])


@pytest.mark.parametrize(
    "sentence",
    [
        "The cook herself told the clerk that [she] was late.",
        "The cook told the clerk that [she] was late. The clerk hurt herself.",
        "The cook told the clerk that [he] saw her hurt herself.",
    ],
)
def test_a_reflexive_of_another_stays(sentence: str) -> None:
    assert len(question_rows([Question(sentence)])[0]) == 3


def test_people_with_names_are_asked_for_without_an_article(tmp_path: Any) -> None:
    prompts = [
        open_task("next-word").prompts(example)[0].context
        for sentence, people in (("Anna told Maria that she left.", "Anna|Maria"), (LATE, "nurse|farmer"))
        for example in open_dataset(table_of(tmp_path, sentence, people)).examples
    ]
    assert prompts[0].endswith('The pronoun "she" refers to') and prompts[1].endswith("refers to the")


def table_of(folder: Any, sentence: str, people: str) -> str:
    path = folder / f"{people[0]}.csv"
    path.write_text(f"text,pronoun,candidates\n{sentence},she,{people}\n", encoding="utf-8")
    return str(path)


def test_a_sentence_given_as_data_leads_to_ask() -> None:
    with pytest.raises(DatasetError, match="to ask about it: equipoise ask"):
        equipoise.audit(PLANTED, LATE)


QUESTIONS = [
    Question(LATE),
    Question("The cook saw her with the clerk.", pronouns=("she", "xe")),
    Question("The [old] nurse told the farmer that she left.", groups=("Old", "young")),
    Question("The [old] nurse told the farmer.", groups=("old", "young"), candidates=("nurse", "farmer", "nobody")),
    Question("The [nurse] told the farmer that she saw him.", groups=("nurse", "doctor"), candidates=("a", "b")),
    Question("Anna told Maria that she's late."),
    Question("The clerk met the cook at [her] office; he left."),
    Question("The nurse told the farmer: it hurt her.", pronouns=("he", "she")),
]


def test_the_table_of_every_kind_of_question_is_as_it_was_kept() -> None:
    rows, left_out = question_rows(QUESTIONS)
    assert_kept("tasks/questions", rows, left_out)


PEOPLE = [
    "The dentist's assistant met the dentist.",
    "The construction worker told the worker to wait.",
    "My plumber and our zookeeper left.",
    "The nurse told a stranger that she was late.",
    "An usher told the smith that she was late.",
    "Anna told the usher that she was late.",
    "The nurse told the nurse that she was late.",
    "The baker, the cook and Anna left.",
    "the blorp met your quux",
    "Dr. Who met Anna.",
    "The blorp left.",
]


def test_whom_sentences_name_is_as_it_was_kept() -> None:
    found = {}
    for sentence in PEOPLE:
        try:
            found[sentence] = people_in(sentence)
        except EquipoiseError as error:
            assert error.names == ("candidates",)
            found[sentence] = str(error)
    assert_kept("tasks/people", found)


@pytest.mark.parametrize(
    ("question", "sentence", "names"),
    [
        (Question(LATE, ("nurse",)), "candidates needs at least two people, not only 'nurse'", ("candidates",)),
        (
            Question("The [old] nurse told the cook that she left."),
            "'old' is not a known pronoun; give the words to compare with groups",
            ("groups",),
        ),
        (
            Question("The nurse met the cook."),
            "no pronoun was found in 'The nurse met the cook.'; mark a word with brackets and use groups",
            ("groups",),
        ),
        (
            Question("The nurse saw the cook when he met her."),
            "'The nurse saw the cook when he met her.' has 2 pronouns (he, her); mark the one to ask about: [he]",
            (),
        ),
        (
            Question(LATE, groups=("a", "b")),
            "mark the word to replace with brackets: The [old] nurse told the farmer that she left.",
            (),
        ),
        (
            Question(LATE, groups=("a",)),
            "mark the word to replace with brackets: The [old] nurse told the farmer that she left.",
            (),
        ),
        (
            Question("The [old] nurse met the cook.", groups=("a",)),
            "at least two group words are needed to compare, not 'a'",
            (),
        ),
    ],
)
def test_each_refusal_in_its_words(question: Question, sentence: str, names: tuple[str, ...]) -> None:
    with pytest.raises(EquipoiseError) as refused:
        question_rows([question])
    assert (str(refused.value), refused.value.names) == (sentence, names)


def test_what_an_audit_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    folders: list[tuple[Path, bool]] = []

    class Made:
        def frame(self, name: str) -> None:
            given.append(name)
            folders.append((folders[0][0], folders[0][0].is_dir()))

    def audited(*asked: Any, out: str, **choices: Any) -> Made:
        given.append((*asked, choices))
        folders.append((Path(out), True))
        return Made()

    monkeypatch.setattr(asking, "audit", audited)
    monkeypatch.setattr(asking, "MEMORY", str(tmp_path))
    asked = ask(LATE, "m", "mcq", candidates="nurse, farmer,", pronouns="he,she", progress=False, seed=4)
    (model, rows, task, choices), *read = given
    assert (model, task) == ("m", "mcq") and [row["pronoun"] for row in rows] == ["he", "she"]
    assert choices == {"progress": False, "resamples": 2, "metrics": ["flip_rate", "certainty"], "seed": 4}
    assert read == ["outcomes.parquet", "pairs.parquet", "examples.parquet", "measurements.csv"]
    assert all(there for _, there in folders) and not folders[0][0].exists()
    assert folders[0][0].parent == tmp_path and folders[0][0].name.startswith("equipoise-ask-")
    assert asked.sentences == [LATE] and asked.left_out == []
    monkeypatch.setattr(asking, "MEMORY", str(tmp_path / "none"))
    folders.clear()
    ask([LATE], "m")
    assert folders[0][0].parent != tmp_path
    with pytest.raises(EquipoiseError, match="unknown argument 'candidate'; did you mean 'candidates'"):
        ask(LATE, "m", candidate="nurse")
