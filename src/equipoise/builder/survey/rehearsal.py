"""A survey before the survey: simulated raters answer a copy of it over real HTTP, and the bill is reckoned."""

from __future__ import annotations

import random
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..steps import BuildFolder, Sentence, read_records
from ..verdict.cleaning import clean
from ..verdict.consensus import Thresholds
from ..verdict.votes import PASSED
from ..wordlist import Word, WordList, occupations
from .database.survey import SurveyDatabase
from .entrance import read_test
from .rater_client import Bill, Profile, SimulatedRater, bill, run_raters, truth_of
from .web.app import SurveyOptions, serving, survey_app
from .web.guard import Limits

UNLIMITED = Limits(rate=1e6, burst=10**6, doors_rate=1e6, doors_burst=10**6)


@dataclass(frozen=True, slots=True)
class Cast:
    """Who takes part: how many, how they answer, and what share of the sentences is incoherent."""

    raters: int
    profile: Profile
    incoherent: float
    seed: int


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What came of it: raters who passed, sentences settled and kept, and the bill."""

    passed: int
    sentences: int
    settled: int
    kept: int
    bill: Bill


def rehearse(
    folder: BuildFolder,
    cast: Cast,
    *,
    test: Path | None,
    pay: float,
    fee: float,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Rehearsal:
    """Return how the survey went; its answers are in `simulation.sqlite`, made anew each time."""
    sentences, questions = read_records(folder.kept, Sentence, made_by="filter"), read_test(test)
    path = folder.path / "simulation.sqlite"
    for old in path.parent.glob("simulation.sqlite*"):
        old.unlink()
    database = SurveyDatabase(f"sqlite:///{path}")
    database.load(sentences, seed=cast.seed)
    truth = truth_of(sentences, questions, incoherent=cast.incoherent, seed=cast.seed)
    options = SurveyOptions(questions, secrets.token_urlsafe(), limits=UNLIMITED)
    over = threading.Event()
    with serving(survey_app(database, options)) as address:
        raters = [
            SimulatedRater(address, f"/enter/{token}", cast.profile, truth, random.Random(f"{cast.seed}-{number}"))
            for number, token in enumerate(database.invite(cast.raters))
        ]
        watch = threading.Thread(target=_watch, args=(database, over, progress), daemon=True)
        watch.start()
        try:
            logs = run_raters(raters)
        finally:
            over.set()
            watch.join()
    total, settled = database.counts()
    cleaned = clean(sentences, database.answers(), _any_words(sentences), Thresholds())
    passed = sum(rater.state == PASSED for rater in database.raters())
    database.close()
    return Rehearsal(passed, total, settled, len(cleaned.rows) // 2, bill(logs, total, pay=pay, fee=fee))


def _watch(database: SurveyDatabase, over: threading.Event, progress: Callable[[str, int, int], None]) -> None:
    while not over.wait(1.0):
        total, settled = database.counts()
        progress("settled", settled, total)


def _any_words(sentences: list[Sentence]) -> WordList:
    """Return a list with the words of the sentences: which side they are of does not matter for counting."""
    own = occupations()
    words = {name: Word(name, "male", None) for one in sentences for name in (one.first, one.second)}
    return WordList("any", {**words, **own.words}, own.find)
