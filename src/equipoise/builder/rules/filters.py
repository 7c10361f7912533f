"""Drafts in; sentences that pass the rules, with their variants, and rejected drafts with their reasons, out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...datasets import Dataset
from ...datasets.agreement import Unresolved
from ...datasets.markers import Attribute
from ...datasets.occupations import third_people
from ...datasets.pronouns import KNOWN, Found, PronounSet, pronouns_in
from ...datasets.sentence_rules import ONE_PRONOUN, PRONOUN_LAST, TARGET_PAIR, TWO_OCCUPATIONS, Break, rule_breaks
from ...progress import Progress, silent
from ..steps import Draft, Rejected, Sentence
from ..wordlist import HE, SHE, WordList, mentions_of, set_of
from .near_duplicates import NearIndex, words_of
from .variants import variants_of

BRACKETS, LENGTH, ENDING, GENDERED = "brackets", "length", "whole sentence", "gendered pronoun"
DUPLICATE, TWIN, NEAR, OPEN = "duplicate", "twin of another", "near-duplicate", "counterpart left open"
MARKED = "identity marker"

RULES = (TARGET_PAIR, TWO_OCCUPATIONS, ONE_PRONOUN, PRONOUN_LAST, GENDERED, MARKED, BRACKETS, LENGTH, ENDING)
"""The rules for a single sentence, in the order they are reported."""

AMONG = (DUPLICATE, TWIN, NEAR)
"""The rules between sentences that pass all others: the first of several stays."""

AFTER_BOTH, NOT_BEFORE_BOTH = "after-both", "not-before-both"
"""Where the pronoun may be: after both people, or (as the UCerF paper filters) anywhere but before both."""

_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_END = re.compile(r"[.!?…][\"'”’]?$")
_NEXT_SENTENCE = re.compile(r"(\w*)[.!?…]+[\"'”’)\]»]*\s+[\"'“‘(\[«]*(?=[A-Z0-9])")
_ABBREVIATIONS = {"mr", "mrs", "ms", "mx", "dr", "prof", "st", "sr", "jr", "no", "vs", "m", "e.g", "i.e"}
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """How strict the filter is; `near_words` is the most words near-duplicates differ in (-1 keeps them all).

    `pronouns` are the sets that a sentence may use, `markers` the attribute of each identity marker.
    """

    shortest: int = 5
    longest: int = 40
    near_words: int = 2
    brackets_required: bool = False
    pronoun_rule: str = AFTER_BOTH
    pronouns: tuple[PronounSet, ...] = (HE, SHE)
    markers: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True)
class Filtered:
    """The result of the filter; `failed` counts every draft once for each rule it breaks."""

    kept: tuple[Sentence, ...]
    rejected: tuple[Rejected, ...]
    aside: tuple[Rejected, ...]
    failed: Counter[str] = field(default_factory=Counter)


def drafts_of_dataset(dataset: Dataset) -> list[Draft]:
    """Return the sentences of a dataset as drafts; the target is the right answer, or the first person."""
    drafts = []
    for example in dataset.examples:
        target = example.candidates[example.gold or 0]
        other = next(name for name in example.candidates if name != target)
        kind = example.groups.get("type") or ("type2" if example.answerable else "type1")
        drafts.append(Draft(example.id, kind, target, other, example.text, example.text, dataset.name))
    return drafts


def filter_drafts(
    drafts: Sequence[Draft],
    words: WordList,
    options: FilterOptions,
    progress: Progress = silent,
) -> Filtered:
    """Return the drafts that pass every rule, with their variants, and the others with all their reasons."""
    kept: list[Sentence] = []
    rejected: list[Rejected] = []
    aside: list[Rejected] = []
    failed: Counter[str] = Counter()
    seen = _Seen(options)
    for number, draft in enumerate(drafts):
        if number % 500 == 0:
            progress("drafts", number, len(drafts))
        breaks = list(sentence_breaks(draft, words, options)) or list(seen.breaks(draft))
        failed.update(dict.fromkeys((broken.rule for broken in breaks), 1))
        if breaks:
            rejected.append(_rejected(draft, breaks))
            continue
        try:
            kept.append(_sentence(draft, words, options))
        except Unresolved as error:
            failed[OPEN] += 1
            aside.append(_rejected(draft, [Break(OPEN, str(error))]))
    progress("drafts", len(drafts), len(drafts))
    return Filtered(tuple(kept), tuple(rejected), tuple(aside), failed)


def sentence_breaks(draft: Draft, words: WordList, options: FilterOptions) -> Iterator[Break]:
    """Yield the rules for a single sentence that the draft breaks."""
    pronouns = _all_pronouns(draft.text, options)
    people = (draft.target, draft.other)
    broken = list(rule_breaks(draft.text, people, find=words.find, find_pronouns=lambda text: pronouns))
    mentions = words.find(draft.text)
    if options.pronoun_rule == NOT_BEFORE_BOTH and mentions and pronouns:
        before_both = pronouns[0].start < min(mention.start for mention in mentions)
        broken = [rule for rule in broken if rule.rule != PRONOUN_LAST or before_both]
    yield from broken
    for person in third_people(draft.text, people)[:1]:
        yield Break(TWO_OCCUPATIONS, f"names a third person, the {person}")
    if not broken and len(mentions) != 2:
        yield Break(TARGET_PAIR, "names one of the two in the plural only; a singular pronoun cannot mean it")
    unfit = [pronoun.word for pronoun in pronouns if set_of(pronoun.word, options.pronouns) is None]
    if unfit:
        yield Break(GENDERED, f"has {unfit[0]!r}, which is not one of the chosen pronouns")
    yield from _marker_breaks(draft, words, options)
    yield from _bracket_breaks(draft, options)
    count = len(draft.text.split())
    if not options.shortest <= count <= options.longest:
        yield Break(LENGTH, f"has {count} words, not {options.shortest} to {options.longest}")
    if not _END.search(draft.text) or not draft.text[:1].isupper():
        yield Break(ENDING, "does not start with a capital letter and end with a full stop")
    if (count := sentence_count(draft.text)) > 1:
        yield Break(ENDING, f"has {count} sentences, not one")


def sentence_count(text: str) -> int:
    """Return how many sentences a text has; the full stop of an abbreviation or an initial ends none."""
    ends = [match[1].lower() for match in _NEXT_SENTENCE.finditer(text)]
    return 1 + sum(word not in _ABBREVIATIONS and len(word) != 1 for word in ends)


def _all_pronouns(text: str, options: FilterOptions) -> list[Found]:
    """Return the pronouns of all known sets, and their other forms ("hers", "themselves"), in order."""
    return sorted({*pronouns_in(text)}.union(mentions_of(text, (*KNOWN.values(), *options.pronouns))))


def _marker_breaks(draft: Draft, words: WordList, options: FilterOptions) -> Iterator[Break]:
    """Yield a break unless the sentence has the marker it was asked for, before the target, and no other marker."""
    pattern = "|".join(map(re.escape, sorted(options.markers, key=len, reverse=True)))
    markers = re.findall(rf"(?<![\w-])(?:{pattern})(?![\w-])", draft.text, re.IGNORECASE) if pattern else []
    if not draft.marker:
        if markers:
            yield Break(MARKED, f"has the marker {markers[0]!r}, which was not asked for")
        return
    marked = rf"(?<![\w-]){re.escape(draft.marker)}\s+{re.escape(draft.target)}(?![\w-])"
    if len(re.findall(marked, draft.text, re.IGNORECASE)) != 1:
        yield Break(MARKED, f"does not say '{draft.marker} {draft.target}' once")
    elif len(markers) != 1:
        yield Break(MARKED, f"has {len(markers)} markers, not one")


def _bracket_breaks(draft: Draft, options: FilterOptions) -> Iterator[Break]:
    """Yield what is wrong with the brackets; a draft without brackets is fine, unless they are required."""
    inside = _BRACKETED.findall(draft.raw)
    rest = _BRACKETED.sub("", draft.raw)
    if "[" in rest or "]" in rest:
        yield Break(BRACKETS, "has an unbalanced bracket")
        return
    named, pronouns = set(), 0
    for content in inside:
        bare = _ARTICLE.sub("", content.strip()).lower()
        bare = bare.removeprefix(f"{draft.marker} ".lower() if draft.marker else "")
        if bare in (draft.target.lower(), draft.other.lower()):
            named.add(bare)
        elif set_of(bare, (*KNOWN.values(), *options.pronouns)) is None:
            yield Break(BRACKETS, f"has brackets around {content!r}")
            return
        else:
            pronouns += 1
    if options.brackets_required and not (named and pronouns):
        yield Break(BRACKETS, "has no brackets around an occupation and the pronoun")
    # A model that marks the other person says that it wrote about the other person.
    if draft.type == "type2" and named == {draft.other.lower()}:
        yield Break(BRACKETS, f"marks the {draft.other} as the person the pronoun means")


class _Seen:
    """The sentences so far; duplicates are found by their words without the pronoun."""

    def __init__(self, options: FilterOptions) -> None:
        near_words = options.near_words
        self._sets = options.pronouns
        self._ids: dict[tuple[str, str], tuple[str, str]] = {}
        self._near = {kind: NearIndex(near_words) for kind in ("type1", "type2")} if near_words >= 0 else {}
        self._order: dict[str, list[str]] = {"type1": [], "type2": []}

    def breaks(self, draft: Draft) -> Iterator[Break]:
        """Yield why the draft is too similar to an earlier one; otherwise remember it."""
        (pronoun,) = mentions_of(draft.text, self._sets)
        template = f"{draft.text[: pronoun.start]}\0{draft.text[pronoun.end :]}".lower()
        if earlier := self._ids.get((draft.type, template)):
            id, word = earlier
            same = word == pronoun.word
            yield Break(DUPLICATE if same else TWIN, f"repeats {id}" if same else f"is {id} with another pronoun")
            return
        self._ids[draft.type, template] = (draft.id, pronoun.word)
        if not self._near:
            return
        index, words = self._near[draft.type], words_of(template.replace("\0", " "))
        if near := index.near(words):
            yield Break(NEAR, f"is nearly the same as {self._order[draft.type][near[0]]}")
            return
        index.add(words)
        self._order[draft.type].append(draft.id)


def _sentence(draft: Draft, words: WordList, options: FilterOptions) -> Sentence:
    attribute = options.markers.get(draft.marker)
    form, variants = variants_of(draft.text, draft.target, options.pronouns, attribute, draft.marker)
    (pronoun,) = mentions_of(draft.text, options.pronouns)
    first, second = (mention.name for mention in words.find(draft.text))
    pronouns = set_of(pronoun.word, options.pronouns)
    return Sentence(
        id=draft.id,
        type=draft.type,
        text=draft.text,
        pronoun=pronoun.word,
        form=form,
        first=first,
        second=second,
        target=draft.target,
        group=pronouns.group if pronouns else "",
        variants=tuple(variants),
        marker=draft.marker,
    )


def _rejected(draft: Draft, breaks: Iterable[Break]) -> Rejected:
    reasons = tuple(f"{broken.rule}: {broken.what}" for broken in breaks)
    return Rejected(draft.id, draft.type, draft.target, draft.other, draft.text, reasons)
