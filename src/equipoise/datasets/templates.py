"""Decisions about people from a TOML file of templates: every scenario is asked about each group of people.

A scenario is a text with slots and a question; a group says what its people are called. A set is one scenario, one
wording of the question and one attribute, such as gender; its members are the attribute's groups. All sets of a
scenario are resampled together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from ..records import DatasetError, Example
from .dataset import LICENCE, Dataset
from .pronouns import FORMS, KNOWN, PronounSet
from .rows import parse_toml, read_text

SCENARIO = "[[scenario]]"
SHARED = ("candidates", "good", "questions")
"""What the file may say for all scenarios, and a scenario for itself."""

SCENARIO_KEYS = ("id", "text", "right", "vary", *SHARED)
FILE_KEYS = ("licence", "groups", "scenario", *SHARED)
PRONOUN = "pronoun"
KINDS = {True: "settled", False: "open"}
"""The types of decisions: facts settle the answer, or they do not."""

DECISIONS = "decisions"
KINDS_OF_DECISION = ("hiring", "lending", "housing", "triage", "moderation", "service")

_SLOT = re.compile(r"\{([^{}]*)\}")
_FORM_OF = {KNOWN["they"].in_form(form): form for form in FORMS}
"""The slots for pronouns, named by the forms of they: `{they}`, `{them}`, `{their}`, `{themself}`."""

_AN = re.compile(r"(?i)(?!eu|one\b|uni|use|uti)[aeiou]|hour|hono|heir|8|11\b|18\b")
"""What begins with the sound of a vowel, so that its article is an."""


@dataclass(frozen=True)
class People:
    """The people of one group: what they are called, slot by slot, and their pronouns."""

    group: str
    words: Mapping[str, Sequence[str]]
    pronouns: PronounSet

    def word(self, slot: str, number: int) -> str:
        """Return what a slot holds in the scenario of that number: lists of words are taken in turn."""
        choices = self.words[slot]
        return choices[number % len(choices)]


@dataclass(frozen=True)
class Scenario:
    """A text with slots and its question in one or more wordings; `right` is the answer that the facts settle."""

    id: str
    text: str
    questions: Sequence[str]
    candidates: tuple[str, ...]
    good: str
    right: str = ""
    vary: Sequence[str] = ()


def is_template_file(path: Path) -> bool:
    """Return whether a path is that of a template file."""
    return path.suffix.lower() == ".toml"


def load_templates(source: Path | Mapping[str, Any], *, name: str = "") -> Dataset:
    """Return the dataset of a template file, or of the same content as a dict."""
    if isinstance(source, Path):
        text = read_text(source)
        content: Mapping[str, Any] = parse_toml(source.name, text)
        return _Reader(source.name, source.parent, text).dataset(content, name or source.stem, str(source))
    return _Reader("data", None, "").dataset(source, name or "data", "memory")


def load_decisions(part: str = "") -> Dataset:
    """Return the decisions that come with the package: of all six kinds, or of one (`decisions:hiring`)."""
    if part and part not in KINDS_OF_DECISION:
        raise DatasetError(f"unknown kind of decision {part!r}; the kinds are: {', '.join(KINDS_OF_DECISION)}")
    folder = Path(str(resources.files(__package__))) / DECISIONS
    examples: list[Example] = []
    for kind in [part] if part else KINDS_OF_DECISION:
        made = load_templates(folder / f"{kind}.toml", name=f"{DECISIONS}-{kind}")
        examples += (replace(e, groups={**e.groups, "category": kind}) for e in made.examples)
    name = f"{DECISIONS}-{part}" if part else DECISIONS
    return Dataset(name, tuple(examples), (), "the package's own scenarios", LICENCE)


class _Reader:
    """Reads one file; every error names the file, the scenario and its line."""

    def __init__(self, file: str, folder: Path | None, text: str) -> None:
        self._file, self._folder = file, folder
        lines = enumerate(text.splitlines(), start=1)
        self._lines = [number for number, line in lines if line.strip() == SCENARIO]

    def dataset(self, content: Mapping[str, Any], name: str, source: str) -> Dataset:
        """Return every scenario in every wording about every group."""
        self._known(content, FILE_KEYS, "")
        attributes = self._attributes(content.get("groups"))
        tables = content.get("scenario")
        if not isinstance(tables, list) or not tables:
            raise self._error("it has no [[scenario]]")
        scenarios = [self._scenario(table, number, content) for number, table in enumerate(tables)]
        repeated = [s.id for at, s in enumerate(scenarios) if s.id in {other.id for other in scenarios[:at]}]
        if repeated:
            raise self._error(f"two scenarios have the id {repeated[0]!r}")
        examples: list[Example] = []
        for number, scenario in enumerate(scenarios):
            examples += self._examples(scenario, number, attributes, name)
        return Dataset(name, tuple(examples), (), source, str(content.get("licence", "")))

    def _attributes(self, given: Any) -> dict[str, list[People]]:
        """Return the groups by attribute; they may be in a file of their own."""
        if isinstance(given, str):
            if self._folder is None:
                raise self._error("groups must be a table here, not the name of a file")
            path = self._folder / given
            try:
                given = tomllib.loads(read_text(path))
            except tomllib.TOMLDecodeError as error:
                raise self._error(f"{path.name} is not TOML ({error})") from None
        if not isinstance(given, Mapping) or not given:
            raise self._error('it has no groups: write [groups.gender], or groups = "people.toml"')
        return {attribute: self._people(attribute, groups) for attribute, groups in given.items()}

    def _people(self, attribute: str, groups: Any) -> list[People]:
        if not isinstance(groups, Mapping) or len(groups) < 2:
            raise self._error(f"groups.{attribute} needs at least two groups to compare")
        people = [self._group(attribute, group, words) for group, words in groups.items()]
        for other in people[1:]:
            if set(other.words) != set(people[0].words):
                lacking = min(set(other.words) ^ set(people[0].words))
                raise self._error(f"groups.{attribute}: not all groups have the slot {lacking!r}")
        return people

    def _group(self, attribute: str, group: str, words: Any) -> People:
        place = f"groups.{attribute}.{group}"
        if not isinstance(words, Mapping):
            raise self._error(f'{place} must be a table of slots, such as {{ person = "woman" }}')
        named = str(words.get(PRONOUN, "they"))
        if named not in KNOWN:
            raise self._error(f"{place}: unknown pronoun {named!r}; known: {', '.join(KNOWN)}")
        slots: dict[str, Sequence[str]] = {}
        for slot, value in words.items():
            choices = value if isinstance(value, list) else [value]
            if not choices or not all(isinstance(word, str) and word.strip() for word in choices):
                raise self._error(f"{place}: {slot} must be text, or a list of texts")
            slots[slot] = choices
        slots.pop(PRONOUN, None)
        if not slots:
            raise self._error(f"{place} has no slot, so nothing would change in a text")
        return People(group, slots, KNOWN[named])

    def _scenario(self, table: Any, number: int, shared: Mapping[str, Any]) -> Scenario:
        name = str(table.get("id", "")) if isinstance(table, Mapping) else ""
        if not isinstance(table, Mapping):
            raise self._error("a scenario must be a table", number)
        self._known(table, SCENARIO_KEYS, name, number)
        values = {key: table.get(key, shared.get(key)) for key in SHARED}
        for key, value in {"id": name, "text": table.get("text"), **values}.items():
            if not value:
                raise self._error(f"{key} is missing", number, name)
        candidates, questions = values["candidates"], values["questions"]
        for key, several in (("candidates", candidates), ("questions", questions)):
            if not isinstance(several, list) or not all(isinstance(text, str) and text for text in several):
                raise self._error(f"{key} must be a list of texts", number, name)
        for key, value in (("good", values["good"]), ("right", table.get("right", ""))):
            if value and value not in candidates:
                raise self._error(f"{key} {value!r} is not one of the candidates {candidates}", number, name)
        vary = table.get("vary", [])
        about = (tuple(candidates), str(values["good"]), str(table.get("right", "")), tuple(vary))
        return Scenario(name, str(table["text"]), tuple(questions), *about)

    def _examples(
        self, scenario: Scenario, number: int, attributes: Mapping[str, Sequence[People]], name: str
    ) -> Iterator[Example]:
        """Yield the scenario about each group of each attribute that it varies, in each wording."""
        unknown = [attribute for attribute in scenario.vary if attribute not in attributes]
        if unknown:
            known = ", ".join(attributes)
            raise self._error(f"vary names {unknown[0]!r}, but the groups are: {known}", number, scenario.id)
        gold = scenario.candidates.index(scenario.right) if scenario.right else None
        kind = KINDS[gold is not None]
        chosen = scenario.vary or tuple(attributes)
        for attribute, (wording, question) in product(chosen, enumerate(scenario.questions, start=1)):
            base = f"{name}-{scenario.id}"
            for people in attributes[attribute]:
                text, asked = (self._filled(t, people, number, scenario.id) for t in (scenario.text, question))
                groups = {"type": kind, "swapped": attribute, "group": people.group}
                yield Example(
                    id=f"{base}-{attribute}-{wording}-{people.group}",
                    text=text,
                    candidates=scenario.candidates,
                    gold=gold,
                    answerable=gold is not None,
                    stereotype=None,
                    groups=groups | ({"form": f"question {wording}"} if len(scenario.questions) > 1 else {}),
                    set_id=f"{base}-{attribute}-{wording}",
                    cluster_id=base,
                    slots={"question": asked},
                    good=scenario.candidates.index(scenario.good),
                )

    def _filled(self, template: str, people: People, number: int, scenario: str) -> str:
        """Return a text with its slots filled; a capital at the beginning of a slot is kept."""

        def value(match: re.Match[str]) -> str:
            slot = match[1]
            if "|" in slot:
                singular, _, plural = slot.partition("|")
                return plural if people.pronouns.plural else singular
            article, _, rest = slot.partition(" ")
            name = rest if article in ("a", "A") and rest else slot
            word = self._word(name, people, number, scenario)
            if name is rest:
                return f"{article}n {word}" if _AN.match(word) else f"{article} {word}"
            return word[0].upper() + word[1:] if name[0].isupper() else word

        return _SLOT.sub(value, template)

    def _word(self, slot: str, people: People, number: int, scenario: str) -> str:
        lower = slot[:1].lower() + slot[1:]
        if lower in _FORM_OF:
            return people.pronouns.in_form(_FORM_OF[lower])
        if lower not in people.words:
            known = ", ".join(f"{{{name}}}" for name in (*people.words, *_FORM_OF))
            where = f"the group {people.group!r} has no slot {{{slot}}}"
            raise self._error(f"{where}; it has {known}, and {{is|are}} for verbs", number, scenario)
        return people.word(lower, number)

    def _known(self, table: Mapping[str, Any], keys: Sequence[str], scenario: str, number: int | None = None) -> None:
        for key in table:
            if key not in keys:
                raise self._error(f"unknown key {key!r}; the keys are: {', '.join(keys)}", number, scenario)

    def _error(self, what: str, number: int | None = None, scenario: str = "") -> DatasetError:
        line = f":{self._lines[number]}" if number is not None and number < len(self._lines) else ""
        named = f"scenario {scenario or (number or 0) + 1!r}: " if number is not None else ""
        return DatasetError(f"{self._file}{line}: {named}{what}")
