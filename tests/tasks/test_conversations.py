"""Every task with every choice: all that it asks, writes and makes of planted answers, as it was kept."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import augment, recipe
from equipoise.options import DatasetOptions
from equipoise.records import Context, EquipoiseError, Example, Message, Outcomes, Prompt, Sampling, Score, ScoreLimits
from equipoise.tasks import Shots, TaskOptions, open_task
from equipoise.tasks.wording import Wording

TEXTS = (
    "The {0} is meant.",
    "<think>\nIt says {1}.\n</think>\n\nThe {1}.",
    "It could be either.",
    "",
    "I think that it is the {1}, because",
)


def number_of(*parts: object) -> int:
    """Return a number that follows from some texts alone."""
    return zlib.crc32("\0".join(map(str, parts)).encode())


class Planted:
    """Scores and writes by what it is asked alone, and keeps all of it; `known` is how far scores are known."""

    def __init__(self, *, thinks: bool = False, known: str = "exactly") -> None:
        self.thinks, self.known = thinks, known
        self.asked: list[Any] = []

    def score(self, prompts: Sequence[Prompt]) -> list[Score]:
        self.asked += [
            (prompt.example_id, prompt.task, prompt.variant, shown(prompt.context), prompt.continuations)
            for prompt in prompts
        ]
        return [self._score(prompt) for prompt in prompts]

    def _score(self, prompt: Prompt) -> Score:
        tokens = tuple(
            tuple(-0.5 - number_of(prompt.context, text, part) % 997 / 300 for part in text.split())
            for text in prompt.continuations
        )
        limits = None
        if self.known == "within limits":
            # The second may have any probability up to its own.
            exact = [2.718281828459045 ** sum(row) for row in tokens]
            limits = ScoreLimits((exact[0], 0.0, *exact[2:]), tuple(exact))
        if self.known == "by counts":
            counts = [number_of(prompt.context, text) % 7 for text in prompt.continuations]
            limits = ScoreLimits(counts=(*counts, 3))
        flags = ("split-join",) if number_of(prompt.context) % 5 == 0 else ()
        entropy = {"vocab_bits": number_of(prompt.context) % 100 / 10} if self.known == "exactly" else {}
        return Score("", tokens, entropy, flags, limits=limits)

    def __call__(
        self, contexts: Sequence[Context], tokens: int, sampling: Sampling | None = None
    ) -> Mapping[Context, str]:
        drawn = "most probable" if sampling is None else f"at {sampling.temperature}, seed {sampling.seed}"
        self.asked += [f"write {tokens} tokens, {drawn}: {shown(context)}" for context in contexts]
        people = ("nurse", "farmer")
        return {
            context: TEXTS[number_of(context, sampling) % len(TEXTS)].format(*people[:: 1 - 2 * (len(contexts) % 2)])
            for context in contexts
        }


def shown(context: Context) -> str:
    return context if isinstance(context, str) else "\n".join(f"[{turn.role}] {turn.content}" for turn in context)


def columns(outcomes: Outcomes) -> dict[str, Any]:
    return {field.name: getattr(outcomes, field.name) for field in fields(Outcomes)}


def about(name: str, pronoun: str, **changes: Any) -> Example:
    text = f"The nurse met the farmer when {pronoun} slept."
    groups = {"type": "type2", "gender": pronoun}
    slots = {"pronoun": pronoun}
    made = Example(f"{name}-{pronoun}", text, ("nurse", "farmer"), 1, True, 0, groups, name, slots=slots)
    return replace(made, **changes)


SET = (about("a", "he"), about("a", "she"))
MARKED = tuple(augment(about("m", "she"), recipe(augmentations=["C"], attributes=["age"])))
QUESTIONS = (
    about("q", "x", slots={"question": "Who slept?"}, gold=None, answerable=False, stereotype=None),
    about("s", "x", slots={"statement": "It was the"}, text="They met."),
    about("w", "x", slots={"whom": "The one who slept was the", "quote": '"'}, good=0),
    about("n", "she", slots={"named": "yes", "pronoun": "she", "option_order": "2 0 1"}, candidates=("Ann", "Bob")),
)
SHOTS = Shots((about("shot", "they", text="The nurse called; they left."), about("more", "he", text="Bye.", gold=0)))
WORDINGS = (
    Wording.named(
        "one", "{text} Here {pronoun} is the", "{text} Here {pronoun} is", instruction="Choose.", free="{text} Who?"
    ),
    Wording.named("two", "{text} I mean the", "{text} I mean"),
)
CASES: dict[str, tuple[str, dict[str, Any], Sequence[Example], dict[str, Any]]] = {
    "next word": ("next-word", {}, (*SET, *QUESTIONS[:2]), {}),
    "next word of people with names": ("next-word", {}, QUESTIONS[2:], {}),
    "next word with markers": ("next-word", {"token_aggregate": "mean"}, MARKED, {}),
    "next word with markers, within limits": ("next-word", {}, MARKED, {"known": "within limits"}),
    "next word with markers, by counts": ("next-word", {}, MARKED, {"known": "by counts"}),
    "next word without the sentence": ("next-word", {"token_aggregate": "pmi"}, SET, {}),
    "next word after shots": ("next-word", {"shots": SHOTS}, SET[:1], {}),
    "next word in wordings": ("next-word", {"questions": WORDINGS}, SET[:1], {}),
    "next word in a chat": ("next-word", {"chat": True, "system": "Be brief."}, SET, {}),
    "next word of a thinking model": ("next-word", {"chat": True, "system": "S."}, SET, {"thinks": True}),
    "next word, checked": ("next-word", {"p_true": True}, SET, {}),
    "choices": ("mcq", {"seeds": (0, 3)}, (*SET, *QUESTIONS[2:]), {}),
    "choices by counts": ("mcq", {"answer_space": "apart"}, SET, {"known": "by counts"}),
    "choices with both, after shots": ("mcq", {"both": True, "shots": SHOTS, "questions": WORDINGS}, SET[:1], {}),
    "choices in a chat, checked": ("mcq", {"chat": True, "p_true": True, "both": True}, SET, {"thinks": True}),
    "open": ("open", {}, (*SET, *QUESTIONS[:2]), {}),
    "open, drawn": ("open", {"samples": 3, "temperature": 0.7, "seeds": (5,), "answer_tokens": 8}, SET, {}),
    "open, read twice": ("open", {"second_reader": True, "questions": WORDINGS[:1]}, (*SET, QUESTIONS[3]), {}),
    "open, thinking": ("open", {"second_reader": True, "reasoning_tokens": 9}, SET, {"thinks": True}),
    "open in a chat": ("open", {"chat": True, "system": "Be brief.", "samples": 2}, SET, {}),
    "cloze": ("cloze", {"token_aggregate": "max"}, (*SET, about("b", "himself")), {}),
    "cloze with they": ("cloze", {}, [about(p, p, slots={"pronoun": p, "neutral": "yes"}) for p in ("him", "his")], {}),
    "sentences": ("sentence", {}, (SET[0], about("b", "him")), {}),
    "reasoned": ("next-word-cot", {}, (*SET, *MARKED[:2]), {}),
    "reasoned, the user asks again": ("next-word-cot", {"answer_turn": "user"}, MARKED, {"known": "within limits"}),
    "reasoned, plain": ("next-word-cot", {"answer_turn": "plain", "reasoning_tokens": 7}, SET, {"thinks": True}),
    "reasoned, drawn": ("next-word-cot", {"drawn_reasonings": 2, "temperature": 0.5, "seeds": (4,)}, SET[:1], {}),
    "reasoned, thinking": ("next-word-cot", {"chat": True, "system": "Be brief."}, SET, {"thinks": True}),
    "reasoned, thinking, asked again": ("next-word-cot", {"answer_turn": "user"}, SET, {"thinks": True}),
    "choices, reasoned": ("mcq-cot", {"seeds": (1, 2), "drawn_reasonings": 2, "both": True}, SET[:1], {}),
    "choices, reasoned and asked again": ("mcq-cot", {"answer_turn": "user"}, SET[1:], {"known": "within limits"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_asked_and_made_of_it_is_as_it_was_kept(name: str) -> None:
    task, choices, examples, how = CASES[name]
    engine = Planted(**how)
    opened = open_task(task, TaskOptions(**choices))
    try:
        made: Any = columns(opened.run(examples, scorer=engine.score, writer=engine))
    except EquipoiseError as error:
        made = str(error)
    assert_kept(f"tasks/{name.replace(', ', '-').replace(' ', '-')}", opened.name, engine.asked, made)


def test_every_dataset_of_ours_is_asked_by_every_task_that_can() -> None:
    """Which words begin and end what is asked follows from the data alone."""
    rows = {}
    for data in ("builtin", "gendered", "decisions", "sentiment", "fresh"):
        examples = open_dataset(data, DatasetOptions(limit=2)).examples
        for task in ("next-word", "mcq", "open", "cloze", "sentence", "next-word-cot"):
            engine = Planted()
            try:
                open_task(task).run(examples, scorer=engine.score, writer=engine)
                rows[f"{data}, {task}"] = (len(engine.asked), number_of(engine.asked))
            except EquipoiseError as error:
                rows[f"{data}, {task}"] = str(error)
    assert_kept("tasks/datasets", rows)


def test_a_conversation_of_a_task_gets_the_system_prompt_once() -> None:
    engine = Planted()
    task = open_task("next-word-cot", TaskOptions(chat=True, system="Be brief."))
    task.run(SET, scorer=engine.score, writer=engine)
    texts = [entry if isinstance(entry, str) else entry[3] for entry in engine.asked]
    assert all(text.count("[system] Be brief.") == 1 for text in texts) and len(texts) == 4
    assert Message("system", "Be brief.") == engine_first(task)


def engine_first(task: Any) -> Message:
    """Return the first turn of what a task lets be scored."""
    seen: list[Prompt] = []

    def scorer(prompts: Sequence[Prompt]) -> list[Score]:
        seen.extend(prompts)
        return Planted().score(prompts)

    task.run(SET, scorer=scorer, writer=Planted())
    context = seen[0].context
    assert not isinstance(context, str)
    return context[0]
