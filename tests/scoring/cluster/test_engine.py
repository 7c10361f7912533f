"""A model in many actors of a real local Ray: the bytes of one process, whoever is killed, and nothing hangs."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from equipoise.options import EngineOptions
from equipoise.records import ModelError, Prompt, Score
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.scoring.cluster import engine as cluster_engine
from equipoise.scoring.cluster.connection import Resources
from equipoise.scoring.cluster.engine import PREFETCHED, ClusterEngine, _check_room, _Work, open_cluster
from equipoise.scoring.cluster.pool import Piece
from equipoise.scoring.opening import open_engine

FEW: dict[str, Any] = {"limit": 20, "resamples": 10, "metrics": ["ucerf"], "by": []}
FILES = ("scores.jsonl", "measurements.csv", "outcomes.parquet", "pairs.parquet")


def same_files(first: Path, second: Path) -> bool:
    return all((first / name).read_bytes() == (second / name).read_bytes() for name in FILES)


@pytest.mark.slow
@pytest.mark.usefixtures("ray_address")
def test_a_real_model_in_two_workers_gives_what_it_gives_in_one_process(default_engine: Any, tmp_path: Path) -> None:
    options = EngineOptions(device="cpu", dtype="float32", cluster="auto", workers=2)
    cluster = open_engine("smollm2", options)
    assert isinstance(cluster, ClusterEngine)
    try:
        assert cluster.identity == default_engine.identity and cluster.name == default_engine.name
        few = {**FEW, "limit": 12}
        runs = [audit(engine, out=tmp_path / str(n), **few) for n, engine in enumerate((default_engine, cluster))]
        assert same_files(runs[0].path, runs[1].path)
        assert runs[1].manifest.engine["workers"] == 2
        contexts = ["The nurse said that", "The driver said that", "He"]
        assert cluster.generate(contexts, 3) == [default_engine.generate([text], 3)[0] for text in contexts]
        with pytest.raises(ModelError, match="takes at most") as refused:
            list(cluster.score([[Prompt("long", "task", "", "she " * 10_000, (" was",))]]))
        assert refused.value.example_ids == ("long",), "an audit leaves it out, and goes on"
        assert any(note.startswith("long left out with the other sentences of the set: ") for note in cluster.notes)
        assert list(cluster.score([[Prompt("short", "task", "", "she", (" was",))]]))  # and it can be asked again
    finally:
        cluster.close()


DRIVER = """
import os, sys
from pathlib import Path
import equipoise.run
Path(sys.argv[1]).write_text(str(os.getpid()))
equipoise.run.audit(sys.argv[2], cluster=sys.argv[3], workers=2, out=sys.argv[4], **eval(sys.argv[5]))
"""


def run_until_it_ends(command: Sequence[str]) -> list[tuple[int, str]]:
    """Run the same command until nobody kills it; return exit code and errors of every time."""
    ends: list[tuple[int, str]] = []
    while not ends or ends[-1][0] == -signal.SIGKILL:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        ends.append((ended.returncode, ended.stderr))
    return ends


@pytest.mark.slow
def test_killed_workers_and_a_killed_driver_lose_nothing(ray_address: str, tmp_path: Path) -> None:
    """Ten batches; the driver dies at the sixth, workers before and after it, each at a batch that is counted."""
    events, pid, out = tmp_path / "events", tmp_path / "driver", tmp_path / "run"
    model = f"faulty:events={events},kill=2+9,driver=6,driver_file={pid},size=4"
    command = [sys.executable, "-c", DRIVER, str(pid), model, ray_address, str(out), repr(FEW)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert events.stat().st_size >= 6 and not (out / "outcomes.parquet").exists()
    run = audit(model, cluster="auto", workers=2, out=out, **FEW)
    whole = audit("faulty:size=4", out=tmp_path / "whole", **FEW)
    assert same_files(run.path, whole.path)
    assert events.stat().st_size >= 9  # the last kill was reached


@pytest.mark.slow
def test_an_audit_until_it_is_settled_stops_at_the_same_look_when_killed(ray_address: str, tmp_path: Path) -> None:
    events, pid, out = tmp_path / "events", tmp_path / "driver", tmp_path / "run"
    numbers = random.Random(39).sample(range(2, 14), 8)
    kill, driver = ("+".join(map(str, sorted(part))) for part in (numbers[:5], numbers[5:]))
    requirements = ["flip_rate[type=type2] <= 0.5", "accuracy >= 0.3"]
    asked = {"resamples": 10, "metrics": ["flip_rate", "accuracy"], "by": [], "until": requirements, "at_most": 120}
    model = f"faulty:events={events},kill={kill},driver={driver},driver_file={pid},size=4"
    ends = run_until_it_ends([sys.executable, "-c", DRIVER, str(pid), model, ray_address, str(out), repr(asked)])
    *killed, last = [code for code, _ in ends]
    # A driver that is killed takes the batches with it that were already counted, and perhaps their kills.
    assert set(killed) == {-signal.SIGKILL} and last == 0, ends[-1]
    whole = audit("faulty:size=4", out=tmp_path / "whole", **asked)
    assert same_files(out, whole.path) and (out / "looks.csv").read_bytes() == (whole.path / "looks.csv").read_bytes()
    assert Run(out).manifest.tasks == whole.manifest.tasks and max(numbers) <= events.stat().st_size


@pytest.mark.slow
def test_a_real_model_outlives_ten_killed_workers_and_three_killed_drivers(
    ray_address: str, default_engine: Any, tmp_path: Path
) -> None:
    """SmolLM2 in two workers: 30 batches, and 13 kills at batches that are drawn by a seed and counted."""
    events, pid, out = tmp_path / "events", tmp_path / "driver", tmp_path / "run"
    numbers = random.Random(17).sample(range(2, 31), 13)
    kill, driver = ("+".join(map(str, sorted(part))) for part in (numbers[:10], numbers[10:]))
    faults = f"events={events},kill={kill},driver={driver},driver_file={pid},size=2"
    few = {**FEW, "limit": 30}
    command = [sys.executable, "-c", DRIVER, str(pid), f"faulty:model=smollm2,{faults}", ray_address, str(out)]
    ends = run_until_it_ends([*command, repr({**few, "device": "cpu", "dtype": "float32"})])
    assert [code for code, _ in ends] == [-signal.SIGKILL] * 3 + [0], ends[-1]
    assert events.stat().st_size >= 30  # every kill was reached
    from faulty_engine import Faults, FaultyModel

    whole = audit(FaultyModel(default_engine, Faults(size=2)), out=tmp_path / "whole", **few)
    assert same_files(out, whole.path)


@pytest.mark.slow
@pytest.mark.usefixtures("ray_address")
def test_an_example_on_which_a_real_model_always_dies_is_left_out(
    default_engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Twice: an answer may be lost with its worker, which died of the next prompt.
    monkeypatch.setattr(cluster_engine, "TRIES", 2)
    few = {**FEW, "limit": 6}
    whole = audit(default_engine, out=tmp_path / "whole", **few)
    example = whole.examples.iloc[4]
    model = f"faulty:model=smollm2,size=4,poison={example.text[:40]}"
    run = audit(model, cluster="auto", workers=2, out=tmp_path / "run", device="cpu", dtype="float32", **few)
    (note,) = [note for note in run.manifest.notes if "end their worker every time" in note]
    assert example.id in note
    left = set(whole.outcomes["example_id"]) - set(run.outcomes["example_id"])
    assert example.id in left and len(left) <= 4 and len(run.outcomes) == 12 - len(left)


@pytest.mark.slow
@pytest.mark.usefixtures("ray_address")
def test_an_example_that_always_kills_its_worker_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Twice: an answer may be lost with its worker, which died of the next prompt.
    monkeypatch.setattr(cluster_engine, "TRIES", 2)
    whole = audit("faulty:size=4", out=tmp_path / "whole", **FEW)
    example = whole.examples.iloc[5]
    run = audit(f"faulty:size=4,poison={example.text[:40]}", cluster="auto", workers=2, out=tmp_path / "run", **FEW)
    (note,) = [note for note in run.manifest.notes if "end their worker every time" in note]
    named = set(note.rpartition(": ")[2].split(", "))
    assert example.id in named
    left = set(whole.outcomes["example_id"]) - set(run.outcomes["example_id"])
    sets = whole.outcomes.set_index("example_id")["set_id"]
    assert left == {name for name in sets.index if sets[name] in {sets[one] for one in named}}
    assert len(run.outcomes) >= len(whole.outcomes) - 4


@pytest.mark.slow
@pytest.mark.usefixtures("ray_address")
def test_more_workers_than_the_cluster_can_hold_are_refused() -> None:
    with pytest.raises(ModelError, match="5000 workers with 1 cores each need 5000, the cluster has"):
        open_engine("planted", EngineOptions(cluster="auto", workers=5000))
    with pytest.raises(ModelError, match="unknown setting 'strenth'"):
        open_engine("planted:strenth=1", EngineOptions(cluster="auto", workers=1))


def test_a_model_in_memory_is_refused() -> None:
    with pytest.raises(ModelError, match="not one in memory"):
        open_engine(("model", "tokenizer"), EngineOptions(cluster="auto"))


def _batches(count: int, size: int, pulled: list[int]) -> Iterator[list[Prompt]]:
    for number in range(count):
        pulled.append(number)
        yield [Prompt(f"{number}-{place}", "task", "", "text", (" a", " b")) for place in range(size)]


def _scores(batches: Sequence[Sequence[Prompt]]) -> list[list[Score]]:
    return [[Score(prompt.example_id, ((-1.0,), (-1.0,))) for prompt in batch] for batch in batches]


def test_work_comes_back_in_order_and_never_more_than_the_window_is_open() -> None:
    pulled: list[int] = []
    work = _Work(_batches(100, 128, pulled), prefetch=PREFETCHED)
    keys: list[str] = []
    while (piece := work.next_piece()) is not None:
        waiting = [piece]
        while (more := work.next_piece()) is not None:
            waiting.append(more)
        # A batch took a quarter of a second, so two of them travel together; one more may have been looked at.
        assert len(pulled) - len(keys) // 128 <= PREFETCHED * 2 + 1
        for last in reversed(waiting):  # the newest answer arrives first
            work.take(last, _scores(last.arguments[0]), 0.25 * len(last.key))
            keys += [score.prompt_key for scores in work.finished() for score in scores]
    assert keys == [f"{number}-{place}" for number in range(100) for place in range(128)]


def test_a_deadly_prompt_is_found_in_a_bounded_number_of_tries() -> None:
    work = _Work(_batches(6, 3, []), prefetch=PREFETCHED)
    first = work.next_piece()
    assert first is not None
    work.take(first, _scores(first.arguments[0]), 0.1)  # so quick that the others travel together
    piece = work.next_piece()
    assert piece is not None and len(piece.key) == 5
    waiting, deaths = [piece], 0
    keys = [score.prompt_key for scores in work.finished() for score in scores]
    while waiting:
        tried = waiting.pop(0)
        if any(prompt.example_id == "4-1" for batch in tried.arguments[0] for prompt in batch):
            deaths, tried.deaths = deaths + 1, tried.deaths + 1
            instead = work.split(tried)
            waiting[:0] = [tried] if instead is None else instead
        else:
            work.take(tried, _scores(tried.arguments[0]), 0.0)
        keys += [score.prompt_key for scores in work.finished() for score in scores]
    assert [prompt.example_id for prompt in work.deadly] == ["4-1"]
    assert deaths == 1 + 3 + 3
    assert keys == [f"{n}-{place}" for n in range(6) for place in range(3) if (n, place) != (4, 1)]


class FakePool:
    """Stands for actors: answers pieces in turn, the newest first, with the scores of their prompts."""

    def __init__(self, **about: Any) -> None:
        usual = {"name": "m", "identity": {"w": 1}, "description": {"mode": "a"}, "texts_at_once": 2}
        self.about = {**usual, "prepares": True, "neighbours": None, "in_order": False, **about}
        self.told: list[Any] = []
        self.poison = ""

    def prepare(self, examples: Any) -> None:
        self.told.append(("prepare", examples))

    def ask(self, piece: Piece) -> Any:
        self.told.append((piece.method, piece.arguments))
        return [[0]]

    def answers(self, source: Any, split: Any) -> Iterator[Any]:
        while waiting := list(iter(source, None)):
            for piece in reversed(waiting):
                self.told.append((piece.method, piece.arguments, piece.key))
                if piece.method == "generate":
                    yield piece, ([f"{text}!" for text in piece.arguments[0]], ({"mode": "w"}, ["wrote"]))
                    continue
                prompts = [prompt for batch in piece.arguments[0] for prompt in batch]
                if self.poison and any(prompt.example_id == self.poison for prompt in prompts):
                    piece.deaths = 99
                    for part in split(piece) or []:
                        piece = part
                    continue
                yield piece, (_scores(piece.arguments[0]), 10.0, ({"mode": "s"}, ["scored"]))

    def close(self) -> None:
        self.told.append("closed")


def test_what_an_engine_of_actors_says_and_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_engine, "disconnect", lambda: pool.told.append("left"))
    pool = FakePool()
    engine = ClusterEngine(pool, 3)  # type: ignore[arg-type]
    assert engine.description == {"mode": "a", "workers": 3} and engine.texts_at_once == 6
    engine.prepare(iter(["e"]))  # type: ignore[list-item]
    prompts = [Prompt("p", "t", "", "b", ("x",)), Prompt("q", "t", "", "a", ("x",))]
    assert engine.batches(prompts) == [[0]]
    assert pool.told == [("prepare", ["e"]), ("batches", (prompts,))]
    pool.told.clear()
    assert engine.generate(["a", "b", "c"], 5) == ["a!", "b!", "c!"]
    assert pool.told == [("generate", (["c"], 5, None), 1), ("generate", (["a", "b"], 5, None), 0)]
    assert engine.description["mode"] == "w" and engine.notes == ["wrote"]
    scores = list(engine.score(_batches(4, 2, [])))
    assert [[score.prompt_key for score in batch] for batch in scores] == [[f"{n}-0", f"{n}-1"] for n in range(4)]
    assert engine.description["mode"] == "s" and engine.notes == ["wrote", "scored"]
    pool.told.clear()
    engine.close()
    assert pool.told == ["closed", "left"]
    plain = ClusterEngine(FakePool(prepares=False, neighbours=1), 1)  # type: ignore[arg-type]
    plain.prepare([])
    assert plain.batches(prompts) == [[1], [0]] and plain._pool.told == []  # type: ignore[attr-defined]
    plain.close()
    usual = ClusterEngine(FakePool(in_order=True), 1)  # type: ignore[arg-type]
    assert usual.batches(prompts * 2049) == [list(range(4096)), [4096, 4097]]
    assert usual._pool.told == [], "prompts are not sent for that"  # type: ignore[attr-defined]
    usual.close()


def test_prompts_that_end_their_workers_are_named_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_engine, "disconnect", lambda: None)
    pool = FakePool()
    pool.poison = "1-0"
    engine = ClusterEngine(pool, 1)  # type: ignore[arg-type]
    stream = engine.score(_batches(3, 1, []))
    found = [next(stream), next(stream)]
    assert [score.prompt_key for batch in found for score in batch] == ["0-0", "2-0"]
    with pytest.raises(ModelError, match=r"^these examples crash their worker every time: 1-0$") as fault:
        next(stream)
    assert fault.value.example_ids == ("1-0",)
    assert engine.notes[-1] == "1 examples end their worker every time and were left out: 1-0"
    engine.close()  # the error still holds it: freed later, it would leave the cluster of another test


@pytest.mark.parametrize(
    ("choices", "resources", "workers", "gpus", "device"),
    [
        ({}, Resources(7, 0), 7, 0, "auto"),
        ({"worker_cores": 2}, Resources(7, 0), 3, 0, "auto"),
        ({"worker_cores": 9}, Resources(9, 0), 1, 0, "auto"),
        ({"workers": 2}, Resources(7, 0), 2, 0, "auto"),
        ({}, Resources(7, 3), 3, 3, "auto"),
        ({"device": "all"}, Resources(7, 3), 3, 3, "auto"),
        ({"device": "cuda"}, Resources(7, 3), 3, 3, "cuda"),
        ({"device": "cpu"}, Resources(7, 3), 7, 0, "cpu"),
        ({"workers": 2}, Resources(7, 3), 2, 3, "auto"),
    ],
)
def test_how_many_workers_are_started(
    choices: dict[str, Any], resources: Resources, workers: int, gpus: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(cluster_engine, "connect", lambda *given, **named: asked.append((given, named)) or resources)
    monkeypatch.setattr(cluster_engine, "disconnect", lambda: asked.append("left"))
    monkeypatch.setattr(cluster_engine, "Pool", lambda *given: asked.append(given) or FakePool())
    options = EngineOptions(cluster="here", timeout=9, **choices)
    engine = open_cluster("spec", options, "opener")  # type: ignore[arg-type]
    (where, named), (recipe, count) = asked
    cores = options.worker_cores
    assert where == ("here",) and named == {"cores": max(1, options.workers) * cores, "timeout": 9}
    assert (recipe.opener, recipe.spec, recipe.cores, recipe.gpus) == ("opener", "spec", cores, gpus)
    assert count == workers == engine.description["workers"]
    assert (recipe.options.cluster, recipe.options.workers, recipe.options.device) == (None, 0, device)
    engine._close.detach()


def test_a_pool_that_cannot_start_leaves_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(cluster_engine, "connect", lambda *_, **__: Resources(2, 0))
    monkeypatch.setattr(cluster_engine, "disconnect", lambda: left.append(1))
    with pytest.raises(ModelError, match=r"^3 workers with 1 cores each need 3, the cluster has 2$"):
        open_cluster("spec", EngineOptions(cluster="here", workers=3), "opener")  # type: ignore[arg-type]
    assert left == [1]


def test_room_for_workers() -> None:
    _check_room(2, 3, 0, Resources(6, 0))
    _check_room(2, 99, 2, Resources(6, 2))
    with pytest.raises(ModelError, match=r"^2 workers with 3 cores each need 6, the cluster has 5$"):
        _check_room(2, 3, 0, Resources(5, 0))
    with pytest.raises(ModelError, match=r"^3 workers need a GPU each, the cluster has 2$"):
        _check_room(3, 1, 2, Resources(9, 2))


def test_the_window_opens_again_when_the_oldest_piece_is_whole() -> None:
    work = _Work(_batches(9, 1, []), prefetch=3)
    pieces = [work.next_piece() for _ in range(4)]
    assert [piece and piece.key for piece in pieces] == [[(0, [0])], [(1, [0])], [(2, [0])], None]

    def answered(number: int) -> tuple[list[str], bool]:
        piece = pieces[number]
        assert piece is not None
        work.take(piece, _scores(piece.arguments[0]), 1e9)
        keys = [score.prompt_key for scores in work.finished() for score in scores]
        pieces.append(work.next_piece())
        return keys, pieces[-1] is not None

    assert answered(1) == ([], False), "the oldest is still on its way"
    assert answered(0) == (["0-0", "1-0"], True)
    assert work.next_piece() is not None and work.next_piece() is None, "two were whole"


def test_a_piece_has_no_more_prompts_than_are_answered_in_its_time() -> None:
    sizes = [3, 3, 3, 2, 5, 9, 2]
    work = _Work(iter([next(_batches(1, size, [])) for size in sizes]), prefetch=9)
    first = work.next_piece()
    assert first is not None and first.key == [(0, [0, 1, 2])], "a batch is never cut"
    work.take(first, _scores(first.arguments[0]), cluster_engine.CHUNK_SECONDS * 3 / 7)  # seven in the time of a piece
    sent = []
    while (piece := work.next_piece()) is not None:
        sent.append([(number, len(places)) for number, places in piece.key])
    assert sent == [[(1, 3), (2, 3)], [(3, 2), (4, 5)], [(5, 9)], [(6, 2)]]


@pytest.mark.parametrize(("seconds", "size"), [(0.0, "most"), (1e9, 1), (1.0, "second")])
def test_how_many_prompts_travel_together(seconds: float, size: Any) -> None:
    sizes = {"most": cluster_engine.MOST_PROMPTS, "second": int(4 * cluster_engine.CHUNK_SECONDS), 1: 1}
    work = _Work(_batches(1, 4, []), prefetch=1)
    piece = work.next_piece()
    assert piece is not None
    work.take(piece, _scores(piece.arguments[0]), seconds)
    assert work._size == sizes[size]
