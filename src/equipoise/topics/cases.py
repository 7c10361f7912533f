"""The cases of a run, packed for a page: numbers as small integers, texts and names once, the whole compressed.

`media/page/web/cases.js` unpacks what this packs; a change of one is a change of the other.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import cores
from ..comparing.values import items_of
from ..datasets.pronouns import side_words
from ..records import Booleans, Floats, Integers, Outcomes
from ..records.showing import Section
from ..runs.measurements import KINDS
from ..runs.run import Part, Run
from ..runs.tables import column, main_estimator
from ..stats.bootstrap import cluster_numbers, joint_numbers
from ..tasks.multiple_choice import asked_order
from ..tasks.outcomes import further_options
from ..tasks.wording import own_question
from ..verdict.words import ways, words_of
from .flips import FATE_WORDS, FATES, members_and_fates, of_sets
from .names import Names

NOTHING = 65535
"""In place of a number that a case does not have."""

NO_FATE = 255
Made = TypeVar("Made")

MANY_ITEMS, MOST_SHARED = 50_000, 500_000
"""Items from which, and up to which, a page is made on several cores: every copy of a process takes memory."""

D_SCALE = 10_000
_PRONOUN = re.compile(r'"pronoun": "([^"\\]*)"')
BLOCK, LEVEL = 2**20, 6
"""Bytes that are compressed at once, and how hard to try."""

LENGTH = struct.Struct("<I")
"""What cases begin with: the length of their header."""

TOGETHER = 10_000
"""Items of a list that are written at once."""

GZIP_HEAD = bytes((31, 139, 8, 0, 0, 0, 0, 0, 0, 255))
"""What a gzip file begins with that names no file, no time and no system."""

FEW_VALUES = 60
"""A group with more values than this is not a filter (its values can be searched for)."""


def case_section(run: Run) -> Section:
    """Return the place of the case browser; its rows are made in the page, from the packed cases."""
    intro = (
        f"Each case is one set: {words_of(run.parts).asked}. A case is"
        " listed if at least one of its sentences matches the filters. To share what you see, copy the link. Squares,"
        " dots and rows of the charts above open their cases here."
    )
    return Section("Every case", id="cases", label="Cases", intro=intro, layout="cases")


def are_many(run: Run) -> bool:
    """Return whether a page of the cases takes long enough to be made on several cores: a second or more.

    Of many, what cases and sections are made of is read now, once for all.
    """
    many = _count(run) >= MANY_ITEMS
    if many:
        read = [(part.outcomes, part.pairs, items_of(part).members) for part in run.parts], run.groups
        del read  # the run holds it
        run.let_go("outcomes.parquet", "pairs.parquet")
    return many


def fill_memory(run: Run) -> bool:
    """Return whether a page of all cases is made on one core, and in little memory."""
    return _count(run) > MOST_SHARED


def sparing(run: Run, makers: Iterable[Callable[[], Made]]) -> list[Callable[[], Made]]:
    """Return what makes parts of a page of a run; where tables fill the memory, those read for one are let go."""

    def made(make: Callable[[], Made]) -> Made:
        result = make()
        run.let_go("outcomes.parquet", "pairs.parquet", "examples.parquet")
        return result

    return [partial(made, make) for make in makers] if fill_memory(run) else list(makers)


def _count(run: Run) -> int:
    return sum(len(part.items) for part in run.parts)


@dataclass(frozen=True)
class _Cases:
    """The sets and the items of one dataset and task, the items in the order of their sets.

    Columns are numbers, but for `set_names` and `names`.
    """

    sets: Mapping[str, NDArray[Any]]
    set_names: Mapping[str, Names]
    items: Mapping[str, NDArray[Any]]
    names: Mapping[str, Names]


def packers(run: Run, *, sentences: bool = True) -> list[Callable[[], str]]:
    """Return what packs the cases of a run: all but the sentences, and these.

    Each gives base64: a length, a header in JSON, and the columns one after another, gzipped. Without `sentences` the
    texts stay out: some datasets may be used, but not passed on.
    """
    return [partial(_pack_numbers, run), partial(_pack_texts, run, sentences)]


def _pack_texts(run: Run, sentences: bool) -> str:
    parts = [_texts_of(part) if sentences else Names.of(np.full(len(part.items), "")) for part in run.parts]
    steps, names = _texts(Names.joined(parts))
    return _packed({"text": names}, {"text": steps})


def _pack_numbers(run: Run) -> str:
    parts = [_part_columns(part) for part in run.parts]
    sets, items = (_joined([getattr(cases, name) for cases in parts]) for name in ("sets", "items"))
    set_names, names = (_joined_names([getattr(cases, name) for cases in parts]) for name in ("set_names", "names"))
    numbers = np.repeat(np.arange(len(parts)), [len(cases.sets["size"]) for cases in parts])
    header: dict[str, Any] = {"parts": [str(part) for part in run.parts], "d_scale": D_SCALE, "fates": FATES}
    header |= {"fate_words": FATE_WORDS, "kinds": KINDS}
    header["cloze"] = [bool((part.outcomes.sides != "").all()) for part in run.parts]
    columns: dict[str, NDArray[Any]] = {
        "set_part": numbers.astype(np.uint8),
        "set_size": sets["size"].astype(np.uint16),
        "set_u": _small(sets["u"], D_SCALE),
        "set_us": _small(sets["u_signed"], D_SCALE),
        "set_fate": sets["fate"].astype(np.uint8),
        "k": items["k"].astype(np.uint8),
        # All but the last, which is what remains of 1.
        "probs": np.round(items["probs"] * D_SCALE).astype(np.uint16),
        # As the model says them, of the whole vocabulary.
        "raw": np.round(np.minimum(np.exp(items["logprobs"]), 1) * D_SCALE).astype(np.uint16),
        "d": np.round(items["d"] * D_SCALE).astype(np.int16),
        "correct": _small(items["correct"], 1),
        "settled": items["answerable"].astype(np.uint8),
        "gold": np.where(items["gold"] < 0, 255, items["gold"]).astype(np.uint8),
    }
    header["ways"] = ways(set_names["variant"].by_appearance().names)
    for name, values in set_names.items():
        columns[name], header[name] = _coded(values)
    for name in ("pronoun", "names"):
        columns[name], header[name] = _coded(names[name])
    if not any("desirability" in part.items for part in run.parts):  # D by another estimator says nothing of it
        columns["perplexity"] = _small(items["perplexity"], D_SCALE / 2)
    header["groups"] = {}
    for name in run.groups:
        if _is_filter(name, names[f"group:{name}"]):
            columns[f"group:{name}"], header["groups"][name] = _coded(names[f"group:{name}"])
    return _packed(header, columns)


def _joined(parts: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    if len(parts) == 1:
        return dict(parts[0])
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _joined_names(parts: Sequence[Mapping[str, Names]]) -> dict[str, Names]:
    return {name: Names.joined([part[name] for part in parts]) for name in parts[0]}


def _in_sets(part: Part) -> tuple[Integers, Integers]:
    """Return the number of each item's set as it was asked in one way, and the items in the order of these."""
    items = items_of(part)
    numbers = joint_numbers(items.sets, items.variants)
    return numbers, np.argsort(numbers, kind="stable")


def _part_columns(part: Part) -> _Cases:
    asked, outcomes = _asked(part), part.outcomes
    numbers, order = _in_sets(part)
    sizes = np.bincount(numbers)
    firsts = order[np.cumsum(sizes) - sizes]  # the first item of each set
    pairs = part.pairs
    fates = np.full(len(sizes), NO_FATE)
    places, known = members_and_fates(part)
    fates[numbers[places][::-1]] = known[::-1]
    values = np.stack([column(pairs, main_estimator(pairs, name)) for name in ("u", "u_signed")], axis=1)
    u, u_signed = of_sets(part, values, firsts).T
    sets = {"size": sizes, "u": u, "u_signed": u_signed, "fate": fates}
    names = {
        "type": Names.of(outcomes.group("type")[firsts]),
        "set_id": Names.of(outcomes.set_id[firsts]),
        "variant": Names.of(outcomes.variant[firsts]),
        "order": Names.of(_orders(part, asked.slots, firsts)),
    }
    pronouns = np.array([_pronoun(kind) for kind in asked.slots.names.tolist()], dtype=object)
    # A cloze asks for the word itself: what it is in the sentence that is shown says nothing.
    pronoun = np.where(outcomes.sides == "", pronouns[asked.slots.numbers], "")
    of_items = {
        "pronoun": Names.of(pronoun),
        "names": _names(asked, outcomes),
        **{f"group:{name}": Names.of(outcomes.group(name)) for name in part.run.groups},
    }
    items: dict[str, NDArray[Any]] = {name: column(part.items, name)[order] for name in ("correct", "perplexity")}
    items["d"] = column(part.items, main_estimator(part.items, "desirability"))[order]
    items |= {"answerable": outcomes.answerable[order], "gold": outcomes.gold[order]}
    items |= {"k": np.full(len(order), outcomes.k), "logprobs": outcomes.logprobs[order].reshape(-1)}
    items["probs"] = outcomes.probs[order, :-1].reshape(-1)
    return _Cases(sets, names, items, {name: values.take(order) for name, values in of_items.items()})


def _pronoun(slots: str) -> str:
    """Return the pronoun among the slots of an example; a run may have a hundred thousand kinds of slots."""
    pronouns = _PRONOUN.findall(slots)
    return str(pronouns[0] if len(pronouns) == 1 else json.loads(slots).get("pronoun", ""))


@dataclass(frozen=True)
class _Asked:
    """The example of each item: its candidates (`people`, a line each), their number, and whether it is a pair."""

    slots: Names
    people: Names
    count: Integers
    is_pair: Booleans


def _asked(part: Part) -> _Asked:
    """Return the example of each item of a part."""
    import pyarrow.compute as pc

    table, rows = part.asked("slots", "candidates", "pair")
    slots, people = (Names.of_texts(texts) for texts in (table["slots"], pc.binary_join(table["candidates"], "\n")))
    count, is_pair = pc.list_value_length(table["candidates"]).to_numpy(), pc.is_valid(table["pair"]).to_numpy()
    return _Asked(slots.take(rows), people.take(rows), count[rows], is_pair[rows])


def _texts_of(part: Part) -> Names:
    """Return the sentence of each item and its own question, in the order of their sets."""
    table, rows = part.asked("text", "slots")
    texts, slots = Names.of_texts(table["text"]), Names.of_texts(table["slots"])
    questions = np.array([question_of(part.run, text) for text in slots.names.tolist()], dtype=object)
    if questions.any():
        both = zip(texts.values(), questions[slots.numbers], strict=True)
        texts = Names.of(np.array([f"{text} {question}".strip() for text, question in both], dtype=object))
    return texts.take(rows).take(_in_sets(part)[1])


def question_of(run: Run, slots: str) -> str:
    """Return what an example with these slots was asked, where its data say it; "" where the run words the question."""
    settings = run.manifest.settings
    return "" if settings.get("questions") or settings.get("wordings") else own_question(json.loads(slots))


def _orders(part: Part, slots: Names, firsts: Integers) -> NDArray[Any]:
    """Return the options of these items by number, as they were shown, "" where none were."""
    asked, outcomes = part.run.manifest.tasks.get(part.task, {}), part.outcomes
    orders = np.full(len(firsts), "", dtype=object)
    if asked.get("options") or asked.get("seeds"):
        rows = zip(outcomes.cluster_id[firsts], outcomes.variant[firsts], slots.take(firsts).values(), strict=True)
        for place, (cluster, variant, text) in enumerate(rows):
            order = asked_order(str(cluster), str(variant), outcomes.k, json.loads(text))
            orders[place] = " ".join(map(str, order))
    return orders


def _names(asked: _Asked, outcomes: Outcomes) -> Names:
    """Return each item's candidates as one text, a line each; after an empty line the task's further options.

    A sentence that was made into a pair to be asked has the words of the pair, not its people.
    """
    people, form = asked.people, outcomes.group("form")
    facts = (people.numbers, asked.count, asked.is_pair, outcomes.flags, outcomes.sides, form)
    numbers = joint_numbers(*map(cluster_numbers, facts))
    names = []
    for row in np.unique(numbers, return_index=True)[1]:
        shown, count, sides = people.names[people.numbers[row]], int(asked.count[row]), str(outcomes.sides[row])
        if sides and not asked.is_pair[row]:
            words = side_words(sides, str(form[row]))
            shown, count = "\n".join(words), len(words)
        further = further_options(str(outcomes.flags[row]), outcomes.k - count)
        names.append(f"{shown}\n\n" + "\n".join(further))
    return Names.of(np.array(names, dtype=object)).take(numbers)


def _is_filter(group: str, column: Names) -> bool:
    """Return whether cases can be filtered by a group: it has several values, but few."""
    return group not in ("type", "other") and 1 < len(column.by_appearance().names) <= FEW_VALUES


def _coded(column: Names) -> tuple[NDArray[Any], list[str]]:
    """Return the values as numbers of a list of names, in as few bytes as that takes."""
    column = column.by_appearance()
    count = len(column.names)
    size = np.uint8 if count < 2**8 else np.uint16 if count < 2**16 else np.uint32
    return column.numbers.astype(size), column.names.tolist()


def _texts(column: Names) -> tuple[NDArray[Any], list[str]]:
    """Return the texts each once, sorted from their ends, and each item's as the step from the one before.

    Sentences that differ in a word or two are then neighbours, where the compression can see it: it looks
    back 32 kB, and a full-size run of a few hundred variants a sentence is a fifth as large.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.by_appearance()
    order = pc.sort_indices(pc.utf8_reverse(pa.array(column.names, pa.large_string()))).to_numpy()
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.diff(place[column.numbers], prepend=0).astype(np.int32), column.names[order].tolist()


def _small(values: Floats, scale: float) -> NDArray[np.uint16]:
    known = np.where(np.isnan(values), NOTHING, np.clip(np.round(values * scale), 0, NOTHING - 1))
    return known.astype(np.uint16)


def _packed(header: dict[str, Any], columns: dict[str, NDArray[Any]]) -> str:
    header["columns"] = [[name, values.dtype.name, len(values)] for name, values in columns.items()]
    content = bytearray(LENGTH.size)
    for text in _json(header):
        content += text.encode("utf-8", "replace")
    LENGTH.pack_into(content, 0, len(content) - LENGTH.size)
    for values in columns.values():
        # Little-endian whatever the machine: that is what a browser's typed arrays are, too.
        content += np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes()
    return base64.b64encode(_gzipped(content)).decode("ascii")


def _json(header: Mapping[str, Any]) -> Iterator[str]:
    """Yield a header as JSON, a part of a list at a time: a million names at once would take much memory."""
    written = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    mark = "{"
    for name, value in header.items():
        yield f"{mark}{written(name)}:"
        if isinstance(value, list) and value:
            for start in range(0, len(value), TOGETHER):
                yield f"{',' if start else '['}{written(value[start : start + TOGETHER])[1:-1]}"
            yield "]"
        else:
            yield written(value)
        mark = ","
    yield "}"


def _gzipped(content: bytes | bytearray) -> bytes:
    """Return the content as one gzip stream, compressed in blocks on all cores; it does not depend on their number.

    There is no time stamp inside: the same run gives the same page, byte for byte.
    """

    def compressed(start: int) -> bytes:
        end = start + BLOCK
        # What a block begins with is often what the one before it ends with.
        packer = zlib.compressobj(
            LEVEL, wbits=-zlib.MAX_WBITS, zdict=content[max(0, start - 2**zlib.MAX_WBITS) : start]
        )
        flush = zlib.Z_SYNC_FLUSH if end < len(content) else zlib.Z_FINISH
        return packer.compress(content[start:end]) + packer.flush(flush)

    with ThreadPoolExecutor(cores.wanted()) as threads:
        blocks = list(threads.map(compressed, range(0, max(1, len(content)), BLOCK)))
    return b"".join([GZIP_HEAD, *blocks, struct.pack("<II", zlib.crc32(content), len(content) % 2**32)])
