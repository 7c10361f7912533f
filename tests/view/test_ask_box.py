"""The box to ask in: the numbers of `equipoise ask`, sentences from cases, and tables that an audit takes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from equipoise.asking import PRONOUNS, Question, ask, question_rows
from equipoise.records import EquipoiseError, Message, Prompt, Score
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.scoring.opening import open_engine
from equipoise.scoring.planted import PlantedEngine
from equipoise.view import ask_box as asking
from equipoise.view.ask_box import FIRST, AskBox, Overheard, case_of, question_of, table_of, worst_cases

PLANTED = "planted:strength=1,bias=0.7,noise=0.3"


def ready(box: AskBox, seconds: float = 300.0) -> AskBox:
    end = time.monotonic() + seconds
    while box.state == "The model is being loaded." and time.monotonic() < end:
        time.sleep(0.05)
    assert box.state == ""
    return box


@pytest.fixture(scope="module")
def box() -> AskBox:
    return ready(AskBox(lambda: open_engine(PLANTED)))


def test_a_box_gives_the_numbers_of_ask(box: AskBox) -> None:
    for question in (
        Question(FIRST),
        Question("The [old] nurse told the farmer that she was late.", groups=("old", "young", "tired")),
        Question("Sam met Kim when they left.", ("Sam", "Kim"), pronouns=("he", "she")),
    ):
        heard = ask(
            question.sentence,
            PLANTED,
            candidates=question.candidates,
            groups=question.groups,
            pronouns=question.pronouns,
        )
        answers = box.answer(question)["answers"]
        by_text = {answer["text"]: answer for answer in answers}
        assert len(by_text) == len(heard.frame) > 1
        for row in heard.frame.itertuples():
            np.testing.assert_allclose(by_text[str(row.text)]["probabilities"], row.probs, atol=1e-6)
            assert abs(by_text[str(row.text)]["certainty"] - row.certainty) < 1e-6


def test_a_question_that_was_asked_is_not_asked_again(box: AskBox, monkeypatch: pytest.MonkeyPatch) -> None:
    question = Question("The nurse told the farmer that she was cold.")
    first = box.answer(question)
    monkeypatch.setattr("equipoise.view.ask_box.ask", None)
    assert box.answer(question) is first


@pytest.fixture
def readable_llama(tiny_llama: Callable[..., Path]) -> Path:
    """Return a folder with a small model whose tokens can be turned into text again."""
    folder = tiny_llama()
    file = folder / "tokenizer.json"
    decoder = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    file.write_text(json.dumps({**json.loads(file.read_text()), "decoder": decoder}))
    return folder


def test_the_tokens_of_a_sentence_are_those_that_the_answer_was_made_of(readable_llama: Path) -> None:
    engine = open_engine(str(readable_llama))
    box = ready(AskBox(lambda: engine))
    question = Question(FIRST)
    answers = box.answer(question)["answers"]
    (_, prompt, score), *_ = box._heard(question).asked
    assert [asked[0] for asked in box._heard(question).asked] == [answer["word"] for answer in answers]
    odds = np.exp(score.logprobs[0] - score.logprobs[1])
    np.testing.assert_allclose(odds, np.divide(*answers[0]["probabilities"]), rtol=1e-4)
    texts = engine.token_texts([prompt])[0]
    assert [list(map(len, texts))] == [[len(values) for values in score.token_logprobs]]
    # The whole text, read in one go, gives the same probabilities of the answer.
    first, rest = str(prompt.context).split(" ", 1)
    whole = replace(prompt, context=first, continuations=(f" {rest}{prompt.continuations[0]}",))
    ((read,),) = engine.score([[whole]])
    np.testing.assert_allclose(read.token_logprobs[0][-len(texts[0]) :], score.token_logprobs[0], atol=1e-4)
    drawn = box.tokens(question)["html"]
    for token, value in zip(texts[0], score.token_logprobs[0], strict=True):
        assert token.strip() in drawn and f"{np.exp(value):.2g}" in drawn
    assert "he / she / they" in drawn and "-fold" in drawn


def test_a_changed_word_begins_from_the_sentence_before_and_gives_the_numbers_of_ask(tiny_llama: Any) -> None:
    folder = str(tiny_llama())
    engine: Any = open_engine(folder)
    box = ready(AskBox(lambda: engine))
    fresh: list[int] = []
    forward = engine._model.forward
    engine._model.forward = lambda **given: fresh.append(given["input_ids"].shape[1]) or forward(**given)
    for word in ("late", "early", "cold"):
        sentence = FIRST.replace("late", word)
        answers = box.answer(Question(sentence))["answers"]
        expected = ask(sentence, folder).frame["probs"]
        for answer, probabilities in zip(answers, expected, strict=True):
            np.testing.assert_allclose(answer["probabilities"], probabilities, atol=1e-6)
    # The first sentence was asked when the box was opened; of the others, the words up to the changed one are known.
    sizes = [len(row.places) for row in list(engine._passes.prefixes._rows)[-3:]]
    assert all(new < size for new, size in zip(fresh, sizes, strict=True)) and min(fresh) == fresh[0]


def test_an_engine_that_does_not_show_its_tokens_says_so(box: AskBox) -> None:
    assert "does not show its tokens" in box.tokens(Question(FIRST))["text"]


def test_a_model_that_cannot_be_loaded_says_why() -> None:
    box = AskBox(lambda: open_engine("planted:strength=none"))
    end = time.monotonic() + 60
    while box.state == "The model is being loaded." and time.monotonic() < end:
        time.sleep(0.01)
    assert "none" in box.state


def test_kept_sentences_become_a_table_that_an_audit_takes(tmp_path: Path) -> None:
    kept = [
        {"sentence": FIRST, "pronouns": "he, she"},
        {
            "sentence": 'The [old] nurse, "Kim", told the farmer that she left.',
            "groups": "old, young",
            "candidates": "nurse, farmer",
        },
    ]
    (tmp_path / "kept.csv").write_text(table_of(json.dumps(kept).encode()), encoding="utf-8")
    run = audit(PLANTED, str(tmp_path / "kept.csv"), out=tmp_path / "run", resamples=2, metrics=["flip_rate"])
    rows, _ = question_rows([question_of(entry) for entry in kept])
    assert set(run.examples["text"]) == {row["text"] for row in rows} and len(run.examples) == 4
    heard = ask(FIRST, PLANTED, pronouns=["he", "she"]).frame.set_index("text")["probs"]
    shared = run.cases().set_index("text")["probs"]
    for text, probabilities in heard.items():
        np.testing.assert_allclose(shared[text], probabilities, atol=1e-9)


@pytest.mark.parametrize("given", [None, [], {}, {"sentence": 3}, {"sentence": "  "}, {"sentence": "x" * 3000}])
def test_what_is_not_a_question_is_refused(given: Any) -> None:
    with pytest.raises(EquipoiseError, match="type a sentence"):
        question_of(given)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"[1]", b"[" * 10**5])
def test_what_is_not_a_list_of_sentences_is_refused(content: bytes) -> None:
    with pytest.raises(EquipoiseError):
        table_of(content)


def test_a_question_can_begin_from_any_case_of_a_run(some_runs: Path) -> None:
    folder = some_runs / "suite" / "delta"
    run = Run(folder)
    cases = worst_cases(folder)
    lowest = run.pairs.set_index("set_id")["u"]
    values = [lowest[name] for name, _ in cases if name in lowest]
    assert len(values) > 5 and values == sorted(values)
    assert all("nurse" in text.lower() for _, text in worst_cases(folder, "NURSE"))
    assert worst_cases(folder, "no sentence has these words") == []
    for set_id, text in cases[:5]:
        question = case_of(folder, set_id)
        assert question is not None and question.sentence == text and len(question.candidates) == 2
    assert case_of(folder, "nothing") is None


def test_the_page_asks_only_where_a_model_is_loaded(served: Callable[..., str], box: AskBox) -> None:
    bare, able = served(), served(box=box)
    refused = httpx.post(f"{bare}ask.json", json={"sentence": FIRST})
    assert refused.status_code == 503 and "No model" in refused.json()["text"]
    heard = httpx.post(f"{able}ask.json", json={"sentence": FIRST}, timeout=60).json()
    assert heard["answers"] == box.answer(Question(FIRST))["answers"]
    wrong = httpx.post(f"{able}ask.json", json={"sentence": "Nobody is here."})
    assert wrong.status_code == 422 and wrong.json()["text"]
    assert httpx.post(f"{able}ask.json", content=b"{").status_code == 422
    assert "No model is loaded" in httpx.get(f"{bare}ask.html").text


def until_loaded(box: AskBox) -> str:
    end = time.monotonic() + 60
    while box.state == "The model is being loaded." and time.monotonic() < end:
        time.sleep(0.01)
    return box.state


def test_what_goes_wrong_while_a_model_is_loaded_is_told() -> None:
    def fail() -> None:
        raise MemoryError("no room")

    assert until_loaded(AskBox(fail)) == "the model cannot be loaded (MemoryError: no room)"


def test_a_box_says_that_its_model_is_being_loaded_and_lets_it_remember() -> None:
    go, told = threading.Event(), []

    class Remembering(PlantedEngine):
        def remember(self) -> None:
            told.append("remember")

    def opened() -> Any:
        go.wait(60)
        return Remembering(strength=1.0)

    box = AskBox(opened)
    assert box.state == "The model is being loaded."
    go.set()
    assert until_loaded(box) == "" and told == ["remember"]


def test_the_answers_that_are_kept_have_a_limit_and_the_oldest_goes_first(
    box: AskBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "KEPT", 2)
    first, second, third = (Question(FIRST.replace("late", word)) for word in ("cold", "warm", "rich"))
    for question in (first, second, first, third):
        box.answer(question)
    assert list(box._known) == [first, third]


def test_the_first_prompt_of_every_example_is_overheard() -> None:
    class Echo:
        name = "echo"

        def score(self, batches: Any) -> Any:
            return ([Score(prompt.context, ((-1.0,),)) for prompt in batch] for batch in batches)

    prompts = [Prompt(name, "t", "", context, (" a",)) for name, context in (("x", "1"), ("x", "2"), ("y", "3"))]
    engine: Any = Overheard(Echo())  # type: ignore[arg-type]
    scores = list(engine.score([prompts[:2], prompts[2:]]))
    assert [[score.prompt_key for score in batch] for batch in scores] == [["1", "2"], ["3"]] and engine.name == "echo"
    assert {name: (prompt.context, score.prompt_key) for name, (prompt, score) in engine.heard.items()} == {
        "x": ("1", "1"),
        "y": ("3", "3"),
    }


def test_tokens_end_with_what_does_not_go_on() -> None:
    texts = [[" po", "lice"], [" cook"]]
    plain = Score("", ((-1.0, -2.0), (-3.0,)))
    assert asking._tokens_of(texts, plain) == [[(" po", -1.0), ("lice", -2.0)], [(" cook", -3.0)]]
    stopped = asking._tokens_of(texts, replace(plain, stops=(-0.5, -0.25)))
    assert [tokens[-1] for tokens in stopped] == [("(nothing more)", -0.5), ("(nothing more)", -0.25)]
    assert [len(tokens) for tokens in stopped] == [3, 2]


@pytest.mark.parametrize(
    ("context", "first", "rest"), [("The nurse left", "The", " nurse left"), ("The", None, None), (" The", None, None)]
)
def test_a_text_is_read_from_its_second_word_on(context: str, first: str | None, rest: str | None) -> None:
    prompt = Prompt("x", "t", "", context, (" a",))
    read = asking._as_continuation(prompt)
    assert read == (None if first is None else replace(prompt, context=first, continuations=(rest,)))
    assert asking._as_continuation(replace(prompt, context=(Message("user", context),))) is None


def test_a_question_is_read_from_what_a_page_sends() -> None:
    given = {"sentence": " The  nurse\nleft. ", "candidates": "a, b ,,", "groups": "old", "pronouns": 3}
    assert question_of(given) == Question("The nurse left.", ("a", "b"), ("old",), PRONOUNS)
    assert question_of({"sentence": "x", "pronouns": "xe"}).pronouns == ("xe",)
    assert question_of({"sentence": "x" * 2000}).sentence == "x" * 2000
    assert question_of({"sentence": "x", "groups": "a" * 1999 + ",b"}).groups == ("a" * 1999,)
    for wrong, reason in ((None, ""), ({}, ""), ({"sentence": "x" * 2001}, " of at most 2,000 characters")):
        with pytest.raises(EquipoiseError, match=f"^type a sentence{reason}$"):
            question_of(wrong)


def test_between_one_and_five_hundred_sentences_make_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"sentence": FIRST, "pronouns": "he, she"}
    monkeypatch.setattr(asking, "MOST_SENTENCES", 2)
    for number, allowed in ((0, False), (1, True), (2, True), (3, False)):
        if allowed:
            rows = list(csv.DictReader(io.StringIO(table_of(json.dumps([one] * number).encode()))))
            assert len(rows) == 2 * number
        else:
            with pytest.raises(EquipoiseError, match=r"^keep between one and 2 sentences, then save them$"):
                table_of(json.dumps([one] * number).encode())


def test_cases_are_found_by_all_words_and_are_the_worst_first(some_runs: Path) -> None:
    folder = some_runs / "suite" / "delta"
    run = Run(folder)
    texts = run.examples.drop_duplicates("set_id").set_index("set_id")["text"]
    order = run.pairs.drop_duplicates("set_id").set_index("set_id")["u"]
    assert len(worst_cases(folder)) == 30 and worst_cases(folder)[:4] == worst_cases(folder, most=4)
    every = worst_cases(folder, most=10**6)
    assert len(every) == len(texts) and all(texts[name] == text for name, text in every)
    values = [order[name] for name, _ in every]
    assert values == sorted(values)
    found = worst_cases(folder, "NURSE she", most=10**6)
    assert found == [(name, text) for name, text in every if "nurse" in text.lower() and "she" in text.lower()] != []


def test_a_case_is_asked_with_its_first_two_people(some_runs: Path) -> None:
    folder = some_runs / "suite" / "delta"
    first = Run(folder).examples.iloc[0]
    assert case_of(folder, str(first["set_id"])) == Question(str(first["text"]), tuple(first["candidates"][:2]))


@pytest.mark.slow
def test_sentences_are_asked_as_they_are_typed(
    served: Callable[..., str], visit: Callable[..., Any], box: AskBox, tmp_path: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = visit(served(box=box), bypass_csp=True)
    tab.get_by_role("link", name="Ask", exact=True).click()
    tab.wait_for_function("() => document.documentElement.dataset.sentence", timeout=60_000)
    tab.locator("#ask-sentence").press("End")
    tab.fill("#ask-sentence", "The nurse told the farmer that she was tired.")
    tab.wait_for_function("() => document.documentElement.dataset.sentence.endsWith('tired.')", timeout=60_000)
    shown = tab.locator("#answer svg").get_attribute("aria-label")
    tab.click("#ask-swap")
    tab.wait_for_function("() => document.documentElement.dataset.sentence.startsWith('The farmer')", timeout=60_000)
    assert tab.input_value("#ask-sentence") == "The farmer told the nurse that she was tired."
    assert tab.locator("#answer tbody tr").count() >= 3 and shown
    tab.select_option("#ask-marker", label="age")
    tab.wait_for_function("() => document.documentElement.dataset.sentence.includes('[')", timeout=60_000)
    assert tab.locator("#answer").get_by_text("old: ").count() > 0
    tab.locator("#tokens summary").click()
    tab.wait_for_function("() => document.getElementById('tokens-shown').textContent", timeout=60_000)
    assert "does not show its tokens" in tab.inner_text("#tokens-shown")
    tab.click("#ask-keep")
    assert Axe().run(tab).violations_count == 0, Axe().run(tab).generate_report()
    again = visit(tab.url)
    again.wait_for_function("() => document.documentElement.dataset.sentence", timeout=60_000)
    assert again.input_value("#ask-sentence") == tab.input_value("#ask-sentence")
    with again.expect_download() as saved:
        again.click("#kept-save")
    assert "old" in Path(saved.value.path()).read_text()
    # From a run, by way of a case that is open there.
    again.get_by_role("link", name="Runs").click()
    again.locator("table.runs a").first.click()
    again.wait_for_selector("html[data-cases=ready]", timeout=60_000)
    again.get_by_role("link", name="Ask about a case").click()
    again.wait_for_selector(".starts a")
    text = again.locator(".starts a").first.inner_text()
    again.locator(".starts a").first.click()
    again.wait_for_function("() => document.documentElement.dataset.sentence", timeout=60_000)
    assert again.input_value("#ask-sentence") == text


@pytest.mark.slow
def test_tokens_are_shown_when_they_are_asked_for_and_follow_the_sentence(
    served: Callable[..., str], visit: Callable[..., Any], readable_llama: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    box = ready(AskBox(lambda: open_engine(str(readable_llama))))
    tab = visit(f"{served(box=box)}ask.html", bypass_csp=True)
    tab.wait_for_function("() => document.documentElement.dataset.sentence", timeout=60_000)
    assert tab.inner_text("#tokens-shown") == ""
    tab.locator("#tokens summary").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => document.documentElement.dataset.tokens", timeout=60_000)
    assert "nurse" in tab.inner_text("#tokens-shown")
    tab.fill("#ask-sentence", "The cook told the farmer that she was tired.")
    tab.wait_for_function("() => document.documentElement.dataset.tokens.startsWith('The cook')", timeout=60_000)
    assert "cook" in tab.inner_text("#tokens-shown") and "nurse" not in tab.inner_text("#tokens-shown")
    assert Axe().run(tab).violations_count == 0, Axe().run(tab).generate_report()


@pytest.mark.slow
def test_a_real_model_gives_the_same_probabilities_in_the_page_and_on_the_command_line(
    served: Callable[..., str],
) -> None:
    box = ready(AskBox(lambda: open_engine("smollm2")), 600)
    sentence = "The nurse told the farmer that she was tired."
    heard = httpx.post(f"{served(box=box)}ask.json", json={"sentence": sentence}, timeout=60).json()["answers"]
    command = [sys.executable, "-m", "equipoise", "ask", sentence, "--json", "--quiet"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert len(printed) == len(heard) == 3
    for row in printed:
        (answer,) = [answer for answer in heard if answer["text"] == row["text"]]
        np.testing.assert_allclose(answer["probabilities"], row["probs"], atol=1e-6)
    # A change of one word: the time of the processor, because a busy machine says nothing about a quiet one.
    start = time.process_time()
    box.answer(Question("The nurse told the farmer that she was early."))
    assert time.process_time() - start < 0.6, "at most 0.3 s on two cores"
