"""The box to ask in: a model that stays loaded, sentences from a reader or from a case, and a table of those kept."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..asking import PRONOUNS, Question, ask, question_rows
from ..media.page.html import draw
from ..options import RunOptions
from ..records import EquipoiseError, Prompt, Score, TaskNotPossible
from ..runs.run import Run
from ..runs.tables import main_estimator
from ..scoring.engine import Engine
from ..topics.asked import answers_of, asked
from ..topics.tokens import Reading, Token, tokens

KEPT = 200
"""Answers that are kept: going back to an earlier sentence shows it at once."""

MOST_SENTENCES = 500
LONGEST = 2_000
"""Characters of a sentence at most."""

FIRST = "The nurse told the farmer that she was late."


class Overheard:
    """An engine, and what it was asked and answered since it was last forgotten."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.heard: dict[str, tuple[Prompt, Score]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        """Yield the scores of each batch; the first prompt of every example is kept with its score."""
        asked = [list(batch) for batch in batches]
        for prompts, scores in zip(asked, self._engine.score(asked), strict=True):
            for prompt, score in zip(prompts, scores, strict=True):
                self.heard.setdefault(prompt.example_id, (prompt, score))
            yield scores


@dataclass(frozen=True)
class Heard:
    """What a page is sent, and what the engine was asked for it: the word, the prompt and the score of each answer."""

    sent: dict[str, Any]
    asked: Sequence[tuple[str, Prompt, Score]]


class AskBox:
    """A model to ask; it is loaded when the box is made, in a thread of its own, and answers one question at a time."""

    def __init__(self, opened: Callable[[], Any], task: Any = RunOptions.task, **choices: Any) -> None:
        self._opened, self._task, self._choices = opened, task, choices
        self._engine: Any = None
        self._fault = ""
        self._lock = threading.Lock()
        self._known: OrderedDict[Question, Heard] = OrderedDict()
        threading.Thread(target=self._open, daemon=True, name="equipoise-model").start()

    def _open(self) -> None:
        try:
            opened = self._opened()
            # What `EngineDefaults` has and an engine in other processes has not.
            getattr(opened, "remember", lambda: None)()
            engine = Overheard(opened)
            # The first question makes a model ready; nobody should wait for that.
            ask(FIRST, engine, self._task, progress=False, **self._choices)
            self._engine = engine
        except EquipoiseError as error:
            self._fault = str(error)
        except Exception as error:
            self._fault = f"the model cannot be loaded ({type(error).__name__}: {error})"

    @property
    def state(self) -> str:
        """What to say while no question can be answered; "" where one can."""
        if self._fault:
            return self._fault
        return "" if self._engine is not None else "The model is being loaded."

    def answer(self, question: Question) -> dict[str, Any]:
        """Return what the model makes of a sentence: its numbers, as `equipoise ask` prints them, and their drawing."""
        with self._lock:
            return self._heard(question).sent

    def tokens(self, question: Question) -> dict[str, Any]:
        """Return the same token by token, drawn; a text where the engine does not show its tokens."""
        with self._lock:
            asked = self._heard(question).asked
            try:
                answers = self._read([prompt for _, prompt, _ in asked], [score for *_, score in asked])
            except TaskNotPossible as error:
                return {"text": f"{error}."}
            # The first word has nothing before it; all that follows is read in one go.
            texts = {place: text for place, (_, prompt, _) in enumerate(asked) if (text := _as_continuation(prompt))}
            (scores,) = self._engine.score([list(texts.values())]) if texts else [[]]
            before = dict(zip(texts, self._read(list(texts.values()), scores), strict=True))
        readings = [
            Reading(word, dict(zip(prompt.continuations, several, strict=True)), *before.get(place, ()))
            for place, ((word, prompt, _), several) in enumerate(zip(asked, answers, strict=True))
        ]
        return {"html": str(draw(tokens(readings), 3))}

    def _read(self, prompts: Sequence[Prompt], scores: Sequence[Score]) -> list[list[list[Token]]]:
        """Return the tokens of every continuation of each prompt, with the logarithms of their probabilities."""
        if not hasattr(self._engine, "token_texts"):
            raise TaskNotPossible(f"{self._engine.name} does not show its tokens; a model on one device does")
        return [*map(_tokens_of, self._engine.token_texts(prompts), scores)]

    def _heard(self, question: Question) -> Heard:
        if question not in self._known:
            self._known[question] = self._ask(question)
        self._known.move_to_end(question)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return self._known[question]

    def _ask(self, question: Question) -> Heard:
        chosen = {"candidates": question.candidates, "groups": question.groups, "pronouns": question.pronouns}
        self._engine.heard.clear()
        heard = ask(question.sentence, self._engine, self._task, progress=False, **chosen, **self._choices)
        (part,) = heard.run.parts
        section = asked(heard.run, heard.sentences, heard.left_out)
        answers = [answer for several in answers_of(part) for answer in several]
        sent = {"html": str(draw(section, 2)), "answers": [asdict(answer) for answer in answers]}
        # The examples of a run are in the order of its answers.
        ids = [str(name) for name in heard.run.examples["id"]]
        known = [(answer.word, ids[place]) for place, answer in enumerate(answers) if ids[place] in self._engine.heard]
        return Heard(sent, [(word, *self._engine.heard[name]) for word, name in known])


def _tokens_of(texts: Sequence[Sequence[str]], score: Score) -> list[list[Token]]:
    ends = [[("(nothing more)", stop)] for stop in score.stops] or [[] for _ in texts]
    pairs = zip(texts, score.token_logprobs, ends, strict=True)
    return [[*zip(several, values, strict=True), *end] for several, values, end in pairs]


def _as_continuation(prompt: Prompt) -> Prompt | None:
    """Return a prompt that has the text of another scored, from its second word on; None for chats and single words."""
    if not isinstance(prompt.context, str):
        return None
    first, space, rest = prompt.context.partition(" ")
    return replace(prompt, context=first, continuations=(space + rest,)) if first and rest else None


def question_of(given: Any) -> Question:
    """Return the question that a page sent; an error where it is not one."""
    if not isinstance(given, Mapping) or not isinstance(given.get("sentence"), str):
        raise EquipoiseError("type a sentence")
    sentence = " ".join(given["sentence"].split())
    if not sentence or len(sentence) > LONGEST:
        raise EquipoiseError(f"type a sentence of at most {LONGEST:,} characters")
    words = {name: _words(given.get(name)) for name in ("candidates", "groups", "pronouns")}
    return Question(sentence, words["candidates"], words["groups"], words["pronouns"] or PRONOUNS)


def _words(given: Any) -> tuple[str, ...]:
    text = given if isinstance(given, str) else ""
    return tuple(word.strip() for word in text[:LONGEST].split(",") if word.strip())


def table_of(content: bytes) -> str:
    """Return the sentences that a page kept as a table for `audit --data`."""
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_SENTENCES:
        raise EquipoiseError(f"keep between one and {MOST_SENTENCES} sentences, then save them")
    rows, _ = question_rows([question_of(entry) for entry in given])
    file = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(file, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def worst_cases(folder: Path, find: str = "", most: int = 30) -> list[tuple[str, str]]:
    """Return the name and the first sentence of the sets of a run that are least alike, those with these words."""
    run = Run(folder)
    examples = run.examples.drop_duplicates("set_id")
    words = find.lower().split()
    texts = examples["text"].astype(str)
    for word in words:
        examples = examples[texts.loc[examples.index].str.lower().str.contains(word, regex=False)]
    values = main_estimator(run.pairs, "u") if len(run.pairs) else ""
    if values in run.pairs:
        order = run.pairs.drop_duplicates("set_id").set_index("set_id")[values]
        places = examples["set_id"].map(order).rank(method="first")
        examples = examples.assign(place=places).sort_values("place", kind="stable")
    several = examples.head(most)
    return [(str(name), str(text)) for name, text in zip(several["set_id"], several["text"], strict=True)]


def case_of(folder: Path, set_id: str) -> Question | None:
    """Return the first sentence of a set of a run, and its people; None where the run has no such set."""
    examples = Run(folder).examples
    rows = examples[examples["set_id"].astype(str) == set_id]
    if not len(rows):
        return None
    first = rows.iloc[0]
    people: Sequence[str] = [str(name) for name in first["candidates"]][:2]
    return Question(str(first["text"]), tuple(people))
