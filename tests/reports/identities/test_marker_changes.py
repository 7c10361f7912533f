"""The sentences, the picture and its table agree on which markers differ from no marker."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from equipoise.reports.behaviour.views import Estimated
from rich.console import Console

import equipoise
from equipoise.reports.identities.changes import NO_CHANGE, Change, _change_sentence, caption, changes, in_words
from equipoise.reports.identities.charts import change_chart
from equipoise.reports.identities.section import identities
from equipoise.reports.identities.tables import identity_summary
from equipoise.reports.identities.values import change_values
from equipoise.runs.run import Run, identity_frame
from equipoise.scoring.planted.identities import PlantedIdentities

PLANTED = {
    "nothing": PlantedIdentities(confidence=0.4, noise=0.1, genders={"female": 0.1}),
    "old": PlantedIdentities(confidence=0.4, noise=0.1, genders={"female": 0.1}, penalties={"old": 0.15}),
    "both ways": PlantedIdentities(confidence=0.2, noise=0.05, penalties={"old": 0.15, "Black": -0.1, "Asian": 0.1}),
}


@pytest.fixture(scope="module", params=PLANTED)
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run]:
    choices = {"base": "builtin", "limit": 90, "augment": ["R"], "attributes": ["age", "race"]}
    folder: Path = tmp_path_factory.mktemp("changes")
    equipoise.audit(
        PLANTED[request.param], "winoidentity", out=folder, resamples=200, metrics=["confidence"], **choices
    )
    return request.param, Run(folder)


def detected(run: Run) -> tuple[list[Change], list[str]]:
    frame = identity_frame(run.measurements)
    several = changes(frame[frame["augmentation"] == "R"])
    return several, [change.marker for change in several if change.detected]


def test_what_was_planted_is_named_and_nothing_else(planted: tuple[str, Run]) -> None:
    name, run = planted
    several, names = detected(run)
    assert len(several) == 6, "two ages and four races"
    assert set(names) == {"nothing": set(), "old": {"old"}, "both ways": {"old", "Black", "Asian"}}[name]


def test_sentence_picture_and_table_name_the_same_markers(planted: tuple[str, Run]) -> None:
    name, run = planted
    several, names = detected(run)
    chart = change_chart(several, "Change", (-0.5, 0.5))
    drawn = re.findall(r"<g><title>[^,]+, (\w+): [^<]+</title><line [^>]*/><\w+ [^>]*mark t-(?:right|wrong)", chart)
    assert sorted(drawn) == sorted(names)
    values = change_values(several)
    p_values = {row[1]: float(row[values.headings.index("p (Holm)")]) for row in values.rows}
    assert {marker for marker, p in p_values.items() if p < 0.05} == set(names)
    (sentence,) = [text for text in in_words(identity_frame(run.measurements)) if "Holm" in text]
    section = identities(run)
    assert section is not None and (NO_CHANGE in section.body) == (not names)
    if name == "nothing":
        assert caption(several) == NO_CHANGE and "no attribute differs detectably from no marker" in sentence
    elif name == "old":
        assert re.search(r"“old” \(age\) lowers confidence by 0\.1\d\d \[0\.\d+, 0\.\d+\] \(against", sentence)
        assert caption(several) == "1 of 6 differ from no marker: old."
    else:
        assert "2 of 6 markers lower confidence, most of all “old” (age), by 0.1" in sentence
        assert "; “Black” (race) raises confidence by 0." in sentence


def test_the_terminal_says_the_same_sentences(planted: tuple[str, Run]) -> None:
    _, run = planted
    console = Console(width=400, record=True, file=StringIO())
    summary = identity_summary(run.measurements)
    assert summary is not None
    console.print(summary)
    printed = console.export_text()
    sentences = list(in_words(identity_frame(run.measurements)))
    assert sentences and all(sentence in printed for sentence in sentences)


def test_a_small_p_beside_an_interval_that_holds_0_is_not_quoted() -> None:
    wide = Change("age", "old", Estimated(-0.1, -0.3, 0.1), 0.002, 30)
    (sentence,) = _change_sentence([wide, wide], "Here")
    assert (
        sentence
        == "Here no attribute differs detectably from no marker (the intervals of all 2 markers include 0, n = 30)."
    )
    (sentence,) = _change_sentence([replace(wide, p=0.4)], "Here")
    assert "(smallest p = 0.400 after Holm over 1 marker, n = 30)" in sentence
