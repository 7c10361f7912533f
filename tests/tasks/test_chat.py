"""A task in a chat asks the same, with the beginning of the answer in the assistant's turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny import CHAT, make_tokenizer

import equipoise
from equipoise.datasets import open_dataset
from equipoise.records import Message, ModelError, Prompt, Sampling
from equipoise.scoring.encoding import Encoder
from equipoise.tasks.chat import COMPLETE, Chat, _ChatWriter, in_chat, split_beginning, with_system, without_system


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('The nurse left. The pronoun "she" refers to the', ("The nurse left.", 'The pronoun "she" refers to the')),
        ('He asked "Why?" The pronoun is', ('He asked "Why?"', "The pronoun is")),
        ("Choose.\n A.one\n B.two\n Answer: ", ("Choose.\n A.one\n B.two", "Answer:")),
        ("The nurse said that", ("", "The nurse said that")),
    ],
)
def test_the_last_unfinished_sentence_begins_the_answer(text: str, parts: tuple[str, str]) -> None:
    assert split_beginning(text) == parts


def test_a_prompt_becomes_a_conversation() -> None:
    half = Prompt("e", "next-word", "", "The nurse left. She is the", (" nurse", " cook"))
    assert in_chat(half, "Be brief.").context == (
        Message("system", "Be brief."),
        Message("user", "The nurse left.\nComplete the sentence: She is the …"),
        Message("assistant", "She is the"),
    )
    options = Prompt("e", "mcq", "", "Choose.\n A.one\n B.two\n Answer:", (" A", " B"))
    assert in_chat(options).context == (Message("user", "Choose.\n A.one\n B.two"), Message("assistant", "Answer:"))
    turns = (Message("user", "Why?"), Message("assistant", "Because."), Message("user", "So?"))
    assert in_chat(Prompt("e", "mcq-cot", "", turns, ("A", "B"))).context == turns


def test_the_answer_is_scored_right_after_its_beginning_in_the_template() -> None:
    encoder = Encoder(make_tokenizer(chat=CHAT))
    prompt = in_chat(Prompt("e", "next-word", "", "The nurse left. She is the", (" nurse",)))
    text = encoder._text(prompt.context)[0]
    assert text == "<|user|>The nurse left.\nComplete the sentence: She is the …<|assistant|>She is the"
    (question,) = encoder.questions([prompt])
    assert len(question.sequences[0]) - question.starts[0] == 1 and question.flags == ()
    template = "{% for message in messages %}{{ message.content }}{% endfor %}{{ raise_exception('no system') }}"
    broken = Encoder(make_tokenizer(chat=template))
    with pytest.raises(ModelError, match=r"the model's chat template fails: .*no system"):
        broken.questions([prompt])


@pytest.mark.slow
def test_every_task_can_be_asked_in_a_chat_and_the_run_says_so(default_model_folder: Path, tmp_path: Path) -> None:
    data = open_dataset("builtin").limited(1)
    choices: dict[str, Any] = {"resamples": 20, "metrics": ["certainty"], "chat": True, "system": "Answer briefly."}
    run = equipoise.audit("smollm2", data, ["next-word", "mcq", "cloze"], out=tmp_path, **choices)
    assert set(run.manifest.tasks) == {"next-word-chat", "mcq-chat", "cloze-chat"}
    assert run.manifest.tasks["mcq-chat"]["system"] == "Answer briefly."


def test_a_system_prompt_begins_a_conversation_and_is_taken_off_again() -> None:
    turns = (Message("user", "Why?"), Message("assistant", "So."))
    system = Message("system", "Be brief.")
    assert with_system("Why?", "") == (turns[0],) and with_system("Why?", "Be brief.") == (system, turns[0])
    assert with_system(turns, "") == turns and with_system(turns, "Be brief.") == (system, *turns)
    assert without_system((system, *turns)) == turns and without_system(turns) == turns
    assert without_system("Why?") == "Why?"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two. Three", ("One. Two.", "Three")),
        ("One.\n  Two", ("One.", "Two")),
        ("One!) Two", ("One!)", "Two")),
        ("3.5 is more", ("", "3.5 is more")),
        ("All done. ", ("", "All done.")),
        ("A\nB\nC", ("A\nB", "C")),
    ],
)
def test_what_is_unfinished_is_cut_off_at_the_last_end(text: str, parts: tuple[str, str]) -> None:
    assert split_beginning(text) == parts


class Stub:
    """A task that keeps what it is given, and asks two prompts: a text, and a chat of its own."""

    name, settings = "stub", {"a": 1}

    def run(self, examples: Any, *, scorer: Any, writer: Any) -> Any:
        own = (Message("user", "Why?"), Message("assistant", "As"))
        prompts = [Prompt("e", "stub", "", text, (" x",)) for text in ("Q one? It is", own, "Q two? It was")]
        return scorer(prompts), writer


class Writes:
    """A writer that reasons, and keeps what it is asked."""

    def __init__(self, *, thinks: bool) -> None:
        self.thinks, self.asked = thinks, []  # type: ignore[var-annotated]

    def __call__(self, contexts: Any, *given: Any) -> Any:
        self.asked.append((list(contexts), *given))
        return {context: f"<think>on {context[-1].content[:5]}</think> so" for context in contexts}


def test_a_task_in_a_chat_is_asked_after_the_models_reasoning() -> None:
    chat = Chat(Stub(), "Be brief.", 77)  # type: ignore[arg-type]
    assert chat.name == "stub-chat"
    assert chat.settings == {"a": 1, "chat": True, "system": "Be brief.", "complete": COMPLETE}
    plain, silent = (
        Writes(thinks=False),
        [in_chat(prompt, "Be brief.") for prompt in Stub().run([], scorer=list, writer=0)[0]],
    )
    asked, writer = chat.run([], scorer=list, writer=plain)  # type: ignore[arg-type]
    assert asked == silent and plain.asked == [] and writer.thinks is False
    thinking = Writes(thinks=True)
    asked, writer = chat.run([], scorer=list, writer=thinking)  # type: ignore[arg-type]
    questions = [silent[0].context[:-1], silent[2].context[:-1]]
    assert thinking.asked == [(questions, 77)] and writer.thinks is True
    assert asked[1] == silent[1], "a task's own chat stays"
    for place, question in zip((0, 2), questions, strict=True):
        begun = f"<think>\non {question[-1].content[:5]}\n</think>\n\n{silent[place].context[-1].content}"
        assert asked[place].context == (*question, Message("assistant", begun))


def test_texts_are_written_in_a_chat_with_its_system_prompt() -> None:
    inner = Writes(thinks=True)
    writer = _ChatWriter(inner, "Be brief.")
    drawn = Sampling(1.0, 3)
    turns = (Message("user", "Who?"),)
    texts = writer(["Why?", turns], 5)
    assert texts == {"Why?": "<think>on Why?</think> so", turns: "<think>on Who?</think> so"}
    writer(["Why?"], 6, drawn)
    system = Message("system", "Be brief.")
    first = ([(system, Message("user", "Why?")), (system, *turns)], 5)
    assert inner.asked == [first, ([(system, Message("user", "Why?"))], 6, drawn)]
