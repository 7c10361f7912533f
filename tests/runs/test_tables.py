"""Examples and outcomes survive the disk to the bit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_tables import examples_frame, outcomes_frame

from equipoise.datasets import open_dataset
from equipoise.records import (
    ABSENT,
    Outcomes,
    Prompt,
    RunManifest,
    Score,
    SentencePair,
)
from equipoise.runs.folder import RunFolder
from equipoise.runs.tables import SUMMARIES, outcomes_from_table
from equipoise.scoring.engine import Engine
from equipoise.tasks import open_task

MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def scores_of(engine: Engine, prompts: Sequence[Prompt]) -> list[Score]:
    (scores,) = engine.score([prompts])
    return list(scores)


def outcomes() -> Iterator[Outcomes]:
    """Yield real outcomes of both tasks, and some that are hard to keep."""
    from equipoise.scoring.planted import PlantedEngine

    examples = open_dataset("builtin").limited(9).examples
    for name in ("next-word", "mcq"):
        engine = PlantedEngine(noise=0.3)
        engine.prepare(examples)
        scorer = partial(scores_of, engine)
        yield open_task(name).run(examples, scorer=scorer, writer=lambda contexts, limit: {})
    text = np.array(["", "a\nb"], dtype=object)
    yield Outcomes(
        example_id=np.array(["1", "NaN"], dtype=object),
        variant=text,
        set_id=np.array(["01", "None"], dtype=object),
        cluster_id=np.array(["null", "1e5"], dtype=object),
        sides=np.array(["male|female", ""], dtype=object),
        probs=np.array([[1.0, 0.0], [1 / 3, 2 / 3]]),
        logprobs=np.array([[-1e-17, -745.1332191019412], [-0.1, -1e300]]),
        gold=np.array([ABSENT, 1]),
        stereotype=np.array([0, ABSENT]),
        answerable=np.array([False, True]),
        groups={"side": np.array(["", "naïve"], dtype=object), "stereotype": np.array(["pro", ""], dtype=object)},
        flags=np.array(["split-join", ""], dtype=object),
        reductions={name: np.array([1e-300, number / 3]) for number, name in enumerate(SUMMARIES)},
    )


@pytest.mark.parametrize("kept", list(outcomes()), ids=["next-word", "mcq", "hard"])
def test_outcomes_survive_the_disk_to_the_bit(kept: Outcomes, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    key = {"model": "m", "dataset": "d", "task": "t"}
    derived = {name: np.zeros(len(kept)) for name in ("correct", "perplexity", "candidate_mass")}
    table = outcomes_frame(key, kept, derived)
    folder.commit({"outcomes.parquet": table}, MANIFEST)
    back = outcomes_from_table(folder.table("outcomes.parquet", folder.content("outcomes.parquet")), list(kept.groups))
    for name in ("example_id", "variant", "set_id", "cluster_id", "sides", "gold", "stereotype", "answerable", "flags"):
        assert getattr(back, name).tolist() == getattr(kept, name).tolist(), name
    for name in ("probs", "logprobs"):
        assert getattr(back, name).tobytes() == getattr(kept, name).tobytes(), name
    assert {name: column.tobytes() for name, column in back.reductions.items()} == {
        name: column.tobytes() for name, column in kept.reductions.items()
    }
    assert {name: column.tolist() for name, column in back.groups.items()} == {
        name: column.tolist() for name, column in kept.groups.items()
    }


def test_examples_keep_their_groups(tmp_path: Path) -> None:
    examples = open_dataset("builtin").limited(5).examples
    folder = RunFolder(tmp_path)
    folder.commit({"examples.parquet": examples_frame("builtin", examples)}, MANIFEST)
    back = folder.frame("examples.parquet")
    assert [json.loads(groups) for groups in back["groups"]] == [dict(example.groups) for example in examples]
    assert [None if pd.isna(gold) else int(gold) for gold in back["gold"]] == [example.gold for example in examples]
    assert set(folder.group_names(folder.table("examples.parquet", folder.content("examples.parquet")))) == {
        name for example in examples for name in example.groups
    }


def test_a_sentence_pair_is_kept_with_its_example() -> None:
    pair = SentencePair("The nurse left and", ("he slept.", "she slept."), ("male", "female"))
    (example,) = open_dataset("builtin").examples[:1]
    frame = examples_frame("mine", [example, replace(example, id="other", pair=pair)])
    assert frame["pair"].isna().tolist() == [True, False]
    assert json.loads(frame["pair"].tolist()[1]) == {
        "before": "The nurse left and",
        "rests": ["he slept.", "she slept."],
        "sides": ["male", "female"],
    }
