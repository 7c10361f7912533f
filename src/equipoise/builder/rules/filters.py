"""Rules: a draft -> the reasons to reject it; then the counterpart of each that is left."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...datasets.pronouns import gender_of, pronouns_in
from ...datasets.sentence_rules import ONE_PRONOUN, PRONOUN_LAST, TARGET_PAIR, TWO_OCCUPATIONS, Break, rule_breaks
from ..steps import Draft, Rejected, Sentence
from ..wordlist import WordList
from .counterparts import Unresolved, counterpart
from .near_duplicates import NearIndex, words_of

BRACKETS, LENGTH, ENDING, GENDERED = "brackets", "length", "whole sentence", "gendered pronoun"
DUPLICATE, TWIN, NEAR, OPEN = "duplicate", "twin of another", "near-duplicate", "counterpart left open"

RULES = (TARGET_PAIR, TWO_OCCUPATIONS, ONE_PRONOUN, PRONOUN_LAST, GENDERED, BRACKETS, LENGTH, ENDING)
"""The rules of a single sentence, in the order they are reported."""

AMONG = (DUPLICATE, TWIN, NEAR)
"""The rules among the sentences that keep all others: the first of a kind stays."""

_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_END = re.compile(r"[.!?…][\"'”’]?$")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """How strict the filter is: words a sentence has, words near-duplicates differ in (-1 for none), brackets."""

    shortest: int = 5
    longest: int = 40
    near_words: int = 2
    brackets_required: bool = False


@dataclass(frozen=True)
class Filtered:
    """What the filter made of the drafts; `failed` counts every draft once for each rule it broke."""

    kept: tuple[Sentence, ...]
    rejected: tuple[Rejected, ...]
    aside: tuple[Rejected, ...]
    failed: Counter[str] = field(default_factory=Counter)


def filter_drafts(
    drafts: Sequence[Draft],
    words: WordList,
    options: FilterOptions,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Filtered:
    """Return the drafts that keep every rule, each with its counterpart, and the others with all their reasons."""
    kept: list[Sentence] = []
    rejected: list[Rejected] = []
    aside: list[Rejected] = []
    failed: Counter[str] = Counter()
    seen = _Seen(options.near_words)
    for number, draft in enumerate(drafts):
        if number % 500 == 0:
            progress("drafts", number, len(drafts))
        breaks = list(sentence_breaks(draft, words, options)) or list(seen.breaks(draft))
        failed.update({broken.rule for broken in breaks})
        if breaks:
            rejected.append(_rejected(draft, breaks))
            continue
        try:
            kept.append(_sentence(draft, words))
        except Unresolved as error:
            failed[OPEN] += 1
            aside.append(_rejected(draft, [Break(OPEN, str(error))]))
    progress("drafts", len(drafts), len(drafts))
    return Filtered(tuple(kept), tuple(rejected), tuple(aside), failed)


def sentence_breaks(draft: Draft, words: WordList, options: FilterOptions) -> Iterator[Break]:
    """Yield each rule of a single sentence that the draft breaks."""
    broken = list(rule_breaks(draft.text, (draft.target, draft.other), find=words.find))
    yield from broken
    if not broken and len(words.find(draft.text)) != 2:
        yield Break(TARGET_PAIR, "names one of the two in the plural only, which no pronoun here can mean")
    neutral = [found.word for found in pronouns_in(draft.text) if gender_of(found.word) == "neutral"]
    if neutral:
        yield Break(GENDERED, f"has {neutral[0]!r}, which is of no gender")
    yield from _bracket_breaks(draft, words, required=options.brackets_required)
    count = len(draft.text.split())
    if not options.shortest <= count <= options.longest:
        yield Break(LENGTH, f"has {count} words, not {options.shortest} to {options.longest}")
    if not _END.search(draft.text) or not draft.text[:1].isupper():
        yield Break(ENDING, "does not begin and end as a sentence does")


def _bracket_breaks(draft: Draft, words: WordList, *, required: bool) -> Iterator[Break]:
    """Yield what is wrong with the brackets; without any there is nothing wrong, unless they are required."""
    inside = _BRACKETED.findall(draft.raw)
    rest = _BRACKETED.sub("", draft.raw)
    if "[" in rest or "]" in rest:
        yield Break(BRACKETS, "has a bracket without its other half")
        return
    named = set()
    for content in inside:
        bare = _ARTICLE.sub("", content.strip()).lower()
        if bare in (draft.target.lower(), draft.other.lower()):
            named.add(bare)
        elif gender_of(bare) is None:
            yield Break(BRACKETS, f"has brackets around {content!r}")
            return
    if required and not (named and any(gender_of(content) for content in inside)):
        yield Break(BRACKETS, "lacks the brackets around an occupation and the pronoun")
    # A model that marks the other one says that it wrote about the other one.
    if draft.type == "type2" and named == {draft.other.lower()}:
        yield Break(BRACKETS, f"marks the {draft.other} as the one the pronoun means")


class _Seen:
    """The sentences so far: a second one of a kind is found by its words without the pronoun."""

    def __init__(self, near_words: int) -> None:
        self._ids: dict[tuple[str, str], tuple[str, str]] = {}
        self._near = {kind: NearIndex(near_words) for kind in ("type1", "type2")} if near_words >= 0 else {}
        self._order: dict[str, list[str]] = {"type1": [], "type2": []}

    def breaks(self, draft: Draft) -> Iterator[Break]:
        """Yield why the draft is too much like an earlier one; if it is not, remember it."""
        (pronoun,) = pronouns_in(draft.text)
        template = f"{draft.text[: pronoun.start]}\0{draft.text[pronoun.end :]}".lower()
        if earlier := self._ids.get((draft.type, template)):
            id, word = earlier
            same = word == pronoun.word
            yield Break(DUPLICATE if same else TWIN, f"is {id} again" if same else f"is {id} with another pronoun")
            return
        self._ids[draft.type, template] = (draft.id, pronoun.word)
        if not self._near:
            return
        index, words = self._near[draft.type], words_of(template.replace("\0", " "))
        if near := index.near(words):
            yield Break(NEAR, f"is all but {self._order[draft.type][near[0]]}")
            return
        index.add(words)
        self._order[draft.type].append(draft.id)


def _sentence(draft: Draft, words: WordList) -> Sentence:
    other = counterpart(draft.text)
    (pronoun,) = pronouns_in(draft.text)
    first, second = (mention.name for mention in words.find(draft.text))
    return Sentence(
        id=draft.id,
        type=draft.type,
        text=draft.text,
        pronoun=pronoun.word,
        form=other.form,
        first=first,
        second=second,
        target=draft.target,
        twin=other.text,
        twin_pronoun=other.pronoun,
    )


def _rejected(draft: Draft, breaks: Iterable[Break]) -> Rejected:
    reasons = tuple(f"{broken.rule}: {broken.what}" for broken in breaks)
    return Rejected(draft.id, draft.type, draft.target, draft.other, draft.text, reasons)
