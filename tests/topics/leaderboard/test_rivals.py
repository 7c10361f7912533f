"""Models of a board are told apart by the test of `compare`: where it finds a difference, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from equipoise import audit, compare
from equipoise.records import EquipoiseError, Estimate
from equipoise.runs.run import Run
from equipoise.stats.independent import independent_difference
from equipoise.stats.paired import corrected, is_detected
from equipoise.topics.leaderboard import rivals as rivals_module
from equipoise.topics.leaderboard.boards import Board, boards, read_submissions
from equipoise.topics.leaderboard.rivals import Rivals, differences

BIASES = {"some": 0.4, "more": 1.6, "same": 0.41}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made = tmp_path_factory.mktemp("rivals")
    for name, bias in BIASES.items():
        # The noise is that of the text, the same for all: sentence by sentence, models are easy to tell apart.
        audit(f"planted:strength=1,bias={bias},noise=1", limit=120, resamples=100, by=[], out=made / name)
    return [made / name for name in BIASES]


def ambiguous(folders: list[Path]) -> Board:
    (board,) = [board for board in boards(read_submissions(folders).entries) if board.kind == "type1"]
    return board


def test_ranks_say_what_compare_says(folders: list[Path]) -> None:
    board = ambiguous(folders)
    metric = "flip_rate"
    standings = {standing.entry.submission.folder.name: standing for standing in board.standings(metric)}
    values = {entry.model: row.estimate for entry in board.entries if (row := entry.measured.get(metric, type="type1"))}
    ordering = board.ordering(metric, values)
    tests = compare(folders, metrics=[metric]).tests
    found = {}
    for test in tests:
        if test.row.group == "type=type1":
            pair = tuple(name.rsplit("(", 1)[1].rstrip(")") for name in (test.first, test.second))
            models = tuple(standings[name].entry.model for name in pair)
            ahead = ordering.ahead(*models)
            assert abs(ahead.value) == pytest.approx(abs(test.row.value)) and ahead.p == test.difference.p
            first, second = (standings[name].rank for name in pair)
            assert first is not None and second is not None
            apart = first.worst < second.best or second.worst < first.best
            assert apart == is_detected(ahead) == test.detected, pair
            found[pair] = apart
    assert found == {("some", "more"): True, ("some", "same"): False, ("more", "same"): True}
    assert ordering.paired


def test_runs_that_cannot_be_paired_are_told_apart_by_their_intervals(folders: list[Path], tmp_path: Path) -> None:
    other = audit("planted:strength=1", limit=30, resamples=20, out=tmp_path / "other", progress=False)
    (part,) = [part for part in other.parts if part.dataset == "builtin"]
    rivals = Rivals((("a", folders[0]), ("b", Path(other.path))), part.dataset, "mcq", ("flip_rate",), 0.95)
    values = {"a": Estimate(0.1, 0.05, 0.15, 0.95, 50, ""), "b": Estimate(0.5, 0.45, 0.55, 0.95, 50, "")}
    apart, paired = differences(rivals, "flip_rate", "type1", values)
    assert not paired and is_detected(apart["a", "b"]) and apart["a", "b"].value == pytest.approx(-0.4)
    assert Run(folders[0]).parts


def test_pronouns_tell_boards_of_one_dataset_apart(folders: list[Path], tmp_path: Path) -> None:
    for name, pronouns in (("she", "he,she"), ("they", "he,they")):
        audit("planted", limit=30, resamples=20, pronouns=pronouns.split(","), out=tmp_path / name, progress=False)
    titles = {board.dataset_title for board in boards(read_submissions([tmp_path / "she", tmp_path / "they"]).entries)}
    named = {title for title in titles if title.startswith("builtin")}
    assert len(named) == 2 and any("he, she" in title for title in named) and any("he, they" in t for t in named)


def estimate(value: float, half: float = 0.05, level: float = 0.95, n: int = 50) -> Estimate:
    return Estimate(value, value - half, value + half, level, n, "m")


def test_intervals_of_another_level_or_none_show_nothing() -> None:
    other = rivals_module._apart(estimate(0.1, n=50), estimate(0.5, level=0.9, n=40))
    assert (other.value, other.n, other.has_interval) == (pytest.approx(-0.4), 40, False)
    open_end = rivals_module._apart(Estimate.alone(0.1, level=0.95, n=5, method=""), estimate(0.5))
    assert open_end.p == 1.0
    tested = rivals_module._apart(estimate(0.1), estimate(0.5))
    assert tested.p < 0.01 and tested == independent_difference(estimate(0.1), estimate(0.5))


@pytest.mark.parametrize(("most", "paired"), [(3, True), (2, False)])
def test_of_many_models_the_intervals_decide(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch, most: int, paired: bool
) -> None:
    monkeypatch.setattr(rivals_module, "MOST", most)
    runs = tuple((folder.name, folder) for folder in folders)
    values = {folder.name: estimate(0.1 * at) for at, folder in enumerate(folders)}
    rivals = Rivals(runs, "builtin", "next-word", ("flip_rate",), 0.95)
    apart, are_paired = differences(rivals, "flip_rate", "type1", values)
    assert are_paired is paired and list(apart) == [("some", "more"), ("some", "same"), ("more", "same")]
    assert not differences(rivals, "accuracy", "type1", values)[1], "not tested in that metric"
    if not paired:
        expected = corrected([rivals_module._apart(values[a], values[b]) for a, b in apart])
        assert list(apart.values()) == expected
    else:
        turned, _ = differences(rivals, "flip_rate", "type1", dict(reversed(values.items())))
        assert turned["same", "some"] == -apart["some", "same"]


def test_tests_of_other_groups_and_of_runs_that_do_not_fit_are_left_out(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rivals = Rivals(
        tuple((folder.name, folder) for folder in folders[:2]), "builtin", "next-word", ("flip_rate",), 0.95
    )
    groups = {"all": 0.1, "type=type1": 0.2, "gender=male": 0.3, "gender=male,type=type1": 0.4}
    tests = [
        SimpleNamespace(row=SimpleNamespace(group=group, metric="x"), first="a", second="b", difference=estimate(value))
        for group, value in groups.items()
    ]
    monkeypatch.setattr(rivals_module, "paired_tests", lambda *_: tests)
    found = rivals_module._tested.__wrapped__(rivals)
    assert {key: difference.value for key, difference in found.items()} == {
        ("x", "", "a", "b"): 0.1,
        ("x", "", "b", "a"): -0.1,
        ("x", "type1", "a", "b"): 0.2,
        ("x", "type1", "b", "a"): -0.2,
    }

    def refuse(*_: object) -> None:
        raise EquipoiseError("they were asked other sentences")

    monkeypatch.setattr(rivals_module, "paired_tests", refuse)
    assert rivals_module._tested.__wrapped__(rivals) == {}
