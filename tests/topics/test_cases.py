"""The cases of a run are packed with its numbers and texts, in few bytes."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise.records import RunError
from equipoise.run import audit
from equipoise.runs.run import Run
from equipoise.tasks.multiple_choice import option_order
from equipoise.topics import cases
from equipoise.topics.cases import case_section, pack
from equipoise.topics.flips import set_fates


def test_what_is_described_is_as_it_was_kept(planted_run: Path) -> None:
    assert_kept("topics/cases", case_section(Run(planted_run)))


def unpacked(packed: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the columns of packed cases, as the page's script reads them."""
    content = gzip.decompress(base64.b64decode(packed))
    (size,) = struct.unpack("<I", content[:4])
    header, at, columns = json.loads(content[4 : 4 + size]), 4 + size, {}
    for name, kind, count in header["columns"]:
        values = np.frombuffer(content, np.dtype(kind).newbyteorder("<"), count, at)
        columns[name], at = values, at + values.nbytes
    assert at == len(content)
    return header, columns


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("orders") / "run"
    return audit("planted:strength=1,bias=1,noise=1", task="mcq", orders=2, limit=12, resamples=5, by=[], out=out)


def test_every_case_is_packed_with_the_numbers_of_the_run(planted_run: Path, ordered: Run) -> None:
    for run in (Run(planted_run), ordered):
        (part,), (header, columns) = run.parts, unpacked(pack(run))
        keys = part.items["set_id"] + "\0" + part.items["variant"].fillna("")
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
        header, columns = unpacked(pack(run))
        short = {key: value[:12] if isinstance(value, list) else value for key, value in header.items()}
        sums = {}
        for key, packed in columns.items():
            numbers = packed.astype(float)
            weighted = float(numbers @ np.arange(1, len(numbers) + 1))
            sums[key] = (packed.dtype.name, len(packed), float(numbers.sum()), weighted)
        kept[name] = {"header": short, "columns": sums}
    assert_kept("topics/packed", kept)


def test_without_sentences_no_text_is_packed(planted_run: Path) -> None:
    header, columns = unpacked(pack(Run(planted_run), sentences=False))
    assert header["text"] == [""] and not columns["text"].any() and len(columns["text"]) == len(columns["k"])


@pytest.mark.parametrize(("count", "kind"), [(255, "uint8"), (256, "uint16"), (65535, "uint16"), (65536, "uint32")])
def test_names_are_numbered_in_as_few_bytes_as_that_takes(count: int, kind: str) -> None:
    codes, names = cases._coded(pd.Series([f"{at}" for at in range(count)]))
    assert codes.dtype.name == kind and len(names) == count and codes[-1] == count - 1


def test_numbers_are_small_and_what_is_not_known_has_its_own() -> None:
    values = np.array([0.0, 0.5, 1.0, 9.0, -1.0, np.nan])
    assert cases._small(values, 10_000).tolist() == [0, 5000, 10000, 65534, 0, 65535]


def test_a_group_with_few_values_is_a_filter() -> None:
    items = pd.DataFrame({f"g{count}": [f"{at % count}" for at in range(61)] for count in (1, 2, 60, 61)})
    items = items.assign(type="a", other="b")
    assert cases._filters(items, [*items.columns, "missing"]) == ["g2", "g60"]


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
def test_many_items_are_shown_by_several_cores(items: tuple[int, ...], many: bool) -> None:
    tables: list[str] = []
    parts = [SimpleNamespace(items=range(count), outcomes=(), pairs=(), measured=()) for count in items]
    run: Any = SimpleNamespace(parts=parts, table=tables.append)
    assert cases.are_many(run) is many
    assert tables == (["examples.parquet"] if many else []), "what all need is read once, before"


def test_perplexity_is_packed_where_desirability_is_by_another_estimator(planted_run: Path, tmp_path: Path) -> None:
    run = audit("planted:noise=1", limit=6, resamples=5, by=[], estimators=["margin"], out=tmp_path, progress=False)
    part = run.parts[0]
    assert "desirability" not in part.items
    header, columns = unpacked(pack(run))
    whole = np.concatenate([np.asarray(part.items["perplexity"]) for part in run.parts])
    known = columns["perplexity"] / (header["d_scale"] / 2)
    assert sorted(known) == pytest.approx(sorted(whole), abs=2e-4) and len(set(known)) > 3
    assert "perplexity" not in unpacked(pack(Run(planted_run)))[1], "there D says it"


def test_answers_to_no_example_of_the_run_are_counted(planted_run: Path) -> None:
    run = Run(planted_run)
    (part,), table = run.parts, run.table("examples.parquet")
    used = part.items["example_id"].value_counts()
    keep = ~table["id"].to_pandas().isin(used.index[:2]).to_numpy()
    less: Any = SimpleNamespace(path=Path("mine"), table=lambda _: table.filter(keep))
    some: Any = SimpleNamespace(run=less, dataset=part.dataset, items=part.items)
    missing = int(used.iloc[:2].sum())
    with pytest.raises(RunError) as refused:
        cases._asked(some)
    place = Path("mine") / "outcomes.parquet"
    assert str(refused.value) == f"{place} is damaged (example_id: {missing} answers are to no example of the run)"
    whole: Any = SimpleNamespace(run=run, dataset=part.dataset, items=part.items)
    asked = cases._asked(whole)
    assert asked["id"].tolist() == part.items["example_id"].tolist()
    turned: Any = SimpleNamespace(run=run, dataset=part.dataset, items=part.items.iloc[::-1])
    assert cases._asked(turned)["text"].tolist() == asked["text"].tolist()[::-1]
    examples = run.examples.set_index("id").loc[asked["id"]]
    assert asked["people"].tolist() == ["\n".join(people) for people in examples["candidates"]]
    assert asked["named"].tolist() == [len(people) for people in examples["candidates"]] and not asked["own"].any()


def test_a_sentence_made_into_a_pair_has_the_words_of_the_pair(make_outcomes: Any) -> None:
    sides = ["male|female", "male|female", "", "male|female"]
    rows = [
        {"pair": "p", "probs": (0.5, 0.3, 0.2), "form": form} for form in ("subject", "subject", "subject", "object")
    ]
    outcomes = replace(make_outcomes(rows), sides=np.array(sides, dtype=object))
    asked = pd.DataFrame({"people": ["a\nb", "c", "a\nb", "a\nb"], "named": [2, 1, 2, 2]})
    asked["own"] = [False, True, False, False]
    items = pd.DataFrame({"flags": ["", None, "open-answer", ""]})
    names = cases._names(asked, items, outcomes).tolist()
    assert [name.split("\n\n")[0] for name in names] == ["he\nshe", "c", "a\nb", "him\nher"]
    assert [len(name.split("\n\n")[1].split("\n")) for name in names] == [1, 1, 1, 1]


@pytest.mark.parametrize(("settings", "ordered"), [({"options": 2}, True), ({"seeds": [1]}, True), ({}, False)])
def test_options_are_numbered_where_a_task_shows_them(settings: dict[str, Any], ordered: bool) -> None:
    part: Any = SimpleNamespace(
        task="t", run=SimpleNamespace(manifest=SimpleNamespace(tasks={"t": settings, "other": {"seeds": [1]}}))
    )
    firsts = pd.DataFrame({"cluster_id": ["a", "b"], "variant": [None, "seed=3"], "k": [2, 3]})
    firsts["slots"] = ['{"option_order": "1 0"}', "{}"]
    drawn = " ".join(map(str, option_order("b", 3, 3)))
    assert cases._orders(part, firsts) == (["1 0", drawn] if ordered else ["", ""])
