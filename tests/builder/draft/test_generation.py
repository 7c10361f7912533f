"""Generation against a real HTTP server that fails as servers do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from chat_faults import FAULTS, OPTIONS, PLAN, Act, busy, misbehaving, requests, suffer

from equipoise.builder.draft.generation import Outcome, Plan, estimate, generate, requests_of
from equipoise.builder.draft.prompt_files import fill, read_prompts
from equipoise.builder.draft.reply_log import ReplyLog
from equipoise.builder.pronoun_sets import HE, SHE, parse_pronouns
from equipoise.builder.steps import BuildError, BuildFolder, Draft, read_records
from equipoise.builder.wordlist import occupations
from equipoise.records import ModelError
from equipoise.scoring.server.api import Api
from equipoise.scoring.server.http_client import Client, Limits

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


def test_prompts_can_be_swapped_and_are_checked(tmp_path: Path) -> None:
    for kind in ("type1", "type2"):
        (tmp_path / f"{kind}.txt").write_text("{{braces}} stay: {count} about {target} and {other}")
    asked = requests_of(PLAN, read_prompts(tmp_path), "m")
    assert "{{braces}} stay: 2 about the " in asked[0].prompt
    (tmp_path / "type2.txt").write_text("{target}")
    with pytest.raises(BuildError, match=r"the prompt for type2 has no \{other\}"):
        read_prompts(tmp_path)


def test_the_papers_own_prompts_are_used_as_they_are(tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text(
        "## C Prompts\n\nFor type1 samples, we use the following prompt to generate:\n\nPlease write 15 about "
        "{target\\_occ} and {other\\_occ}.\n\nFor type2 samples, we use the following prompt to generate:\n\nNow 15 "
        "with {target\\_occ}, not {other\\_occ}.\n\n## D Survey\n\nMore text.\n"
    )
    prompts = read_prompts(paper)
    assert fill(prompts["type1"], "cook", "nurse", 15, (HE, SHE)) == "Please write 15 about cook and nurse.\n"
    assert fill(prompts["type2"], "cook", "nurse", 15, (HE, SHE)) == "Now 15 with cook, not nurse.\n"
    paper.write_text("no prompts at all")
    with pytest.raises(BuildError, match="has no prompts"):
        read_prompts(paper)


def test_our_prompts_have_the_papers_structure_and_never_change_a_key() -> None:
    for text in read_prompts(None).values():
        good, bad, rules = (text.index(part) for part in ("Three good", "Three bad", "Rules:"))
        assert text.index("Definition") < good < bad < rules
        assert "square brackets" in text[rules:]
    # A changed prompt would be paid for again in every build that exists.
    assert [request.key[:8] for request in requests()[:3]] == KEYS


KEYS = ["326601f4", "1efff972", "7e1b64f8"]


def test_prompts_for_any_pronouns_and_for_markers() -> None:
    sets = parse_pronouns(["they", "xe"])
    plan = Plan(occupations(), samples=2, limit=1, pronouns=sets, markers=("young", "old"))
    asked = requests_of(plan, read_prompts(None), "m")
    assert len(asked) == 2 * 2 * 2
    prompt = next(request.prompt for request in asked if request.type == "type2" and request.marker == "old")
    assert "Use one pronoun, once: they, xe, them, xem, their or xyr." in prompt
    assert f"means the old {asked[0].target}" in prompt
    assert "without [them]" in prompt and "handed [xem]" in prompt and "[he]" not in prompt and "{" not in prompt
    with pytest.raises(BuildError, match="unknown pronouns 'blah'"):
        parse_pronouns(["he", "blah"])
    with pytest.raises(BuildError, match="at least two"):
        parse_pronouns(["he"])
