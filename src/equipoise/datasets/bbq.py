"""BBQ as Examples: three answers, two people in swapped roles, from its own JSON lines or BIG-bench's JSON.

A counterfactual set is the two rows with the same category, question index, condition, polarity and pair of people. The
people swap their roles from one row to the other, so candidate 0 is the same *role* in both rows, played by the one
person here and by the other there; candidate 2 is "unknown". An answer that keeps its candidate did not depend on who
plays which role. Options are shown in the same order of roles, and "unknown" is worded as in the first row of the set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..records import DatasetError, Example, grouped
from .cards import CARDS
from .dataset import Dataset, Fault, in_file_order
from .rows import located, read_rows, read_text

CATEGORIES: Mapping[str, str] = {
    "Age": "Age",
    "Disability_status": "Disability",
    "Gender_identity": "Gender",
    "Nationality": "Nationality",
    "Physical_appearance": "Appearance",
    "Race_ethnicity": "Race",
    "Race_x_SES": "Race x SES",
    "Race_x_gender": "Race x gender",
    "Religion": "Religion",
    "SES": "SES",
    "Sexual_orientation": "Orientation",
}
"""The name of a category in the files -> its name in our tables."""

AMBIGUOUS, DISAMBIGUATED = "ambiguous", "disambiguated"
CONDITIONS = {"ambig": AMBIGUOUS, "disambig": DISAMBIGUATED}
POLARITIES = {"neg": "negative", "nonneg": "non-negative"}
_NAMES = {"ans0": 0, "ans1": 1, "ans2": 2}
_GENDERED = {"woman": "f", "girl": "f", "man": "m", "boy": "m"}
_UNKNOWN = re.compile(
    r"(?:can(?:no|')t (?:answer|be determined)|cannot (?:answer|be determined)|un(?:known|determined)|"
    r"not (?:known|answerable|enough info(?:rmation)?))\.?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Person:
    """One of the two people: the name that pairs rows, the group, and the answer's text at its place in the file."""

    name: str
    group: str
    text: str
    place: int


@dataclass(frozen=True, slots=True)
class BbqRow:
    """A row, checked; `gold` is a place in the file, `target` the person of the stereotyped group (None: not known)."""

    where: str
    id: str
    category: str
    template: str
    condition: str
    polarity: str
    text: str
    question: str
    people: tuple[Person, Person]
    unknown: str
    gold: int
    target: Person | None
    target_group: str
    subcategory: str

    @property
    def key(self) -> tuple[str, ...]:
        """What the two rows of a set share; a row without a question index shares it with no other."""
        names = sorted(person.name for person in self.people)
        return (self.category, self.template or self.id, self.condition, self.polarity, *names)

    @property
    def answer(self) -> Person | None:
        """The person who is the right answer, None where "unknown" is."""
        return next((person for person in self.people if person.place == self.gold), None)


def load_bbq(path: Path | str, *, category: str = "", as_published: bool = False) -> Dataset:
    """Return the categories in a folder, or one file; `as_published` keeps order and wording of the options.

    `category` chooses one by its name in the files or in our tables. What matches no set, or several, is in the faults.
    """
    path = Path(path)
    files = _chosen_files(path, category)
    rows = [row for file in files for row in read_bbq(file)]
    faults: list[Fault] = []
    examples = [example for members in _sets(rows, faults) for example in _examples(members, as_published)]
    order = {f"bbq-{row.id}": number for number, row in enumerate(rows)}
    examples.sort(key=lambda example: order[example.id])
    name = "bbq" if not category else f"bbq-{_slug(_short(files[0]))}"
    ordered = in_file_order(faults, [(row.where, f"bbq-{row.id}") for row in rows])
    return Dataset(name, tuple(examples), ordered, str(path), CARDS["bbq"].licence)


def is_bbq(path: Path) -> bool:
    """Return whether the path is a file of BBQ, by its name or as BIG-bench's JSON, or a folder with some."""
    if path.is_dir():
        return any(is_bbq(file) for file in path.iterdir() if file.is_file() and file.suffix == ".jsonl")
    if path.suffix == ".json":
        return "target_scores" in read_text(path) and bool(_big_bench(path))
    return path.suffix == ".jsonl" and path.stem in CATEGORIES


def read_bbq(path: Path) -> list[BbqRow]:
    """Return the rows of one file; DatasetError names the line, or the number of the example, that is not BBQ's."""
    examples = _big_bench(path) if path.suffix == ".json" else []
    if not examples:
        return read_rows(path).parsed(lambda where, number, cells: _row(where, cells))
    folder = path.parent.name if path.stem == "task" else path.stem
    numbered = enumerate(examples, start=1)
    return [located(f"{path.name}:{number}", _from_big_bench, folder, number, cells) for number, cells in numbered]


def _big_bench(path: Path) -> list[Mapping[str, Any]]:
    """Return the examples of a task in BIG-bench's JSON, nothing where the file is something else."""
    try:
        task = json.loads(read_text(path))
    except ValueError:
        return []
    examples = task.get("examples") if isinstance(task, dict) else None
    kept = examples if isinstance(examples, list) else []
    return kept if all(isinstance(cells, dict) and "target_scores" in cells for cells in kept) else []


def _chosen_files(path: Path, category: str) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(file for file in path.iterdir() if is_bbq(file) and file.is_file())
    if not files:
        raise DatasetError(f"{path}: has no file of BBQ, such as Age.jsonl")
    if not category:
        return files
    for file in files:
        if _slug(category) in (_slug(file.stem), _slug(_short(file))):
            return [file]
    raise DatasetError(f"{path}: has no category {category!r}; it has {', '.join(file.stem for file in files)}")


def _short(file: Path) -> str:
    return CATEGORIES.get(file.stem, file.stem)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _row(where: str, cells: Mapping[str, Any]) -> BbqRow:
    category = CATEGORIES.get(str(cells.get("category")), str(cells.get("category") or ""))
    condition = _one_of("context_condition", cells, CONDITIONS)
    polarity = _one_of("question_polarity", cells, POLARITIES)
    metadata = cells.get("additional_metadata")
    info = cells.get("answer_info")
    if not isinstance(info, dict) or set(info) != set(_NAMES) or not isinstance(metadata, dict):
        raise DatasetError("has no answer_info for ans0, ans1 and ans2, or no additional_metadata")
    unknown: list[Person] = []
    people: list[Person] = []
    for answer, place in _NAMES.items():
        name, group = (str(part) for part in (*info[answer], "", "")[:2])
        person = Person(name, group, _text(answer, cells), place)
        (unknown if group == "unknown" else people).append(person)
    if len(unknown) != 1 or len({person.name for person in people}) != 2:
        raise DatasetError("needs two different people and one answer that is 'unknown'")
    label = cells.get("label")
    if label not in (0, 1, 2):
        raise DatasetError(f"label {label!r} is not 0, 1 or 2")
    if (label == unknown[0].place) != (condition == AMBIGUOUS):
        raise DatasetError(f"is {condition}, but its right answer is {cells[f'ans{label}']!r}")
    target, target_group = _target(people, [str(group) for group in metadata.get("stereotyped_groups", ())])
    subcategory = str(metadata.get("subcategory") or "None")
    return BbqRow(
        where=where,
        id=f"{_slug(category)}-{int(cells['example_id']):05}",
        category=category,
        template=str(cells.get("question_index") or ""),
        condition=condition,
        polarity=polarity,
        text=_text("context", cells),
        question=_text("question", cells),
        people=(people[0], people[1]),
        unknown=unknown[0].text,
        gold=label,
        target=target,
        target_group=target_group,
        subcategory="" if subcategory == "None" else subcategory.capitalize(),
    )


def _one_of(name: str, cells: Mapping[str, Any], known: Mapping[str, str]) -> str:
    if cells.get(name) not in known:
        raise DatasetError(f"{name} {cells.get(name)!r} is not {' or '.join(known)}")
    return known[cells[name]]


def _text(name: str, cells: Mapping[str, Any]) -> str:
    if not isinstance(cells.get(name), str) or not cells[name].strip():
        raise DatasetError(f"{name} is not text")
    return " ".join(str(cells[name]).split())


def _target(people: Sequence[Person], stereotyped: Sequence[str]) -> tuple[Person | None, str]:
    """Return the person of a stereotyped group and that group; None where neither or both are of one.

    The files name the group by the second element of `answer_info`, Nationality by the first, and the intersectional
    categories by a part of the second ("F-Black").
    """
    wanted = {group.lower(): group for group in stereotyped}
    matches = [next((wanted[label] for label in _labels(person) if label in wanted), "") for person in people]
    if sum(map(bool, matches)) != 1:
        return None, ""
    return next((person, match) for person, match in zip(people, matches, strict=True) if match)


def _labels(person: Person) -> list[str]:
    parts = [person.group, person.name, *re.split(r"[-_ ]", person.group)]
    labels = [part.lower() for part in parts]
    return labels + [_GENDERED[label] for label in labels if label in _GENDERED]


def _from_big_bench(where: str, folder: str, number: int, cells: Mapping[str, Any]) -> BbqRow:
    """Return a row of BIG-bench's JSON: context and question are one text, and nothing says which rows are a set."""
    scores = cells["target_scores"]
    text = _text("input", cells)
    if not isinstance(scores, dict) or len(scores) != 3 or sum(scores.values()) != 1:
        raise DatasetError("target_scores needs three answers, one of them right")
    answers = [" ".join(answer.split()) for answer in scores]
    unknown = [place for place, answer in enumerate(answers) if _UNKNOWN.fullmatch(answer)]
    if len(unknown) != 1:
        raise DatasetError(f"none or several of the answers {', '.join(answers)} say that it is unknown")
    question = re.split(r"(?<=[.!?]) ", text)[-1]
    if not question.endswith("?") or question == text:
        raise DatasetError("input does not end in a context and a question")
    people = tuple(Person(answer, answer, answer, place) for place, answer in enumerate(answers) if place != unknown[0])
    gold = list(scores.values()).index(1)
    condition = AMBIGUOUS if gold == unknown[0] else DISAMBIGUATED
    id = f"{_slug(folder)}-{number:05}"
    context = text.removesuffix(question).strip()
    return BbqRow(
        where=where,
        id=id,
        category=folder,
        template="",
        condition=condition,
        polarity="",
        text=context,
        question=question,
        people=(people[0], people[1]),
        unknown=answers[unknown[0]],
        gold=gold,
        target=None,
        target_group="",
        subcategory="",
    )


def _sets(rows: Iterable[BbqRow], faults: list[Fault]) -> Iterator[list[BbqRow]]:
    """Yield the rows of each counterfactual set; a row that matches none or several others is alone."""
    for members in grouped(rows, lambda row: row.key).values():
        for row in members:
            faults += _writing_faults(row)
        if len(members) == 2:
            faults += _set_faults(*members)
            yield members
            continue
        for row in members:
            names = " and ".join(person.name for person in row.people)
            others = f"{len(members) - 1} other rows ask" if len(members) > 1 else "no other row asks"
            what = f"{others} this question about {names}"
            faults.append(Fault(row.where, "no counterfactual set", what, "kept, unpaired"))
            yield [row]


_WRITING = {
    "stray bracket": re.compile(r"[{}]"),
    "doubled word": re.compile(r"\b(?!(?:the|an?) )(\w+) \1\b", re.IGNORECASE),
    # "An A" is a mark.
    "two articles": re.compile(r"\b(?:[Tt]he|[Aa]n?) (?:the|an?)\b"),
}
"""Slips of the pen that a pattern finds; "had had" and "that that" are English."""


def _writing_faults(row: BbqRow) -> Iterator[Fault]:
    """Yield what is miswritten in the context or the question."""
    text = f"{row.text}\n{row.question}"
    for kind, pattern in _WRITING.items():
        slips = [match[0] for match in pattern.finditer(text) if match[0].lower() not in ("had had", "that that")]
        if slips:
            yield Fault(row.where, kind, f"says {slips[0]!r}", "kept as published")


def _set_faults(first: BbqRow, second: BbqRow) -> Iterator[Fault]:
    answers = (first.answer, second.answer)
    if answers[0] and answers[1]:
        if answers[0].name == answers[1].name:
            what = f"the roles swap, but the right answer of {first.where} and of this row is {answers[0].name}"
            yield Fault(second.where, "right answer does not swap", what, "kept as published")
        elif answers[0].group == answers[1].group:
            what = f"both people of this row and of {first.where} are of the group {answers[0].group}"
            yield Fault(second.where, "right answer stays in one group", what, "kept as published")
    if first.text == second.text:
        what = f"has the same text as {first.where}: the roles are not swapped"
        yield Fault(second.where, "roles not swapped", what, "kept as a set")
    wordings = [{person.name: person.text.lower() for person in row.people} for row in (first, second)]
    if wordings[0] != wordings[1]:
        what = f"names the people otherwise than {first.where}"
        yield Fault(second.where, "people named differently", what, "kept as published")


def _examples(members: Sequence[BbqRow], as_published: bool) -> Iterator[Example]:
    first = members[0]
    names = [person.name for person in first.people]
    set_id = f"bbq-set-of-{first.id}" if len(members) > 1 else f"bbq-{first.id}"
    for number, row in enumerate(members):
        by_name = {person.name: person for person in row.people}
        # In the second row the other person plays the role.
        people = [by_name[name] for name in (names if number == 0 else reversed(names))]
        example = _example(row, people, unknown=row.unknown if as_published else first.unknown)
        if as_published:
            places = [person.place for person in people]
            places.append(({0, 1, 2} - set(places)).pop())
            shown = sorted(range(3), key=lambda candidate: places[candidate])
            example = replace(example, slots={**example.slots, "option_order": " ".join(map(str, shown))})
        yield replace(example, set_id=set_id)


def _example(row: BbqRow, people: Sequence[Person], *, unknown: str) -> Example:
    gold = next((index for index, person in enumerate(people) if person.place == row.gold), 2)
    stereotype = None
    if row.target is not None:
        target = next(index for index, person in enumerate(people) if person.name == row.target.name)
        # A harmless question ("Who was good with the phone?") is answered with the other person by a stereotype.
        stereotype = target if row.polarity == POLARITIES["neg"] else 1 - target
    groups = {"type": row.condition, "category": row.category}
    groups |= {"polarity": row.polarity} if row.polarity else {}
    groups |= {"subgroup": row.target_group} if row.target_group else {}
    groups |= {"subcategory": row.subcategory} if row.subcategory else {}
    if stereotype is not None and gold < 2:
        groups["stereotype"] = "pro" if gold == stereotype else "anti"
    return Example(
        id=f"bbq-{row.id}",
        text=row.text,
        candidates=(people[0].text, people[1].text, unknown),
        gold=gold,
        answerable=True,
        stereotype=stereotype,
        groups=groups,
        set_id=f"bbq-{row.id}",
        cluster_id=f"bbq-{_slug(row.category)}-q{row.template}" if row.template else f"bbq-{row.id}",
        slots={"question": row.question},
    )
