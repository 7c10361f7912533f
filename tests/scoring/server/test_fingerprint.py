"""A served model is recognised by its answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from served import opened

from equipoise.scoring.engine import identity_key
from equipoise.scoring.server.fingerprint import SHARED, TOLERANCE, _agree, fingerprint


def test_another_model_under_the_same_name_is_noticed_and_the_same_one_recognised(serve: Any) -> None:
    first, again, other = opened(serve()), opened(serve()), opened(serve(seed=1))
    assert identity_key(first) == identity_key(again) != identity_key(other)
    assert identity_key(opened(serve())) == identity_key(first)


TEN = {f"t{number}": -1.0 * number for number in range(10)}


def test_answers_agree_within_the_tolerance_on_enough_of_the_same_tokens() -> None:
    assert SHARED == 0.8
    for change, same in ((TOLERANCE * 0.99, True), (TOLERANCE * 1.01, False), (-TOLERANCE * 1.01, False)):
        assert _agree(TEN, {**TEN, "t3": TEN["t3"] + change}) is same
    for kept, same in ((8, True), (7, False)):
        fewer = dict(list(TEN.items())[:kept])
        assert _agree(TEN, fewer) is _agree(fewer, TEN) is same
        others = {f"x{number}": 0.0 for number in range(10 - kept)}
        assert _agree(TEN, {**fewer, **others}) is same
    assert not _agree({}, TEN) and not _agree({}, {})


def test_a_fingerprint_is_known_again_by_its_model(own_cache: None, tmp_path: Path) -> None:
    first = fingerprint("m", TEN)
    assert len(first) == 16 and fingerprint("m", TEN) == first
    near = {**TEN, "t1": TEN["t1"] + TOLERANCE / 2}
    assert fingerprint("m", near) == first, "answers of one model differ a little from start to start"
    far = {**TEN, "t1": 9.0}
    second = fingerprint("m", far)
    assert second != first and fingerprint("m", far) == second and fingerprint("m", near) == first
    assert fingerprint("other", near) not in (first, second), "another model has answers of its own"
    (file, *_) = sorted((tmp_path / "cache" / "servers").glob("*.json"))
    odd = json.dumps({"a": {**TEN, "t1": None}})
    for damaged in ("[1", "[]", '{"a": 3}', odd, odd.replace("null", "[]"), odd.replace("null", '"x"')):
        for path in (tmp_path / "cache" / "servers").glob("*.json"):
            path.write_text(damaged)
        assert fingerprint("m", TEN) == first
    assert file.is_file()


def test_without_a_cache_every_start_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file"))
    near = {**TEN, "t1": TEN["t1"] + TOLERANCE / 2}
    assert fingerprint("m", TEN) == fingerprint("m", TEN) != fingerprint("m", near)
    assert fingerprint("m", TEN) == fingerprint("m", dict(reversed(TEN.items())))


def test_fingerprints_are_kept_in_a_file_that_the_models_name_gives(own_cache: None, tmp_path: Path) -> None:
    answers = {"b": -2.0, "a": -1.0}
    expected = hashlib.sha256(b'[["a", -1.0], ["b", -2.0]]').hexdigest()[:16]
    assert fingerprint("m", answers) == expected
    folder, name = tmp_path / "cache" / "servers", hashlib.sha256(b"m").hexdigest()[:16]
    assert {file.name for file in folder.iterdir()} - {f"{name}.lock"} == {f"{name}.json"}
    assert json.loads((folder / f"{name}.json").read_text()) == {expected: answers}
