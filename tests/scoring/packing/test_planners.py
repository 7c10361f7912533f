"""Several processes plan what one plans, also when some of them end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny import make_tokenizer

from equipoise.records import ModelError, Prompt
from equipoise.scoring.encoding import Asked, Encoder
from equipoise.scoring.packing import planners
from equipoise.scoring.packing.planners import PlannerPool, prefetch, processes, serve
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


@contextmanager
def opened_pool() -> Iterator[PlannerPool]:
    assert ENCODER.serialized is not None
    pool = PlannerPool(ENCODER.serialized, 2)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def pool() -> Iterator[PlannerPool]:
    with opened_pool() as pool:
        yield pool


def wait_until_free(pool: PlannerPool, count: int) -> None:
    deadline = time.monotonic() + 120
    while sum(worker.free() for worker in pool._workers) < count:
        assert time.monotonic() < deadline, "the processes did not start"
        time.sleep(0.01)


def assert_equal(plans: Sequence[RowPlan], expected: Sequence[RowPlan]) -> None:
    assert len(plans) == len(expected)
    for plan, other in zip(plans, expected, strict=True):
        assert plan[:5] == other[:5] and plan.mode == other.mode and len(plan.rows) == len(other.rows)
        for row, same in zip(plan.rows, other.rows, strict=True):
            for name, value in vars(row).items():
                np.testing.assert_array_equal(value, getattr(same, name))


def test_processes_plan_what_this_one_plans_in_order(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    assert_equal(list(pool.plans(iter(BATCHES), RULES, nowhere)), list(map(here, BATCHES)))


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

    plans = pool.plans(batches(), RULES, nowhere)
    next(plans)
    # One batch was given to a process; the other process was free when its plan came.
    assert drawn == 2
    assert len(list(plans)) == len(BATCHES) - 1


def test_a_prompt_that_is_too_long_is_refused_by_its_name(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    long = [BATCHES[0][0]._replace(example_id="the long one", text="nurse " * 300)]
    with pytest.raises(
        ModelError, match=r"the prompt of the long one has .* tokens; tiny takes at most 200"
    ) as refused:
        list(pool.plans([BATCHES[1], long, *BATCHES], RULES, here))
    assert refused.value.example_ids == ("the long one",), "an audit goes on without it"


def test_plans_that_nobody_fetched_are_not_mistaken_for_later_ones(pool: PlannerPool) -> None:
    wait_until_free(pool, 2)
    plans = pool.plans(iter(BATCHES), RULES, nowhere)
    next(plans)
    plans.close()
    wait_until_free(pool, 2)
    assert_equal(list(pool.plans(reversed(BATCHES), RULES, nowhere)), list(map(here, reversed(BATCHES))))


def test_a_pool_that_is_closed_ends_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, sent = [], []
    monkeypatch.setattr(planners, "_Worker", lambda: SimpleNamespace(send=sent.append))
    monkeypatch.setattr(planners, "end", ended.extend)
    opened = PlannerPool("tokenizer", 2)
    workers = list(opened._workers)
    assert len(workers) == 2 and sent == ["tokenizer"] * 2 and ended == []
    opened.close()
    assert ended == workers


def test_a_process_that_ends_loses_nothing() -> None:
    with opened_pool() as pool:
        wait_until_free(pool, 2)
        plans = pool.plans(iter(BATCHES), RULES, here)
        first = next(plans)
        for worker in pool._workers:
            worker.process.kill()
            worker.process.wait()
        assert_equal([first, *plans], list(map(here, BATCHES)))
        assert_equal(list(pool.plans(iter(BATCHES), RULES, here)), list(map(here, BATCHES)))


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, gpus, expected in ((2, 1, 0), (4, 1, 2), (16, 1, 14), (64, 1, 14), (16, 4, 3), (16, 8, 0)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert processes(gpus) == expected


@contextmanager
def serving(function: Callable[[Connection], None] = serve) -> Iterator[Connection]:
    """Serve one end of a line in a thread, and give the other; it ends when that is closed."""
    ours, theirs = Pipe()
    thread = threading.Thread(target=function, args=(theirs,))
    thread.start()
    try:
        yield ours
    finally:
        ours.close()
        thread.join(60)
        assert not thread.is_alive(), "it ends with its line"


def asked(line: Connection, content: object) -> Any:
    line.send(content)
    assert line.poll(60)
    return line.recv()


def test_a_process_says_that_it_is_ready_plans_and_tells_what_it_cannot_plan() -> None:
    with serving() as line:
        assert asked(line, ENCODER.serialized) == "ready"
        for batch in BATCHES[:2]:
            assert_equal([asked(line, (RULES, planners._sent(batch)))], [here(batch)])
        long = BATCHES[0][0]._replace(text="nurse " * 300)
        assert asked(line, (RULES, planners._sent([long]))) is None
        assert_equal([asked(line, (RULES, planners._sent(BATCHES[2])))], [here(BATCHES[2])])


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError, EOFError])
def test_a_process_ends_quietly_when_its_parent_has(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []

    def served(line: object) -> None:
        told.append(line)
        raise error

    monkeypatch.setattr(planners.gc, "disable", lambda: told.append("no cycles"))
    monkeypatch.setattr(planners, "line_to_parent", lambda: "line")
    monkeypatch.setattr(planners, "serve", served)
    planners.main()
    assert told == ["no cycles", "line"]


class Line:
    """A line whose answers are given: values, or errors that it raises."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.sent = list(answers), []  # type: ignore[var-annotated]

    def poll(self) -> bool:
        return bool(self.answers)

    def recv(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def send(self, content: object) -> None:
        if content == "odd":
            raise BrokenPipeError
        self.sent.append(content)


def worker(*answers: Any) -> Any:
    made: Any = object.__new__(planners._Worker)
    made.line, made.discards, made._busy, made._ended = Line(*answers), True, False, False
    return made


def test_when_a_process_is_free() -> None:
    starting = worker()
    assert not starting.free() and not starting.has_answered()
    starting.line.answers.append("ready")
    assert starting.has_answered() and starting.free() and starting.free()
    starting.send("batch")
    assert not starting.free() and starting.line.sent == ["batch"]
    starting.line.answers.append("plan")
    assert not starting.free(), "its answer is not discarded"
    assert starting.receive() == "plan" and starting.free()
    starting.send("odd")
    starting.line.answers.append(EOFError())
    assert starting.receive() is None and not starting.free()
    for error in (EOFError(), OSError()):
        ended = worker(error)
        assert not ended.free() and not ended.free()
        ended = worker("ready", error)
        assert ended.free() and ended.receive() is None and not ended.free()


def test_a_process_has_a_core_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(planners.ChildProcess, "__init__", lambda _, *given, **named: begun.append((given, named)))
    started = planners._Worker()
    module = ("equipoise.scoring.packing.planners",)
    assert begun == [(module, {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"})]
    assert (started.discards, started._busy, started._ended) == (True, False, False)


def test_items_are_made_ahead_up_to_a_depth_and_errors_raised_here() -> None:
    made: list[int] = []

    def items(error: BaseException | None = None) -> Iterator[int]:
        for number in range(6):
            made.append(number)
            yield number
        if error is not None:
            raise error

    def settled(count: int) -> bool:
        deadline = time.monotonic() + 10
        while len(made) < count and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.15)  # as long as it waits for room once
        return len(made) == count

    ahead = prefetch(items(), depth=3)
    assert next(ahead) == 0 and settled(5), "one is here, three wait, and one is made"
    assert [*ahead] == [1, 2, 3, 4, 5]
    made.clear()
    left = prefetch(items(), depth=2)
    assert next(left) == 0 and settled(4)
    left.close()
    assert len(made) == 4 and "equipoise-planner" not in {thread.name for thread in threading.enumerate()}
    failing = prefetch(items(KeyError("odd")))
    assert [next(failing) for _ in range(6)] == list(range(6))
    with pytest.raises(KeyError, match="odd"):
        next(failing)


def test_a_free_process_gets_work_before_the_others_answer_and_a_busy_one_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []

    class Fake:
        discards = busy = False

        def free(self) -> bool:
            return not self.busy

        def has_answered(self) -> bool:
            return False

        def send(self, content: Any) -> None:
            if content != "tokenizer":
                told.append("sent")
                self.busy = True

        def receive(self) -> Any:
            told.append("received")
            self.busy = False
            return "plan"

    monkeypatch.setattr(planners, "_Worker", Fake)
    monkeypatch.setattr(planners, "_received", lambda worker, batch, plan_here: (worker.receive(), batch))
    monkeypatch.setattr(planners, "end", lambda workers: None)
    pool = PlannerPool("tokenizer", 2)
    assert list(pool.plans(BATCHES[:4], RULES, nowhere)) == [("plan", batch) for batch in BATCHES[:4]]
    assert told == ["sent", "sent", *["received", "sent"] * 2, "received", "received"]
