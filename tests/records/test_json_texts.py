"""Texts as JSON: the same as json.dumps writes, character for character."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records import json_texts
from equipoise.records.json_texts import ObjectTexts

TEXTS = st.dictionaries(st.text(), st.text())


@given(st.lists(TEXTS), st.booleans())
def test_objects_of_texts_are_what_json_dumps_writes(several: list[dict[str, str]], ordered: bool) -> None:
    text = ObjectTexts(ordered=ordered)
    for mapping in (*several, *several):
        assert text(mapping) == json.dumps(mapping, ensure_ascii=False, sort_keys=ordered)


def test_members_beyond_those_that_are_remembered_are_written_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_texts, "MOST_KNOWN", 1)
    text = ObjectTexts()
    several = [{"a": "1"}, {"b": '"'}, {"b": '"'}, {"a": "1"}]
    assert [text(mapping) for mapping in several] == ['{"a": "1"}', '{"b": "\\""}', '{"b": "\\""}', '{"a": "1"}']
    assert list(text._members) == [("a", "1")]


def test_a_mapping_that_examples_share_is_written_once() -> None:
    text, shared = ObjectTexts(), {"a": "1"}
    assert text(shared) is text(shared)
