"""Several processes plan what one plans, also when some of them end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tiny import make_tokenizer

from equipoise.records import ModelError, Prompt
from equipoise.scoring.encoding import Asked, Encoder
from equipoise.scoring.packing.planners import PlannerPool, processes
from equipoise.scoring.packing.rules import RowPlan, Rules

ENCODER = Encoder(make_tokenizer())
RULES = Rules("tiny", "packed", "padded", None, 200, 64)
WHO = ("nurse", "driver", "cook", "judge", "clerk", "guard", "baker")
BATCHES = [
    ENCODER.asked(
        [
            Prompt(
                f"{who}-{pronoun}",
                "task",
                "",
                f"The {who} said that {pronoun} was late, because the",
                (" nurse", f" {who}"),
            )
            for pronoun in ("he", "she", "they")
        ]
    )
    for who in WHO
]


def here(batch: Sequence[Asked]) -> RowPlan:
    return RULES.plan(batch, ENCODER.ids)


def nowhere(batch: Sequence[Asked]) -> RowPlan:
    raise AssertionError("planned in this process")


@pytest.fixture(scope="module")
def pool() -> Iterator[PlannerPool]:
    assert ENCODER.serialized is not None
    pool = PlannerPool(ENCODER.serialized, RULES, 2)
    yield pool
    pool.close()


def wait_until_free(pool: PlannerPool, count: int) -> None:
    deadline = time.monotonic() + 120
    while sum(worker.free() for worker in pool._workers) < count:
        assert time.monotonic() < deadline, "the processes did not start"
        time.sleep(0.01)


def assert_equal(plans: Sequence[RowPlan], expected: Sequence[RowPlan]) -> None:
    assert len(plans) == len(expected)
    for plan, other in zip(plans, expected, strict=True):
        assert plan[:3] == other[:3] and plan.mode == other.mode and len(plan.rows) == len(other.rows)
        for row, same in zip(plan.rows, other.rows, strict=True):
            for name, value in vars(row).items():
                np.testing.assert_array_equal(value, getattr(same, name))


def test_processes_plan_what_this_one_plans_in_order(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    assert_equal(list(pool.plans(iter(BATCHES), nowhere)), list(map(here, BATCHES)))


def test_a_plan_is_handed_on_before_all_processes_have_work(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    drawn = 0

    def batches() -> Iterator[Sequence[Asked]]:
        nonlocal drawn
        for batch in BATCHES:
            if drawn == 1:
                assert pool._workers[0].line.poll(120), "the first plan did not come"
            drawn += 1
            yield batch

    plans = pool.plans(batches(), nowhere)
    next(plans)
    # One batch was given to a process; the other process was free when its plan came.
    assert drawn == 2
    assert len(list(plans)) == len(BATCHES) - 1


def test_a_prompt_that_is_too_long_is_refused_by_its_name(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    long = [BATCHES[0][0]._replace(example_id="the long one", text="nurse " * 300)]
    with pytest.raises(ModelError, match=r"the prompt of the long one has .* tokens; tiny takes at most 200"):
        list(pool.plans([BATCHES[1], long, *BATCHES], here))


def test_plans_that_nobody_fetched_are_not_mistaken_for_later_ones(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    plans = pool.plans(iter(BATCHES), nowhere)
    next(plans)
    plans.close()
    wait_until_free(pool, 2)
    assert_equal(list(pool.plans(reversed(BATCHES), nowhere)), list(map(here, reversed(BATCHES))))


def test_a_process_that_ends_loses_nothing(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    plans = pool.plans(iter(BATCHES), here)
    first = next(plans)
    for worker in pool._workers:
        worker.process.kill()
        worker.process.wait()
    assert_equal([first, *plans], list(map(here, BATCHES)))
    assert_equal(list(pool.plans(iter(BATCHES), here)), list(map(here, BATCHES)))


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, gpus, expected in ((2, 1, 0), (4, 1, 2), (16, 1, 14), (64, 1, 14), (16, 4, 3), (16, 8, 0)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert processes(gpus) == expected
