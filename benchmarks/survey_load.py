"""How does the survey hold up: many careless raters at once, the server killed (-9) twice and started again?

python benchmarks/survey_load.py [--raters 100] [--seconds 60] [--pause 1.0] [--answers 70000] [--database postgresql://…]

Loopback only. Raters click twice, answer from two tabs and from old ones, go back and answer again, and some have slow
phones (--careful: none of this). `--answers` fills the database first. Prints the checks, the waits for the next
question (from sending an answer to the next page) and the time of /admin; ends with 1 if a check fails.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from shared.careless import CarelessRater, RawBrowser
from shared.machine import free_port
from shared.options import parsed

from equipoise.builder.rules.variants import variants_of
from equipoise.builder.steps import BuildFolder, Sentence, as_lines
from equipoise.builder.survey.database.connection import with_driver
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import read_test
from equipoise.builder.survey.rater_client import Profile, RaterLog, run_raters, truth_of
from equipoise.builder.verdict.questions import published
from equipoise.builder.verdict.votes import SIMULATED
from equipoise.builder.wordlist import HE, SHE
from equipoise.datasets.builtin import sentences as builtin_sentences
from equipoise.datasets.pronouns import pronoun_in_form
from equipoise.files import write_file

ENTRANCE = """text,pronoun,first,second,coherent,first_can,second_can
The teacher thanked the guard for his patience.,his,teacher,guard,yes,no,yes
"""
"""One question only: the load of interest comes after the entrance. Raters of accuracy 1 pass it."""

TOKEN = "a-load-test-token-of-128-bits"


@dataclass(frozen=True)
class Outcome:
    """What is left after the storm: acknowledged answers, stored ones, what must be zero, and times."""

    acknowledged: int
    stored: int
    wrong: dict[str, int]
    careless: Counter[str]
    statuses: Counter[int]
    reconnects: int
    waits: list[float]
    admin: list[float]

    @property
    def sound(self) -> bool:
        return not any(self.wrong.values()) and self.acknowledged > 0


def sentences(count: int) -> list[Sentence]:
    """Return sentences made of the built-in ones, with a number to tell them apart."""
    made = []
    builtin = builtin_sentences()
    for number in range(count):
        source = builtin[number % len(builtin)]
        pronoun = pronoun_in_form(source.form, "male")
        text = f"{source.with_pronoun(pronoun)} ({number})"
        _, twins = variants_of(text, source.first, (HE, SHE))
        people = (source.first, source.second, source.referent or source.first)
        made.append(Sentence(f"s{number}", source.type, text, pronoun, source.form, *people, "male", tuple(twins)))
    return made


def fill(database: str, made: list[Sentence], answers: int) -> None:
    """Add raters and answers directly, ten per sentence."""
    names = {
        "raters": ("id", "entry_hash", "state", "score", "locale"),
        "answers": ("sentence", "rater", "number", "replies", "seconds", "withdrawn"),
        "sentences": ("id", "needed", "settled"),
    }
    raters, given, asked = (sa.table(table, *map(sa.column, columns)) for table, columns in names.items())
    ids = [f"old{number}" for number in range(100)]
    rows = [
        {
            "sentence": made[number // 10].id,
            "rater": ids[number % 100],
            "number": number // 100,
            "replies": published().as_text(("yes", "yes" if number % 3 else "no", "yes" if number % 7 else "no")),
            "withdrawn": False,
            "seconds": 5.0 + number % 11,
        }
        for number in range(answers)
    ]
    engine = sa.create_engine(with_driver(database))
    with engine.begin() as connection:
        people = [{"id": id, "entry_hash": id, "state": "passed", "score": 1.0, "locale": ""} for id in ids]
        connection.execute(raters.insert(), people)
        for start in range(0, len(rows), 10_000):
            connection.execute(given.insert(), rows[start : start + 10_000])
        chosen = sa.column("id").in_(sa.bindparam("ids", expanding=True))
        for start in range(0, answers // 10, 500):
            done = [sentence.id for sentence in made[start : min(start + 500, answers // 10)]]
            values = {"needed": 0, "settled": True}
            connection.execute(asked.update().where(chosen).values(values), {"ids": done})
    engine.dispose()


def start(folder: Path, port: int, database: str) -> subprocess.Popen[bytes]:
    """Start the server."""
    command = [sys.executable, "-m", "equipoise", "build", "survey", str(folder), "--port", str(port)]
    command += ["--database", database, "--test", str(folder / "entrance.csv"), "--rate", "1000", "--quiet"]
    environment = {**os.environ, "EQUIPOISE_ADMIN_TOKEN": TOKEN}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    for _ in range(1200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            return process
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    raise RuntimeError("the survey did not start")


@dataclass(frozen=True)
class Storm:
    """The load: raters (who come one by one in the first sixth), seconds, pause, sentences, answers, kills."""

    raters: int = 100
    seconds: float = 60.0
    pause: float = 1.0
    sentences: int = 2000
    answers: int = 0
    kills: int = 2
    careful: bool = False


def storm(folder: Path, database: str, load: Storm) -> Outcome:
    """Return what is left when raters answer under this load."""
    made = sentences(load.sentences + load.answers // 10)
    write_file(BuildFolder(folder).kept, as_lines(made).encode())
    (folder / "entrance.csv").write_text(ENTRANCE)
    store = SurveyDatabase(database)
    store.load(made)
    if load.answers:
        fill(database, made, load.answers)
    invitations = store.raters.invite(load.raters, origin=SIMULATED)
    port = free_port()
    servers = [start(folder, port, database)]
    crowd = crowd_of(f"http://127.0.0.1:{port}", invitations, made, folder, load)
    admin: list[float] = []

    def kill_and_restart() -> None:
        for number in range(load.kills):
            time.sleep(load.seconds / (load.kills + 1))
            if load.answers and not number:
                admin.extend(admin_times(port))
            servers[-1].send_signal(signal.SIGKILL)
            servers[-1].wait()
            servers.append(start(folder, port, database))
        # Counted from here: a slow start must not eat the last part.
        for rater in crowd:
            rater.until = time.monotonic() + load.seconds / (load.kills + 1)

    killer = threading.Thread(target=kill_and_restart)
    killer.start()
    try:
        logs = run_raters(crowd)
        if not load.kills and load.answers:
            admin.extend(admin_times(port))
    finally:
        killer.join()
        servers[-1].terminate()
        servers[-1].wait()
    outcome = judge(store, made, crowd, logs, admin)
    store.close()
    return outcome


def crowd_of(
    address: str, invitations: list[str], made: list[Sentence], folder: Path, load: Storm
) -> list[CarelessRater]:
    truth = truth_of(made, read_test(folder / "entrance.csv").pool, incoherent=0.03)
    profile = Profile(accuracy=0.97)
    return [
        CarelessRater(
            *(address, f"/enter/{token}", profile, truth, random.Random(number)),
            pause_s=load.pause,
            delay_s=load.seconds / 6 * number / len(invitations),
            browser=RawBrowser,
            slow_s=0.0 if load.careful or number % 10 else min(1.0, load.pause),
            careful=load.careful,
        )
        for number, token in enumerate(invitations)
    ]


def admin_times(port: int, count: int = 3) -> list[float]:
    """Return how long the administration page takes."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    base = f"http://127.0.0.1:{port}/admin"
    opener.open(f"{base}/login", data=urllib.parse.urlencode({"token": TOKEN}).encode(), timeout=60).close()
    times = []
    for _ in range(count):
        time.sleep(2.1)  # longer than a summary is kept
        begun = time.monotonic()
        opener.open(base, timeout=60).read()
        times.append(time.monotonic() - begun)
    return times


def judge(
    store: SurveyDatabase, made: list[Sentence], crowd: list[CarelessRater], logs: list[RaterLog], admin: list[float]
) -> Outcome:
    """Compare what raters were told was stored with what is stored, and what is stored with a recount."""
    answers = [answer for answer in store.results.answers() if not answer.rater.startswith("old")]
    texts = {sentence.id: sentence.text for sentence in made}
    stored = Counter((texts[answer.sentence], answer.vote[0]) for answer in answers)
    acknowledged = Counter(pair for rater in crowd for pair in rater.said.items())
    if crowd[0].careful:
        stored = Counter((text, "") for text, _ in stored.elements())
        acknowledged = Counter((text, "") for log in logs for text in log.acknowledged)
    asked_twice = sum(count > 1 for log in logs for count in Counter(log.acknowledged).values())
    statuses = sum((rater.statuses for rater in crowd), Counter[int]())
    wrong = {
        "lost": (acknowledged - stored).total(),
        "double": asked_twice,
        "wrongly taken": sum(rater.broken for rater in crowd),
        "status 500": sum(count for status, count in statuses.items() if status == 500),
    }
    return Outcome(
        acknowledged=acknowledged.total(),
        stored=len(answers),
        wrong=wrong | recount(store),
        careless=sum((rater.did for rater in crowd), Counter[str]()),
        statuses=statuses,
        reconnects=sum(log.reconnects for log in logs),
        waits=[wait for log in logs for wait in log.waits],
        admin=admin,
    )


RECOUNTS = {
    "double rows": "SELECT count(*) FROM (SELECT 1 FROM answers GROUP BY sentence, rater HAVING count(*) > 1) AS x",
    "over the maximum": "SELECT count(*) FROM (SELECT 1 FROM answers GROUP BY sentence HAVING count(*) > 10) AS x",
    "answers and holders over the maximum": "SELECT count(*) FROM sentences s WHERE "
    "(SELECT count(*) FROM answers a WHERE a.sentence = s.id) + "
    "(SELECT count(*) FROM leases l WHERE l.sentence = s.id) > 10",
    "stranded": "SELECT count(*) FROM sentences WHERE active AND NOT settled AND needed < 1",
    "gaps in a rater's numbers": "SELECT count(*) FROM "
    "(SELECT 1 FROM answers GROUP BY rater HAVING count(*) <> max(number) + 1) AS x",
    "holders who answered it": "SELECT count(*) FROM leases l JOIN answers a ON a.sentence = l.sentence "
    "AND a.rater = l.rater",
}


def recount(store: SurveyDatabase) -> dict[str, int]:
    """Return what is wrong with the tables themselves."""
    with store.store.reading() as connection:
        wrong = {what: int(connection.scalar(sa.text(query)) or 0) for what, query in RECOUNTS.items()}
        rows = int(connection.scalar(sa.text("SELECT count(*) FROM answers WHERE NOT withdrawn")) or 0)
    wrong["shown count differs"] = abs(store.results.summary().answers - rows)
    # Counts every sentence from its answers, and corrects what differs.
    return wrong | {"counts that differ from a recount": store.tidy()}


def shown(waits: list[float]) -> str:
    cuts = statistics.quantiles(waits, n=100)
    return ", ".join(f"{name} {1000 * cuts[at]:.0f} ms" for name, at in (("median", 49), ("95%", 94), ("99%", 98)))


def report(outcome: Outcome, load: Storm) -> None:
    busy = f"load average {os.getloadavg()[0]:.1f}"
    print(f"{load.raters} raters, {load.seconds:g} s, {load.kills} kills, {load.answers:,} answers before, {busy}")
    print(f"  acknowledged {outcome.acknowledged:,}, stored {outcome.stored:,}, reconnects {outcome.reconnects:,}")
    print("  careless: " + (", ".join(f"{what} {count:,}" for what, count in sorted(outcome.careless.items())) or "–"))
    print(
        "  answers by status: " + ", ".join(f"{status} {count:,}" for status, count in sorted(outcome.statuses.items()))
    )
    print("  must be 0: " + ", ".join(f"{what} {count:,}" for what, count in outcome.wrong.items()))
    print(f"  wait for the next question: {shown(outcome.waits)}")
    if outcome.admin:
        print("  /admin: " + ", ".join(f"{1000 * seconds:.0f} ms" for seconds in outcome.admin))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raters", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds a rater thinks")
    parser.add_argument("--answers", type=int, default=0, help="answers in the database before")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--careful", action="store_true", help="raters who do everything once")
    parser.add_argument("--database", help="default: SQLite in a new folder")
    parser.add_argument("--sentences", type=int, default=2000, help="that are not answered yet")
    chosen = parsed(parser, raters=6, seconds=2.0, pause=0.05, sentences=60)
    sizes = (chosen.raters, chosen.seconds, chosen.pause, chosen.sentences, chosen.answers)
    load = Storm(*sizes, kills=chosen.kills, careful=chosen.careful)
    with tempfile.TemporaryDirectory() as folder:
        database = chosen.database or f"sqlite:///{folder}/survey.sqlite"
        outcome = storm(Path(folder), database, load)
    report(outcome, load)
    sys.exit(not outcome.sound)


if __name__ == "__main__":
    main()
