"""The file of examples is the same whether it was made aside or at the end; ids of outcomes come back as they were."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.datasets import open_dataset
from equipoise.runs import packed as module
from equipoise.runs.packed import Packed, packed_aside, packed_outcomes, union
from equipoise.runs.tables import example_rows

BUILTIN = open_dataset("builtin")
FEW = replace(BUILTIN.limited(3), name="few")


def test_many_examples_are_hashed_and_packed_aside_and_few_when_they_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(BUILTIN.limited(2), name="other")
    monkeypatch.setattr(module, "LARGE", len(FEW.examples) + len(other.examples))
    first, second = replace(FEW), replace(other)
    with packed_aside([first, second]) as packed:
        assert packed == Packed() and "sha256" not in vars(first)
    assert (vars(first)["sha256"], vars(second)["sha256"]) == (FEW.sha256, other.sha256)
    parts = [("few", FEW.examples), ("other", other.examples)]
    content = example_rows(dict(parts)).content()
    monkeypatch.setattr(module, "example_rows", lambda _: pytest.fail("it is packed already"))
    assert packed.content == content == packed.examples([*parts, ("few", FEW.examples[:2])])
    alone = replace(FEW)
    with packed_aside([alone]) as none:
        pass
    assert none == Packed() and "sha256" not in vars(alone)


def test_what_was_left_out_is_not_in_the_file() -> None:
    packed = Packed(b"all of them", {"few": len(FEW.examples)})
    assert packed.examples([("few", FEW.examples)]) == b"all of them"
    for parts in ([("few", FEW.examples[2:])], [("few", FEW.examples), ("other", FEW.examples)]):
        assert packed.examples(parts) == example_rows(dict(parts)).content()
    assert Packed().examples([("few", FEW.examples)]) == example_rows({"few": FEW.examples}).content()


def test_a_union_keeps_each_example_once() -> None:
    one, two, three, four = FEW.examples[:4]
    joined = union([("m", [one]), ("n", [one]), ("m", [two, three, four]), ("m", [one, four])])
    assert list(joined.items()) == [("m", (two, three, four, one)), ("n", [one])]


@pytest.mark.parametrize("ids", [("1", "NaN"), ("1", "1"), ("\ud800", "a")], ids=["different", "equal", "surrogate"])
def test_packed_outcomes_come_back_with_new_ids(make_outcomes: Any, ids: tuple[str, str]) -> None:
    names = np.array(ids, dtype=object)
    rows = [{"pair": name, "probs": [0.4, 0.6], "gender": "male"} for name in ids]
    given = replace(make_outcomes(rows), example_id=names, set_id=names[::-1])
    back = packed_outcomes(given)()
    for name in ("example_id", "set_id", "cluster_id"):
        assert getattr(back, name).tolist() == getattr(given, name).tolist(), name
    assert back.probs is given.probs and back.groups is given.groups


def test_packed_outcomes_hold_none_of_their_ids(make_outcomes: Any) -> None:
    column = np.array(["first", "second"], dtype=object)
    given = make_outcomes([{"pair": name, "probs": [0.4, 0.6]} for name in column])
    held = weakref.ref(column)
    unpacked = packed_outcomes(replace(given, example_id=column, set_id=column, cluster_id=column))
    del column
    assert held() is None
    assert unpacked().cluster_id.tolist() == ["first", "second"]
