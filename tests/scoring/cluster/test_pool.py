"""A Ray cluster of two nodes: one is lost in the middle of a run, and nothing is lost with it."""

from __future__ import annotations

import gc
import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.options import EngineOptions
from equipoise.records import ModelError
from equipoise.run import audit

pytest.importorskip("ray")

from equipoise.scoring.cluster import pool as module
from equipoise.scoring.cluster.pool import TRIES, Piece, Pool, Recipe, give_up

FAULTY = Path(__file__).resolve().parents[2] / "faulty"
FEW: dict[str, Any] = {"limit": 20, "resamples": 10, "metrics": ["ucerf"], "by": []}


@pytest.mark.slow
def test_a_lost_node_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each node has room for one worker. The second is killed with a batch in hand; the first finishes alone."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.syspath_prepend(str(FAULTY))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAULTY), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("RAY_worker_niceness", "0")
    for name in ("begun", "lost"):
        os.mkfifo(tmp_path / name)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1, env_vars={"FAULTY_NODE": "lost"})
    deaths: list[bytes] = []

    def lose_the_node() -> None:
        deaths.append((tmp_path / "begun").read_bytes())  # waits until its worker has begun
        cluster.remove_node(second, allow_graceful=False)
        (tmp_path / "lost").write_bytes(b".")  # waits until the other worker has begun

    try:
        cluster.wait_for_nodes()
        thread = threading.Thread(target=lose_the_node, daemon=True)
        thread.start()
        model = f"faulty:size=4,pipes={tmp_path}"
        run = audit(model, cluster=cluster.address, workers=2, out=tmp_path / "run", **FEW)
        thread.join(timeout=600)
        assert deaths == [b"."] and not thread.is_alive()
        written = capfd.readouterr()
        assert "raylet" not in (written.out + written.err).lower()  # Ray's daemons report to our log instead
    finally:
        gc.collect()  # an engine that nobody uses any more leaves its cluster when it is freed
        cluster.shutdown()
    whole = audit("faulty:size=4", out=tmp_path / "whole", **FEW)
    for name in ("scores.jsonl", "measurements.csv", "outcomes.parquet", "pairs.parquet"):
        assert (run.path / name).read_bytes() == (whole.path / name).read_bytes()


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class Reference:
    """An answer of an actor that is yet to be fetched."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work


class Ray:
    """Stands for Ray: actors answer when they are waited for, by what `answer` says; all that is done is told."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, answer: Callable[[int, str, tuple[Any, ...]], Any]) -> None:
        self.answer, self.count, self.told = answer, 0, []  # type: ignore[var-annotated]
        self.silent, self.turn = False, -1

    def put(self, value: Any) -> Any:
        self.told.append(("put", value))
        return value

    def remote(self, kind: Any) -> Any:
        def make(needs: dict[str, Any], *given: Any) -> Any:
            number, self.count = self.count, self.count + 1
            self.told.append(("start", needs, *given))

            class Handle:
                def __init__(self) -> None:
                    self.number = number

                def __getattr__(handle, method: str) -> Any:
                    def call(*arguments: Any) -> Reference:
                        if method not in ("open", "__ray_ready__"):
                            self.told.append((number, method, *arguments))
                        return Reference(lambda: self.answer(number, method, arguments))

                    return SimpleNamespace(remote=call)

            return Handle()

        return SimpleNamespace(options=lambda **needs: SimpleNamespace(remote=lambda *given: make(needs, *given)))

    def wait(self, references: list[Reference], num_returns: int = 1, timeout: float = 0) -> Any:
        if self.silent:
            return [], references
        self.turn += 1
        done = references[self.turn % len(references)]
        return [done], [reference for reference in references if reference is not done]

    def get(self, reference: Reference) -> Any:
        return reference.work()

    def kill(self, handle: Any) -> None:
        self.told.append(("kill", handle.number))

    def cancel(self, reference: Reference) -> None:
        self.told.append(("cancel",))


ABOUT = {"name": "m", "identity": {"w": 1, "x": 2}, "prepares": True}
RECIPE = Recipe("opener", "spec", EngineOptions(timeout=7), cores=2)  # type: ignore[arg-type]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Pool, Ray]]:
    """Return a function that makes a pool whose actors answer as a function says; by default "answer N"."""

    def make(answer: Any = None, *, count: int = 2, recipe: Recipe = RECIPE) -> tuple[Pool, Ray]:
        def usual(number: int, method: str, arguments: tuple[Any, ...]) -> Any:
            told = None if answer is None else answer(number, method, arguments)
            if isinstance(told, Exception):
                raise told
            return told or {"value": dict(ABOUT) if method == "open" else (number, method, *arguments)}

        ray = Ray(usual)
        monkeypatch.setattr(module, "ray", ray)
        monkeypatch.setattr(module, "check_head", lambda: None)
        return Pool(recipe, count), ray

    return make


def asked(pool: Pool, count: int, split: Any = give_up) -> list[Any]:
    pieces = iter([Piece("work", (number,), key=number) for number in range(count)])
    return [(piece.key, answer) for piece, answer in pool.answers(lambda: next(pieces, None), split)]


def test_every_piece_is_answered_once_by_whoever_is_free(made: Any) -> None:
    pool, ray = made(count=3)
    assert pool.about == ABOUT
    assert ray.told == [("start", {"num_cpus": 2}, "opener", 2)] * 3
    answers = asked(pool, 7)
    assert sorted(key for key, _ in answers) == list(range(7))
    assert all(answer[1:] == ("work", key) for key, answer in answers)
    assert {answer[0] for _, answer in answers} == {0, 1, 2}
    assert pool.ask(Piece("other", ("a",))) in [(number, "other", "a") for number in range(3)]
    pool.close()
    assert [entry for entry in ray.told if entry[0] == "kill"] == [("kill", number) for number in range(3)]


def test_an_actor_has_two_pieces_at_once(made: Any) -> None:
    pool, ray = made(count=1)
    given = iter([Piece("work", (number,)) for number in range(5)])
    stream = pool.answers(lambda: next(given, None), give_up)
    next(stream)
    assert [entry for entry in ray.told if entry[1] == "work"] == [(0, "work", 0), (0, "work", 1)]
    next(stream)
    assert len([entry for entry in ray.told if entry[1] == "work"]) == 3
    stream.close()
    assert ray.told.count(("cancel",)) == 1, "what nobody will fetch is taken back"
    assert asked(pool, 1) == [(0, (0, "work", 0))]


def test_a_gpu_is_asked_for_where_there_are_some(made: Any) -> None:
    _, ray = made(count=1, recipe=Recipe("o", "s", EngineOptions(), 3, gpus=4))  # type: ignore[arg-type]
    assert ray.told == [("start", {"num_gpus": 1, "num_cpus": 0}, "o", 3)]


def test_examples_reach_all_actors_and_those_that_come_after(made: Any) -> None:
    dead: list[int] = []

    def answer(number: int, method: str, arguments: tuple[Any, ...]) -> Any:
        if method == "work" and number == 0 and not dead:
            dead.append(0)
            return RayError("gone")
        return None

    pool, ray = made(answer, count=1)
    pool.prepare(iter(["e"]))
    assert (0, "prepare", ["e"]) in ray.told
    assert asked(pool, 2) == [(1, (1, "work", 1)), (0, (1, "work", 0))], "what may have killed it comes last"
    assert (1, "prepare", ["e"]) in ray.told and ("kill", 0) in ray.told


def test_a_piece_that_ends_its_actor_is_given_up_after_a_few_tries(made: Any) -> None:
    def answer(number: int, method: str, arguments: tuple[Any, ...]) -> Any:
        return RayError("gone") if method == "work" and arguments == (1,) else None

    pool, ray = made(answer)
    with pytest.raises(ModelError, match=rf"^a call of work ended its worker {TRIES} times; earlier answers"):
        asked(pool, 3)
    assert len([entry for entry in ray.told if entry[1:] == ("work", 1)]) == TRIES
    kept = {key for key, _ in asked(pool, 3, split=lambda piece: [])}
    assert kept == {0, 2}
    instead = asked(pool, 2, split=lambda piece: [Piece("part", ("a",), "a"), Piece("part", ("b",), "b")])
    assert {key for key, _ in instead} == {0, "a", "b"}


def test_errors_of_actors(made: Any) -> None:
    pool, _ = made(lambda n, method, a: {"error": ModelError("too long")} if method == "work" else None)
    with pytest.raises(ModelError, match=r"^too long$"):
        asked(pool, 1)
    pool, _ = made(lambda n, method, a: RayTaskError("\n  odd\nmore") if method == "work" else None)
    with pytest.raises(ModelError, match=r"^a worker of the cluster failed: odd$"):
        asked(pool, 1)
    with pytest.raises(ModelError, match=r"^workers of the cluster end while they load the model: RayError$"):
        made(lambda n, method, a: RayError("") if method == "open" else None)
    pool, ray = made(lambda n, method, a: RayError("x") if method == "open" and n < 3 else None, count=1)
    assert pool.about == ABOUT and ray.count == 4, "three may fail to start in a row"
    other = {**ABOUT, "identity": {"w": 1, "x": 9}}
    pool, _ = made(lambda n, method, a: {"value": other} if method == "open" and n == 1 else None)
    with pytest.raises(ModelError, match=r"^the workers of the cluster do not give the same answers: x 2 and 9$"):
        asked(pool, 3)


def test_a_model_that_a_node_lacks_is_sent_once(made: Any, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a").write_bytes(b"1")

    def answer(number: int, method: str, arguments: tuple[Any, ...]) -> Any:
        return {"missing": True} if method == "open" and len(arguments) == 2 else None

    recipe = Recipe("o", f"hf:{tmp_path}/m", EngineOptions(), 1)  # type: ignore[arg-type]
    pool, ray = made(answer, recipe=recipe)
    asked(pool, 4)
    assert ray.told.count(("put", {"a": b"1"})) == 1


def test_a_cluster_without_room_is_told_in_time(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, ray = made()
    pool._check_start(6.9)
    pool._check_start(7.1)  # an actor has a place
    ray.silent = True
    pool._check_start(7.0)
    with pytest.raises(
        ModelError, match=r"^the cluster had no room for a worker within 7 seconds \(timeout\); is it full"
    ):
        pool._check_start(7.1)
    with pytest.raises(ModelError, match=r"^the cluster had no room"):
        pool._check_start(900.0)
    with pytest.raises(ModelError, match=r"^no worker of the cluster was ready within 900 seconds$"):
        pool._check_start(900.1)
    clock = deque([0.5, 1.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.popleft() if len(clock) > 1 else clock[0])
    pool._idle_since = 0.0
    for actor in pool._actors:
        actor.ready = False
    assert pool._wait() == []
    pool._actors[0].ready = True
    pool._wait()
    assert pool._idle_since == 1.0


def test_work_goes_to_actors_that_are_ready_and_have_least(made: Any) -> None:
    pool, _ = made(count=3)
    for actor, ready in zip(pool._actors, (True, False, True), strict=True):
        actor.ready = ready
    pieces = iter([Piece("work", (number,), key=number) for number in range(9)])

    def calls(count: int) -> list[list[int]]:
        given = iter([next(pieces) for _ in range(count)])
        pool._hand_out(deque(), lambda: next(given, None), deque())
        return [[piece.key for piece, _ in actor.calls] for actor in pool._actors]

    assert calls(2) == [[0], [], [1]]
    pool._actors[0].calls.popleft()
    assert calls(1) == [[2], [], [1]]
    assert not pool._hand_out(deque([Piece("a", ())]), lambda: Piece("b", ()), deque()), "there is more to give"
    assert [[piece.method for piece, _ in actor.calls] for actor in pool._actors] == [["work", "a"], [], ["work", "b"]]
    for actor in pool._actors:
        actor.calls.clear()
    assert pool._hand_out(deque(), lambda: None, deque([Piece("suspect", ())]))
    assert [piece.method for piece, _ in pool._actors[0].calls] == ["suspect"]


def test_how_long_no_actor_has_been_ready_is_looked_at_while_none_answers(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, ray = made(count=1)
    waited: list[float] = []
    monkeypatch.setattr(pool, "_check_start", waited.append)
    monkeypatch.setattr(module.time, "monotonic", lambda: 50.0)
    pool._idle_since, ray.silent = 20.0, True
    pool._wait()
    assert waited == [] and pool._idle_since == 50.0, "one is ready"
    pool._idle_since, pool._actors[0].ready = 20.0, False
    assert pool._wait() == [] and waited == [30.0] and pool._idle_since == 20.0
    ray.silent = False
    assert pool._wait() == [] and waited == [30.0] and pool._actors[0].ready, "it has opened its model"


def test_the_oldest_call_of_an_actor_is_waited_for_and_its_opening_before_any() -> None:
    actor = module._Actor("handle", "opening", "placed")
    assert actor.next_answer == "opening"
    actor.ready = True
    assert actor.next_answer is None
    actor.calls.extend([(Piece("a", ()), "first"), (Piece("b", ()), "second")])
    assert actor.next_answer == "first"
    actor.ready = False
    assert actor.next_answer == "opening"
