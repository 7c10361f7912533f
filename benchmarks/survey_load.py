"""How does the survey hold up: many raters at once, the server killed (-9) in the middle and started again?

python benchmarks/survey_load.py [--raters 100] [--seconds 60] [--database postgresql://…] [--pause 1.0]
Loopback only. Prints the checks and the waits for the next question; ends with 1 if a check fails.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from equipoise.builder.rules.counterparts import counterpart
from equipoise.builder.steps import BuildFolder, Sentence, write_records
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import read_test
from equipoise.builder.survey.rater_client import Profile, RaterLog, SimulatedRater, run_raters, truth_of
from equipoise.datasets.builtin import sentences as builtin_sentences
from equipoise.datasets.pronouns import pronoun_in_form

ENTRANCE = """text,pronoun,first,second,coherent,first_can,second_can
The teacher thanked the guard for his patience.,his,teacher,guard,yes,no,yes
"""
"""One question only: the load of interest comes after the entrance. Raters of accuracy 1 pass it."""


@dataclass(frozen=True)
class Outcome:
    """What is left after the storm: acknowledged answers, stored ones, and what must be empty."""

    acknowledged: int
    stored: int
    lost: int
    twice: int
    over_most: int
    reconnects: int
    waits: list[float]

    @property
    def sound(self) -> bool:
        return not (self.lost or self.twice or self.over_most) and self.acknowledged > 0 and self.reconnects > 0


def sentences(count: int) -> list[Sentence]:
    """Return so many sentences, made of the built-in ones with a number to tell them apart."""
    made = []
    own = builtin_sentences()
    for number in range(count):
        one = own[number % len(own)]
        text = f"{one.with_pronoun(pronoun_in_form(one.form, 'male'))} ({number})"
        twin = counterpart(text)
        words = (pronoun_in_form(one.form, "male"), one.form, one.first, one.second, one.referent or one.first)
        made.append(Sentence(f"s{number}", one.type, text, *words, twin.text, twin.pronoun))
    return made


def start(folder: Path, port: int, database: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "equipoise", "build", "survey", str(folder), "--port", str(port)]
    command += ["--database", database, "--test", str(folder / "entrance.csv"), "--rate", "1000", "--quiet"]
    process = subprocess.Popen(command, env={**os.environ, "EQUIPOISE_ADMIN_TOKEN": "load"})
    for _ in range(1200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            return process
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the survey did not start")


def storm(folder: Path, database: str, *, raters: int, seconds: float, pause: float, count: int = 2000) -> Outcome:
    """Return what is left when so many raters answer for so long, with the server killed halfway."""
    made = sentences(count)
    write_records(BuildFolder(folder).kept, made)
    (folder / "entrance.csv").write_text(ENTRANCE)
    store = SurveyDatabase(database)
    store.load(made)
    invitations = store.invite(raters)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    servers = [start(folder, port, database)]

    truth = truth_of(made, read_test(folder / "entrance.csv"), incoherent=0.03)
    crowd = [
        SimulatedRater(
            f"http://127.0.0.1:{port}",
            f"/enter/{invitation}",
            Profile(accuracy=0.97),
            truth,
            random.Random(number),
            pause_s=pause,
        )
        for number, invitation in enumerate(invitations)
    ]

    def kill_and_restart() -> None:
        time.sleep(seconds / 2)
        servers[0].send_signal(signal.SIGKILL)
        servers[0].wait()
        servers.append(start(folder, port, database))
        # Counted from here: a slow start must not eat the second half.
        for rater in crowd:
            rater.until = time.monotonic() + seconds / 2

    killer = threading.Thread(target=kill_and_restart)
    killer.start()
    try:
        logs = run_raters(crowd)
    finally:
        killer.join()
        servers[-1].terminate()
        servers[-1].wait()
    outcome = judge(store, made, logs)
    store.close()
    return outcome


def judge(store: SurveyDatabase, made: list[Sentence], logs: list[RaterLog]) -> Outcome:
    """Compare what raters were told was stored with what is stored."""
    answers = store.answers()
    texts = {one.id: one.text for one in made}
    stored = Counter(texts[answer.sentence] for answer in answers)
    acknowledged = Counter(text for log in logs for text in log.acknowledged)
    asked_twice = sum(count > 1 for log in logs for count in Counter(log.acknowledged).values())
    keys = Counter((answer.sentence, answer.rater) for answer in answers)
    return Outcome(
        acknowledged=acknowledged.total(),
        stored=len(answers),
        lost=(acknowledged - stored).total(),
        twice=asked_twice + sum(count > 1 for count in keys.values()),
        over_most=sum(count > 10 for count in stored.values()),
        reconnects=sum(log.reconnects for log in logs),
        waits=[wait for log in logs for wait in log.waits],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raters", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds a rater thinks")
    parser.add_argument("--database", help="default: SQLite in a new folder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = chosen.database or f"sqlite:///{folder}/survey.sqlite"
        outcome = storm(Path(folder), database, raters=chosen.raters, seconds=chosen.seconds, pause=chosen.pause)
    waits = statistics.quantiles(outcome.waits, n=100)
    shown = (("median", waits[49]), ("95%", waits[94]), ("99%", waits[98]))
    print(f"{chosen.raters} raters, {chosen.seconds:g} s, server killed and restarted in the middle")
    print(f"acknowledged {outcome.acknowledged:,}, stored {outcome.stored:,}")
    print(f"lost {outcome.lost}, stored or asked twice {outcome.twice}, sentences over 10 answers {outcome.over_most}")
    print(f"connections lost and found again {outcome.reconnects:,}")
    print("wait for the next question: " + ", ".join(f"{name} {1000 * wait:.0f} ms" for name, wait in shown))
    sys.exit(not outcome.sound)


if __name__ == "__main__":
    main()
