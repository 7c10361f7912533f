"""WinoBias as Examples, and the text format that it shares with SynthBias.

A line of the format is `N text` with the referent and the pronoun in brackets; it is in a `pro` file and, with
the other pronoun, on the same line of an `anti` file. Of the text only this is changed: the number and the brackets
go, runs of spaces become one, and a detached "'s" is joined to its word unless the text is wanted as published.
Candidates are the two occupations in order of first mention.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..records import DatasetError, Example
from . import occupations
from .cards import CARDS
from .dataset import Dataset, Fault, gender_groups, in_file_order, odd_letters, third_occupations
from .pronouns import Found, form_of, forms_of, gender_of, pronouns_in
from .rows import read_text

_LABEL = re.compile(r"(?<![a-z])(pro|anti)(?![a-z])")
_TYPE = re.compile(r"type[_-]?([12])(?!\d)")
_SPLIT = re.compile(r"(?<![a-z])(dev|test|train)(?![a-z])")
_SUFFIXES = (".txt", ".dev", ".test", ".train")
_BRACKETS = re.compile(r"\[\s*([^\[\]]*?)\s*\]")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


def load_winobias(folder: Path | str, *, name: str = "winobias", as_published: bool = False) -> Dataset:
    """Return the sentences of a folder in WinoBias's text format (or of one such file and its counterpart).

    `as_published` keeps the detached "'s" of the files ("the farmer 's field").

    Every line has a referent, type 1 too; only type 2 is answerable from the text. What is wrong with a line is
    in the dataset's faults; lines that are not a minimal pair are kept, each in a set of its own.
    """
    path = Path(folder)
    examples, faults = read_text_format(path, name, type1_labelled=True, detached=as_published)
    return Dataset(name, examples, faults, str(path), CARDS[name].licence if name in CARDS else "")


def is_text_format(path: Path) -> bool:
    """Return whether this is a file named as WinoBias names them, or a folder with some."""
    if path.is_dir():
        return any(_key(file) for file in path.iterdir())
    return _key(path) is not None


@dataclass(frozen=True, slots=True)
class _Key:
    """What a file's name says: its type, its split ("" if none), and whether it is the pro or the anti file."""

    type: str
    split: str
    label: str


def _key(file: Path) -> _Key | None:
    name = file.name.lower()
    label, kind, split = _LABEL.search(name), _TYPE.search(name), _SPLIT.search(name)
    if not label or not kind or file.suffix.lower() not in _SUFFIXES or name.startswith("."):
        return None
    return _Key(f"type{kind[1]}", split[1] if split else "", label[1])


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, parsed: the text as asked, its pronouns in order, and which of these were in brackets."""

    where: str
    number: int
    key: _Key
    text: str
    referent: str
    referent_start: int
    brackets: str
    pronouns: tuple[Found, ...]
    bracketed: tuple[int, ...]

    def between_pronouns(self) -> list[str]:
        """Return the text cut at its pronouns."""
        ends = [0, *(pronoun.end for pronoun in self.pronouns)]
        starts = [*(pronoun.start for pronoun in self.pronouns), len(self.text)]
        return [self.text[end:start] for end, start in zip(ends, starts, strict=True)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A line, the pronoun it is asked about, and the counterpart's pronoun ("" where it has none)."""

    line: _Line
    pronoun: Found
    counterpart: str
    id: str
    set_id: str


def read_text_format(
    path: Path, name: str, *, type1_labelled: bool, detached: bool = False
) -> tuple[tuple[Example, ...], tuple[Fault, ...]]:
    """Return the examples of files in the format, and their faults; `detached` keeps the "'s" of the files."""
    faults: list[Fault] = []
    asked: list[_Asked] = []
    for pro, anti in _file_pairs(path):
        asked += _pair_up(name, _parse(pro, detached), _parse(anti, detached), faults)
    examples = []
    for item in _without_repeats(asked, faults):
        labelled = type1_labelled or item.line.key.type == "type2"
        examples.append(_example(item, labelled, faults))
        faults += _line_faults(item, examples[-1], type1_labelled)
    return tuple(examples), in_file_order(faults, [(item.line.where, item.id) for item in asked])


def _file_pairs(path: Path) -> list[tuple[Path, Path]]:
    """Return the pro and anti files that belong together; DatasetError where one has no counterpart."""
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder")
    folder, only = (path, None) if path.is_dir() else (path.parent, _key(path))
    if only is None and not path.is_dir():
        raise DatasetError(f"{path}: its name is not of WinoBias's format, such as pro_stereotyped_type1.txt.dev")
    files_of: dict[tuple[str, str], dict[str, Path]] = defaultdict(dict)
    for file in sorted(folder.iterdir()):
        key = _key(file)
        if key is None or (only is not None and (key.type, key.split) != (only.type, only.split)):
            continue
        other = files_of[key.type, key.split].setdefault(key.label, file)
        if other != file:
            raise DatasetError(f"{folder}: {other.name} and {file.name} claim to be the same part of the dataset")
    if not files_of:
        raise DatasetError(f"{path}: holds no file in WinoBias's format, such as pro_stereotyped_type1.txt.dev")
    for files in files_of.values():
        if len(files) < 2:
            ((label, file),) = files.items()
            missing = "anti" if label == "pro" else "pro"
            raise DatasetError(f"{folder}: {file.name} is there, but not the {missing} file that belongs to it")
    return [(files["pro"], files["anti"]) for _, files in sorted(files_of.items())]


def _parse(file: Path, detached: bool) -> dict[int, _Line]:
    key = _key(file)
    assert key is not None  # _file_pairs chose the file by its key
    parsed: dict[int, _Line] = {}
    for number, raw in enumerate(read_text(file).split("\n"), start=1):
        if raw.strip():
            line = raw if detached else re.sub(r"\s+'s\b", "'s", _BRACKETS.sub(r"[\1]", raw))
            parsed[number] = _parse_line(f"{file.name}:{number}", number, key, line)
    if not parsed:
        raise DatasetError(f"{file.name}: is empty")
    return parsed


def _parse_line(where: str, number: int, key: _Key, raw: str) -> _Line:
    body = re.sub(r"^\d+ ", "", " ".join(raw.split()))
    body = _BRACKETS.sub(r"[\1]", body)
    text, spans, end = "", [], 0
    for match in _BRACKETS.finditer(body):
        text += body[end : match.start()]
        spans.append((len(text), match[1]))
        text, end = text + match[1], match.end()
    text += body[end:]
    if "[" in text or "]" in text:
        raise DatasetError(f"{where}: has a bracket without its other half")
    referents = [(start, content) for start, content in spans if gender_of(content) is None]
    pronouns = tuple(pronouns_in(text))
    starts = {start for start, content in spans if gender_of(content) is not None}
    if len(referents) != 1 or not starts:
        raise DatasetError(
            f"{where}: needs one occupation and a pronoun in brackets, "
            f"has {len(referents)} and {len(starts)} ({', '.join(content for _, content in spans) or 'none at all'})"
        )
    ((start, content),) = referents
    bare = _ARTICLE.sub("", content)
    start += len(content) - len(bare)
    referent = next((m.name for m in occupations.mentions(bare) if m.end - m.start == len(bare)), bare)
    bracketed = tuple(index for index, pronoun in enumerate(pronouns) if pronoun.start in starts)
    return _Line(where, number, key, text, referent, start, content.lower(), pronouns, bracketed)


def _pair_up(name: str, pro: Mapping[int, _Line], anti: Mapping[int, _Line], faults: list[Fault]) -> Iterator[_Asked]:
    """Yield the lines of both files with the pronoun each is asked about, paired where they are a minimal pair."""
    for number in sorted({*pro, *anti}):
        first, second = pro.get(number), anti.get(number)
        shared = _shared_pronoun(first, second) if first and second else "has no such line in"
        for line, other in ((first, second), (second, first)):
            if line is None:
                continue
            parts = [name, line.key.type, line.key.split, f"{number:04}"]
            set_id = "-".join(part for part in parts if part)
            id = f"{set_id}-{line.key.label}"
            if isinstance(shared, str) or other is None:
                what = f"{shared} {other.where if other else 'the counterpart file'}"
                faults.append(Fault(line.where, "not a minimal pair", what, "kept, unpaired"))
                # With two pronouns in brackets the first counts.
                yield _Asked(line, line.pronouns[line.bracketed[0]], "", id, id)
            else:
                if (line.brackets, line.bracketed) != (other.brackets, other.bracketed):
                    what = f"the brackets are in other places than in {other.where}; the texts are a minimal pair"
                    handling = "paired; asked about the first pronoun that is in brackets in both"
                    faults.append(Fault(line.where, "brackets differ", what, handling))
                yield _Asked(line, line.pronouns[shared], other.pronouns[shared].word, id, set_id)


def _shared_pronoun(line: _Line, other: _Line) -> int | str:
    """Return which pronoun (counted from 0) both lines are asked about, or why they are not a minimal pair.

    The texts must be equal between the pronouns, and these equal or the same form in the other gender: "her" is
    never turned into "his" or "him", only recognised as either.
    """
    if line.between_pronouns() != other.between_pronouns():
        return "differs beyond the pronoun from"
    if line.referent != other.referent:
        return "has another referent than"
    for left, right in zip(line.pronouns, other.pronouns, strict=True):
        opposite = {gender_of(left.word), gender_of(right.word)} == {"male", "female"}
        if left.word != right.word and not (opposite and forms_of(left.word) & forms_of(right.word)):
            return "has a pronoun that is not the counterpart of the one in"
    shared = next((index for index in line.bracketed if index in other.bracketed), None)
    if shared is None:
        return "has no pronoun in brackets that is in brackets too in"
    return shared if line.pronouns[shared].word != other.pronouns[shared].word else "has the same pronoun as"


def _without_repeats(asked: Iterable[_Asked], faults: list[Fault]) -> list[_Asked]:
    """Return the lines without those that a file repeats; a sentence of another file is reported and kept."""
    kept: list[_Asked] = []
    seen: dict[str, _Line] = {}
    for item in asked:
        line = item.line
        earlier = seen.setdefault(line.text, line)
        if earlier is line:
            kept.append(item)
            continue
        drop = earlier.key == line.key and earlier.referent == line.referent
        if not drop:
            kept.append(item)
        same_type = earlier.key.type == line.key.type
        kind = "in both types" if not same_type else "repeated sentence"
        if same_type and earlier.referent != line.referent:
            kind = "repeated with occupations exchanged"
        faults.append(Fault(line.where, kind, f"the text of {earlier.where}", "kept once" if drop else "both kept"))
    return kept


def _example(item: _Asked, labelled: bool, faults: list[Fault]) -> Example:
    line = item.line
    gender = gender_of(item.pronoun.word) or ""
    candidates = _candidates(line, item.pronoun.start)
    referent = candidates.index(line.referent)
    by_label = referent if line.key.label == "pro" else 1 - referent
    stereotype = occupations.stereotyped(candidates, gender)
    if stereotype is None:
        stereotype = by_label
    elif stereotype != by_label:
        what = f"is in a {line.key.label} file, which the table of occupations contradicts"
        faults.append(Fault(line.where, "wrong label", what, "the table of occupations is followed"))
    gold = referent if labelled else None
    form = form_of(item.pronoun.word, [item.counterpart] if item.counterpart else [])
    groups = gender_groups(
        kind=line.key.type, gender=gender, form=form, candidates=candidates, gold=gold, stereotype=stereotype
    )
    if line.key.split:
        groups = {**groups, "split": line.key.split}
    answerable = line.key.type == "type2"
    slots = {"pronoun": item.pronoun.word}
    return Example(item.id, line.text, candidates, gold, answerable, stereotype, groups, item.set_id, slots=slots)


def _candidates(line: _Line, pronoun_start: int) -> tuple[str, str]:
    """Return the referent and the other occupation, in order of first mention.

    Where the text names more than one other, the one meant is of the opposite side and the nearest before the
    pronoun: this gives what SynthBias's CSV says in all 13 sentences of its text files that name a third.
    """
    # A word of the referent's own name ("cook" in "head cook") is not another occupation.
    referent_places = range(line.referent_start, line.referent_start + len(line.referent))
    named = [m for m in occupations.mentions(line.text) if m.name == line.referent or m.start not in referent_places]
    starts = {mention.name: mention.start for mention in reversed(named)}
    starts.setdefault(line.referent, line.referent_start)
    others = [name for name in starts if name != line.referent]
    if not others:
        raise DatasetError(
            f"{line.where}: names none of the 40 occupations beside {line.referent!r}; "
            "a table with a column for each candidate can hold it"
        )
    before = [name for name in others if starts[name] < pronoun_start] or others
    opposite = [name for name in before if occupations.side(name) != occupations.side(line.referent)] or before
    other = max(opposite, key=lambda name: starts[name])
    return (line.referent, other) if starts[line.referent] < starts[other] else (other, line.referent)


def _line_faults(item: _Asked, example: Example, second_expected: bool) -> Iterator[Fault]:
    """Yield what is odd about one line, as far as it does not concern its counterpart."""
    line = item.line
    if len(line.bracketed) > 1:
        words = ", ".join(line.pronouns[index].word for index in line.bracketed)
        yield Fault(line.where, "two pronouns", f"has in brackets: {words}", f"asked about {item.pronoun.word!r}")
    for index, pronoun in enumerate(line.pronouns):
        if index not in line.bracketed and gender_of(pronoun.word) != "neutral":
            yield Fault(
                line.where, "pronoun without brackets", f"has {pronoun.word!r} without brackets", "kept as it is"
            )
    yield from third_occupations(line.where, line.text, example.candidates)
    yield from odd_letters(line.where, line.text, line.text[item.pronoun.start : item.pronoun.end])
    named = [mention.name for mention in occupations.mentions(line.text)]
    for name in example.candidates:
        if named.count(name) > 1:
            yield Fault(line.where, "occupation named twice", f"names {name!r} again", "the first mention counts")
    if example.gold == 1 and re.search(r"\bowed (?:the|an?) [^.]* and worked .* to pay\b", line.text):
        yield Fault(line.where, "label against the text", "the one who owes pays, not the one who is owed", "kept")
    if second_expected and line.key.type == "type2" and example.gold == 0:
        yield Fault(line.where, "referent first", "the referent of a type 2 sentence comes first", "kept as it is")
