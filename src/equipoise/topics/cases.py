"""The cases of a run, packed for a page: numbers as small integers, texts and names once, the whole compressed.

`media/page/web/cases.js` unpacks what this packs; a change of one is a change of the other.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..datasets.pronouns import side_words
from ..records import Floats, Outcomes, RunError
from ..records.showing import Section
from ..runs.run import Part, Run, column, main_estimator
from ..stats.bootstrap import cluster_numbers, joint_numbers
from ..tasks.multiple_choice import asked_order
from ..tasks.outcomes import further_options
from ..verdict.words import ways, words_of
from .flips import FATES, members_and_fates

NOTHING = 65535
"""In place of a number that a case does not have."""

NO_FATE = 255
MANY_ITEMS = 50_000
D_SCALE = 10_000
_PRONOUN = re.compile(r'"pronoun": "([^"\\]*)"')
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
    many = sum(len(part.items) for part in run.parts) >= MANY_ITEMS
    if many:
        read = [(part.outcomes, part.pairs, part.measured) for part in run.parts], run.table("examples.parquet")
        del read  # the run holds it
    return many


def pack(run: Run, *, sentences: bool = True) -> str:
    """Return the cases of the run as base64: a length, a header in JSON, and the columns one after another, gzipped.

    Without `sentences` the texts stay out: some datasets may be used, but not passed on.
    """
    parts = [_part_columns(part) for part in run.parts]
    sets = pd.concat([cases.sets.assign(part=number) for number, cases in enumerate(parts)], ignore_index=True)
    items = pd.concat([cases.items for cases in parts], ignore_index=True)
    probs = np.concatenate([cases.probs[:, :-1].reshape(-1) for cases in parts])
    raw = np.concatenate([np.exp(cases.logprobs).reshape(-1) for cases in parts])
    header: dict[str, Any] = {"parts": [str(part) for part in run.parts], "d_scale": D_SCALE, "fates": FATES}
    header["cloze"] = [bool((part.outcomes.sides != "").all()) for part in run.parts]
    columns: dict[str, NDArray[Any]] = {
        "set_part": sets["part"].to_numpy(np.uint8),
        "set_size": sets["size"].to_numpy(np.uint16),
        "set_u": _small(column(sets, "u"), D_SCALE),
        "set_us": _small(column(sets, "u_signed"), D_SCALE),
        "set_fate": sets["fate"].to_numpy(np.uint8),
        "k": items["k"].to_numpy(np.uint8),
        # All but the last, which is what remains of 1.
        "probs": np.round(probs * D_SCALE).astype(np.uint16),
        # As the model says them, of the whole vocabulary.
        "raw": np.round(np.minimum(raw, 1) * D_SCALE).astype(np.uint16),
        "d": np.round(column(items, "d") * D_SCALE).astype(np.int16),
        "correct": _small(column(items, "correct"), 1),
        "settled": items["answerable"].to_numpy(np.uint8),
        "gold": np.where(items["gold"] < 0, 255, items["gold"]).astype(np.uint8),
    }
    header["ways"] = ways(sets["variant"].unique())
    named = {"type": sets["type"], "set_id": sets["id"], "variant": sets["variant"], "order": sets["order"]}
    for name, values in named.items():
        columns[name], header[name] = _coded(values)
    for name in ("pronoun", "names"):
        columns[name], header[name] = _coded(items[name])
    columns["text"], header["text"] = _texts(items["text"] if sentences else pd.Series([""] * len(items)))
    if "desirability" not in items:  # D by another estimator says nothing of perplexity
        columns["perplexity"] = _small(column(items, "perplexity"), D_SCALE / 2)
    header["groups"] = {}
    for name in _filters(items, run.groups):
        columns[f"group:{name}"], header["groups"][name] = _coded(items[name])
    header["columns"] = [[name, values.dtype.name, len(values)] for name, values in columns.items()]
    return _packed(header, columns)


@dataclass(frozen=True)
class _Cases:
    """The sets and the items of one dataset and task, the items in the order of their sets."""

    sets: pd.DataFrame
    items: pd.DataFrame
    probs: Floats
    logprobs: Floats


def _part_columns(part: Part) -> _Cases:
    asked, outcomes = _asked(part), part.outcomes
    listed = (*("variant", "set_id", "cluster_id", "type", "correct", "answerable", "gold"), *part.run.groups)
    desirability = main_estimator(part.items, "desirability")
    named = dict.fromkeys([*listed, "flags", "perplexity", "desirability", desirability])
    items = part.items[[name for name in named if name in part.items]].reset_index(drop=True)
    keys = items["set_id"].astype(str) + "\0" + items["variant"].fillna("").astype(str)
    numbers = pd.factorize(keys)[0]
    slots, kinds = pd.factorize(asked["slots"])
    pronouns = np.array([_pronoun(kind) for kind in np.asarray(kinds, dtype=object).tolist()], dtype=object)
    items = items.assign(
        k=outcomes.k,
        # A cloze asks for the word itself: what it is in the sentence that is shown says nothing.
        pronoun=np.where(outcomes.sides == "", pronouns[slots], ""),
        text=asked["text"].array,
        slots=asked["slots"].array,
        names=_names(asked, items, outcomes),
        d=column(items, desirability),
    )
    order = np.argsort(numbers, kind="stable")
    items = items.take(order)
    sizes = np.bincount(numbers)
    places = order[np.cumsum(sizes) - sizes]  # of the first item of each set
    first, wanted = items.iloc[np.cumsum(sizes) - sizes], keys.iloc[places]
    sets = pd.DataFrame({"size": sizes})
    sets["type"] = first["type"].fillna("").to_numpy() if "type" in first else ""
    sets["id"] = first["set_id"].astype(str).to_numpy()
    sets["variant"] = first["variant"].fillna("").astype(str).to_numpy()
    sets["order"] = _orders(part, first)
    pairs = part.pairs
    known = pairs["set_id"].astype(str) + "\0" + pairs["variant"].fillna("").astype(str)
    for name in ("u", "u_signed"):
        values = pd.Series(column(pairs, main_estimator(pairs, name)), index=known)
        sets[name] = values[~values.index.duplicated()].reindex(wanted).to_numpy()
    firsts, fates = members_and_fates(part)
    fate = pd.Series(fates, index=keys.iloc[firsts])
    sets["fate"] = fate[~fate.index.duplicated()].reindex(wanted).fillna(NO_FATE).to_numpy()
    return _Cases(sets, items, outcomes.probs[order], outcomes.logprobs[order])


def _pronoun(slots: str) -> str:
    """Return the pronoun among the slots of an example; a run may have a hundred thousand kinds of slots."""
    pronouns = _PRONOUN.findall(slots)
    return str(pronouns[0] if len(pronouns) == 1 else json.loads(slots).get("pronoun", ""))


def _asked(part: Part) -> pd.DataFrame:
    """Return text, slots and candidates (`people`, a line each) of the example of each item.

    `named` is the number of candidates; `own` says that the example is a pair itself.
    """
    import pyarrow.compute as pc

    table = part.run.table("examples.parquet").select(["dataset", "id", "text", "slots", "candidates", "pair"])
    table = table.filter(pc.equal(table["dataset"], part.dataset))
    table = table.append_column("people", pc.binary_join(table["candidates"], "\n"))
    table = table.append_column("named", pc.list_value_length(table["candidates"]))
    table = table.append_column("own", pc.is_valid(table["pair"])).drop_columns(["dataset", "candidates", "pair"])
    asked: pd.DataFrame = table.to_pandas()
    wanted = part.items["example_id"].array
    if len(asked) == len(wanted) and bool((asked["id"].array == wanted).all()):
        return asked  # each was asked once, in their order
    asked = asked.drop_duplicates("id")
    rows = pd.Index(asked["id"]).get_indexer(pd.Index(wanted))
    if (rows < 0).any():
        place = part.run.path / "outcomes.parquet"
        raise RunError(
            f"{place} is damaged (example_id: {int((rows < 0).sum()):,} answers are to no example of the run)"
        )
    chosen: pd.DataFrame = asked.take(rows)
    return chosen.reset_index(drop=True)


def _orders(part: Part, firsts: pd.DataFrame) -> list[str]:
    """Return the options of every set by number, as they were shown, "" where none were."""
    asked = part.run.manifest.tasks.get(part.task, {})
    if not (asked.get("options") or asked.get("seeds")):
        return [""] * len(firsts)
    variants = firsts["variant"].fillna("").astype(str)
    rows = zip(firsts["cluster_id"].astype(str), variants, firsts["k"], firsts["slots"], strict=True)
    orders = [asked_order(cluster, variant, int(k), json.loads(slots)) for cluster, variant, k, slots in rows]
    return [" ".join(map(str, order)) for order in orders]


def _names(asked: pd.DataFrame, items: pd.DataFrame, outcomes: Outcomes) -> NDArray[Any]:
    """Return each item's candidates as one text, a line each; after an empty line the task's further options.

    A sentence that was made into a pair to be asked has the words of the pair, not its people.
    """
    flags = items["flags"].fillna("").to_numpy(dtype=object)
    facts = [asked[name].to_numpy() for name in ("people", "named", "own")]
    facts += [flags, outcomes.sides, outcomes.group("form")]
    numbers = joint_numbers(*map(cluster_numbers, facts))
    firsts = np.unique(numbers, return_index=True)[1]
    names = []
    for people, count, is_own, marks, sides, form in zip(*(fact[firsts] for fact in facts), strict=True):
        if sides and not is_own:
            words = side_words(str(sides), str(form))
            people, count = "\n".join(words), len(words)
        further = further_options(str(marks), outcomes.k - int(count))
        names.append(f"{people}\n\n" + "\n".join(further))
    return np.array(names, dtype=object)[numbers]


def _filters(items: pd.DataFrame, groups: list[str]) -> list[str]:
    named = [name for name in groups if name not in ("type", "other") and name in items]
    return [name for name in named if 1 < items[name].fillna("").nunique() <= FEW_VALUES]


def _coded(values: pd.Series) -> tuple[NDArray[Any], list[str]]:
    """Return the values as numbers of a list of names, in as few bytes as that takes."""
    codes, names = pd.factorize(values.fillna("").astype(str))
    size = np.uint8 if len(names) < 2**8 else np.uint16 if len(names) < 2**16 else np.uint32
    return codes.astype(size), np.asarray(names, dtype=object).tolist()


def _texts(values: pd.Series) -> tuple[NDArray[Any], list[str]]:
    """Return the texts each once, sorted from their ends, and each item's as the step from the one before.

    Sentences that differ in a word or two are then neighbours, where the compression can see it: it looks
    back 32 kB, and a full-size run of a few hundred variants a sentence is a fifth as large.
    """
    codes, texts = pd.factorize(values.fillna("").astype(str))
    names = np.asarray(texts, dtype=object).tolist()
    turned = [name[::-1] for name in names]
    order = np.array(sorted(range(len(names)), key=turned.__getitem__), dtype=np.int64)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return np.diff(place[codes], prepend=0).astype(np.int32), [names[number] for number in order]


def _small(values: Floats, scale: float) -> NDArray[np.uint16]:
    known = np.where(np.isnan(values), NOTHING, np.clip(np.round(values * scale), 0, NOTHING - 1))
    return known.astype(np.uint16)


def _packed(header: dict[str, Any], columns: dict[str, NDArray[Any]]) -> str:
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    # Little-endian whatever the machine: that is what a browser's typed arrays are, too.
    body = [np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes() for values in columns.values()]
    # No time stamp inside: the same run gives the same page, byte for byte.
    packed = gzip.compress(b"".join([struct.pack("<I", len(head)), head, *body]), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii")
