"""How a task words its question: by what the example asks about (a pronoun, a question, a statement), or by the user.

A template is text with slots: `{text}` is the example's text, every other slot one of `Example.slots` or of its groups.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .. import packaged
from ..records import DatasetError, EquipoiseError, Example

_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Wording:
    """One question in the words that each kind of task needs.

    `beginning` is what a candidate continues, `alone` the same without the sentence, `choice` what precedes options,
    and `free` what is answered freely. `adds_none`: the candidates are not all there is to say, so multiple choice adds
    "None of the above". `instruction` is the first line of multiple choice, "" for the UCerF paper's. `name` is given
    to one of several wordings.
    """

    beginning: str
    alone: str
    choice: str
    free: str
    adds_none: bool = False
    instruction: str = ""
    name: str = ""

    @classmethod
    def of(cls, template: str) -> Wording:
        """Return the wording that a user gives: the same text for every task."""
        _check(template)
        return cls(template, template.replace("{text}", "").strip() or ":", template, template)

    @classmethod
    def named(
        cls, name: str, beginning: str, choice: str, *, instruction: str = "", free: str = "", alone: str = ""
    ) -> Wording:
        """Return one of several wordings; a question about a pronoun also offers "None of the above"."""
        for template in (beginning, choice, *([free] if free else [])):
            _check(template)
        alone = alone or beginning.replace("{text}", "").strip() or ":"
        return cls(beginning, alone, choice, free or choice, "{pronoun}" in choice, instruction, name)


WORDINGS: Mapping[str, Wording] = {
    "named": Wording(  # a pronoun for somebody with a name: no article
        '{text} The pronoun "{pronoun}" refers to',
        "The pronoun refers to",
        "{text} The pronoun {pronoun} refers to",
        '{text} Who does "{pronoun}" refer to?',
        adds_none=True,
    ),
    "pronoun": Wording(
        '{text} The pronoun "{pronoun}" refers to the',
        "The pronoun refers to the",
        "{text} The pronoun {pronoun} refers to",
        '{text} Who does "{pronoun}" refer to?',
        adds_none=True,
    ),
    "whom": Wording(  # a statement that one of the people completes
        "{text} {whom}", "{whom}", "{text} {whom}", "{text} {whom}", adds_none=True
    ),
    "question": Wording("{text} {question} Answer:", "Answer:", "{text} {question}", "{text} {question}"),
    "statement": Wording("{text} {statement}", "{statement}", "{text} {statement}", "{text} {statement}"),
}
"""Slot -> the wording for examples that have it; the first that an example has is taken."""


def wording_of(example: Example) -> Wording:
    """Return how the example is asked about."""
    if example.pair is not None:
        raise DatasetError(f"example {example.id}: is a sentence pair; use the task cloze or sentence")
    for slot, wording in WORDINGS.items():
        if example.slots.get(slot):
            return wording
    needed = ", ".join(slot for slot in WORDINGS if slot not in ("named", "whom"))  # for data of ours
    raise DatasetError(f"example {example.id}: has nothing to ask about; it needs one of {needed}, or questions")


def own_question(slots: Mapping[str, str]) -> str:
    """Return the question or statement that examples with these slots have of their own; "" about a pronoun."""
    slot = next((name for name in WORDINGS if slots.get(name)), "")
    return str(slots[slot]) if slot in ("question", "statement") else ""


Question = str | Wording
"""How a user words the question: one template for all tasks, or a named wording."""


def wordings_for(example: Example, questions: Sequence[Question]) -> dict[str, Wording]:
    """Return the wordings by the name of their variant: the user's, or the example's own as the variant ""."""
    if not questions:
        return {"": wording_of(example)}
    wordings = [question if isinstance(question, Wording) else Wording.of(question) for question in questions]
    if len(wordings) == 1:
        return {"": wordings[0]}
    return {f"wording={wording.name or number}": wording for number, wording in enumerate(wordings, start=1)}


def question_settings(questions: Sequence[Question]) -> list[Any]:
    """Return what the manifest says of the user's wordings."""
    return [asdict(question) if isinstance(question, Wording) else question for question in questions]


def fill(template: str, example: Example) -> str:
    """Return the template with its slots filled; a slot that the example does not have is an error."""
    texts, names = _parts(template)
    slots, groups = example.slots, example.groups
    filled = [*texts]
    for place, name in names:
        if name == "text":
            filled[place] = example.text
        elif name in slots:
            filled[place] = slots[name]
        elif name in groups:
            filled[place] = groups[name]
        else:
            known = ", ".join(f"{{{name}}}" for name in {**groups, **slots, "text": ""})
            raise EquipoiseError(f"question {template!r}: example {example.id} has no slot {{{name}}}; it has {known}")
    return "".join(filled)


@lru_cache
def _parts(template: str) -> tuple[list[str], list[tuple[int, str]]]:
    """Return a template cut into texts and names of slots, and the place of each name among them."""
    parts = _SLOT.split(template)
    return parts, [(place, parts[place]) for place in range(1, len(parts), 2)]


@dataclass(frozen=True)
class Shots:
    """Examples that are shown with their answers before each question."""

    examples: tuple[Example, ...] = ()

    def __post_init__(self) -> None:
        for shot in self.examples:
            if shot.gold is None:
                raise EquipoiseError(f"shot {shot.id} has no right answer to show")

    @property
    def settings(self) -> list[dict[str, str]]:
        """What the manifest says of them."""
        return [{"text": shot.text, "answer": shot.candidates[shot.gold or 0]} for shot in self.examples]

    def before(self, question: str, asked: Example, shown: Callable[[Example], str]) -> str:
        """Return the question after all shots, each as `shown` writes it with its answer."""
        if not self.examples:
            return question
        repeated = [shot.id for shot in self.examples if shot.text == asked.text]
        if repeated:
            raise EquipoiseError(f"shot {repeated[0]} is also asked, as {asked.id}; take other sentences as shots")
        return "\n\n".join([*map(shown, self.examples), question])


NO_SHOTS = Shots()


def joined_variant(*parts: str) -> str:
    """Return the name of a variant that has several parts, such as "seed=0,wording=2"."""
    return ",".join(sorted(part for part in parts if part))


def _check(template: str) -> None:
    if "text" not in _SLOT.findall(template):
        raise EquipoiseError(f"question {template!r} needs the slot {{text}} for the sentence")


def pronoun_of(example: Example) -> str:
    """Return the pronoun that the example asks about."""
    wording_of(example)
    pronoun = example.slots.get("pronoun")
    if not pronoun:
        raise DatasetError(f"example {example.id}: has no pronoun to ask about")
    return pronoun


BUILT_IN = "built-in"
"""What names the file that comes with the package."""

_NEEDED, _OPTIONAL = ("name", "beginning", "choice"), ("instruction", "free", "alone")


def read_wordings(file: str | Path) -> tuple[Wording, ...]:
    """Return the wordings of a file, at least two, each with a name of its own."""
    if str(file) == BUILT_IN:
        text = packaged.text(__package__, "wordings.toml")
    else:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise EquipoiseError(f"wordings {file} cannot be read: {str(reason).lower()}") from None
    try:
        rows = tomllib.loads(text).get("wording", [])
    except tomllib.TOMLDecodeError as error:
        raise EquipoiseError(f"wordings {file} is not TOML: {error}") from None
    if not isinstance(rows, list) or len(rows) < 2:
        raise EquipoiseError(f"wordings {file} needs at least two tables [[wording]]")
    wordings = tuple(_wording(row, f"{file}, wording {number}") for number, row in enumerate(rows, start=1))
    names = [wording.name for wording in wordings]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise EquipoiseError(f"wordings {file}: duplicate name {duplicates[0]!r}")
    return wordings


def _wording(row: Any, place: str) -> Wording:
    if not isinstance(row, Mapping) or not all(isinstance(value, str) for value in row.values()):
        raise EquipoiseError(f"{place}: every key must be text")
    unknown = [key for key in row if key not in (*_NEEDED, *_OPTIONAL)]
    if unknown:
        raise EquipoiseError(f"{place}: unknown key {unknown[0]!r}; the keys are: {', '.join((*_NEEDED, *_OPTIONAL))}")
    missing = [key for key in _NEEDED if not row.get(key)]
    if missing:
        raise EquipoiseError(f"{place}: {missing[0]} is missing")
    if set(row["name"]) & set(",=|%"):
        raise EquipoiseError(f"{place}: the name {row['name']!r} must not have any of , = | %")
    return Wording.named(**row)
