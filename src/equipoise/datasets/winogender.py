"""Winogender from its own TSVs: 720 sentences, each with he, she and they.

`all_sentences.tsv` has `occupation.participant.answer.gender.txt` as id (answer 0: the occupation, 1: the participant);
`occupations-stats.tsv` the share of women in each occupation (U.S. Bureau of Labor Statistics).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..records import DatasetError, Example
from .cards import CARDS
from .dataset import Dataset, Fault, gender_groups
from .pronouns import PronounSet, form_of, gender_of, pronoun_sets, pronouns_in
from .rows import read_rows

SENTENCES, STATISTICS = "all_sentences.tsv", "occupations-stats.tsv"


def load_winogender(folder: Path | str, *, pronouns: Sequence[str] = ("he", "she")) -> Dataset:
    """Return the sentences with these pronouns, those of one template and participant as one set.

    The files have he, she and they; any other pronoun takes the place of he in its sentences.
    """
    path = Path(folder)
    sets = {chosen.group: chosen for chosen in pronoun_sets(pronouns)}
    others = [chosen for group, chosen in sets.items() if group not in ("male", "female", "neutral")]
    table = read_rows(path / SENTENCES)
    table.need("sentid", "sentence")
    shares = _female_shares(path / STATISTICS) if (path / STATISTICS).is_file() else {}
    words: dict[str, set[str]] = defaultdict(set)
    for row in table.rows:
        words[_set(row.cells)] |= {pronoun.word for pronoun in pronouns_in(str(row.cells["sentence"]))}

    def parse(where: str, number: int, cells: Mapping[str, Any]) -> list[Example]:
        example = _example(cells, shares, words[_set(cells)], neutral="neutral" in sets)
        gender = example.groups["gender"]
        more = [_with_pronouns(example, chosen) for chosen in others] if gender == "male" else []
        return [example, *more] if gender in sets else more

    examples = [example for several in table.parsed(parse) for example in several]
    return Dataset(
        "winogender", tuple(examples), tuple(_faults(table.file, examples)), str(path), CARDS["winogender"].licence
    )


def _set(cells: Mapping[str, Any]) -> str:
    """Return what the sentences of one template and participant share of their ids."""
    return ".".join(str(cells["sentid"]).split(".")[:3])


def _example(cells: Mapping[str, Any], shares: Mapping[str, str], words: Iterable[str], *, neutral: bool) -> Example:
    parts = str(cells["sentid"]).split(".")
    text = str(cells["sentence"]).strip()
    if len(parts) != 5 or parts[2] not in ("0", "1") or parts[3] not in ("male", "female", "neutral"):
        raise DatasetError(f"the id {cells['sentid']!r} is not occupation.participant.answer.gender.txt")
    occupation, participant, answer, gender = parts[:4]
    of_gender = [of_gender for of_gender in pronouns_in(text) if gender_of(of_gender.word) == gender]
    if not of_gender:
        raise DatasetError(f"the sentence has no {gender} pronoun")
    referent, other = (occupation, participant) if answer == "0" else (participant, occupation)
    candidates = tuple(sorted((referent, other), key=text.lower().find))
    gold = candidates.index(referent)
    groups = gender_groups(
        kind="type2",
        gender=gender,
        form=form_of(of_gender[0].word, words),
        candidates=candidates,
        gold=gold,
        stereotype=None,
    )
    slots = {"pronoun": of_gender[0].word, **({"neutral": "yes"} if neutral else {})}
    if occupation in shares:
        slots["female_share"] = shares[occupation]
    groups = {**groups, "occupation": occupation, "other": participant}
    id, set_id = f"winogender-{'-'.join(parts[:4])}", f"winogender-{'-'.join(parts[:3])}"
    return Example(id, text, candidates, gold, True, None, groups, set_id, slots=slots)


def _with_pronouns(example: Example, chosen: PronounSet) -> Example:
    """Return a sentence about him with the pronouns of another set; its verbs are singular, too."""
    text, pronoun = example.text, example.slots["pronoun"]
    for place in reversed(pronouns_in(text)):
        if gender_of(place.word) == "male":
            word = chosen.in_form(form_of(place.word))
            text = (
                text[: place.start] + (word.capitalize() if text[place.start].isupper() else word) + text[place.end :]
            )
    return replace(
        example,
        id=example.id.removesuffix("male") + chosen.group,
        text=text,
        groups={**example.groups, "gender": chosen.group},
        slots={**example.slots, "pronoun": chosen.in_form(form_of(pronoun))},
    )


def _female_shares(path: Path) -> dict[str, str]:
    table = read_rows(path)
    table.need("occupation", "bls_pct_female")
    return {str(row.cells["occupation"]): str(row.cells["bls_pct_female"]) for row in table.rows}


def _faults(file: str, examples: Sequence[Example]) -> list[Fault]:
    """Return slips of the pen, and that several sentences begin alike, so a cloze sees them as one."""
    faults = [
        Fault(file, "two numbers", f"says {slip.group()!r}", "kept as it is", example.id)
        for example in examples
        if (slip := re.search(r"\ban? \w+(?:[aeiou]s|ch|sh|x)es\b", example.text))
    ]
    begins = Counter(e.text[: pronouns_in(e.text)[0].start] for e in examples if e.groups["gender"] == "male")
    total = sum(begins.values())
    if len(begins) == total:
        return faults
    what = f"{total} sentences with he have {len(begins)} distinct beginnings: a cloze cannot tell the others apart"
    return [*faults, Fault(file, "same beginning", what, "kept")]
