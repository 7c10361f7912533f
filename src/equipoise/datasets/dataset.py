"""What a loaded dataset is, and what is known to be wrong with it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import permutations
from json.encoder import encode_basestring
from typing import TypeVar

from ..records import DatasetError, Example
from ..records.json_texts import ObjectTexts
from ..records.scripts import spaced
from . import occupations

Item = TypeVar("Item")

LICENCE = "CC0-1.0"
"""The licence of the package's own sentences."""

TOGETHER = 1024
"""Examples that are hashed at once."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in a data file: where it is, what it is, and what the loader did about it.

    `example` is the id of the example that has it, where it is one.
    """

    where: str
    kind: str
    what: str
    handling: str
    example: str = ""


@dataclass(frozen=True)
class Dataset:
    """Examples ready to be asked, with the faults found while reading them.

    `listed` ones are known by their name alone; of others there may be several of one name. `population` is the number
    of sentences that these were drawn from at random; 0 for a list.
    """

    name: str
    examples: tuple[Example, ...]
    faults: tuple[Fault, ...] = ()
    source: str = ""
    licence: str = ""
    listed: bool = False
    population: int = 0

    def __post_init__(self) -> None:
        if not self.examples:
            raise DatasetError(f"{self.source or self.name}: holds no sentence")
        ids = [example.id for example in self.examples]
        if len(set(ids)) < len(ids):
            first = next(id for id, count in Counter(ids).items() if count > 1)
            raise DatasetError(f"{self.source or self.name}: duplicate id {first!r}")

    @property
    def label(self) -> str:
        """The name in the name of a run folder, which tells data of one name apart by their content."""
        return self.name if self.listed else f"{self.name}-{self.sha256[:8]}"

    @cached_property
    def sha256(self) -> str:
        """The hash of what is asked: equal for two copies of the same examples, wherever they were read from."""
        digest, text = hashlib.sha256(), ObjectTexts(ordered=True)
        for start in range(0, len(self.examples), TOGETHER):
            records = [_record(example, text) for example in self.examples[start : start + TOGETHER]]
            digest.update("".join(records).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    @property
    def sets(self) -> int:
        """The number of counterfactual sets with at least two members; a sentence pair is a set by itself."""
        within = sum(example.pair is not None for example in self.examples)
        across = Counter(example.set_id for example in self.examples if example.pair is None)
        return within + sum(count > 1 for count in across.values())

    def without(self, ids: Iterable[str]) -> Dataset:
        """Return the dataset without the counterfactual sets of these examples: half a set compares nobody."""
        named = set(ids)
        sets = {example.set_id for example in self.examples if example.id in named}
        return replace(self, examples=tuple(example for example in self.examples if example.set_id not in sets))

    @property
    def without_faults(self) -> Dataset:
        """The dataset without the sets in which an example has a fault that `equipoise data check` lists."""
        kept = self.without(fault.example for fault in self.faults if fault.example)
        left = len({e.set_id for e in self.examples}) - len({e.set_id for e in kept.examples})
        faults = [fault for fault in self.faults if not fault.example]
        if left:
            faults.append(Fault(self.name, "sets with faults", f"{left:,} sets have a listed fault", "left out"))
        return replace(kept, faults=tuple(faults))

    def limited(self, limit: int | None) -> Dataset:
        """Return the dataset with at most `limit` base sentences (whole clusters; None: all), spread evenly over it.

        Of sentence pairs rows count instead: which of them share a cluster differs between the forms of a dataset,
        and a limit chooses the same rows of each.
        """
        if limit is None:
            return self
        if limit < 1:
            raise DatasetError(f"limit must be at least 1, not {limit}")
        units = [example.cluster_id if example.pair is None else example.set_id for example in self.examples]
        names = list(dict.fromkeys(units))
        if limit >= len(names):
            return self
        # Spread, because files are sorted by type: the first 100 lines would hold one type only.
        kept = {names[i * len(names) // limit] for i in range(limit)}
        chosen = [example for example, unit in zip(self.examples, units, strict=True) if unit in kept]
        return replace(self, examples=tuple(chosen))


_plain = lru_cache(maxsize=64, typed=True)(json.dumps)


@lru_cache(maxsize=4096)
def _listed(texts: tuple[str, ...]) -> str:
    """Return texts as a JSON list; many examples share their candidates."""
    return f"[{', '.join(map(encode_basestring, texts))}]"


def _record(example: Example, text: ObjectTexts) -> str:
    """Return the fields of an example as JSON, in the order of their names."""
    # Without decisions there is no `good`, so that such data keep the hash that they had before there were any.
    good = "" if example.good is None else f'"good": {_plain(example.good)}, '
    set_id = encode_basestring(example.set_id)
    cluster_id = set_id if example.cluster_id == example.set_id else encode_basestring(example.cluster_id)
    pair = "null" if example.pair is None else json.dumps(asdict(example.pair), sort_keys=True, ensure_ascii=False)
    return (
        f'{{"answerable": {_plain(example.answerable)}, "candidates": {_listed(tuple(example.candidates))}, '
        f'"cluster_id": {cluster_id}, "gold": {_plain(example.gold)}, {good}'
        f'"groups": {text(example.groups)}, "id": {encode_basestring(example.id)}, "pair": {pair}, '
        f'"set_id": {set_id}, "slots": {text(example.slots)}, '
        f'"stereotype": {_plain(example.stereotype)}, "text": {encode_basestring(example.text)}}}'
    )


def in_file_order(faults: Iterable[Fault], places: Iterable[tuple[str, str]]) -> tuple[Fault, ...]:
    """Return the faults in the order of the places that they are at, each with the id of the example there."""
    faults = list(faults)
    wanted = {fault.where for fault in faults}  # of a million places, few have a fault
    ids = {where: id for where, id in places if where in wanted}
    order = {where: number for number, where in enumerate(ids)}
    return tuple(replace(fault, example=ids[fault.where]) for fault in sorted(faults, key=lambda f: order[f.where]))


def repeated(items: Iterable[Item], key: Callable[[Item], Hashable]) -> Iterator[tuple[Item, Item]]:
    """Yield each item whose key an earlier one has, with the first such one."""
    seen: dict[Hashable, Item] = {}
    for item in items:
        earlier = seen.setdefault(key(item), item)
        if earlier is not item:
            yield item, earlier


def nested_candidates(examples: Iterable[Example]) -> Iterator[Fault]:
    """Yield a fault for every candidate that begins another one of its example, such as "police", "police officer"."""
    for example in examples:
        for shorter, longer in permutations(example.candidates, 2):
            if longer.lower().startswith(f"{shorter.lower()} "):
                what = f"{shorter!r} begins {longer!r}"
                handling = "what goes on into the longer one is not counted for the shorter one"
                yield Fault(example.id, "candidate begins another", what, handling)


def third_occupations(where: str, text: str, candidates: Sequence[str]) -> Iterator[Fault]:
    """Yield a fault where a sentence names occupations, or other single people, beyond its candidates."""
    if not occupations.names_others(spaced(text), tuple(candidates)):
        return
    third = occupations.third_occupations(text, candidates)
    if third:
        yield Fault(where, "third occupation", f"also names {', '.join(third)}", "not a candidate")
    people = occupations.third_people(text, candidates)
    if people:
        yield Fault(where, "third person", f"also names the {', the '.join(people)}", "not a candidate")


def odd_letters(where: str, text: str, pronoun: str) -> Iterator[Fault]:
    """Yield a fault where a sentence is not ASCII, or its pronoun not in lower case."""
    if not text.isascii():
        yield Fault(where, "not ASCII", "has a character beyond ASCII", "kept as it is")
    if pronoun != pronoun.lower():
        yield Fault(where, "capitalised pronoun", f"its pronoun is {pronoun!r}", "quoted in lower case")


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def gender_groups(
    *, kind: str, gender: str, form: str, candidates: tuple[str, ...], gold: int | None, stereotype: int | None
) -> Mapping[str, str]:
    """Return the groups of a pronoun sentence: type, gender, form and, where labelled, stereotype and occupations.

    `side` is the stereotype of the referent: from the table of occupations, or, for an occupation not
    in it, from what the dataset says the stereotype is.
    """
    groups = {"type": kind, "gender": gender, "form": form}
    if gold is None:
        return groups
    groups["occupation"] = candidates[gold]
    if len(candidates) == 2:
        groups["other"] = candidates[1 - gold]
    groups["position"] = _ORDINALS[gold] if gold < len(_ORDINALS) else str(gold + 1)
    side: str | None = occupations.side(candidates[gold])
    if stereotype is not None:
        groups["stereotype"] = "pro" if gold == stereotype else "anti"
        if side is None and len(candidates) == 2 and gender in ("male", "female"):
            side = gender if gold == stereotype else {"male": "female", "female": "male"}[gender]
    if side is not None:
        groups["side"] = side
    return groups


def count_by(examples: Iterable[Example], group: str) -> dict[str, int]:
    """Return how many examples there are in each group of that name."""
    return dict(sorted(Counter(example.groups.get(group, "") for example in examples).items()))
