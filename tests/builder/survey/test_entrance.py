"""The entrance test: drawn from a pool, shuffled and balanced."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.entrance import EntranceTest, read_checks, read_test
from equipoise.builder.verdict.questions import published, questions_of


def test_the_entrance_test_is_drawn_from_a_pool_shuffled_and_balanced() -> None:
    for name, count in (("section-4.3", 10), ("appendix-d", 15)):
        test = read_test(name)
        orders = set()
        for seed in range(20):
            drawn = test.draw(random.Random(seed))
            assert len(drawn) == len(set(drawn)) == test.length == 2 * count
            assert Counter(question.type for question in drawn) == {"type1": count, "type2": count}
            kinds = Counter(question.kind for question in drawn if question.type == "type2")
            assert kinds["incoherent"] >= 1
            assert abs(kinds["yes-yes-no"] - kinds["yes-no-yes"]) <= 1  # the referent is as often first as second
            orders.add(tuple(question.key for question in drawn))
        assert len(orders) == 20
    with pytest.raises(BuildError, match="questions of type1, not 99"):
        read_test("section-4.3", per_type=99)


def columns() -> list[str]:
    return [question.column for question in published().questions]


def write(folder: Path, *rows: str, header: str = "") -> Path:
    path = folder / "test.csv"
    path.write_text("\n".join([header or ",".join(("text,pronoun,first,second", *columns(), "why,type")), *rows, ""]))
    return path


def test_a_table_of_ones_own_is_asked_whole_or_drawn(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        " The cook met the nurse; he ran. ,he,cook,nurse,YES,true,No,because,type1",
        "The cook met he.,he,cook,nurse,no,,,,type1",
        "The cook saw the nurse; she ran.,she,cook,nurse,1,0,yes,,type2",
    )
    test = read_test(path)
    assert [question.answer for question in test.pool] == [("yes", "yes", "no"), ("no", "", ""), ("yes", "no", "yes")]
    assert [question.kind for question in test.pool] == ["yes-yes-no", "incoherent", "yes-no-yes"]
    first = test.pool[0]
    assert (first.text, first.pronoun, first.first, first.second) == (
        "The cook met the nurse; he ran.",
        "he",
        "cook",
        "nurse",
    )
    assert (first.why, first.type, test.length, test.pass_share) == ("because", "type1", 3, 0.8)
    assert sorted(q.key for q in test.draw(random.Random(0))) == sorted(test.by_key()) and len(test.by_key()) == 3
    drawn = read_test(path, per_type=1, pass_share=0.5)
    assert (drawn.length, drawn.pass_share, len(drawn.draw(random.Random(1)))) == (2, 0.5, 2)
    # Of each type the sentence that is not coherent comes first.
    assert {q.kind for q in drawn.draw(random.Random(1))} == {"incoherent", "yes-no-yes"}
    assert drawn.identity != test.identity == read_test(path, pass_share=0.1).identity
    assert read_checks(path) == tuple(test.pool)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,he,x,y,maybe,,,,", "test.csv:2: coherent 'maybe' is neither true nor false"),
        ("a,he,x,y,yes,yes,,,", "test.csv:2: not all right answers are given"),
        (",he,x,y,no,,,,", "test.csv:2: text, pronoun, first and second must not be empty"),
        ("a,,x,y,no,,,,", "test.csv:2: text, pronoun, first and second must not be empty"),
        ("a,he,,y,no,,,,", "test.csv:2: text, pronoun, first and second must not be empty"),
        ("a,he,x,,no,,,,", "test.csv:2: text, pronoun, first and second must not be empty"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named(tmp_path: Path, row: str, reason: str) -> None:
    with pytest.raises(BuildError) as error:
        read_test(write(tmp_path, row))
    assert str(error.value) == reason


def test_what_makes_no_test_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a,he,x", header="text,pronoun,first")
    needed = ", ".join(("text", "pronoun", "first", "second", *columns()))
    with pytest.raises(
        BuildError, match=rf"^test\.csv: an entrance test needs the columns {needed}; second is missing$"
    ):
        read_test(path)
    with pytest.raises(BuildError, match=r"^an entrance test needs at least one question$"):
        EntranceTest([], pass_share=2.0)
    pool = read_test(None).pool
    for share in (-0.1, 1.1):
        with pytest.raises(BuildError, match=rf"^the share to pass must be from 0 to 1, not {share:g}$"):
            EntranceTest(pool, pass_share=share)
    assert [EntranceTest(pool, pass_share=share).pass_share for share in (0, 1)] == [0, 1]
    most = min(Counter(question.type for question in pool).values())
    assert EntranceTest(pool, most).length == 2 * most
    with pytest.raises(BuildError, match=rf"^the entrance test has {most} questions of type\d, not {most + 1}$"):
        EntranceTest(pool, most + 1)


def test_questions_of_ones_own_need_a_table(tmp_path: Path) -> None:
    own = questions_of("mine", [{"name": "more", "choices": ["first", "second"], "column": "More"}])
    for read, option in (
        (lambda: read_test(None, questions=own), "--test"),
        (lambda: read_checks(None, own), "--checks"),
    ):
        with pytest.raises(BuildError, match=f"^questions of your own need a table of your own: give {option} TABLE$"):
            read()
    path = tmp_path / "test.csv"
    path.write_text("text,pronoun,first,second,More\na,he,x,y, First \n")
    assert [question.answer for question in read_test(path, questions=own).pool] == [("first",)]
    path.write_text("text,pronoun,first,second,More\na,he,x,y,third\n")
    with pytest.raises(BuildError, match=r"^test\.csv:2: More must be first or second, not 'third'$"):
        read_test(path, questions=own)


def test_draws_are_as_they_were_kept() -> None:
    drawn = [question.key for question in read_test("section-4.3").draw(random.Random(3))]
    few = [question.key for question in read_test("appendix-d", per_type=3).draw(random.Random(4))]
    checks = [(check.key, check.kind) for check in read_checks(None)]
    assert_kept("builder/entrance", drawn, few, checks, read_test(None).identity, read_test("appendix-d").identity)


def test_a_test_is_another_one_where_its_questions_or_their_number_are() -> None:
    test = read_test(None)
    keys = ",".join(sorted(question.key for question in test.pool))
    assert test.identity == hashlib.sha256(f"{keys}/{test.per_type}".encode()).hexdigest()[:16]
    turned = EntranceTest(test.pool[::-1], per_type=test.per_type)
    assert turned.identity == test.identity != EntranceTest(test.pool[1:], per_type=test.per_type).identity
