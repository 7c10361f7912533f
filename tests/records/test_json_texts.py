"""Texts as JSON: the same as json.dumps writes, character for character."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from equipoise.records import json_texts
from equipoise.records.json_texts import Quoted, object_text

TEXTS = st.dictionaries(st.text(), st.text())


@given(st.lists(TEXTS))
def test_objects_of_texts_are_what_json_dumps_writes(several: list[dict[str, str]]) -> None:
    quoted = Quoted()
    for texts in several:
        assert object_text(texts, quoted) == json.dumps(texts, ensure_ascii=False)


def test_texts_beyond_those_that_are_remembered_are_quoted_too(monkeypatch) -> None:
    monkeypatch.setattr(json_texts, "MOST_KNOWN", 1)
    quoted = Quoted()
    assert [quoted[text] for text in ("a", 'b"', 'b"', "a")] == ['"a"', '"b\\""', '"b\\""', '"a"']
    assert list(quoted) == ["a"]
