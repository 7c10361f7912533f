"""Boards: comparable runs on one board, ranks as ranges, and models named apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kept_texts import assert_kept
from pyarrow.parquet import read_schema

from equipoise.records import EquipoiseError
from equipoise.runs import Run
from equipoise.runs.measurements import measurements_frame
from equipoise.topics.leaderboard import boards as boards_module
from equipoise.topics.leaderboard.boards import (
    Board,
    Submissions,
    boards,
    metric_names,
    read_submissions,
    run_folders,
    slugs,
    usual,
    write_measurements,
)

CLEAR = "planted (strength 3, bias 0, mass 0.9)"
BIASED = "planted (strength 1, bias 2.5, mass 0.9)"
LOST = "planted (strength 1, bias 2.5, mass 0.01)"


@pytest.fixture(scope="module")
def submissions(board_runs: Path) -> Submissions:
    return read_submissions(run_folders([board_runs]), verified=[board_runs / "clear"])


@pytest.fixture(scope="module")
def made(submissions: Submissions) -> list[Board]:
    return boards(submissions.entries)


def test_what_was_asked_the_same_way_is_on_one_board(made: list[Board]) -> None:
    assert [board.title for board in made] == [
        "builtin (120 sentences) · next-word, resolvable (type 2)",
        "builtin (120 sentences) · next-word, ambiguous (type 1)",
        "builtin (40 sentences) · next-word, resolvable (type 2)",
        "builtin (40 sentences) · next-word, ambiguous (type 1)",
    ]
    assert [len(board.entries) for board in made[:2]] == [3, 3]
    assert [entry.model for entry in made[0].earlier] == [BIASED]


def test_ranks_are_those_of_the_values_and_what_is_not_valid_has_none(made: list[Board]) -> None:
    board = made[0]
    standings = {standing.entry.model: standing for standing in board.standings("ucerf")}
    clear, biased, lost = standings[CLEAR], standings[BIASED], standings[LOST]
    assert clear.row is not None and biased.row is not None and clear.row.value > biased.row.value
    assert str(clear.rank) == "1" and str(biased.rank) == "2"
    assert lost.rank is None and "did not understand the question" in lost.entry.invalid
    assert all(standing.rank is None for standing in board.standings("flip_bias"))  # neither way is better
    lower = {standing.entry.model: standing.rank for standing in board.standings("flip_rate")}
    assert str(lower[CLEAR]) == "1" and str(lower[BIASED]) == "2"
    assert board.standing(CLEAR, "ucerf") == clear and board.standing("nobody", "ucerf") is None


def test_a_model_alone_on_its_board_has_a_value_and_no_rank(made: list[Board]) -> None:
    (standing,) = made[2].standings("ucerf")
    assert standing.row is not None and standing.rank is None


def test_metrics_come_once_for_each_estimator(made: list[Board]) -> None:
    metrics = metric_names(made)
    assert {("ucerf", "perplexity"), ("ucerf_renyi", "renyi"), ("flip_rate", "")} <= {
        (metric.name, metric.estimator) for metric in metrics
    }
    assert {metric.title for metric in metrics} >= {"UCerF", "UCerF (renyi)"}
    assert "ucerf_renyi" not in {metric.name for metric in usual(metrics)}
    assert len(usual(metrics)) == len({metric.label for metric in metrics})


def test_the_newest_run_of_a_model_counts_and_the_others_are_its_history(made: list[Board]) -> None:
    history = made[0].history(BIASED)
    assert {entry.submission.folder.name for entry in history} == {"biased", "biased again"}
    dates = [entry.submission.manifest.finished for entry in history]
    assert dates == sorted(dates)
    (counted,) = [entry for entry in made[0].entries if entry.model == BIASED]
    assert counted.submission.manifest.finished == dates[-1] and counted not in made[0].earlier
    assert len(made[0].history(CLEAR)) == 1


def test_a_run_knows_its_page_and_whether_it_was_verified(submissions: Submissions) -> None:
    runs = {run.folder.name: run for run in submissions.runs}
    assert len(runs) == len({run.page for run in runs.values()}) == 5
    assert [name for name, run in runs.items() if run.verified] == ["clear"]


def test_all_measurements_are_one_table(submissions: Submissions, tmp_path: Path) -> None:
    tidy = pd.read_parquet(write_measurements(submissions.entries, tmp_path / "all.parquet"))
    (one, *_) = submissions.entries
    own = [name for name in measurements_frame(one.measured).columns if name not in ("model", "dataset", "task")]
    assert read_schema(tmp_path / "all.parquet").names == ["run", "finished", "model", "dataset", "task", *own]
    assert list(tidy.columns[:5]) == ["run", "finished", "model", "dataset", "task"]
    assert set(tidy["model"]) == {CLEAR, BIASED, LOST}
    for run in submissions.runs:
        mine, whole = tidy[tidy["run"] == run.folder.name], Run(run.folder).measurements
        columns = [name for name in whole.columns if name != "model"]
        pd.testing.assert_frame_equal(mine[columns].reset_index(drop=True), whole[columns], check_dtype=False)


def test_what_is_not_finished_is_named(board_runs: Path, tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="holds no run folder"):
        run_folders([tmp_path])
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "manifest.json").write_text("{}")
    with pytest.raises(EquipoiseError, match=r"none of the 1 folders holds a finished run: .*damaged"):
        read_submissions([damaged])
    read = read_submissions([damaged, board_runs / "fewer"])
    assert len(read.left_out) == 1 and len(boards(read.entries)) == 2


def test_a_model_whose_name_no_other_has_keeps_it(board_runs: Path) -> None:
    read = read_submissions([board_runs / "clear", board_runs / "fewer"])
    assert {entry.model for entry in read.entries} == {"planted"}


def test_names_of_pages_are_different_for_different_texts() -> None:
    assert slugs(["A b", "a/b", "///", "a b"]) == ["a-b", "a-b-2", "page", "a-b-3"]


def test_what_is_described_is_as_it_was_kept(submissions: Submissions, made: list[Board]) -> None:
    runs = [(run.folder.name, run.model, run.slug, run.page, run.verified) for run in submissions.runs]
    metrics = metric_names(made)
    standings = {
        f"{board.title}, {metric}": [
            (one.entry.model, str(one.rank), board.ranked_by(metric), one.row) for one in board.standings(metric)
        ]
        for board in made
        for metric in ("ucerf", "ucerf_signed", "flip_rate", "flip_bias")
    }
    entries = [(entry.dataset, entry.task, entry.sentences, entry.pronouns, entry.invalid) for entry in made[0].entries]
    assert_kept("topics/boards", sorted(runs), metrics, usual(metrics), standings, entries)


def test_what_tells_models_of_one_name_apart_is_short() -> None:
    digest = "0123456789abcdef" * 2
    assert [boards_module._value(value) for value in (0.50, digest, digest[:-1], "A" * 32, 3, None)] == [
        *("0.5", digest[:8], digest[:-1], "A" * 32, "3", "None"),
    ]
    engine = {"engine": "hf", "weights": digest, "device": "cpu"}
    known = {key: boards_module._value(engine[key]) for key in boards_module.IDENTIFYING if key in engine}
    assert boards_module._identity(engine) == known and "device" not in known
    planted = {"engine": "planted", "bias": 0.5, "identity": ["bias", "engine"]}
    assert boards_module._identity(planted) == {"engine": "planted", "bias": "0.5"}, "no list of names of fields"


def test_a_slug_is_short_and_plain() -> None:
    assert slugs(["Ä b", "x" * 99, "a..", ".a-", "a.b"]) == ["b", "x" * 80, "a", "a-2", "a.b"]


def test_an_unknown_metric_is_refused_and_progress_is_told(made: list[Board], board_runs: Path) -> None:
    with pytest.raises(EquipoiseError, match=r"^unknown metric 'nothing'$"):
        made[0].ordering("nothing", {})
    assert made[0].ranked_by("nothing") == "nothing" and made[0].ranked_by("flip_rate") == "flip_rate"
    told = []
    read_submissions([board_runs / "clear", board_runs / "fewer"], progress=lambda *what: told.append(what))
    assert told == [("reading runs", 1, 2), ("reading runs", 2, 2)]


def test_how_sentences_were_drawn_is_no_other_way_to_ask(board_runs: Path, submissions: Submissions) -> None:
    (part, *_) = Run(board_runs / "clear").parts
    submission = submissions.runs[0]

    def entry(**settings: Any) -> Any:
        manifest = replace(submission.manifest, tasks={**submission.manifest.tasks, part.task: settings})
        return boards_module._entry(replace(submission, manifest=manifest), part)

    plain = entry(seeds=[0])
    assert (plain.dataset, plain.task) == (part.dataset, part.task)
    assert entry(seeds=[0], samples={part.dataset: {"seed": 1}}).asked == plain.asked
    assert len({plain.asked, entry(seeds=[0], samples=20).asked, entry(seeds=[1]).asked}) == 3
