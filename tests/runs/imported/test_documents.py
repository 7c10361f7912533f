"""A question as other tools carry it comes back whole, and its answers become outcomes."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError, EquipoiseError, Prompt
from equipoise.runs.imported.documents import Document, documents_of, parse_record, results_of
from equipoise.tasks import TaskOptions, open_task

PAIRS = [
    {"sent_more": "The nurse met him.", "sent_less": "The nurse met her.", "y": 1},
    {"sent_more": "The cook saw him.", "sent_less": "The cook saw her.", "y": 0},
]
FEW = open_dataset("builtin", DatasetOptions(limit=2))


def documents(task: str = "next-word", data: Any = FEW, **options: Any) -> list[Document]:
    chosen = TaskOptions(**options)
    return documents_of(open_dataset(data), open_task(task, chosen), chosen)


@pytest.mark.parametrize(("task", "data"), [("next-word", FEW), ("mcq", FEW), ("cloze", PAIRS)])
def test_a_record_comes_back_whole_and_is_as_it_was_kept(task: str, data: Any) -> None:
    made = documents(task, data, seeds=(3, 4)) if task == "mcq" else documents(task, data)
    for document in made:
        assert parse_record(json.loads(json.dumps(document.record())), "x") == replace(
            document,
            options=TaskOptions(
                **{name: getattr(document.options, name) for name in ("seeds", "token_aggregate", "answer_space")}
            ),
        )
    assert_kept(f"runs/records-{task}", [made[0].record(), made[-1].record()])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({}, "here: was not made by `equipoise export`: its field 'equipoise' is missing"),
        ({"equipoise": 3}, "here: was not made by `equipoise export`: its field 'equipoise' is missing"),
        ({"equipoise": "{"}, "here: was not made by `equipoise export`: its field 'equipoise' is missing"),
        ({"equipoise": "{}"}, "here: was not made by `equipoise export`: its field 'equipoise' is missing"),
        ({"equipoise": '{"version": 2}'}, "here: has version 2 of the format, this Equipoise reads version 1"),
    ],
)
def test_what_is_no_record_is_refused(record: dict[str, Any], reason: str) -> None:
    with pytest.raises(DatasetError) as error:
        parse_record(record, "here")
    assert str(error.value) == reason


CHANGES: list[tuple[str, Any]] = [
    *((name, 3) for name in ("dataset", "licence", "task", "options", "variant", "example")),
    *(("options", {"seeds": value}) for value in (3, None)),
    *((f"example.{name}", 3) for name in ("id", "text", "set_id", "cluster_id", "groups", "slots", "answerable")),
    *((f"example.{name}", "0") for name in ("gold", "stereotype", "good", "pair")),
    *((f"example.{name}", [3, 4]) for name in ("candidates", "groups")),
    *((f"example.{name}", {"x": 3}) for name in ("groups", "slots", "pair")),
    ("example.candidates", "ab"),
    ("example.gold", True),
]
"""Fields of what `equipoise export` wrote -> values of another kind."""


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_a_record_that_was_changed_is_refused(name: str, value: Any) -> None:
    record = documents()[0].record()
    inside = json.loads(record["equipoise"])
    (inside["example"] if name.startswith("example.") else inside)[name.removeprefix("example.")] = value
    for changed in ({**record, "equipoise": json.dumps(inside)}, {**record, "context": 3}, {**record, "context": None}):
        with pytest.raises(DatasetError) as error:
            parse_record(changed, "here")
        assert str(error.value) == "here: what `equipoise export` wrote was changed, so it is not believed"
    for missing in ("context", "continuations"):
        with pytest.raises(DatasetError, match=r"^here: what `equipoise export` wrote was changed"):
            parse_record({key: value for key, value in record.items() if key != missing}, "here")


def test_what_other_tools_cannot_ask_is_refused() -> None:
    with pytest.raises(
        EquipoiseError,
        match=r"^the task next-word-cot asks in several turns, which cannot be exported; use another task$",
    ):
        documents("next-word-cot")
    with pytest.raises(
        EquipoiseError, match=r"^only token_aggregate sum can be exported: other tools log one number for a candidate$"
    ):
        documents(token_aggregate="mean")
    both: Any = SimpleNamespace(name="both", settings={"token_aggregate": "mean"})
    with pytest.raises(EquipoiseError, match=r"^the task both asks in several turns"):
        documents_of(FEW, both, TaskOptions())
    talks: Any = SimpleNamespace(name="mine", settings={}, prompts=lambda example: [SimpleNamespace(context=())])
    with pytest.raises(
        EquipoiseError, match=r"^the task mine asks in a chat, which cannot be exported; use another task$"
    ):
        documents_of(FEW, talks, TaskOptions())
    with pytest.raises(EquipoiseError, match=r"^the task next-word-chat asks in several turns"):
        documents(chat=True)


def test_answers_become_the_outcomes_of_their_task() -> None:
    made = documents() + documents("mcq")
    answers = [
        (document, [-1.0 - n, -2.0, -3.0][: len(document.prompt.continuations)]) for n, document in enumerate(made)
    ]
    first, second = results_of(answers, model="m", source="file", flags=[["odd"]] + [[]] * (len(made) - 1))
    assert [(part.model, part.task, part.dataset.name, part.dataset.source) for part in (first, second)] == [
        ("m", "next-word", "builtin", "file"),
        ("m", "mcq", "builtin", "file"),
    ]
    assert first.dataset.licence == FEW.licence and [e.id for e in first.dataset.examples] == [
        e.id for e in FEW.examples
    ]
    assert first.outcomes.logprobs[:, 0].tolist() == [-1.0 - n for n in range(4)]
    assert first.outcomes.flags.tolist() == ["odd", "", "", ""]
    assert np.allclose(first.outcomes.probs.sum(axis=1), 1)
    plain = results_of(answers, model="m", source="file")
    assert plain[0].outcomes.flags.tolist() == [""] * 4 and len(plain) == 2


def test_a_question_twice_or_with_too_few_answers_is_refused() -> None:
    made = documents()
    with pytest.raises(DatasetError, match=rf"^file: {made[0].example.id} has 1 log-probabilities, not 2$"):
        results_of([(made[0], [-1.0])], model="m", source="file")
    with pytest.raises(
        DatasetError, match=r"^file: holds a question of builtin twice; import one run of the tool at a time$"
    ):
        results_of([(made[0], [-1.0, -2.0])] * 2, model="m", source="file")


def test_a_variant_is_a_part_of_the_names() -> None:
    (first, *_) = documents()
    varied = replace(first, prompt=Prompt(first.example.id, "next-word", "v", "c", (" a", " b")))
    odd = replace(first, example=replace(first.example, text="ü"))
    assert '"text": "ü"' in odd.record()["equipoise"]
    assert (varied.record()["id"], varied.record()["set"]) == (f"{first.example.id}|v", f"{first.example.set_id}|v")
    assert (first.record()["id"], first.record()["set"]) == (first.example.id, f"{first.example.set_id}|")
    bare = replace(first, example=replace(first.example, gold=None, answerable=False, stereotype=None, groups={}))
    assert [bare.record()[name] for name in ("target", "stereotype_candidate", "answerable", "type", "side")] == [
        -1,
        -1,
        False,
        "",
        "",
    ]
