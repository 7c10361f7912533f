"""What is made of a server's tokenizer and chat template, rule by rule, over an Api whose tokens are letters."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from threads import apart

from equipoise.records import Message, ModelError, Prompt
from equipoise.scoring.conversation import QUESTION, WITH_SYSTEM
from equipoise.scoring.server.api import TemplateSource
from equipoise.scoring.server.http_client import ServerError
from equipoise.scoring.server.tokens import Rendered, ServerTemplate, ServerTokens, _check_ids, _lack

USER, BEGUN = Message("user", "Who?"), Message("assistant", "The")
THOUGHT = Message("assistant", "<think>\nhm\n</think>\n\nThe")


def ran(work: Any) -> Any:
    return apart(lambda: asyncio.run(work))


def ids(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def turns(messages: Sequence[Message], end: str) -> str:
    text = "".join(f"<{message.role}>{message.content}<end>" for message in messages)
    return text.removesuffix("<end>") if end == "continued" else text


def usual(messages: Sequence[Message], end: str, **_: Any) -> str:
    """Return a conversation as most templates write it."""
    return turns(messages, end) + "<assistant>" * (end == "answer")


def headless(messages: Sequence[Message], end: str, **_: Any) -> str:
    """Return a conversation without the beginning of an answer."""
    return turns(messages, end)


def strict(messages: Sequence[Message], end: str, **_: Any) -> str:
    if messages[0].role != "system":
        raise ServerError("a system prompt is needed")
    return usual(messages, end)


def thinking(messages: Sequence[Message], end: str, **_: Any) -> str:
    return usual(messages, end) + "<think>\n" * (end == "answer")


class Letters:
    """An Api. `way` is how it shows its template: "text", "ids" or ""; `odd` are other ids for the next such texts."""

    def __init__(self, template: Any = usual, way: str = "text", *, source: Any = None, mute: bool = False) -> None:
        self.template, self.way, self.source, self.mute = template, way, source, mute
        self.asked: list[str] = []
        self.odd: dict[str, list[list[int]]] = {}

    async def tokenize(self, text: str, *, special: bool) -> list[int]:
        self.asked.append(text)
        return self.odd[text].pop(0) if self.odd.get(text) else [7] * special + ids(text)

    async def detokenize(self, given: Sequence[int]) -> str:
        if self.mute:
            raise ServerError("no text")
        return "".join(map(chr, given))

    async def apply_template(self, messages: Any, end: str, **settings: Any) -> str:
        if self.way != "text":
            raise ServerError("no template")
        return str(self.template(messages, end, **settings))

    async def chat_tokens(self, messages: Any, end: str, **settings: Any) -> list[int]:
        if self.way != "ids":
            raise ServerError("no template")
        return ids(self.template(messages, end, **settings))

    async def template_source(self) -> Any:
        return self.source


def template_of(api: Any, leading: tuple[int, ...] = (7,), time: str = "2026-01-02") -> ServerTemplate:
    found = ran(ServerTemplate.open(api, leading, time))
    assert found is not None
    return found


def rendered(api: Letters, *messages: Message) -> Rendered:
    return ran(template_of(api).rendered(messages))


def test_a_template_is_shown_as_text_or_as_ids_or_not_at_all() -> None:
    assert template_of(Letters())._as_text and not template_of(Letters(way="ids"))._as_text
    assert ran(ServerTemplate.open(Letters(way=""), (), "")) is None  # type: ignore[arg-type]
    for way in ("text", "ids"):
        assert template_of(Letters(way=way))._question == QUESTION
        assert template_of(Letters(strict, way))._question == WITH_SYSTEM


def test_a_conversation_ends_where_the_model_goes_on() -> None:
    asked, begun = "<user>Who?<end><assistant>", "<user>Who?<end><assistant>The"
    for messages, text in (((USER,), asked), ((USER, BEGUN), begun)):
        assert rendered(Letters(), *messages) == Rendered([7, *ids(text)], text, (7,))
        assert rendered(Letters(way="ids"), *messages) == Rendered(ids(text), text)
        assert rendered(Letters(headless), *messages) == Rendered([7, *ids(text)], text, (7,))
        assert rendered(Letters(headless, "ids"), *messages) == Rendered(ids(text), text)


def test_ids_whose_text_does_not_give_them_back_are_kept_as_they_are() -> None:
    for template, messages in ((usual, (USER,)), (headless, (USER,)), (usual, (USER, BEGUN))):
        text = usual(messages, "answer" if len(messages) == 1 else "continued")
        api = Letters(template, "ids")
        whole = template(messages, "answer" if len(messages) == 1 else "continued")
        found = template_of(api)
        api.odd = {whole: [[1], [2]]}
        assert ran(found.rendered(messages)) == Rendered(ids(text), None)
        api.odd = {whole: [[1]]}  # one wrong answer of the tokenizer is not enough
        assert ran(found.rendered(messages)) == Rendered(ids(text), text)


def test_reasoning_is_put_after_where_the_answer_begins() -> None:
    plain = "<user>Who?<end><assistant><think>\nhm\n</think>\n\nThe"
    for template in (usual, thinking):
        assert rendered(Letters(template), USER, THOUGHT) == Rendered([7, *ids(plain)], plain, (7,))
        assert rendered(Letters(template, "ids"), USER, THOUGHT) == Rendered(ids(plain), plain)
    for template, expected in ((usual, plain), (thinking, plain.replace("<think>\n", "<think>\n", 1))):
        api = Letters(template, "ids")
        found = template_of(api)
        api.odd = {template((USER,), "answer"): [[1], [2]]}
        assert ran(found.rendered((USER, THOUGHT))) == Rendered(ids(expected), None)


def test_a_conversation_with_a_lack_is_asked_for_once_more_and_then_refused() -> None:
    api = Letters()
    found, wrong = template_of(api), 1

    def forgetful(messages: Sequence[Message], end: str, **_: Any) -> str:
        nonlocal wrong
        wrong -= 1
        return usual(messages[:-1] if wrong >= 0 else messages, end)

    api.template = forgetful
    assert ran(found.rendered((USER, USER._replace(content="And?")))).text.endswith("<user>And?<end><assistant>")
    wrong = 2
    with pytest.raises(ServerError, match=r"^the server's chat template leaves out what the user says$"):
        ran(found.rendered((USER, USER._replace(content="And?"))))
    mute = Letters(way="ids", mute=True)
    with pytest.raises(ServerError, match=r"^the server's chat template cannot be read: the server does not turn"):
        ran(template_of(mute).rendered((USER,)))


def dated(day: str) -> Callable[..., str]:
    return lambda messages, end, **_: f"<{day}>{usual(messages, end)}"


def test_a_template_that_prints_the_date_must_not_print_another_one() -> None:
    api = Letters(dated("3 May"))
    found = template_of(api)
    assert ran(found.check_clock()) is None
    shown = hashlib.sha256(b"<3 May><user>a<end><assistant>").hexdigest()
    assert found.identity == {"chat_template": found.digest, "chat_shown": shown}
    later = template_of(Letters(dated("4 Jun")))
    assert later.digest == found.digest != template_of(Letters(dated("today"))).digest
    api.template = dated("4 May")
    with pytest.raises(ModelError, match=r"^the server's chat template prints the time, which has moved on since the"):
        ran(found.check_clock())
    for day in ("", "today"):
        undated = Letters(dated(day))
        found = template_of(undated)
        undated.template = dated("tomorrow")
        assert ran(found.check_clock()) is None and found.identity == {"chat_template": found.digest}
    assert ran(ServerTokens(None, (), None).check_clock()) is None  # type: ignore[arg-type]


SOURCE = "{{ bos_token }}[{{ strftime_now('%d') }}]{% for m in messages %}{{ m['content'] }}|{% endfor %}"


def test_a_source_that_prints_the_time_is_rendered_here() -> None:
    api = Letters(dated("3 May"), source=TemplateSource(SOURCE, {"bos_token": "^"}))
    found = template_of(api)
    assert found.identity == {"chat_template": found.digest, "chat_time": "2026-01-02"}
    text = "[02]Who?|"
    assert ran(found.rendered((USER,))) == Rendered([7, *ids(text)], text, (7,))
    bare = template_of(api, ())
    assert ran(bare.rendered((USER,))) == Rendered(ids(f"^{text}"), f"^{text}")
    api.template = dated("4 May")
    assert ran(found.check_clock()) is None
    asked = Letters(source=TemplateSource("no clock", {}))
    assert "chat_time" not in template_of(asked).identity, "such a template is left to the server"
    unseen = Letters(way="ids", source=TemplateSource(SOURCE, {}))
    assert "chat_time" not in template_of(unseen).identity


def dropping(messages: Sequence[Message], end: str, **_: Any) -> str:
    shown = [message._replace(content=message.content.rpartition("</think>")[2]) for message in messages]
    return usual(shown, end)


def switched(messages: Sequence[Message], end: str, chat_template_kwargs: Any = None) -> str:
    off = chat_template_kwargs == {"enable_thinking": False}
    return usual(messages, end) + "<think>\n\n</think>\n\n" * off


def closing(messages: Sequence[Message], end: str, **_: Any) -> str:
    return dropping(messages, end) + "<think></think>" * (end == "answer")


@pytest.mark.parametrize("way", ["text", "ids"])
@pytest.mark.parametrize(
    ("template", "thinks"), [(usual, False), (thinking, True), (dropping, True), (switched, True), (closing, False)]
)
def test_which_templates_are_of_thinking_models(template: Any, thinks: bool, way: str) -> None:
    assert template_of(Letters(template, way)).thinks is thinks
    opened = ran(ServerTokens.open(Letters(template, way), bos="auto"))  # type: ignore[arg-type]
    assert opened.thinks is thinks and opened.takes((USER,)) and opened.template._leading == (7,)
    assert ran(opened.context((USER,)))[-3:] == ids(template((USER,), "answer"))[-3:]


def test_ids_that_stand_for_another_text_are_refused() -> None:
    assert ran(_check_ids(Letters(mute=True))) is None, "not every server shows texts"  # type: ignore[arg-type]
    api = Letters()
    api.odd = {"Die Ärztin sagte: in 1997 she sold 3 fish.": [ids("DIE ärztin sagte:  in 1997 she sold 3 fish.")]}
    assert ran(_check_ids(api)) is None, "some tokenizers change case and spaces"  # type: ignore[arg-type]
    api.odd = {"Die Ärztin sagte: in 1997 she sold 3 fish.": [ids("Die Arztin sagte: in 1997 she sold 3 fish.")]}
    with pytest.raises(ServerError, match=r"^the server's token ids stand for another text than the one that was"):
        ran(_check_ids(api))  # type: ignore[arg-type]


def prompt(context: Any, *continuations: str) -> Prompt:
    return Prompt("e", "t", "", context, continuations)


def test_a_prompt_is_a_sequence_for_each_continuation() -> None:
    api = Letters()
    tokens = ServerTokens(api, (7,), None)  # type: ignore[arg-type]
    question = ran(tokens.question(prompt("He", " is", " was")))
    assert question.sequences == ((7, *ids("He is")), (7, *ids("He was")))
    assert (question.starts, question.flags) == ((3, 3), ())
    asked = len(api.asked)
    ran(tokens.question(prompt("We", " is", " was")))
    assert len(api.asked) - asked == 3, "what ends as before is not asked for twice"
    assert ran(tokens.question(prompt("", " is"))).sequences == ((7, *ids(" is")),)
    with pytest.raises(ModelError, match=r"^the prompt of e has no token before its answer; try bos always$"):
        ran(ServerTokens(api, (), None).question(prompt("", " is")))  # type: ignore[arg-type]
    with pytest.raises(ServerError, match=r"^the server has no chat template that turns a conversation into tokens$"):
        ran(tokens.context((USER,)))
    api.odd = {"He~": [ids("He")] * 2, "~": [[], []]}
    with pytest.raises(ModelError, match=r"^the server's tokenizer has no tokens for the candidate '~'$"):
        ran(tokens.question(prompt("He", "~")))


def test_a_continuation_that_joins_with_its_context_is_tokenised_alone() -> None:
    api = Letters()
    api.odd = {"Heis": [[1, 2]] * 2}
    question = ran(ServerTokens(api, (), None).question(prompt("He", "is", "do")))  # type: ignore[arg-type]
    assert question.sequences == (tuple(ids("Heis")), tuple(ids("Hedo")))
    assert question.flags == ("split-join",)
    api.odd = {"Heis": [[1, 2]] * 2, "is": [[3], [4]]}
    with pytest.raises(ServerError, match=r"^the server's tokenizer has two answers for one text$"):
        ran(ServerTokens(api, (), None).question(prompt("He", "is")))  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", [{"Heis": [[1, 2]]}, {"Heis": [[*ids("He"), 5]]}, {"He": [ids("He"), [1]]}])
def test_a_new_ending_is_asked_for_twice(odd: dict[str, list[list[int]]]) -> None:
    api = Letters()
    api.odd = odd
    with pytest.raises(ServerError, match=r"^the server's tokenizer has two answers for one text$"):
        ran(ServerTokens(api, (), None).question(prompt("He", "is")))  # type: ignore[arg-type]


def test_a_context_without_text_is_followed_by_the_ids_of_each_continuation() -> None:
    api = Letters(way="ids")
    tokens = ServerTokens(api, (), template_of(api))  # type: ignore[arg-type]
    whole = usual((USER,), "answer")
    api.odd = {whole: [[1], [2]]}
    question = ran(tokens.question(prompt((USER,), "is", "was")))
    assert question.sequences == (tuple(ids(f"{whole}is")), tuple(ids(f"{whole}was")))
    assert question.starts == (len(whole),) * 2 and question.flags == ("split-join",)


def test_what_is_wrong_with_a_conversation_s_text() -> None:
    user, begun = Message("user", " a "), Message("assistant", "<think>x</think> The")
    assert _lack("<a> The ", (user, begun)) == "" and _lack("<a>", (user,)) == ""
    assert _lack("", (user,)) == "cannot be read: the server does not turn token ids into text"
    assert _lack("b The", (user, begun)) == "leaves out what the user says"
    assert _lack("a The <end>", (user, begun)) == "closes the turn of the assistant, whose answer is only begun"
