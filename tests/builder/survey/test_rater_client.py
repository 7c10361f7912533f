"""Simulated raters: what they take for right, how often they say so, and how long they take."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from survey_browser import SHORT
from survey_raters import vote

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import read_test
from equipoise.builder.survey.rater_client import Profile, SimulatedRater, run_raters, truth_of
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
