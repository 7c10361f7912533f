"""Simulated raters: what they take for right, how often they say so, and how long they take."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, Self

import httpx
import pytest
from survey_browser import SHORT
from survey_raters import vote

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import read_test
from equipoise.builder.survey.rater_client import Profile, RaterLog, SimulatedRater, run_raters, truth_of
from equipoise.builder.survey.rehearsal import UNLIMITED
from equipoise.builder.survey.web.app import survey_app
from equipoise.builder.survey.web.pages import SurveyOptions
from equipoise.serving import serving

TOKEN = "a-token-of-at-least-128-bits"


def test_the_truth_is_what_a_sentence_was_written_as(some_sentences: Callable[[int], list[Sentence]]) -> None:
    sentences = some_sentences(40)
    truth = truth_of(sentences, SHORT.pool)
    assert truth[SHORT.pool[0].text] == SHORT.pool[0].answer
    for sentence in sentences:
        both = sentence.type == "type1"
        first, second = (sentence.target == name or both for name in (sentence.first, sentence.second))
        assert {truth[version.text] for version in sentence.versions()} == {vote(True, first, second)}
    incoherent = truth_of(sentences, SHORT.pool, incoherent=1.0)
    assert {incoherent[sentence.text] for sentence in sentences} == {vote(False, None, None)}


@pytest.mark.parametrize(("choices", "sentence"), [({"accuracy": 1.2}, "accuracy"), ({"seconds": 0}, "seconds")])
def test_a_profile_out_of_range_is_refused(choices: dict[str, float], sentence: str) -> None:
    with pytest.raises(BuildError, match=sentence):
        Profile(**choices)


def test_a_rater_answers_everything_and_says_what_was_acknowledged(database: SurveyDatabase, some_sentences) -> None:
    test, sentences = read_test(None), some_sentences(3)
    truth = truth_of(sentences, test.pool)
    with serving(survey_app(database, SurveyOptions(test, TOKEN, limits=UNLIMITED))) as address:
        entries = [f"/enter/{token}" for token in database.raters.invite(2)]
        crowd = [
            SimulatedRater(address, entry, Profile(accuracy=accuracy), truth, random.Random(1))
            for entry, accuracy in zip(entries, (1.0, 0.0), strict=True)
        ]
        right, wrong = run_raters(crowd)
    assert sorted(right.acknowledged) == sorted(sentence.text for sentence in sentences)
    assert right.ended == "That is all. Thank you!" and right.seconds > 0 and len(right.waits) == 3
    assert not wrong.acknowledged and wrong.ended == "Thank you"  # the page of a failed test
    votes = {answer.sentence: answer.vote for answer in database.results.answers()}
    assert votes == {sentence.id: truth[sentence.text] for sentence in sentences}


class Page:
    """An answer of the server: a page, or a way on to one."""

    def __init__(self, status: int, text: str = "", location: str = "") -> None:
        self.status_code, self.text, self.headers = status, text, {"location": location}


ASKED = (
    '<form method="post" action="/answer" id="question"><input type="hidden" name="csrf" value="c">'
    '<input type="hidden" name="ticket" value="t"><blockquote id="sentence" lang="en">A &amp; B.</blockquote>'
)
END = "<h1>The &lt;end&gt;</h1>"


class Site:
    """A survey that answers as a script says; what is sent is kept."""

    def __init__(self, *script: Any) -> None:
        self.script, self.sent = list(script), list[tuple[str, str, Any]]()

    def __call__(self, address: str) -> Site:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def request(self, method: str, path: str, data: Any) -> Page:
        self.sent.append((method, path, data))
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[RaterLog, Site]]:
    """Return a function that lets a rater work through a script, without waiting."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("equipoise.builder.survey.rater_client.asyncio.sleep", sleep)

    def work(*script: Any, **more: Any) -> tuple[RaterLog, Site]:
        site = Site(*script)
        ticks = itertools.count(step=1.0)
        usual = {"clock": lambda: next(ticks), "browser": site}
        rater = SimulatedRater(
            "x",
            "/enter/1",
            Profile(1.0, spread=0.0),
            {"A & B.": vote(True, True, False)},
            random.Random(1),
            **{**usual, **more},
        )
        (log,) = run_raters([rater])
        site.waited = waited  # type: ignore[attr-defined]
        return log, site

    return work


def test_a_rater_answers_what_is_shown_until_there_is_no_form(ended: Any) -> None:
    log, site = ended(
        Page(303, location="/work"),
        Page(200, ASKED),
        Page(303, location="/work"),
        Page(200, END),
        panel_id="p",
        delay_s=2.5,
    )
    assert site.sent == [
        ("POST", "/enter/1", {"agree": "yes", "id": "p"}),
        ("GET", "/work", None),
        ("POST", "/answer", {"csrf": "c", "ticket": "t", "coherent": "yes", "first": "yes", "second": "no"}),
        ("GET", "/work", None),
    ]
    assert (log.acknowledged, log.ended, log.reconnects, log.seconds) == (["A & B."], "The <end>", 0, 15.0)
    assert len(log.waits) == 1 and log.waits[0] > 0 and site.waited[0] == 2.5


def test_a_question_of_the_test_is_no_answer_and_a_notice_is_no_acknowledgement(ended: Any) -> None:
    test = ASKED.replace("/answer", "/test")
    log, site = ended(
        Page(200, test),
        Page(303, location="/work"),
        Page(200, ASKED),
        Page(303, location="/work?notice=taken"),
        Page(200, "none"),
    )
    assert site.sent[0][2] == {"agree": "yes"} and site.sent[1][:2] == ("POST", "/test")
    assert (
        log.acknowledged == []
        and log.ended == "a page without a heading"
        and len(log.waits) == 1
        and log.seconds == 30.0
    )


def test_a_busy_or_lost_server_is_waited_for(ended: Any) -> None:
    log, site = ended(
        Page(503),
        httpx.ConnectError("x"),
        Page(200, ASKED),
        Page(429),
        OSError(),
        Page(200, ASKED),
        Page(303, location="/work"),
        Page(200, END),
    )
    assert [sent[:2] for sent in site.sent] == [
        *[("POST", "/enter/1")] * 3,
        *[("POST", "/answer")] * 2,
        ("GET", "/work"),
        ("POST", "/answer"),
        ("GET", "/work"),
    ]
    assert log.reconnects == 2 and log.acknowledged == ["A & B."]
    assert [seconds for seconds in site.waited if seconds] == [0.5, 0.2, 0.5, 0.2]


def test_a_refusal_and_the_end_of_the_time_end_the_work(ended: Any) -> None:
    log, _ = ended(Page(200, ASKED), Page(403, END))
    assert log.ended == "403: The <end>" and log.acknowledged == []
    log, site = ended(*[Page(503)] * 50, until=6.0)
    assert log.ended == "time was up" and 3 <= len(site.sent) <= 6
    log, site = ended(Page(200, ASKED), until=2.0)
    assert len(site.sent) == 1 and log.ended == ""


def test_what_a_rater_cannot_know_is_an_error(ended: Any) -> None:
    with pytest.raises(BuildError, match=r"^a simulated rater was asked an unknown sentence: 'C'$"):
        ended(Page(200, ASKED.replace("A &amp; B.", "C")))
    with pytest.raises(BuildError, match=r"^the survey shows a form without a sentence$"):
        ended(Page(200, ASKED.partition("<blockquote")[0]))


def test_a_pause_is_at_most_twice_what_was_asked_for(ended: Any) -> None:
    _, site = ended(Page(200, ASKED), Page(200, END), pause_s=3.0)
    (pause,) = [seconds for seconds in site.waited if seconds]
    rng = random.Random(1)
    rng.lognormvariate(0.0, 0.0)
    assert pause == rng.uniform(0, 6.0)


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"accuracy": -0.1}, "accuracy must be a share from 0 to 1, not -0.1"),
        ({"accuracy": 1.1}, "accuracy must be a share from 0 to 1, not 1.1"),
        ({"seconds": 0}, "seconds per sentence must be more than 0, not 0"),
        ({"seconds": 0, "accuracy": 2}, "accuracy must be a share from 0 to 1, not 2"),
    ],
)
def test_a_profile_says_what_is_out_of_range(choices: dict[str, float], reason: str) -> None:
    with pytest.raises(BuildError, match=f"^{reason}$"):
        Profile(**choices)
    assert Profile(0.0, 0.1).accuracy == 0 and Profile(1.0).accuracy == 1
