"""Generation against a real HTTP server that fails as servers do."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_faults import FAULTS, OPTIONS, PLAN, Act, busy, misbehaving, requests, suffer
from kept_texts import assert_kept

from equipoise.builder.draft.generation import (
    Estimate,
    Outcome,
    Plan,
    drafts_of,
    estimate,
    generate,
    requests_of,
    still_missing,
)
from equipoise.builder.draft.prompt_files import read_prompts
from equipoise.builder.draft.replies import ReplyLog
from equipoise.builder.steps import BuildError, BuildFolder, Draft, read_records
from equipoise.builder.wordlist import occupations
from equipoise.records import ModelError
from equipoise.scoring.server.api import Api, Reply
from equipoise.scoring.server.http_client import Client, Limits, OutOfBudget, Refused, Unanswered

KEY = "sk-very-secret"


REFUSED = ("400 for a prompt", "422 for a prompt", "content filter", "model refuses")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def run(folder: Path, address: str, options: Limits = OPTIONS, **more: object) -> Outcome:
    api = Api(Client(address, options), "m")
    return generate(BuildFolder(folder), requests(), api, plan=PLAN, concurrency=3, now=lambda: "now", **more)


def replies(folder: Path) -> ReplyLog:
    return ReplyLog(BuildFolder(folder).generations)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FAULTS))
def test_no_paid_reply_is_lost_or_repeated(name: str, tmp_path: Path) -> None:
    result = suffer(name, tmp_path)
    assert (result.repeated, result.lost) == (0, 0)
    assert result.refused == (name in REFUSED)
    assert result.kept == 8 - result.refused
    assert result.drafts_first == 2 * result.first  # whatever was stored became drafts, however the run ended
    ended = name in ("401 after four replies", "redirect", "429, no quota left")
    assert bool(result.error) is ended
    if ended or name in ("429, Retry-After over the budget", "500 for ever"):
        assert 4 <= result.first < 8
    else:
        assert result.first == result.kept  # the first run dealt with it


def test_all_pairs_both_directions_both_types() -> None:
    asked = requests_of(Plan(occupations(), samples=20), read_prompts(None), "m")
    assert len(asked) == 395 * 2 * 2 * 2  # 20 samples are two requests of at most 15
    assert len({request.key for request in asked}) == len(asked)
    assert sum(request.count for request in asked) == 395 * 2 * 2 * 20


def test_a_refused_prompt_is_asked_again_only_on_demand(tmp_path: Path) -> None:
    with misbehaving(Act(400, {"error": {"message": f"no: {KEY}"}})) as server:
        assert run(tmp_path, server.address).refused == 1
        assert run(tmp_path, server.address).refused == 1
        assert server.asked.total() == 8
        assert estimate(requests(), replies(tmp_path), concurrency=1, prices=None).requests == 0
        assert all(KEY not in path.read_text() for path in tmp_path.iterdir() if path.suffix == ".jsonl")
        assert run(tmp_path, server.address, retry_refused=True).refused == 0
    assert len(replies(tmp_path).replies) == 8


def test_a_server_that_refuses_everything_ends_the_run(tmp_path: Path) -> None:
    plan = Plan(occupations(), samples=2, limit=5)
    with misbehaving(*[Act(400, {"error": "no such parameter"})] * 30) as server:
        api = Api(Client(server.address, OPTIONS), "m")
        with pytest.raises(ModelError, match="refused the first 10 requests"):
            generate(BuildFolder(tmp_path), requests(plan), api, plan=plan, concurrency=1, now=lambda: "now")


def test_nothing_is_paid_for_twice_after_a_crash(tmp_path: Path) -> None:
    with misbehaving() as server:
        run(tmp_path, server.address)
        path = BuildFolder(tmp_path).generations
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:5]) + lines[5][:40])  # killed while it wrote the sixth reply
        assert estimate(requests(), replies(tmp_path), concurrency=1, prices=None).requests == 3
        run(tmp_path, server.address)
        run(tmp_path, server.address)
        assert server.asked.total() == 8 + 3
    assert len(replies(tmp_path).replies) == 8


def test_a_damaged_reply_is_noticed_set_aside_once_and_asked_again(tmp_path: Path) -> None:
    with misbehaving() as server:
        run(tmp_path, server.address)
        path = BuildFolder(tmp_path).generations
        text = path.read_text()
        assert text.count('"crc32": "') == 8
        path.write_text(text.replace("left town", "lost town", 1))  # one changed letter
        assert len(replies(tmp_path).replies) == 7
        outcome = run(tmp_path, server.address)
        assert "damaged lines (1) moved to generations.damaged" in outcome.notes[0]
        assert run(tmp_path, server.address).notes == []
        assert server.asked.total() == 9
    assert len(replies(tmp_path).replies) == 8
    # Lines of earlier versions have no checksum, and are read as they are.
    row = json.loads(text.splitlines()[0])
    del row["crc32"]
    path.write_text(json.dumps(row) + "\n")
    assert len(replies(tmp_path).replies) == 1


def test_every_reply_says_where_it_is_from(tmp_path: Path) -> None:
    with misbehaving() as server:
        run(tmp_path, server.address)
        assert server.keys == {f"Bearer {KEY}"}
        assert server.bodies[0]["seed"] in {request.seed for request in requests()}
    row = next(iter(replies(tmp_path).replies.values()))
    wanted = {"key", "type", "target", "other", "part", "count", "seed", "prompt", "address", "model", "temperature"}
    assert set(row["request"]) == wanted | {"marker"}
    assert row["reply"]["model"] == "served" and row["reply"]["usage"] == {"prompt_tokens": 9}
    drafts = read_records(BuildFolder(tmp_path).drafts, Draft, made_by="generate")
    assert drafts[0].text == "The cook met the nurse before he left town." and drafts[0].raw.startswith("[The cook]")


def test_two_runs_at_once_do_not_pay_for_the_same_replies(tmp_path: Path) -> None:
    with misbehaving(*[Act(wire="hang")] * 3) as server:
        thread = threading.Thread(target=run, args=(tmp_path, server.address))
        thread.start()
        while not server.asked:
            time.sleep(0.01)
        with pytest.raises(BuildError, match="another `build generate` is running"):
            run(tmp_path, server.address)
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_it_within_two_seconds(tmp_path: Path, number: signal.Signals) -> None:
    acts = [Act()] * 3 + [busy(**{"retry-after": "300"}), Act(wire="hang")]
    with misbehaving(*acts) as server:
        command = [sys.executable, "-m", "equipoise", "build", "generate", str(tmp_path), "--server", server.address]
        command += ["--model", "m", "--samples", "2", "--pairs", "2", "--concurrency", "1", "--yes"]
        process = subprocess.Popen(command, env=os.environ, stderr=subprocess.PIPE, text=True)
        while server.asked.total() < 4:
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        ended = time.monotonic() - start
        # On a busy machine everything takes longer: as long as printing the version does.
        start = time.monotonic()
        subprocess.run([sys.executable, "-m", "equipoise", "--version"], check=True, capture_output=True)
        assert ended < 2.0 + 2 * (time.monotonic() - start)
    assert process.returncode == 2 and "interrupted" in errors and "Traceback" not in errors
    assert len(replies(tmp_path).replies) == 3
    assert len(read_records(BuildFolder(tmp_path).drafts, Draft, made_by="generate")) == 6


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"samples": 0}, "the number of samples must be at least 1"),
        ({"samples_a_request": 0}, "the number of samples must be at least 1"),
        ({"limit": 0}, "the number of pairs must be at least 1"),
        ({"samples": 0, "limit": 0}, "the number of samples must be at least 1"),
        ({"limit": 0, "kinds": ()}, "the number of pairs must be at least 1"),
        ({"kinds": ("type3", "type1")}, "sentences are of type1 or type2, not type3"),
        ({"kinds": ()}, "sentences are of type1 or type2, not none"),
    ],
)
def test_a_plan_that_asks_for_nothing_is_refused(choices: dict[str, object], reason: str) -> None:
    with pytest.raises(BuildError, match=f"^{reason}$"):
        Plan(occupations(), **choices)  # type: ignore[arg-type]
    assert Plan(occupations(), samples=1, samples_a_request=1, limit=1).limit == 1


def test_the_requests_of_a_plan_are_as_they_were() -> None:
    prompts = {"type1": "Ä {count} {target} {other_occ}", "type2": "B {count} {target_occ} {other} {he}"}
    plan = Plan(occupations(), samples=7, samples_a_request=3, limit=3, seed=5, temperature=0.5, markers=("", "old"))
    asked = requests_of(plan, prompts, "m")
    assert_kept("builder/requests", asked)
    assert [request.count for request in asked[:3]] == [3, 3, 1] and [r.part for r in asked[:3]] == [0, 1, 2]
    pairs = [(male.name, female.name) for male, female in occupations().pairs(10.0)]
    chosen = list(dict.fromkeys((r.target, r.other) for r in asked if (r.target, r.other) in pairs))
    assert chosen == [pairs[0], pairs[len(pairs) // 3], pairs[2 * len(pairs) // 3]]
    keys = {request.key for request in asked}
    assert len(keys) == len(asked) == 3 * 2 * 2 * 2 * 3
    for other in (replace(plan, seed=6), replace(plan, temperature=0.6)):
        assert keys.isdisjoint(request.key for request in requests_of(other, prompts, "m"))
    assert keys.isdisjoint(request.key for request in requests_of(plan, prompts, "n"))
    with pytest.raises(BuildError, match=r"^no two words of occupations differ by more than 99 points$"):
        requests_of(replace(plan, min_gap=99), prompts, "m")


def test_what_is_left_to_ask_is_estimated(tmp_path: Path) -> None:
    log = ReplyLog(tmp_path / "g.jsonl")
    asked = requests_of(
        Plan(occupations(), samples=4, limit=1), {"type1": "{target_occ}" + "x" * 40, "type2": "{target}"}, "m"
    )
    length = sum(len(request.prompt) for request in asked)
    assert estimate(asked, log, concurrency=2, prices=None) == Estimate(4, 0, round(length / 4), 480, 16.0, None)
    for seconds, request in zip((3.0, 5.0), asked, strict=False):
        log.append({"request": {"key": request.key}, "reply": {"text": "", "seconds": seconds}})
    log.append({"request": {"key": asked[2].key}, "refusal": "no"})
    left = estimate(asked, log, concurrency=1, prices=(2.0, 10.0))
    tokens = round(len(asked[3].prompt) / 4)
    assert left == Estimate(1, 3, tokens, 120, 4.0, (tokens * 2 + 120 * 10) / 1e6)
    assert estimate(asked, log, concurrency=1, prices=None, retry_refused=True).requests == 2
    assert still_missing(asked, log, retry_refused=False) == asked[3:]


def test_drafts_are_the_sentences_of_replies() -> None:
    request = {"key": "abcdefghijklmnop", "type": "type1", "target": "cook", "other": "nurse", "marker": "old"}
    rows = [
        {"request": request, "reply": {"text": "1. [The cook]  met.\n2. She [ran] and", "finish_reason": "length"}},
        {"request": {**request, "key": "q" * 16}, "reply": {"text": "1. She [ran] and"}},
    ]
    del rows[1]["request"]["marker"]
    assert drafts_of(rows) == [
        Draft(
            "abcdefghijkl-01", "type1", "cook", "nurse", "The cook met.", "[The cook] met.", "abcdefghijklmnop", "old"
        ),
        Draft("qqqqqqqqqqqq-01", "type1", "cook", "nurse", "She ran and", "She [ran] and", "q" * 16, ""),
    ]


class Scripted:
    """A server that answers as a script says: a text, or an error that is raised."""

    def __init__(self, *script: str | Exception) -> None:
        self.script, self.model, self.client = list(script), "m", self
        self.url, self.asked, self.at_once, self.most = "http://x", list[dict[str, Any]](), 0, 0

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *error: object) -> None:
        pass

    async def reply(self, prompt: str, **given: Any) -> Reply:
        self.asked.append({"prompt": prompt, **given})
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        said = self.script.pop(0) if self.script else "1. One.\n2. Two."
        if isinstance(said, Exception):
            raise said
        return Reply(said, "stop", "served", "", {"n": 1}, 0.5, 1)


def asked_of(folder: Path, api: Any, *, concurrency: int = 1, **more: Any) -> Outcome:
    return generate(BuildFolder(folder), requests(), api, plan=PLAN, concurrency=concurrency, now=lambda: "now", **more)


def test_a_request_has_its_seed_and_room_for_its_sentences(tmp_path: Path) -> None:
    api, told = Scripted(), list[tuple[str, int, int]]()
    outcome = asked_of(tmp_path, api, progress=lambda *step: told.append(step))
    assert outcome == Outcome() and api.most == 1
    assert api.asked == [
        {"prompt": r.prompt, "seed": r.seed, "temperature": PLAN.temperature, "tokens": (r.count + 2) * 60}
        for r in requests()
    ]
    assert told == [("replies", done, 8) for done in range(9)]
    step = BuildFolder(tmp_path).steps()["generate"]
    assert (step.came_in, step.went_out, dict(step.reasons)) == (8, 16, {"prompt refused": 0, "request failed": 0})
    settings = {"model": "m", "samples": PLAN.samples, "pairs of": "occupations", "seed": PLAN.seed}
    assert (
        step.settings == {**settings, "pronouns": "he/him/his/himself,she/her/her/herself"} and step.finished == "now"
    )
    marked = replace(PLAN, markers=("", "old", "young"))
    generate(BuildFolder(tmp_path), requests(), Scripted(), plan=marked, now=lambda: "now")  # type: ignore[arg-type]
    assert BuildFolder(tmp_path).steps()["generate"].settings["markers"] == "old,young"


def test_several_are_asked_at_once_but_never_more_than_there_are(tmp_path: Path) -> None:
    for concurrency, most in ((3, 3), (99, 8)):
        api = Scripted()
        asked_of(tmp_path / "deep" / str(concurrency), api, concurrency=concurrency)
        assert api.most == most and len(api.asked) == 8


def test_failures_are_told_once_and_what_came_is_kept(tmp_path: Path) -> None:
    api = Scripted("1. One.", Unanswered("busy"), Unanswered("busy"), Refused("filtered"))
    outcome = asked_of(tmp_path, api)
    assert (outcome.failures, outcome.refused) == (["busy"], 1)
    reasons = BuildFolder(tmp_path).steps()["generate"].reasons
    assert reasons == {"prompt refused": 1, "request failed": 2}
    row = next(iter(replies(tmp_path).refusals.values()))
    assert (row["refusal"], row["when"], row["request"]["address"]) == ("filtered", "now", "http://x")
    again = Scripted()
    assert asked_of(tmp_path, again).failures == [] and len(again.asked) == 2
    assert asked_of(tmp_path, again, retry_refused=True).refused == 0 and len(again.asked) == 3


def test_a_budget_that_is_used_up_ends_the_run_quietly_and_a_fault_of_the_server_loudly(tmp_path: Path) -> None:
    outcome = asked_of(tmp_path / "a", Scripted("1. One.", OutOfBudget("too long")))
    assert outcome.failures == ["too long"] and len(replies(tmp_path / "a").replies) == 1
    api = Scripted("1. One.", ModelError("no key"))
    with pytest.raises(ModelError, match=r"^no key$"):
        asked_of(tmp_path / "b", api)
    assert len(api.asked) == 2 and len(replies(tmp_path / "b").replies) == 1
    with pytest.raises(ZeroDivisionError):
        asked_of(tmp_path / "c", Scripted("1. One.", ZeroDivisionError()))
    assert BuildFolder(tmp_path / "c").steps()["generate"].went_out == 1


def test_refusals_end_the_run_only_where_nothing_was_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.builder.draft.generation.REFUSALS_IN_A_ROW", 3)
    assert asked_of(tmp_path / "a", Scripted("1. One.", *[Refused("no")] * 7)).refused == 7
    assert asked_of(tmp_path / "b", Scripted(*[Refused("no")] * 2)).refused == 2
    with pytest.raises(ModelError, match=r"^the server refused the first 3 requests: no$"):
        asked_of(tmp_path / "c", Scripted(*[Refused("no")] * 3))


def test_a_limit_of_all_pairs_or_more_asks_each_once() -> None:
    prompts = {"type1": "{target} {other}", "type2": "{target} {other}"}
    every = requests_of(Plan(occupations()), prompts, "m")
    assert requests_of(Plan(occupations(), limit=10**6), prompts, "m") == every
    assert requests_of(Plan(occupations(), limit=395), prompts, "m") == every


def test_of_several_faults_the_first_is_raised(tmp_path: Path) -> None:
    api = Scripted(ModelError("first"), ModelError("second"), ModelError("third"))
    with pytest.raises(ModelError, match=r"^first$"):
        asked_of(tmp_path / "a", api, concurrency=3)
    with pytest.raises(ZeroDivisionError):
        asked_of(tmp_path / "b", Scripted(ZeroDivisionError(), KeyError("x")), concurrency=2)
