"""A rehearsal: simulated raters answer a copy of the survey over real HTTP, and the cost is estimated."""

from __future__ import annotations

import random
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...progress import Progress, silent
from ...serving import serving
from ..steps import BuildFolder, Sentence, read_records
from ..verdict.cleaning import CleanOptions, clean
from ..verdict.consensus import Rule
from ..verdict.votes import PASSED, SIMULATED
from .database.survey import SurveyDatabase
from .database.work import Asking
from .entrance import read_test
from .rater_client import Profile, RaterLog, SimulatedRater, run_raters, truth_of
from .web.app import survey_app
from .web.guard import Limits
from .web.pages import SurveyOptions

UNLIMITED = Limits(rate=1e6, burst=10**6, doors_rate=1e6, doors_burst=10**6)


@dataclass(frozen=True, slots=True)
class Cast:
    """The simulated raters: how many, how they answer, the share of incoherent sentences, and the survey's rule."""

    raters: int
    profile: Profile
    incoherent: float
    seed: int
    rule: Rule = field(default_factory=Rule)


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of a survey: answers, hours of work, and money."""

    answers: int
    answers_a_sentence: float
    hours: float
    cost: float


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result: raters who passed, sentences settled, good and bad ones and how many of each are kept, the cost."""

    passed: int
    sentences: int
    settled: int
    good: int
    good_kept: int
    bad_kept: int
    bill: Bill


def rehearse(
    folder: BuildFolder,
    cast: Cast,
    *,
    test: str | Path | None,
    pay: float,
    fee: float,
    progress: Progress = silent,
) -> Rehearsal:
    """Return the result; its answers are in `simulation.sqlite`, which is replaced each time."""
    sentences, entrance = read_records(folder.kept, Sentence, made_by="filter"), read_test(test)
    path = folder.path / "simulation.sqlite"
    for old in path.parent.glob("simulation.sqlite*"):
        old.unlink()
    database = SurveyDatabase(f"sqlite:///{path}", Asking(cast.rule))
    database.load(sentences, seed=cast.seed)
    database.apply_options(entrance.identity)
    truth = truth_of(sentences, entrance.pool, incoherent=cast.incoherent, seed=cast.seed)
    options = SurveyOptions(entrance, secrets.token_urlsafe(), limits=UNLIMITED, simulated=True)
    over = threading.Event()
    with serving(survey_app(database, options)) as address:
        raters = [
            SimulatedRater(address, f"/enter/{token}", cast.profile, truth, random.Random(f"{cast.seed}-{number}"))
            for number, token in enumerate(database.raters.invite(cast.raters, origin=SIMULATED))
        ]
        watch = threading.Thread(target=_watch, args=(database, over, progress), daemon=True)
        watch.start()
        try:
            logs = run_raters(raters)
        finally:
            over.set()
            watch.join()
    total, settled = database.results.counts()
    cleaned = clean(sentences, database.results.answers(), CleanOptions(cast.rule))
    good = {sentence.id for sentence in sentences if truth[sentence.text][0] == "yes"}
    good_kept = sum(sentence.id in good for sentence, _ in cleaned.kept)
    passed = sum(rater.state == PASSED for rater in database.raters.all())
    database.close()
    counts = (len(good), good_kept, len(cleaned.kept) - good_kept)
    return Rehearsal(passed, total, settled, *counts, bill(logs, total, pay=pay, fee=fee))


def _watch(database: SurveyDatabase, over: threading.Event, progress: Progress) -> None:
    while not over.wait(1.0):
        total, settled = database.results.counts()
        progress("settled", settled, total)


def bill(logs: Sequence[RaterLog], sentences: int, *, pay: float, fee: float) -> Bill:
    """Return the cost of simulated work; the entrance test counts, also of raters who fail it."""
    answers = sum(len(log.acknowledged) for log in logs)
    hours = sum(log.seconds for log in logs) / 3600
    return Bill(answers, answers / sentences if sentences else 0.0, hours, hours * pay * (1 + fee))
