"""Packed rows hold every sequence, each shared prefix once, and know who is whose ancestor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.scoring.packing import prefix_tree as module
from equipoise.scoring.packing.prefix_tree import (
    Row,
    Segment,
    Sequences,
    alone,
    fork,
    forks,
    pack,
    segments,
    shared_prefixes,
    stack,
)

# Few tokens, so that prefixes are shared and sequences repeat often.
SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7).map(tuple), min_size=1, max_size=25)
ROW_TOKENS = st.integers(1, 40)


def asked(inputs: Sequence[tuple[int, ...]]) -> Sequences:
    """Return sequences whose computed part is the inputs: one more token is predicted after each."""
    return Sequences.of([(*sequence, 9) for sequence in inputs], [len(sequence) for sequence in inputs])


def path_tokens(row: Row, number: int) -> tuple[int, ...]:
    path = row.paths[number]
    return tuple(row.tokens[path[path >= 0]].tolist())


def prefixes(sequences: Sequence[tuple[int, ...]]) -> set[tuple[int, ...]]:
    return {sequence[:length] for sequence in sequences for length in range(1, len(sequence) + 1)}


@given(SEQUENCES, ROW_TOKENS)
def test_every_sequence_is_found_again_along_its_path(sequences: list[tuple[int, ...]], row_tokens: int) -> None:
    rows = pack(asked(sequences), row_tokens=row_tokens)
    assert sorted(owner for row in rows for owner in row.owners.tolist()) == list(range(len(sequences)))
    for row in rows:
        for number, owner in enumerate(row.owners.tolist()):
            path = row.paths[number]
            assert path_tokens(row, number) == sequences[owner]
            assert (path[len(sequences[owner]) :] == -1).all()
            assert row.depths[path[: len(sequences[owner])]].tolist() == list(range(len(sequences[owner])))


@given(SEQUENCES, ROW_TOKENS)
def test_within_a_row_every_prefix_stands_exactly_once(sequences: list[tuple[int, ...]], row_tokens: int) -> None:
    for row in pack(asked(sequences), row_tokens=row_tokens):
        held = [sequences[owner] for owner in row.owners.tolist()]
        assert len(row) == len(prefixes(held))


@given(SEQUENCES, ROW_TOKENS)
def test_a_row_is_within_its_bound_unless_one_sequence_alone_is_not(
    sequences: list[tuple[int, ...]], row_tokens: int
) -> None:
    for row in pack(asked(sequences), row_tokens=row_tokens):
        held = {sequences[owner] for owner in row.owners.tolist()}
        longest = max(held, key=len)
        assert len(row) <= row_tokens or held <= prefixes([longest])


@given(SEQUENCES)
def test_a_row_that_is_long_enough_holds_everything_and_nothing_twice(sequences: list[tuple[int, ...]]) -> None:
    (row,) = pack(asked(sequences), row_tokens=1000)
    assert len(row) == len(prefixes(sequences)) and row.stem == 0


@given(SEQUENCES, ROW_TOKENS)
def test_a_row_is_not_begun_while_the_one_before_has_room(sequences: list[tuple[int, ...]], row_tokens: int) -> None:
    rows = pack(asked(sequences), row_tokens=row_tokens)
    for row, following in pairwise(rows):
        held = [sequences[owner] for owner in row.owners.tolist()]
        following_first = sequences[int(following.owners[0])]
        assert len(prefixes([*held, following_first])) > row_tokens


@given(SEQUENCES, ROW_TOKENS)
def test_the_interval_of_a_node_holds_its_descendants_and_no_other(
    sequences: list[tuple[int, ...]], row_tokens: int
) -> None:
    for row in pack(asked(sequences), row_tokens=row_tokens):
        ancestors = {(a, b) for path in row.paths.tolist() for d, b in enumerate(path) if b >= 0 for a in path[: d + 1]}
        by_interval = {(a, b) for a in range(len(row)) for b in range(len(row)) if a <= b < row.ends[a]}
        assert by_interval == ancestors


@given(SEQUENCES)
def test_alone_gives_a_plain_row_to_every_distinct_sequence(sequences: list[tuple[int, ...]]) -> None:
    rows = alone(asked(sequences))
    assert sorted(tuple(row.tokens.tolist()) for row in rows) == sorted(set(sequences))
    assert [len(row) for row in rows] == sorted(len(row) for row in rows)
    for row in rows:
        assert (row.ends == len(row)).all()
        for number, owner in enumerate(row.owners.tolist()):
            assert path_tokens(row, number) == sequences[owner]
    assert sorted(owner for row in rows for owner in row.owners.tolist()) == list(range(len(sequences)))


@pytest.mark.parametrize("arranged", ["packed", "alone"])
@given(data=st.data())
def test_a_pass_predicts_each_continuation_token_from_the_prefix_before_it(arranged: str, data: st.DataObject) -> None:
    length = st.lists(st.integers(0, 2), min_size=2, max_size=8).map(tuple)
    sequences = data.draw(st.lists(length, min_size=1, max_size=15))
    starts = [data.draw(st.integers(1, len(sequence) - 1)) for sequence in sequences]
    some = Sequences.of(sequences, starts)
    rows = pack(some, row_tokens=data.draw(ROW_TOKENS)) if arranged == "packed" else alone(some)
    work = stack(rows, height=data.draw(st.integers(0, 3)), width=data.draw(st.integers(0, 20)))
    width = work.tokens.shape[1]

    owners = [(owner, int(count)) for row in rows for owner, count in zip(row.owners, row.counts, strict=True)]
    assert sorted(owner for owner, _ in owners) == list(range(len(sequences)))
    assert len(set(work.sources.tolist())) == len(work.sources)
    assert set(work.picks.tolist()) == set(range(len(work.sources)))
    assert work.counts.tolist() == [int(row.counts.sum()) for row in rows]
    position = 0
    for owner, count in owners:
        for offset in range(count):
            row, node = divmod(int(work.sources[work.picks[position]]), width)
            ancestors = [a for a in range(node + 1) if node < work.ends[row, a]]
            read = (*work.tokens[row, ancestors].tolist(), int(work.targets[position]))
            assert read == sequences[owner][: starts[owner] + offset + 1]
            assert work.depths[row, ancestors].tolist() == list(range(len(ancestors)))
            position += 1
        assert starts[owner] + count == len(sequences[owner])
    assert position == len(work.targets)


@given(data=st.data())
def test_a_fork_predicts_each_continuation_token_from_its_prompt_and_what_was_said(data: st.DataObject) -> None:
    length = st.lists(st.integers(0, 2), min_size=2, max_size=8).map(tuple)
    sequences = data.draw(st.lists(length, min_size=1, max_size=15))
    starts = [data.draw(st.integers(1, len(sequence) - 1)) for sequence in sequences]
    rows = forks(Sequences.of(sequences, starts))
    found: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for stem in sorted({row.stem for row in rows}):
        alike = [row for row in rows if row.stem == stem]
        work = fork(alike)
        assert len(work.branches) == len(work.roots), "no branch is made up"
        assert len({tuple(prompt) for prompt in work.stems.tolist()}) == len(alike)  # each prompt once
        told = [tuple(prompt) for prompt in work.stems.tolist()]
        for source in work.sources.tolist():
            branch, depth = divmod(source, work.branches.shape[1])
            told.append((*told[work.roots[branch]], *work.branches[branch, : depth + 1].tolist()))
        predicted = iter(zip(work.picks.tolist(), work.targets.tolist(), strict=True))
        assert work.counts.tolist() == [row.counts.sum() for row in alike]
        for row in alike:
            for owner, count in zip(row.owners.tolist(), row.counts.tolist(), strict=True):
                found[owner] = [(told[pick], target) for pick, target in (next(predicted) for _ in range(count))]
        assert next(predicted, None) is None
    assert [row.stem for row in rows] == sorted(row.stem for row in rows)
    assert found == {
        number: [(sequence[:place], sequence[place]) for place in range(start, len(sequence))]
        for number, (sequence, start) in enumerate(zip(sequences, starts, strict=True))
    }


@given(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=6).map(tuple), min_size=1, max_size=25))
def test_a_fork_computes_every_prefix_of_its_continuations_once(sequences: list[tuple[int, ...]]) -> None:
    for row in forks(Sequences.of(sequences, [1] * len(sequences))):
        held = [sequences[owner][:-1] for owner in row.owners.tolist()]
        assert len(row) == len(prefixes(held))


def test_forks_whose_continuations_are_one_token_have_no_branches() -> None:
    work = fork(forks(Sequences.of([(1, 2, 3), (1, 2, 4)], [2, 2])))
    assert work.branches.shape == (0, 0) and work.stems.tolist() == [[1, 2]]


def test_inputs_share_a_row_of_their_own_where_only_what_they_predict_differs() -> None:
    rows = alone(Sequences.of([(1, 2, 3), (1, 5, 3), (1, 2, 4)], [2, 2, 2]))
    assert [(row.tokens.tolist(), row.owners.tolist()) for row in rows] == [([1, 2], [0, 2]), ([1, 5], [1])]


@given(SEQUENCES, ROW_TOKENS)
def test_padding_sees_itself_alone_and_is_seen_by_nobody(sequences: list[tuple[int, ...]], row_tokens: int) -> None:
    rows = pack(asked(sequences), row_tokens=row_tokens)
    work = stack(rows, height=len(rows) + 1, width=row_tokens + 3)
    assert work.ends[-1].tolist() == list(range(1, work.tokens.shape[1] + 1))
    assert work.lengths.tolist() == [*map(len, rows), 1]
    for r, row in enumerate(rows):
        assert work.lengths[r] == len(row)
        for node in range(work.tokens.shape[1]):
            seen = [a for a in range(node + 1) if node < work.ends[r, a]]
            assert seen == [node] if node >= len(row) else max(seen) < len(row)


def test_the_same_prefix_in_two_questions_is_one_source() -> None:
    sequences = [(1, 2, 3), (1, 2, 4), (1, 2, 3)]
    (row,) = rows = pack(Sequences.of(sequences, [2, 2, 2]), row_tokens=9)
    work = stack(rows)
    assert work.tokens.tolist() == [[1, 2]]
    assert work.sources.tolist() == [1]
    assert sorted(zip(row.owners.tolist(), work.targets.tolist(), strict=True)) == [(0, 3), (1, 4), (2, 3)]


def test_duplicates_and_sequences_inside_others_cost_nothing() -> None:
    (row,) = pack(asked([(5, 6, 7), (5,), (5, 6), (5, 6, 7)]), row_tokens=3)
    assert row.tokens.tolist() == [5, 6, 7]
    assert row.ends.tolist() == [3, 3, 3]


def test_sequences_of_one_token_stand_side_by_side() -> None:
    (row,) = pack(asked([(3,), (1,), (2,), (1,)]), row_tokens=3)
    assert row.tokens.tolist() == [1, 2, 3]
    assert row.depths.tolist() == [0, 0, 0]
    assert row.ends.tolist() == [1, 2, 3]


def test_shared_prefixes_counts_from_the_row_before() -> None:
    some = Sequences.of([(1, 2, 3), (1, 2), (1, 2, 4), (0, 1)], [1, 1, 1, 1])
    assert shared_prefixes(some.tokens, some.lengths).tolist() == [0, 2, 2, 0]
    assert some.tokens.tolist() == [[1, 2, 3], [1, 2, -1], [1, 2, 4], [0, 1, -1]]


@pytest.mark.parametrize(
    ("sequences", "starts"), [([], []), ([(1,)], [1]), ([(1, 2)], [0]), ([(1, 2), (1, 2)], [1, 2])]
)
def test_a_sequence_without_prompt_or_without_answer_is_an_error(
    sequences: list[tuple[int, ...]], starts: list[int]
) -> None:
    with pytest.raises(ValueError, match="before its start"):
        Sequences.of(sequences, starts)


def test_a_large_tree_has_the_size_its_prefixes_have() -> None:
    rng = np.random.default_rng(0)
    stem = tuple(rng.integers(0, 9, 30).tolist())
    sequences = [(*stem, *rng.integers(0, 50000, 12).tolist()) for _ in range(500)]
    rows = pack(asked(sequences), row_tokens=512)
    assert max(len(row) for row in rows) <= 512
    assert sum(len(row) for row in rows) == pytest.approx(30 * len(rows) + 12 * 500, abs=50)


def row_of(sequences: list[list[int]]) -> Row:
    """Return the one row that computes these sequences."""
    (row,) = pack(Sequences.of([[*ids, 9] for ids in sequences], [len(ids) for ids in sequences]), row_tokens=1000)
    return row


def cost(parts: list[Segment], start_cost: int) -> int:
    return sum((stop - start) * (stop - start + len(ancestors)) + start_cost for start, stop, ancestors in parts)


@given(SEQUENCES, st.integers(0, 60))
def test_segments_follow_each_other_and_hold_what_their_nodes_see(sequences: list[list[int]], start_cost: int) -> None:
    row = row_of(sequences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "START_COST", start_cost)
        parts = segments(row.depths, row.ends)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == len(row)
    for start, stop, ancestors in parts:
        held = {*ancestors.tolist(), *range(start, stop)}
        assert len(held) == len(ancestors) + stop - start
        for node in range(start, stop):
            assert {other for other in range(node + 1) if node < row.ends[other]} <= held


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=4), st.integers(0, 20))
def test_no_other_borders_cost_less(sequences: list[list[int]], start_cost: int) -> None:
    row = row_of(sequences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "START_COST", start_cost)
        chosen = cost(segments(row.depths, row.ends), start_cost)
    inner = range(1, len(row))
    costs = []
    for count in range(len(row)):
        for borders in combinations(inner, count):
            pairs = pairwise([0, *borders, len(row)])
            costs.append(sum((b - a) * (b - a + row.depths[a]) + start_cost for a, b in pairs))
    assert chosen == min(costs)


def test_a_segment_has_no_more_nodes_than_the_most() -> None:
    row = row_of([[0] * (2 * module.MOST + 1)])
    parts = segments(row.depths, row.ends)
    assert max(part.stop - part.start for part in parts) <= module.MOST
    np.testing.assert_array_equal(parts[1].ancestors, np.arange(parts[1].start))


def test_numbers_of_groups_may_come_as_a_column_as_numpy_2_0_0_gives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = Sequences.of([(5, 6, 7), (1, 2, 3, 4), (5, 6, 8), (1, 2, 9, 4), (5, 6, 7)], [2, 2, 2, 2, 2])
    rows = [[row.owners.tolist() for row in made(sequences)] for made in (alone, forks)]
    assert rows == [[[0, 2, 4], [1], [3]], [[1, 3], [0, 4, 2]]]
    plain = np.unique

    def as_columns(values: Any, **choices: Any) -> Any:
        made = plain(values, **choices)
        return (*made[:-1], made[-1][:, None]) if choices.get("axis") == 0 else made

    monkeypatch.setattr(np, "unique", as_columns)
    assert [[row.owners.tolist() for row in made(sequences)] for made in (alone, forks)] == rows
