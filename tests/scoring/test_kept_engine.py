"""What an engine answered once is found again without it; what it did not answer is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from recorder import Recorder, questions

from equipoise.records import RunError
from equipoise.scoring.kept_engine import KeptEngine, kept_answers
from equipoise.scoring.score_store import ScoreStore
from equipoise.scoring.text_store import TextStore


def test_kept_answers_are_found_by_the_identity_and_by_no_other(tmp_path: Path) -> None:
    prompts = questions(3)
    engine = Recorder(prompts)
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        scores = store.scorer(engine)(prompts)
    fields = {**engine.identity, "identity": sorted(engine.identity), "device": "anywhere"}
    kept = ScoreStore.kept(tmp_path / "scores.jsonl")
    assert kept.scorer(KeptEngine("m", fields))(prompts) == scores
    other = {**fields, next(iter(engine.identity)): "another"}
    first = re.escape(prompts[0].example_id)
    with pytest.raises(RunError, match=rf"3 prompts have no score in scores\.jsonl, the first is of {first}$"):
        kept.scorer(KeptEngine("m", other))(prompts)
    with pytest.raises(RunError, match=r"reasoning\.jsonl does not have what the model wrote"):
        TextStore.kept(tmp_path / "reasoning.jsonl").writer(KeptEngine("m", fields))(["a question"], 8)


def test_what_an_engine_has_said_already_is_given_again_and_nothing_is_asked(tmp_path: Path) -> None:
    prompts = questions(3)
    engine = Recorder(prompts)
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        again = kept_answers(engine, store, TextStore(tmp_path / "reasoning.jsonl"))
        with pytest.raises(RunError, match="no score"):
            again["scorer"](prompts)
        scores = store.scorer(engine)(prompts)
        asked = list(engine.asked)
        assert again["scorer"](prompts) == scores and engine.asked == asked
        with pytest.raises(RunError, match="wrote about every question"):
            again["writer"](["a question"], 8)


def test_a_damaged_line_is_an_error_and_the_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    with ScoreStore(path) as store:
        store.scorer(Recorder(questions(3)))(questions(3))
    content = path.read_bytes().replace(b"-", b"+", 1)
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"scores\.jsonl: line 1 is damaged"):
        ScoreStore.kept(path)
    assert path.read_bytes() == content
