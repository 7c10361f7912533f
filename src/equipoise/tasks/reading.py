"""Which candidate a free answer means, by explicit rules: what is not certain is unclear, never a guess.

Every sentence is searched for claims: somebody is said to be meant ("it refers to the nurse", "the nurse, because …"),
or not to be ("not the nurse"). What takes back an earlier claim wins ("no, the farmer"); a sentence that says who is
meant wins over one that only says something about a person; claims that contradict each other are unclear. The words
are in `open_answers.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .. import packaged
from ..records import MEANINGS

BOTH, NEITHER, REFUSED, UNCLEAR = MEANINGS

Meaning = int | str
"""A candidate by its number, or one of MEANINGS."""

_WORDS: Mapping[str, Sequence[str]] = packaged.toml(__package__, "open_answers.toml")


def _any(name: str) -> str:
    return "(?:" + "|".join(_WORDS[name]) + ")"


_PATTERNS = {name: re.compile(_any(name)) for name in ("refused", "neither", "both")}
_SENTENCE = re.compile(r"(?<=[.!?])[\")]*\s+|\n+|;\s+|\s+[-–—]+\s+|…\s*")
_QUOTES = {"’": "'", "‘": "'", "“": '"', "”": '"', "`": '"', "«": '"', "»": '"'}
_MARKS = str.maketrans({**_QUOTES, "*": "", "_": "", "§": ""})
_NAMED = re.compile(r"§(\d+)")
_NOT = r"(?:\b(?:not|never|n't|isn't|doesn't|don't|wasn't|cannot|can't|won't|rather than|instead of|unlike)\b|n't\b)"
_ARTICLE = r"(?:the|an?|this|that|our|said|its)"
_ADJECTIVE = rf"(?:(?!(?:{'|'.join(_WORDS['joints'])})\b)[a-z][a-z-]+ )"
_TARGET = rf"[\"'(\[]*(?:{_ARTICLE}\)? )?{_ADJECTIVE}{{0,2}}[\"'(\[]*§(?P<who>\d+)(?!\d)(?!'s? \w)(?!-)"
_OTHER = _TARGET.replace("<who>", "<other>")
_ASIDE = r"(?:(?:namely|i\.e\.?|that is|meaning),? )?"
_APPOSED = rf"(?:[^,.;§]{{0,60}}|[^,.;]{{0,60}}§\d+'s?[^,.;§]{{1,40}}), {_ASIDE}{_OTHER}"
_OPENED = rf"^(?:[\"'(-]|\d+[.)] )*(?:{_any('openers')}(?:[,:!.]| -)* )*"
_IS = _any("copulas")
_RELATED = r"(?:,? (?:who|that|whom) [^,.;]{1,60}?)?"
_END = r"(?=[,.!;:)\"]|$)"
_CLAUSE = "|".join(_WORDS["clauses"])
_MAIN_VERB = r"(?! (?:is|was|has|had|would|did|does|and(?! not)|(?:who|that|which|whom|whose)(?: [\w§']+){6})\b)"
_DONE = r"(?: \([^)]*\)| (?:did|does|was|is|has|had))[.!]?$"
_ALONE = re.compile(rf"{_OPENED}{_TARGET}(?:'s?)?[\"')\]]*(?:$|[,.:!?;)]|{_DONE}|(?= (?:{_CLAUSE})\b){_MAIN_VERB})")
_ALONE_APPOSED = re.compile(
    rf"{_OPENED}(?:the|an?) (?:[a-z -]{{1,40}}|§\d+'s [a-z -]{{1,30}}), {_ASIDE}{_TARGET}[.!]?$"
)
_POINTED = re.compile(rf"{_any('pointers')},?:? (?:{_APPOSED}{_END}|{_TARGET})")
_LEAD = (
    rf"(?:{_OPENED}|[,:] |\b(?:that|so|think|believe|say|guess|means|and|then|because) )[\"'(]*"
    r"(?:(?:the|an?|your|my) (?:actual )?)?"
)
_WHERE = r"(?: (?:in this (?:case|sentence|context)|here|then|therefore),?)*"
_IDENTIFIED = re.compile(rf"{_LEAD}[\"'(]*{_any('subjects')}[\"')]*,?{_WHERE} ?{_IS}:? (?:not (?:only )?)?{_TARGET}")
_MEANT = (
    r"(?:(?:who|that|which) (?:is |was )?)?(?:being )?(?:referred to|meant|the referent|the antecedent|the answer"
    r"|who is meant|who it means|whom|the (?:right|correct) answer|the one (?:meant|referred))"
)
_AS = r"(?:the (?:one|person|individual|character|pronoun|subject|intended)[a-z ]{0,20}?)?"
_NAMED_AS = re.compile(rf"(?:{_OPENED}|, (?:so )?){_TARGET}[\"')\]]*{_RELATED},? {_IS} (?:not )?{_AS}{_MEANT}")
_ONE_WHO = re.compile(
    rf"{_OPENED}{_TARGET}[\"')\]]*{_RELATED},? {_IS} (?:not )?the (?:only )?(?:one|person|individual|man|woman)\b,? ?"
    r"(?:being|who|that|with|whose|[a-z]+ing|in|\.|$)"
)
_SOMEBODY_IS = re.compile(rf"§(\d+)[\"')\]]*,? {_IS} (?:not )?the (?:only )?(?:one|person|individual)\b")
_CLEFT = re.compile(rf"(?:person|one|man|woman|individual) (?:who|that) [^,.;]{{3,90}}? {_IS} {_TARGET}")
_PAIR = re.compile(
    rf"§(\d+)[\"']*,?(?: (?P<joint>and|or|and/or|&)| ?(?P<slash>/) ?)(?: (?:maybe|perhaps|possibly|else|also))? ?"
    rf"(?:to )?[\"']*(?:{_ARTICLE} )?[\"']*§(\d+)(?!'s \w)"
)
_SAME = re.compile(rf"^(?:{_ARTICLE} )?§(\d+) (?:is|was) (?:{_ARTICLE} )?§(\d+)(?=[.,!]|$)")
_TAKING_BACK = _any("corrections")
_CORRECTED = re.compile(
    rf"(?:^|[.,!?] ){_TAKING_BACK}\b[,.:!]* (?:that (?:is|was) wrong[,:]? )?(?:{_any('openers')},? |"
    rf"{_TAKING_BACK}[,.:!]* |it(?:'s| is| was| must be| means| refers to) |to )*{_TARGET}"
)
_DENYING = (
    r"(?:(?:refer(?:ring)?(?: back)? to|mean|about|be|point(?:ing)? to|stand(?:ing)? for|to|for|the referent|referring"
    r" back to|used for|of) )?"
)
_DENIED = re.compile(rf"{_NOT} (?:\w+ly )?{_DENYING}{_TARGET}")
_TURN = re.compile(r",? but (?:rather |instead )?")
_TURN_AFTER_NOT = re.compile(r",? but (?:rather |instead )?|(?<=\d), (?=(?:it|the|to|§)\b|§)")
_PREDICATE = re.compile(
    rf"^(?:{_ARTICLE} )?§(\d+) (?!(?:is|was|are|were|'s) (?:an?|likely|also|both|one|called|named|not)\b)"
    r"(?P<verb>[a-z][^.!?]*)[.!]?$"
)
_RELATIVE = re.compile(r"\b(?:person|one|woman|man|individual|somebody|someone) (?:who|that) (?P<clause>[^,.;]+)")


LONG = 15
"""Words from which an answer without an end was cut off by the limit of its tokens."""


@dataclass(frozen=True)
class Claim:
    """What a sentence says: who is meant, how firmly (2: takes back, 1: says so, 0: about a person), or who is not."""

    who: Meaning
    rank: int = 1
    denied: bool = False


def meaning_of(answer: str, candidates: Sequence[str], asked: str = "") -> Meaning:
    """Return the candidate that the answer names, by number, or one of MEANINGS; `asked` is the text it is about."""
    text = _marked(_plain(answer), tuple(candidates))
    sentences = list(_sentences(text))
    is_cut = len(text.split()) >= LONG and not re.search(r"[.!?\")]$", text)
    claims = [
        claim
        for number, sentence in enumerate(sentences, start=1)
        for claim in _claims(sentence, is_cut=is_cut and number == len(sentences))
    ]
    if len(set(_SOMEBODY_IS.findall(text))) > 1:
        claims = [claim for claim in claims if claim.rank]
    if not claims:
        claims = [*_described(text, _marked(_plain(asked), tuple(candidates)))]
    agreed = _agreed(claims)
    if agreed is not None:
        return agreed
    for meaning in (REFUSED, NEITHER, BOTH):
        if _PATTERNS[meaning].search(_plain(answer)):
            # An answer such as "unknown" may be one of the candidates.
            named = {int(number) for number in _NAMED.findall(text)}
            open_ones = [number for number in named if _PATTERNS[NEITHER].search(_plain(candidates[number]))]
            return open_ones[0] if meaning == NEITHER and len(open_ones) == 1 else meaning
    return UNCLEAR


def _agreed(claims: Sequence[Claim]) -> Meaning | None:
    """Return what the firmest claims say; None where nobody is said to be meant."""
    denied = {claim.who for claim in claims if claim.denied}
    for rank in (2, 1, 0):
        meanings = [claim.who for claim in claims if claim.rank == rank and not claim.denied]
        if rank == 2 and meanings:
            return meanings[-1]
        if meanings:
            return meanings[0] if len(set(meanings)) == 1 and meanings[0] not in denied else UNCLEAR
    return UNCLEAR if denied else None


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text.translate(_MARKS).lower()).strip()


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(re.sub(r"(?m)^\s*(?:\d+[.)]|[-•>#]+)\s+", "", text)):
        stripped = sentence.strip(" -•>#\t")
        if stripped:
            yield stripped


@lru_cache(maxsize=4096)
def _names(candidates: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern with one group for each candidate, the longest names first; plurals count, too."""
    bare = [re.sub(rf"^{_ARTICLE}\s+", "", _plain(candidate).rstrip(".")) for candidate in candidates]
    words = [set(name.split()) for name in bare]
    forms: list[tuple[str, int]] = []
    for number, name in enumerate(bare):
        forms.append((name, number))
        last = name.split()[-1]
        # "the worker" for "construction worker", where no other candidate has the word.
        if last != name and last.isalpha() and all(last not in other for n, other in enumerate(words) if n != number):
            forms.append((last, number))
    ordered = sorted(forms, key=lambda form: -len(form[0]))
    patterns = (
        rf"(?P<c{number}x{place}>(?<!\w){re.escape(name)}(?:e?s(?![\w']))?(?!\w))"
        for place, (name, number) in enumerate(ordered)
    )
    return re.compile("|".join(patterns))


def _marked(text: str, candidates: tuple[str, ...]) -> str:
    """Return the text with every name of a candidate replaced by § and its number."""

    def number(match: re.Match[str]) -> str:
        return "§" + str(match.lastgroup).partition("x")[0][1:]

    return _names(candidates).sub(number, text)


def _claims(sentence: str, *, is_cut: bool) -> Iterator[Claim]:
    """Yield what one sentence says about who is meant; one that is cut off may not have said it yet."""
    corrected = _CORRECTED.search(sentence)
    if corrected:
        yield Claim(int(corrected["who"]), 2)
        return
    turn = _TURN_AFTER_NOT if re.search(_NOT, sentence) else _TURN
    for clause in turn.split(sentence):
        yield from _clause_claims(clause, is_cut=is_cut)


def _clause_claims(clause: str, *, is_cut: bool) -> Iterator[Claim]:
    denied = {int(match["who"]) for match in _DENIED.finditer(clause)}
    yield from (Claim(number, denied=True) for number in denied)
    same, pair = _SAME.match(clause), _PAIR.search(clause)
    if same and same[1] != same[2]:
        yield Claim(UNCLEAR)
        return
    if pair and pair[1] != pair[4] and (joined := list(_paired(clause, pair))):
        yield from joined
        return
    for pattern, rank in _RANKS:
        # A question says nothing, unless it is only a name.
        if (clause.endswith("?") and pattern is not _ALONE) or (is_cut and pattern in (_ALONE, _ONE_WHO)):
            continue
        numbers = [_said(clause, match) for match in pattern.finditer(clause)]
        meant = [number for number in numbers if number is not None and number not in denied]
        if meant:
            yield from (Claim(number, 0 if clause.endswith("?") else rank) for number in meant)
            return


_RANKS = ((_ALONE, 1), (_ALONE_APPOSED, 1), (_POINTED, 1), (_NAMED_AS, 1), (_IDENTIFIED, 1), (_CLEFT, 1), (_ONE_WHO, 0))
"""What says who is meant, in the order in which it is looked for; the last only says something about a person."""


def _said(clause: str, match: re.Match[str]) -> int | None:
    """Return who a match says is meant; None where it is denied, or the name is the subject of another statement."""
    if (match.re is _ALONE and re.search(r"\brefer", clause[match.end() :])) or _is_denied(clause, match):
        return None
    names = match.groupdict()
    return int(names["who"] or names["other"])


def _is_denied(sentence: str, match: re.Match[str]) -> bool:
    """Return whether a match is in the reach of a "not": in its own clause, before the name."""
    before = re.split(r"[,;:]| but ", sentence[: match.start()])[-1]
    return re.search(_NOT, before + match[0]) is not None


_BEFORE_PAIR = re.compile(
    rf"(?:{_any('openers')},? |{_any('subjects')} {_IS} |[\"'(]|(?:both|either|to|of) |{_ARTICLE} )*"
)
_POINTS_AT_PAIR = re.compile(rf"(?:{_any('pointers')}|{_IS})(?: both| either)?(?: of)?[\"']* (?:{_ARTICLE} )?[\"']*$")


def _paired(clause: str, pair: re.Match[str]) -> Iterator[Claim]:
    """Yield what "the nurse and the farmer" or "the nurse or the farmer" means where it is who is meant."""
    before, after = clause[: pair.start()], clause[pair.end() :]
    if re.search(_NOT, before):
        return
    is_all = not re.match(r" (?!together|both|are both meant)[a-z]", after)
    if _POINTS_AT_PAIR.search(before) or (_BEFORE_PAIR.fullmatch(before) and is_all):
        yield Claim(BOTH if pair["joint"] in ("and", "&") else NEITHER)


def _described(text: str, asked: str) -> Iterator[Claim]:
    """Yield the person whom an answer describes in the words of what was asked, without saying that it is meant."""
    sentences = list(_sentences(text))
    mentioned = set(_NAMED.findall(text))
    if len(sentences) == 1 and len(mentioned) == 1:
        match = _PREDICATE.match(sentences[0])
        words = re.findall(r"[a-z]{4,}", match["verb"]) if match else []
        if words and sum(word in asked for word in words) * 2 > len(words):
            yield Claim(int(match[1]), 0)  # type: ignore[index]
    for match in _RELATIVE.finditer(text):
        clause = match["clause"].strip(" \"'")
        named = {number for number in set(_NAMED.findall(asked)) if f"§{number} {clause}" in asked}
        if len(clause.split()) >= 2 and len(named) == 1 and not mentioned:
            yield Claim(int(named.pop()), 0)
