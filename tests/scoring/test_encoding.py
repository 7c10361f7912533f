"""Prompts become the token ids they should, whatever the tokenizer's habits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import CHAT, make_tokenizer

from equipoise.datasets.builtin import load_builtin
from equipoise.records import Message, ModelError, Prompt, TaskNotPossible
from equipoise.records.prompts import SPLIT_JOIN
from equipoise.scoring.encoding import Encoder, Question, neopronouns, split_notes

PLAIN = make_tokenizer()
WITH_BOS = make_tokenizer(template="<s> $A")
BOS = PLAIN.bos_token_id


def prompt(context: Any = "The", *continuations: str) -> Prompt:
    return Prompt("one", "task", "", context, continuations or (" nurse", " driver"))


def ask(tokenizer: Any, asked: Prompt, *, bos: str = "auto") -> Question:
    (question,) = Encoder(tokenizer, bos=bos).questions([asked])
    return question


def tokens(tokenizer: Any, *words: str) -> tuple[int, ...]:
    return tuple(tokenizer.convert_tokens_to_ids([word.replace(" ", "Ġ") for word in words]))


def test_a_prompt_and_its_continuation_are_tokenised_as_one_text() -> None:
    question = ask(PLAIN, prompt())
    assert question == Question((tokens(PLAIN, "The", " nurse"), tokens(PLAIN, "The", " driver")), (1, 1), ())


@pytest.mark.parametrize(
    ("template", "bos", "front"),
    [
        (None, "auto", ()),
        (None, "always", (BOS,)),
        (None, "never", ()),
        ("<s> $A", "auto", (BOS,)),
        ("<s> $A", "always", (BOS,)),
        ("<s> $A", "never", ()),
        ("<s> $A </s>", "auto", (BOS,)),
        ("$A </s>", "auto", ()),
        ("</s> <s> $A", "auto", (1, BOS)),
    ],
)
def test_what_stands_in_front_is_what_was_asked_for(template: str | None, bos: str, front: tuple[int, ...]) -> None:
    question = ask(make_tokenizer(template=template), prompt(), bos=bos)
    assert question.sequences[0] == (*front, *tokens(PLAIN, "The", " nurse"))
    assert question.starts == (len(front) + 1,) * 2


def test_always_needs_a_beginning_of_text_token() -> None:
    bare = make_tokenizer(bos=None)
    assert ask(bare, prompt()).sequences[0] == tokens(bare, "The", " nurse")
    with pytest.raises(ModelError, match="has no beginning-of-text token"):
        Encoder(bare, bos="always")


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ModelError, match="bos must be auto, always or never, not 'sometimes'"):
        Encoder(PLAIN, bos="sometimes")


@pytest.mark.parametrize("bos", ["auto", "always", "never"])
@pytest.mark.parametrize("template", [None, "<s> $A"])
@pytest.mark.parametrize(("chat", "times"), [("{{ bos_token }}" + CHAT, 1), (CHAT, 0)])
def test_a_chat_has_the_beginning_of_text_its_template_gives_it_and_never_another(
    bos: str, template: str | None, chat: str, times: int
) -> None:
    tokenizer = make_tokenizer(template=template, chat=chat)
    question = ask(tokenizer, prompt((Message("user", "The nurse"),), " nurse", " driver"), bos=bos)
    for sequence in question.sequences:
        assert sequence.count(BOS) == times
    start = question.starts[0]
    assert tokenizer.decode(question.sequences[0][:start]) == "<s>" * times + "<|user|>The nurse<|assistant|>"
    assert question.sequences[1][start:] == tokens(tokenizer, " driver")


def test_turns_need_a_chat_template() -> None:
    with pytest.raises(ModelError, match="has no chat template"):
        ask(PLAIN, prompt((Message("user", "The"),)))


def test_a_merge_across_the_join_is_undone_and_flagged() -> None:
    # " A" is one token, so the space that ends this prompt would be swallowed by the answer.
    question = ask(PLAIN, prompt("The pronoun ", "A", "B"))
    assert question.flags == (SPLIT_JOIN,)
    assert question.sequences[0] == tokens(PLAIN, "The", " pronoun", " ", "A")
    assert question.sequences[1] == tokens(PLAIN, "The", " pronoun", " ", "B")
    assert question.starts == (3, 3)


def test_without_a_merge_nothing_is_flagged() -> None:
    assert ask(PLAIN, prompt("The pronoun", " A", " B")).flags == ()


def test_a_continuation_that_changes_an_earlier_token_is_noticed() -> None:
    # "TheA": the word "The" stays; "Th" + "e": the prompt's tokens would become another.
    question = ask(PLAIN, prompt("Th", "e", "x"))
    assert PLAIN("The", add_special_tokens=False)["input_ids"] == list(tokens(PLAIN, "The"))
    assert question.flags == (SPLIT_JOIN,)
    assert question.sequences == (tokens(PLAIN, "Th", "e"), tokens(PLAIN, "Th", "x"))


def test_a_candidate_of_several_tokens_keeps_them_all() -> None:
    question = ask(WITH_BOS, prompt("The", " nurse driver", " cook"))
    long, cook = (sequence[question.starts[0] :] for sequence in question.sequences)
    assert long == tokens(WITH_BOS, " nurse", " driver")
    assert cook == tokens(WITH_BOS, " ", "c", "o", "o", "k")


@given(context=st.text(min_size=1), continuations=st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_whatever_the_text_the_ids_read_as_prompt_and_continuation(context: str, continuations: list[str]) -> None:
    question = ask(PLAIN, prompt(context, *continuations))
    merged = False
    for sequence, start, continuation in zip(question.sequences, question.starts, continuations, strict=True):
        assert PLAIN.decode(sequence[:start]) == context
        assert PLAIN.decode(sequence) == context + continuation
        assert len(sequence) > start
        merged |= list(sequence) != PLAIN(context + continuation, add_special_tokens=False)["input_ids"]
    assert bool(question.flags) == merged


def test_many_prompts_at_once_are_as_each_alone() -> None:
    asked = [
        prompt("The nurse", " told", " was"),
        prompt("Die Ärztin 👩‍⚕️ sagte", " naïve", " 医生", " the"),
        prompt("The pronoun ", "A", "B"),
        prompt("The", " she"),
    ]
    encoder = Encoder(WITH_BOS)
    assert encoder.questions(asked) == [encoder.questions([one])[0] for one in asked]
    assert encoder.questions([]) == []


def test_a_prompt_of_no_tokens_needs_something_in_front() -> None:
    stripping = make_tokenizer(strip=True)
    blank = prompt("  ", "The", "nurse")
    with pytest.raises(ModelError, match="the prompt of one has no token before its answer"):
        ask(stripping, blank)
    assert ask(stripping, blank, bos="always").sequences[0] == (BOS, *tokens(stripping, "The"))


def test_a_candidate_of_no_tokens_is_an_error() -> None:
    with pytest.raises(ModelError, match="has no tokens for the candidate ' '"):
        ask(make_tokenizer(strip=True), prompt("The", " nurse", " "))


def test_the_identity_changes_with_all_that_could_change_the_ids() -> None:
    chat = make_tokenizer(chat=CHAT)
    identities = [
        Encoder(PLAIN).identity,
        Encoder(PLAIN, bos="always").identity,
        Encoder(PLAIN, bos="never").identity,
        Encoder(WITH_BOS).identity,
        Encoder(make_tokenizer(words=[" nurse"])).identity,
        Encoder(chat).identity,
        Encoder(make_tokenizer(chat="{{ bos_token }}" + CHAT)).identity,
    ]
    assert all(a != b for i, a in enumerate(identities) for b in identities[:i])
    assert Encoder(make_tokenizer(chat=CHAT)).identity == Encoder(chat).identity


def test_asking_does_not_change_the_identity() -> None:
    tokenizer = make_tokenizer(template="<s> $A")
    encoder = Encoder(tokenizer)
    before = encoder.identity
    encoder.questions([prompt(), prompt("The nurse told", " the driver")])
    tokenizer(["a", "b c"], padding=False)
    assert encoder.identity == before


def test_neopronouns_of_several_tokens_are_named_and_common_pronouns_never() -> None:
    words = neopronouns(load_builtin(pronouns=["he", "they", "xe", "fae"]).examples)
    assert set(words) == {"xe", "xem", "xyr", "fae", "faer"}
    pieces = Encoder(PLAIN).pieces(["nurse", "xe"])
    assert pieces["nurse"] == 1 and pieces["xe"] == len(PLAIN(" xe", add_special_tokens=False)["input_ids"]) > 1
    (note,) = split_notes(pieces)
    assert f"xe ({pieces['xe']})" in note and "nurse" not in note
    assert split_notes({"xe": 1}) == split_notes({}) == []
    assert neopronouns(load_builtin(pronouns=["he", "she", "they"]).examples) == []


def test_token_texts_join_into_the_continuations() -> None:
    prompts = [
        Prompt("e", "task", "", "The nurse said that", (" she was late", " nurse")),
        Prompt("f", "t", "", "A", (" b",)),
    ]
    for tokenizer in (PLAIN, WITH_BOS):
        encoder = Encoder(tokenizer)
        shown = encoder.token_texts(prompts)
        for prompt, question, several in zip(prompts, encoder.questions(prompts), shown, strict=True):
            assert tuple("".join(texts) for texts in several) == prompt.continuations
            sizes = [len(ids) - start for ids, start in zip(question.sequences, question.starts, strict=True)]
            assert [len(texts) for texts in several] == sizes


def test_a_model_thinks_where_its_template_knows_a_think_block_and_leaves_it_open() -> None:
    plain = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}<|assistant|>"
    thinking = plain.replace("m.content", "m.content.split('</think>')[-1]") + "<think>\n"
    closed = thinking + "\n</think>"
    for template, thinks in ((plain, False), (thinking, True), (closed, False), ("{{ broken", False)):
        assert Encoder(make_tokenizer(chat=template)).thinks is thinks, template


class Slow:
    """A tokenizer that is not of the tokenizers library: a number for each letter, and one before every text."""

    bos_token_id = 7
    chat_template = None

    def __init__(self, *, odd: bool = False) -> None:
        self.odd = odd
        self.asked: list[dict[str, Any]] = []

    def __call__(self, texts: Any, **choices: Any) -> dict[str, Any]:
        self.asked.append(choices)
        front = [] if choices.get("add_special_tokens") is False else [7]
        if isinstance(texts, str):
            return {"input_ids": [*front, *(ord(letter) + (self.odd and bool(front)) for letter in texts)]}
        return {"input_ids": [[*front, *map(ord, text)] for text in texts]}

    def get_vocab(self) -> dict[str, int]:
        return {"b": 2, "a": 1}


def test_a_tokenizer_of_another_library() -> None:
    slow = Slow()
    encoder = Encoder(slow)
    assert encoder.serialized is None and encoder.identity["leading_ids"] == [7]
    assert encoder.ids(["ab", "c"]) == [[97, 98], [99]] and encoder.ids([]) == []
    assert slow.asked[-1] == {"add_special_tokens": False, "return_attention_mask": False}
    assert len(encoder.identity["tokenizer"]) == 64
    with pytest.raises(ModelError, match=r"^the tokenizer changes the text when it adds its special tokens"):
        Encoder(Slow(odd=True))


def test_a_context_without_a_token_is_refused() -> None:
    encoder = Encoder(make_tokenizer(strip=True), bos="never")
    assert encoder.contexts(["The"]) == [list(tokens(PLAIN, "The"))]
    assert Encoder(WITH_BOS).contexts(["The", ""]) == [[BOS, *tokens(PLAIN, "The")], [BOS]]
    with pytest.raises(ModelError, match=r"^a prompt has no token; the model's chat template may give no text, or try"):
        encoder.contexts(["The", " "])


def test_texts_end_at_the_first_token_that_ends_them() -> None:
    rows = [list(tokens(PLAIN, "The", " nurse", " told")), list(tokens(PLAIN, " nurse"))]
    encoder = Encoder(PLAIN)
    assert encoder.texts(rows, ()) == ["The nurse told", "nurse"]
    assert encoder.texts(rows, set(tokens(PLAIN, " nurse"))) == ["The", ""]
    assert encoder.texts([[BOS, *rows[0]]], ()) == ["The nurse told"], "special tokens are no text"


def test_prompts_as_texts_have_what_stands_before_them() -> None:
    asked = [prompt("The"), prompt((Message("user", "Who?"),))]
    encoder = Encoder(make_tokenizer(template="<s> $A", chat=CHAT))
    first, second = encoder.asked(asked)
    assert first == ("one", (BOS,), "The", (" nurse", " driver"))
    assert second == ("one", (), "<|user|>Who?<|assistant|>", (" nurse", " driver"))


def test_a_template_that_needs_a_system_prompt_says_so() -> None:
    strict = "{% if messages[0].role != 'system' %}{{ raise_exception('no') }}{% endif %}" + CHAT
    encoder = Encoder(make_tokenizer(chat=strict))
    with pytest.raises(ModelError, match=r"^the model's chat template requires a system prompt; set chat and system$"):
        encoder.questions([prompt((Message("user", "Who?"),))])
    system = (Message("system", "Be brief."), Message("user", "Who?"))
    assert encoder.asked([prompt(system)])[0].text == "<|system|>Be brief.<|user|>Who?<|assistant|>"
    with pytest.raises(ModelError, match=r"^the model's chat template fails: TemplateError: never$"):
        Encoder(make_tokenizer(chat="{{ raise_exception('never') }}")).questions([prompt((Message("user", "Who?"),))])


def test_flags_of_a_question() -> None:
    assert Question.of([(1, 2), (1, 3)], 1, split=False) == Question(((1, 2), (1, 3)), (1, 1), ())
    nested = Question.of([(1, 2), (1, 2, 3)], 1, split=True)
    assert nested.flags == (SPLIT_JOIN, "nested") and nested.nested == ((1,), ())


HEADLESS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


def test_where_an_answer_begins_in_a_chat() -> None:
    user, begun = Message("user", "Who?"), Message("assistant", "The")
    thought = Message("assistant", "<think>hm</think> The")
    for chat in (HEADLESS, HEADLESS + "{% if add_generation_prompt %}<assistant>{% endif %}"):
        encoder = Encoder(make_tokenizer(chat=chat))
        asked = encoder.asked([prompt((user,)), prompt((user, begun)), prompt((user, begun, user, thought))])
        assert [one.text for one in asked] == [
            "<user>Who?<assistant>",
            "<user>Who?<assistant>The",
            "<user>Who?<assistant>The<user>Who?<assistant><think>hm</think> The",
        ]
    with pytest.raises(TaskNotPossible, match=r"^the model has no chat template; use a task without chat, or answer_"):
        Encoder(PLAIN).asked([prompt((user, thought))])


def test_a_template_that_has_its_system_prompt_and_fails_says_why() -> None:
    picky = (
        "{% if messages[0].role != 'system' or messages[-1].content == 'odd' %}{{ raise_exception('no') }}{% endif %}"
    )
    encoder = Encoder(make_tokenizer(chat=picky + CHAT))
    with pytest.raises(ModelError, match=r"^the model's chat template fails: TemplateError: no$"):
        encoder.asked([prompt((Message("system", "Be brief."), Message("user", "odd")))])


def test_a_tokenizer_cuts_and_fills_nothing() -> None:
    tokenizer = make_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(2)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    assert Encoder(tokenizer).ids(["The nurse told", "The"]) == [
        list(tokens(PLAIN, "The", " nurse", " told")),
        list(tokens(PLAIN, "The")),
    ]
