"""A model is asked the same conversation whoever scores or writes it, and wherever it runs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from local_parts import free_port
from server_llama_cpp import LlamaCpp
from tiny import make_tokenizer

import equipoise
from equipoise.datasets import open_dataset
from equipoise.options import EngineOptions
from equipoise.records import Context, Message, ModelError, Prompt, Sampling, Score
from equipoise.scoring import conversation
from equipoise.scoring.conversation import (
    answer_header,
    check_system,
    end_of,
    local_time,
    opening_question,
    template_error,
)
from equipoise.scoring.encoding import Encoder
from equipoise.scoring.opening import open_engine
from equipoise.tasks import TASKS, TaskOptions, open_task
from equipoise.tasks.chat import with_system, without_system

TURNS = "{% for m in messages %}{% set c = m.content %}<|im_start|>{{ m.role }}\n{{ c }}<|im_end|>\n{% endfor %}"
BEGUN = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
CLOCK = "{{ strftime_now('%d %b %Y, %H:%M:%S') }}\n" + TURNS + BEGUN
STRICT = "{% if messages[0].role != 'system' %}{{ raise_exception('no system prompt') }}{% endif %}" + TURNS + BEGUN
THINKING = TURNS.replace("m.content %}", "m.content.split('</think>')[-1] %}")
THINKING += BEGUN.replace("assistant\n", "assistant\n<think>\n")
TEMPLATES = {"plain": TURNS + BEGUN, "clock": CLOCK, "thinking": THINKING, "no beginning": TURNS, "strict": STRICT}

SYSTEM = "Answer in French."
TIME = "2020-02-03T04:05:06"
QUESTION = (Message("user", "Who is it?"),)


def encoder(template: str, time: str = TIME) -> Encoder:
    return Encoder(make_tokenizer(chat=template), time=time)


def text_of(template: str, context: Context, time: str = TIME) -> str:
    return encoder(template, time)._text(context)[0]


def test_a_template_without_the_beginning_of_an_answer_gets_it() -> None:
    begun = "<|im_start|>user\nWho is it?<|im_end|>\n<|im_start|>assistant\n"
    assert text_of(TEMPLATES["no beginning"], QUESTION) == text_of(TEMPLATES["plain"], QUESTION) == begun
    llama = "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}"
    llama += "</s>{% endif %}{% endfor %}"
    assert text_of(llama, QUESTION) == "[INST] Who is it? [/INST]", "a space alone belongs to the answer"
    assert answer_header("a", "a", "b|assistant|Qzx") == "", "an answer that changes what precedes it says nothing"


def test_a_system_prompt_is_in_the_text_or_the_model_is_not_asked() -> None:
    assert SYSTEM in text_of(STRICT, with_system(QUESTION, SYSTEM))
    with pytest.raises(ModelError, match="requires a system prompt; set chat and system"):
        text_of(STRICT, QUESTION)
    deaf = "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}"
    with pytest.raises(ModelError, match="leaves the system prompt out"):
        text_of(deaf, with_system(QUESTION, SYSTEM))
    check_system(QUESTION, "anything")
    assert without_system(with_system(QUESTION, SYSTEM)) == QUESTION == with_system(QUESTION, "")


class Listener:
    """Answers next to nothing, and notes what is asked: `thinks` is what the model's template says."""

    def __init__(self, thinks: bool) -> None:
        self.thinks = thinks
        self.scored: list[Prompt] = []
        self.written: list[Context] = []

    def score(self, prompts: Sequence[Prompt]) -> list[Score]:
        self.scored += prompts
        return [Score("", tuple((-1.0 - place,) for place in range(len(p.continuations)))) for p in prompts]

    def __call__(
        self, contexts: Sequence[Context], tokens: int, sampling: Sampling | None = None, /
    ) -> Mapping[Context, str]:
        self.written += contexts
        return dict.fromkeys(contexts, "It is the farmer.")


def asked_by_every_task(system: str, thinks: bool) -> Listener:
    listener = Listener(thinks)
    examples = open_dataset("builtin").limited(1).examples
    for name in TASKS:
        task = open_task(name, TaskOptions(chat=True, system=system, p_true=name in ("next-word", "open")))
        before = len(listener.scored), len(listener.written)
        task.run(examples, scorer=listener.score, writer=listener)
        assert (len(listener.scored), len(listener.written)) > before, name
    return listener


@pytest.mark.parametrize("thinks", [False, True])
def test_every_task_gives_the_system_prompt_to_scorer_and_writer(thinks: bool) -> None:
    listener = asked_by_every_task(SYSTEM, thinks)
    contexts = [*(prompt.context for prompt in listener.scored), *listener.written]
    assert {context[0] for context in contexts} == {Message("system", SYSTEM)}
    plain = asked_by_every_task("", thinks)
    assert [without_system(context) for context in contexts] == [
        *(prompt.context for prompt in plain.scored),
        *plain.written,
    ]


@pytest.fixture(scope="module")
def small(default_model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One layer of the default model: what it answers does not matter here."""
    pytest.importorskip("xllamacpp", reason="needs xllamacpp, of the dev extra")
    from gguf_floats import write_floats

    from equipoise.scoring.default_model import gguf_file

    model = tmp_path_factory.mktemp("gguf") / "small.gguf"
    write_floats(gguf_file(), model, bits=16, layers=1)
    yield model
    model.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "strict"])  # llama.cpp does not start with it
def test_a_server_is_asked_the_same_tokens_as_a_model_in_process(
    name: str, small: Path, default_model_folder: Path
) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(default_model_folder)
    tokenizer.chat_template = TEMPLATES[name]
    here = Encoder(tokenizer, time=TIME)
    server = LlamaCpp(small, template=TEMPLATES[name])
    try:
        url = f"http://127.0.0.1:{server.port}/v1"
        served: Any = open_engine("smollm2", EngineOptions(server=url, chat_time=TIME))
        assert_same(here, served, ["", SYSTEM], thinks=name == "thinking")
        assert served.identity.get("chat_time") == (TIME if name == "clock" else None)
    finally:
        server.kill()


@contextmanager
def vllm(python: str, model: Path, template: Path) -> Iterator[str]:
    """Give the address of a real vLLM server with a chat template."""
    port = free_port()
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--dtype", "float32"]
    command += ["--served-model-name", "smollm2", "--enforce-eager", "--max-model-len", "1024", "--port", str(port)]
    command += ["--chat-template", str(template), "--host", "127.0.0.1"]
    small = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1", "VLLM_NO_USAGE_STATS": "1"}
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (template.with_suffix(".log")).open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**own, **small, "HF_HUB_OFFLINE": "1"})
    try:
        url, began = f"http://127.0.0.1:{port}/v1", time.monotonic()
        while server.poll() is None and time.monotonic() - began < 400:
            with suppress(httpx.TransportError):
                if httpx.get(f"{url}/models", timeout=60).status_code == 200:
                    break
            time.sleep(1)
        yield url
    finally:
        server.terminate()
        server.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "strict"])
def test_vllm_is_asked_the_same_tokens_as_a_model_in_process(
    name: str, default_model_folder: Path, tmp_path: Path
) -> None:
    python = os.environ.get("EQUIPOISE_VLLM", "")
    if not python:
        pytest.skip("set EQUIPOISE_VLLM to the Python of an environment that has vLLM")
    from transformers import AutoTokenizer

    template = tmp_path / "template.jinja"
    template.write_text(TEMPLATES[name])
    tokenizer: Any = AutoTokenizer.from_pretrained(default_model_folder)
    tokenizer.chat_template = TEMPLATES[name]
    with vllm(python, default_model_folder, template) as url:
        served: Any = open_engine("smollm2", EngineOptions(server=url, chat_time=TIME))
        if name == "clock":  # vLLM does not show its template, so that it cannot be rendered here
            time.sleep(1.1)
            with pytest.raises(ModelError, match="prints the time, which has moved on"):
                served._loop.run(served._findings.tokens.check_clock())
            return
        assert_same(Encoder(tokenizer, time=TIME), served, ["", SYSTEM], thinks=name == "thinking")


def assert_same(here: Encoder, served: Any, systems: Sequence[str], *, thinks: bool) -> None:
    """Assert that every prompt and every text of every task is the same tokens here and there."""
    there = served._findings.tokens
    assert here.thinks is there.thinks is thinks
    for system in systems:
        listener = asked_by_every_task(system, thinks)
        prompts = list(dict.fromkeys(listener.scored))
        for prompt, question in zip(prompts, here.questions(prompts), strict=True):
            assert served._loop.run(there.question(prompt)).sequences == question.sequences, prompt
        contexts = list(dict.fromkeys(listener.written))
        for context, ids in zip(contexts, here.contexts(contexts), strict=True):
            assert served._loop.run(there.context(context)) == ids, context
            assert system in here._tokenizer.decode(ids)


@pytest.mark.slow
def test_a_run_that_is_continued_keeps_the_time(default_model_folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(default_model_folder, num_hidden_layers=1, dtype="float32")
    tokenizer: Any = AutoTokenizer.from_pretrained(default_model_folder)
    tokenizer.chat_template = CLOCK
    choices: dict[str, Any] = {"data": "builtin", "limit": 1, "resamples": 2, "chat": True, "out": tmp_path / "run"}
    begun = equipoise.audit((model, tokenizer), chat_time=TIME, **choices)
    again = equipoise.audit((model, tokenizer), **choices)
    assert begun.manifest.engine["chat_time"] == again.manifest.engine["chat_time"] == TIME
    lines = (tmp_path / "run" / "scores.jsonl").read_text().splitlines()
    assert len(lines) == 1, "nothing was scored again"


@pytest.mark.parametrize(
    ("answer", "closed", "marked", "header"),
    [
        ("Q:", "Q:", "Q: A: Qzx Q:", " A:"),
        ("Q:", "Q:", "Q:\nA:Qzx Q:", "\nA:"),
        ("Q:", "Q:", "Q: Qzx Q:", ""),
        ("Q:A:", "Q:", "Q: A: Qzx Q:", ""),
        ("Q:", "Q:", "other A: Qzx Q:", ""),
        ("Q:", "Q:", "Q: Qzx A: Qzx Q:", " Qzx A:"),
        ("Q:", "Q:", "Q:\n Qzx", ""),
    ],
)
def test_what_opens_an_answer(answer: str, closed: str, marked: str, header: str) -> None:
    assert answer_header(answer, closed, marked) == header


def test_how_conversations_end() -> None:
    user, assistant = Message("user", "a"), Message("assistant", "b")
    assert end_of([user]) == end_of([assistant, user]) == "answer" and end_of([user, assistant]) == "continued"


def test_the_shortest_conversation_that_a_template_takes() -> None:
    asked: list[tuple[object, ...]] = []

    def render(messages: object, end: str, *, needs: int) -> str:
        asked.append((messages, end))
        if len(messages) < needs:  # type: ignore[arg-type]
            raise ModelError("no")
        return ""

    assert opening_question(partial(render, needs=1)) == conversation.QUESTION  # type: ignore[arg-type]
    assert opening_question(partial(render, needs=2)) == conversation.WITH_SYSTEM  # type: ignore[arg-type]
    assert asked == [
        (conversation.QUESTION, "answer"),
        (conversation.QUESTION, "answer"),
        (conversation.WITH_SYSTEM, "answer"),
    ]
    with pytest.raises(ModelError):
        opening_question(partial(render, needs=3))  # type: ignore[arg-type]


def test_a_system_prompt_that_is_lost_is_refused() -> None:
    turns = (Message("system", " Be brief. "), Message("user", "Why?"))
    check_system(turns, "<Be brief.> Why?")
    check_system(turns[1:], "nothing")
    with pytest.raises(ModelError, match=r"^the model's chat template leaves the system prompt out; ask without"):
        check_system(turns, "Why?")


def test_what_is_said_of_a_template_that_fails() -> None:
    error = template_error(ValueError("one\n  two " + "x" * 300))
    assert str(error) == "the model's chat template fails: ValueError: one two " + "x" * 192


def test_the_time_is_local_and_to_the_second() -> None:
    before = datetime.now().replace(microsecond=0)
    told = datetime.fromisoformat(local_time())
    assert before <= told <= datetime.now() and told.microsecond == 0 and told.tzinfo is None
