"""Generation against a real HTTP server that fails as servers do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from equipoise.builder.draft.generation import Plan, estimate, generate, read_prompts, replies_there, requests_of
from equipoise.builder.model_client import Server, ServerOptions
from equipoise.builder.steps import BuildError, BuildFolder, Draft, read_records
from equipoise.builder.wordlist import occupations
from equipoise.records import ModelError

KEY = "sk-very-secret"
REPLY = "1. [The {0}] met [the {1}] before [he] left town.\n2. [The {0}] saw [the {1}], and [she] smiled."


class Faulty:
    """A chat server that answers each request with the next of the given faults first."""

    def __init__(self) -> None:
        self.faults: list[int] = []
        self.asked: list[dict[str, object]] = []
        self.keys: set[str | None] = set()
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with outer.lock:
                    fault = outer.faults.pop(0) if outer.faults else 200
                    outer.keys.add(self.headers["authorization"])
                    if fault == 200:
                        outer.asked.append(body)
                answer = {"choices": [{"message": {"content": REPLY.format("cook", "nurse")}, "finish_reason": "stop"}]}
                if fault != 200:
                    answer = {"error": {"message": f"no: {KEY}"}}
                content = json.dumps(answer | {"model": "served", "usage": {"prompt_tokens": 9}}).encode()
                self.send_response(fault)
                if fault == 429:
                    self.send_header("retry-after", "7")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = Faulty()
    thread = threading.Thread(target=server.server.serve_forever)
    thread.start()
    yield server
    server.server.shutdown()
    thread.join()
    server.server.server_close()


PLAN = Plan(occupations(), samples=2, limit=2)
REQUESTS = requests_of(PLAN, read_prompts(None), "m")


def run(folder: Path, faulty: Faulty, sleep: Callable[[float], None] = lambda s: None, **options: object) -> list[str]:
    server = Server(faulty.address, "m", ServerOptions(**options), sleep=sleep)
    return generate(BuildFolder(folder), REQUESTS, server, plan=PLAN, concurrency=3, now=lambda: "now")


def test_all_pairs_both_directions_both_types() -> None:
    requests = requests_of(Plan(occupations(), samples=20), read_prompts(None), "m")
    assert len(requests) == 395 * 2 * 2 * 2  # 20 samples are two requests of at most 15
    assert len({request.key for request in requests}) == len(requests)
    assert len({request.seed for request in requests}) > 0.99 * len(requests)
    assert sum(request.count for request in requests) == 395 * 2 * 2 * 20


def test_faults_that_pass_are_waited_out(tmp_path: Path, faulty: Faulty) -> None:
    faulty.faults = [429, 500, 503]
    waits: list[float] = []
    assert run(tmp_path, faulty, waits.append) == []
    assert len(faulty.asked) == len(REQUESTS) == 8
    assert 7.0 in waits and len(waits) == 3
    drafts = read_records(BuildFolder(tmp_path).drafts, Draft, made_by="generate")
    assert len(drafts) == 16
    assert drafts[0].text == "The cook met the nurse before he left town."
    assert drafts[0].raw.startswith("[The cook]")


def test_nothing_is_paid_for_twice(tmp_path: Path, faulty: Faulty) -> None:
    run(tmp_path, faulty)
    path = BuildFolder(tmp_path).generations
    lines = path.read_text().splitlines(keepends=True)
    # Killed while it wrote the sixth reply.
    path.write_text("".join(lines[:5]) + lines[5][:40])
    assert estimate(REQUESTS, replies_there(BuildFolder(tmp_path)), concurrency=1, prices=None).requests == 3
    run(tmp_path, faulty)
    assert len(faulty.asked) == 8 + 3
    assert len(replies_there(BuildFolder(tmp_path))) == 8
    run(tmp_path, faulty)
    assert len(faulty.asked) == 11


def test_a_fault_that_stays_is_reported_and_the_rest_is_kept(tmp_path: Path, faulty: Faulty) -> None:
    faulty.faults = [500] * 2
    (failure,) = run(tmp_path, faulty, attempts=1)
    assert "answered 500" in failure
    assert len(replies_there(BuildFolder(tmp_path))) == 6


def test_a_refusal_ends_it_at_once_and_hides_the_key(tmp_path: Path, faulty: Faulty) -> None:
    faulty.faults = [401] * 50
    with pytest.raises(ModelError, match="answered 401") as error:
        run(tmp_path, faulty)
    assert KEY not in str(error.value)
    assert len(faulty.faults) > 40


def test_the_key_is_sent_and_written_nowhere(tmp_path: Path, faulty: Faulty) -> None:
    run(tmp_path, faulty)
    assert faulty.keys == {f"Bearer {KEY}"}
    assert all(KEY not in path.read_text() for path in tmp_path.iterdir())


def test_every_reply_says_where_it_is_from(tmp_path: Path, faulty: Faulty) -> None:
    run(tmp_path, faulty)
    row = next(iter(replies_there(BuildFolder(tmp_path)).values()))
    assert set(row) == {"request", "reply", "when"}
    wanted = {"key", "type", "target", "other", "part", "count", "seed", "prompt", "address", "model", "temperature"}
    assert set(row["request"]) == wanted
    assert row["reply"]["model"] == "served" and row["reply"]["usage"] == {"prompt_tokens": 9}
    assert faulty.asked[0]["seed"] in {request.seed for request in REQUESTS}


def test_a_rate_limit_spaces_requests() -> None:
    now, waits = [0.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    server = Server("http://x", "m", ServerOptions(requests_per_minute=30), sleep=sleep, clock=lambda: now[0])
    for _ in range(4):
        server._wait_for_turn()
    assert waits == [2.0, 2.0, 2.0]


def test_prompts_can_be_swapped_and_are_checked(tmp_path: Path) -> None:
    for kind in ("type1", "type2"):
        (tmp_path / f"{kind}.txt").write_text("{{braces}} stay: {count} about {target} and {other}")
    assert read_prompts(tmp_path)["type1"].startswith("{{braces}}")
    assert "{{braces}} stay: 2 about the " in requests_of(PLAN, read_prompts(tmp_path), "m")[0].prompt
    (tmp_path / "type2.txt").write_text("{target}")
    with pytest.raises(BuildError, match=r"lacks \{other\}, \{count\}"):
        read_prompts(tmp_path)


def test_our_prompts_have_the_papers_structure() -> None:
    for text in read_prompts(None).values():
        good, bad, rules = (text.index(part) for part in ("Three good", "Three bad", "Rules:"))
        assert text.index("Definition") < good < bad < rules
        assert all(f"\n{number}. " in text[good:bad] and f"\n{number}. " in text[bad:rules] for number in (1, 2, 3))
        assert "square brackets" in text[rules:]
