"""The cases of a run are packed with its numbers and texts, in few bytes."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise.run import audit
from equipoise.runs.measurements import kind_title
from equipoise.runs.run import Run
from equipoise.tasks.multiple_choice import option_order
from equipoise.topics import cases
from equipoise.topics.cases import case_section, packers
from equipoise.topics.flips import FATE_WORDS, set_fates
from equipoise.topics.names import Names


def test_what_is_described_is_as_it_was_kept(planted_run: Path) -> None:
    assert_kept("topics/cases", case_section(Run(planted_run)))


def unpacked(run: Run, *, sentences: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the columns of packed cases, as the page's script reads them."""
    header: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for pack in packers(run, sentences=sentences):
        content = gzip.decompress(base64.b64decode(pack()))
        (size,) = struct.unpack("<I", content[:4])
        head, at = json.loads(content[4 : 4 + size]), 4 + size
        for name, kind, count in head.pop("columns"):
            values = np.frombuffer(content, np.dtype(kind).newbyteorder("<"), count, at)
            columns[name], at = values, at + values.nbytes
        assert at == len(content) and not header.keys() & head.keys()
        header |= head
    return header, columns


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("orders") / "run"
    return audit("planted:strength=1,bias=1,noise=1", task="mcq", orders=2, limit=12, resamples=5, by=[], out=out)


def test_every_case_is_packed_with_the_numbers_of_the_run(planted_run: Path, ordered: Run) -> None:
    for run in (Run(planted_run), ordered):
        (part,), (header, columns) = run.parts, unpacked(run)
        keys = part.items["set_id"] + "\0" + part.items["variant"].astype(str)
        sets = list(dict.fromkeys(keys))
        items = pd.concat([part.items[keys == key] for key in sets])
        examples = run.examples.set_index("id").loc[items["example_id"]]
        pairs = part.pairs.set_index(part.pairs["set_id"] + "\0" + part.pairs["variant"].fillna("")).loc[sets]
        coded = zip(columns["set_id"], columns["variant"], strict=True)
        names = [f"{header['set_id'][name]}\0{header['variant'][variant]}" for name, variant in coded]
        assert names == sets and columns["set_size"].tolist() == [int((keys == key).sum()) for key in sets]
        np.testing.assert_allclose(columns["set_u"] / header["d_scale"], pairs["u"], atol=1e-4)
        signed = np.where(columns["set_us"] == 65535, np.nan, columns["set_us"] / header["d_scale"])
        np.testing.assert_allclose(signed, pairs["u_signed"], atol=1e-4)
        assert [header["type"][code] for code in columns["type"]] == pairs["type"].tolist()
        k = int(columns["k"][0])
        probs = part.outcomes.probs[items.index]
        np.testing.assert_allclose(columns["probs"].reshape(-1, k - 1) / header["d_scale"], probs[:, :-1], atol=1e-4)
        raw = np.exp(part.outcomes.logprobs[items.index])
        np.testing.assert_allclose(columns["raw"].reshape(-1, k) / header["d_scale"], raw, atol=1e-4)
        np.testing.assert_allclose(columns["d"] / header["d_scale"], items["desirability"], atol=1e-4)
        texts = [header["text"][place] for place in np.cumsum(columns["text"])]
        assert texts == examples["text"].tolist() and len(set(header["text"])) == len(header["text"])
        spoken = [json.loads(slots)["pronoun"] for slots in examples["slots"]]
        assert [header["pronoun"][code] for code in columns["pronoun"]] == spoken
        people = ["\n".join(several) for several in examples["candidates"]]
        shown = [header["names"][code].split("\n\n")[0] for code in columns["names"]]
        assert shown == people and columns["gold"].tolist() == [255 if gold < 0 else gold for gold in items["gold"]]
        assert columns["settled"].tolist() == items["answerable"].astype(int).tolist()
        fates = [header["fates"][code] for code in columns["set_fate"]]
        whole = {fate: fates.count(fate) for fate in header["fates"]}
        counted = [one.counts for one in set_fates(part)]
        assert ordered is run or whole == {fate: sum(counts[fate] for counts in counted) for fate in whole}


def test_packed_cases_are_as_they_were_kept(
    planted_run: Path, ordered: Run, cloze_runs: tuple[Path, Path], worded_runs: list[Path]
) -> None:
    runs = {"planted": Run(planted_run), "orders": ordered, "cloze": Run(cloze_runs[0]), "worded": Run(worded_runs[0])}
    kept = {}
    for name, run in runs.items():
        header, columns = unpacked(run)
        short = {key: value[:12] if isinstance(value, list) else value for key, value in header.items()}
        sums = {}
        for key, packed in columns.items():
            numbers = packed.astype(float)
            weighted = float(numbers @ np.arange(1, len(numbers) + 1))
            sums[key] = (packed.dtype.name, len(packed), float(numbers.sum()), weighted)
        kept[name] = {"header": short, "columns": sums}
    assert_kept("topics/packed", kept)


def test_without_sentences_no_text_is_packed(planted_run: Path) -> None:
    header, columns = unpacked(Run(planted_run), sentences=False)
    assert header["text"] == [""] and not columns["text"].any() and len(columns["text"]) == len(columns["k"])


@pytest.mark.parametrize(("count", "kind"), [(255, "uint8"), (256, "uint16"), (65535, "uint16"), (65536, "uint32")])
def test_names_are_numbered_in_as_few_bytes_as_that_takes(count: int, kind: str) -> None:
    codes, names = cases._coded(Names.of(np.array([f"{at}" for at in range(count)], dtype=object)))
    assert codes.dtype.name == kind and len(names) == count and codes[-1] == count - 1


def test_numbers_are_small_and_what_is_not_known_has_its_own() -> None:
    values = np.array([0.0, 0.5, 1.0, 9.0, -1.0, np.nan])
    assert cases._small(values, 10_000).tolist() == [0, 5000, 10000, 65534, 0, 65535]


def test_a_group_with_few_values_is_a_filter() -> None:
    numbers = {count: np.arange(61) % count for count in (1, 2, 60, 61)}
    columns = {count: Names.of(column.astype(str).astype(object)) for count, column in numbers.items()}
    assert [count for count, column in columns.items() if cases._is_filter("g", column)] == [2, 60]
    assert not any(cases._is_filter(name, columns[2]) for name in ("type", "other"))
    assert not cases._is_filter("g", columns[2].take(np.zeros(9, dtype=np.int64))), "names that no row has do not count"


@pytest.mark.parametrize(
    ("slots", "pronoun"),
    [
        ('{"pronoun": "she"}', "she"),
        ("{}", ""),
        ('{"pronoun": "a\\"b"}', 'a"b'),
        ('{"x": "\\"pronoun\\": \\"he\\"", "pronoun": "she"}', "she"),
        ('{"a": {"pronoun": "he"}, "pronoun": "she"}', "she"),
    ],
)
def test_the_pronoun_of_an_example_is_read_from_its_slots(slots: str, pronoun: str) -> None:
    assert cases._pronoun(slots) == pronoun == json.loads(slots).get("pronoun", "")


@pytest.mark.parametrize(("items", "many"), [((49_999,), False), ((50_000,), True), ((25_000, 25_000), True)])
def test_many_items_are_shown_by_several_cores(
    items: tuple[int, ...], many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[str] = []
    monkeypatch.setattr(cases, "items_of", lambda part: SimpleNamespace(members=gone.append("members")))
    parts = [SimpleNamespace(items=range(count), outcomes=(), pairs=()) for count in items]
    run: Any = SimpleNamespace(parts=parts, groups=(), let_go=lambda *names: gone.extend(names))
    assert cases.are_many(run) is many
    kept = [*["members"] * len(items), "outcomes.parquet", "pairs.parquet"]
    assert gone == (kept if many else []), "what all need is made once, before, and what it is made of is let go"


def test_there_are_too_many_items_for_several_cores(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(planted_run)
    assert not cases.fill_memory(run)
    monkeypatch.setattr(cases, "MOST_SHARED", len(run.items))
    assert not cases.fill_memory(run)
    monkeypatch.setattr(cases, "MOST_SHARED", len(run.items) - 1)
    assert cases.fill_memory(run)


@pytest.mark.parametrize("together", [1, 2, 3, 100])
def test_a_header_is_written_a_part_at_a_time(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "TOGETHER", together)
    header = {"names": ["a", 'b"', "ü"], "none": [], "one": ["x"], "nested": {"a": [1]}, "pairs": [["a", 1], ["b", 2]]}
    for some in (header, {"number": 1, **header}, {"only": 3}):
        assert "".join(cases._json(some)) == json.dumps(some, ensure_ascii=False, separators=(",", ":"))


def test_texts_are_sorted_from_their_ends() -> None:
    texts = ["he sat", "she sat", "ein Ärger", "a\U0001f600", "b\uffff", "she sat", "", "he sat "]
    steps, names = cases._texts(Names.of(np.array(texts, dtype=object)))
    assert names == sorted(set(texts), key=lambda text: text[::-1])
    assert [names[place] for place in np.cumsum(steps)] == texts


def test_perplexity_is_packed_where_desirability_is_by_another_estimator(planted_run: Path, tmp_path: Path) -> None:
    run = audit("planted:noise=1", limit=6, resamples=5, by=[], estimators=["margin"], out=tmp_path, progress=False)
    part = run.parts[0]
    assert "desirability" not in part.items
    header, columns = unpacked(run)
    whole = np.concatenate([np.asarray(part.items["perplexity"]) for part in run.parts])
    known = columns["perplexity"] / (header["d_scale"] / 2)
    assert sorted(known) == pytest.approx(sorted(whole), abs=2e-4) and len(set(known)) > 3
    assert "perplexity" not in unpacked(Run(planted_run))[1], "there D says it"


def test_each_item_has_what_its_example_says(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    asked = cases._asked(part)
    examples = part.run.examples.set_index("id").loc[part.items["example_id"]]
    assert asked.people.values().tolist() == ["\n".join(people) for people in examples["candidates"]]
    assert asked.slots.values().tolist() == examples["slots"].tolist() and not asked.is_pair.any()
    assert asked.count.tolist() == [len(people) for people in examples["candidates"]]


def test_a_sentence_made_into_a_pair_has_the_words_of_the_pair(make_outcomes: Any) -> None:
    sides = ["male|female", "male|female", "", "male|female"]
    rows = [
        {"pair": "p", "probs": (0.5, 0.3, 0.2), "form": form} for form in ("subject", "subject", "subject", "object")
    ]
    outcomes = replace(make_outcomes(rows), sides=np.array(sides, dtype=object))
    outcomes = replace(outcomes, flags=np.array(["", "", "open-answer", ""], dtype=object))
    people, nothing = Names.of(np.array(["a\nb", "c", "a\nb", "a\nb"], dtype=object)), Names.of(np.full(4, "{}"))
    asked = cases._Asked(nothing, people, np.array([2, 1, 2, 2]), np.array([False, True, False, False]))
    names = cases._names(asked, outcomes).values().tolist()
    assert [name.split("\n\n")[0] for name in names] == ["he\nshe", "c", "a\nb", "him\nher"]
    assert [len(name.split("\n\n")[1].split("\n")) for name in names] == [1, 1, 1, 1]


@pytest.mark.parametrize(("settings", "ordered"), [({"options": 2}, True), ({"seeds": [1]}, True), ({}, False)])
def test_options_are_numbered_where_a_task_shows_them(settings: dict[str, Any], ordered: bool) -> None:
    outcomes = SimpleNamespace(cluster_id=np.array(["x", "a", "b"]), variant=np.array(["", "", "seed=3"]), k=3)
    run = SimpleNamespace(manifest=SimpleNamespace(tasks={"t": settings, "other": {"seeds": [1]}}))
    part: Any = SimpleNamespace(task="t", run=run, outcomes=outcomes)
    slots = Names.of(np.array(["{}", '{"option_order": "1 0"}', "{}"], dtype=object))
    drawn = " ".join(map(str, option_order("b", 3, 3)))
    orders = cases._orders(part, slots, np.array([1, 2]))
    assert orders.tolist() == (["1 0", drawn] if ordered else ["", ""])


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 1000])
@pytest.mark.parametrize("count", [1, 3])
def test_blocks_are_one_gzip_file_whatever_the_cores(size: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    content = np.random.default_rng(size).integers(0, 3, size).astype(np.uint8).tobytes()
    monkeypatch.setattr(cases, "BLOCK", 100)
    expected = cases._gzipped(content)
    monkeypatch.setattr(cases.cores, "wanted", lambda: count)
    assert cases._gzipped(content) == expected and gzip.decompress(expected) == content
    repeated = b"the same words again " * 40
    alone = sum(len(zlib.compress(repeated[at : at + 100], 6)) for at in range(0, len(repeated), 100))
    assert len(cases._gzipped(repeated)) < alone / 2, "a block knows what is in the one before it"


def test_a_case_has_the_question_of_its_data_and_none_that_was_not_asked(tmp_path: Path) -> None:
    few: dict[str, Any] = {"limit": 1, "resamples": 5, "by": [], "metrics": ["flip_rate"]}
    run = audit("planted", "decisions", out=tmp_path / "own", **few)
    texts = {f"{row.text} {json.loads(row.slots)['question']}" for row in run.examples.itertuples()}
    assert set(unpacked(run)[0]["text"]) == texts and all(text.endswith("?") for text in texts)
    worded = audit("planted", "decisions", out=tmp_path / "worded", questions=["{text} I would say"], **few)
    assert set(unpacked(worded)[0]["text"]) == set(worded.examples["text"])


def test_the_page_names_fates_and_types_as_charts_do(planted_run: Path) -> None:
    header = unpacked(Run(planted_run))[0]
    assert header["fate_words"] == FATE_WORDS and list(FATE_WORDS) == list(header["fates"])
    assert header["kinds"]["type1"] == kind_title("type1")
