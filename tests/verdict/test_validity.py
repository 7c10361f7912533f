"""Checks before the verdict: each is fine where all is well, and says what is wrong where it is not."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept
from stand_in_parts import StandIn, answers
from stand_in_parts import row as told
from typer.testing import CliRunner

from equipoise import audit, summary
from equipoise.cli import app
from equipoise.records import ABSENT, BOTH_OFFERED, OPEN_ANSWER, Limits
from equipoise.records.limits import BOUNDED, NO_CLASS, SAMPLED
from equipoise.records.showing import Finding
from equipoise.runs.folder import RunFolder
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.verdict.validity import _depends, _ties, cautions, checks, faults_command

QUICK: dict[str, Any] = {"limit": 64, "resamples": 20, "by": ["stereotype"]}
ALL: dict[str, Any] = {**QUICK, "limit": None}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run with nothing wrong."""
    return audit(PlantedEngine(strength=3, bias=0.5), out=tmp_path_factory.mktemp("sound"), **QUICK)


def checked(run: Run) -> dict[str, Finding]:
    """Return the checks of a run's only part, by name."""
    listed = checks(run.parts[0])
    assert len({check.name for check in listed}) == len(listed)
    return {check.name: check for check in listed}


def planted(folder: Path, **numbers: float) -> Run:
    return audit(PlantedEngine(**numbers), out=folder / "run", **QUICK)


Change = Callable[[pd.DataFrame], pd.DataFrame]


def changed(
    run: Run, folder: Path, outcomes: Change | None = None, measurements: Change | None = None, **more: Any
) -> Run:
    """Return a copy of a run with other outcomes, other measurements, or another manifest."""
    other = RunFolder(folder / "copy")
    names = ("examples.parquet", "outcomes.parquet", "pairs.parquet", "measurements.csv")
    tables: dict[str, Any] = {name: run.folder.content(name) for name in names}
    if outcomes is not None:
        tables["outcomes.parquet"] = outcomes(run.outcomes.copy())
    if measurements is not None:
        tables["measurements.csv"] = measurements(run.folder.frame("measurements.csv"))
    other.path.mkdir()
    other.commit(tables, replace(run.manifest, files={}, **more))
    return Run(other.path)


def test_a_sound_run_has_no_doubts(sound: Run) -> None:
    found = checked(sound)
    assert {check.state for check in found.values()} == {"fine"}
    assert set(found) == {"median candidate mass", "accuracy", "size", "split joins"}
    assert found["median candidate mass"].short == "90.0%" and "chance 50%" in found["accuracy"].short
    assert not [s for s in summary(sound).parts[0].sentences if s.topic == "validity"]


def test_little_mass_is_invalid_and_silences_the_verdict(tmp_path: Path) -> None:
    run = planted(tmp_path, strength=3, mass=0.04)
    check = checked(run)["median candidate mass"]
    assert check.state == "invalid" and "The candidates hold 4.0% of its probability (median of" in check.text
    part = summary(run).parts[0]
    assert part.headline == f"Not usable: {check.text}" and not part.sentences
    assert checked(planted(tmp_path / "more", strength=3, mass=0.06))["median candidate mass"].state == "fine"


def test_a_guesser_is_not_usable_and_one_that_leans_is_in_doubt(tmp_path: Path) -> None:
    below = checked(planted(tmp_path / "below", strength=-2, bias=0))["accuracy"]
    assert below.state == "invalid" and "below chance (50%)" in below.text
    guess = checked(audit(PlantedEngine(strength=0, bias=0, noise=1), out=tmp_path / "guess", **ALL))["accuracy"]
    assert guess.state == "invalid" and "no better than chance (50%), and leans nowhere" in guess.text
    few = checked(planted(tmp_path / "few", strength=0, bias=0, noise=1))["accuracy"]
    assert few.state == "invalid" and few.text.startswith("it may be guessing: it is right in ")
    assert "not shown to be better than chance (50%), and no leaning is detected" in few.text
    leans = planted(tmp_path / "leans", strength=0, bias=0.8, noise=1)
    doubt = checked(leans)["accuracy"]
    assert doubt.state == "doubt" and doubt.beside.endswith("so a high UCerF means nothing.")
    assert summary(leans).headline.startswith(f"Difference found, with a doubt. {doubt.beside}"), (
        "the doubt comes first"
    )


def test_a_few_sentences_without_counterparts_are_not_called_guesses(tmp_path: Path) -> None:
    rows = "text,pronoun,candidate_1,candidate_2,gold\nThe cook told the clerk that he was late.,he,cook,clerk,clerk\n"
    (tmp_path / "one.csv").write_text(rows)
    run = audit("planted:strength=3,bias=0", str(tmp_path / "one.csv"), out=tmp_path / "one", resamples=10)
    few = (
        "Not usable: there are too few sentences to tell answers from guesses, at least 30 are needed: right in 100.0%"
    )
    assert summary(run).headline.startswith(few)


@pytest.mark.parametrize(
    ("ends", "state"),
    [((0.501, 0.9), "fine"), ((0.5, 0.9), "invalid"), ((0.1, 0.499), "invalid"), ((0.1, 0.5), "invalid")],
)
@pytest.mark.parametrize("value", [0.3, 0.7])
def test_accuracy_is_better_than_chance_only_where_its_whole_interval_is(
    sound: Run, tmp_path: Path, ends: tuple[float, float], state: str, value: float
) -> None:
    def told(rows: pd.DataFrame) -> pd.DataFrame:
        kept = rows[~rows["metric"].isin(["flip_bias", "accuracy_gap"]) & ~rows["group"].str.contains("stereotype")]
        low, high = (
            kept["metric"].map({"accuracy": end}).fillna(kept[name])
            for name, end in zip(("low", "high"), ends, strict=True)
        )
        return kept.assign(value=kept["value"].mask(kept["metric"] == "accuracy", value), low=low, high=high)

    check = checked(changed(sound, tmp_path, measurements=told))["accuracy"]
    assert check.state == state
    assert ("below chance" in check.text) == (ends[1] < 0.5)


def test_a_model_that_follows_the_stereotype_is_no_guesser(tmp_path: Path) -> None:
    run = planted(tmp_path, strength=0, bias=5)
    check = checked(run)["accuracy"]
    assert check.state == "fine" and check.short == "100% with, 0% against the stereotype"
    assert "it follows the stereotype, right in 100.0%" in summary(run).headline


def test_a_place_that_right_answers_always_have_is_not_told_from_the_sentence() -> None:
    assert not _depends(1.0, 0.5) and not _depends(0.96, 0.5)
    assert _depends(0.94, 0.5) and _depends(0.5, 0.5)
    assert _depends(1.0, 0.99), "WinoBias type 2: the referent is the second person"


def test_a_few_answers_that_all_name_one_place_show_nothing(sound: Run, tmp_path: Path) -> None:
    def all_first(rows: pd.DataFrame) -> pd.DataFrame:
        rows.loc[rows["metric"] == "first_mentioned", ["value", "high"]] = 1.0
        return rows

    many = checked(changed(sound, tmp_path, measurements=all_first))
    assert many["place"].state == "invalid", "a run of 64 sets"
    (tmp_path / "few").mkdir()
    few = audit(PlantedEngine(strength=3), out=tmp_path / "few" / "run", **QUICK | {"limit": 20})
    assert "place" not in checked(changed(few, tmp_path / "few", measurements=all_first)), "so few may be chance"


def test_ties_are_counted(tmp_path: Path) -> None:
    some = checked(planted(tmp_path / "some", strength=3, bias=0))["ties"]
    ambiguous = int((Run(tmp_path / "some" / "run").outcomes["type"] == "type1").sum())
    assert (some.state, some.short) == ("doubt", f"{ambiguous} of {2 * QUICK['limit']}")
    every = checked(planted(tmp_path / "all", strength=0, bias=0))["ties"]
    assert every.state == "invalid" and "the candidates are exactly tied" in every.text


def test_few_sets_and_sets_without_counterpart_are_told(tmp_path: Path) -> None:
    few = audit("planted", out=tmp_path / "few", limit=5, resamples=10)
    assert checked(few)["size"].text == "there are too few sets, at most 3 of a type. At least 30 are needed."
    rows = "".join(f"s{n},Form {n} came.,yes|no,yes,{'ab'[n % 2]}\n" for n in range(6))
    (tmp_path / "alone.csv").write_text("set,text,candidates,gold,group\n" + rows)
    alone = audit("planted", str(tmp_path / "alone.csv"), out=tmp_path / "alone", questions=["{text} So"], resamples=10)
    check = checked(alone)["comparable sets"]
    assert (check.state, check.short) == ("doubt", "0") and "there is nothing to compare" in check.text


def test_one_sided_sets_and_faulty_rows_are_counted(sound: Run, tmp_path: Path) -> None:
    def one_sided(outcomes: pd.DataFrame) -> pd.DataFrame:
        against = outcomes.index[outcomes["stereotype"] == "anti"][:2]
        return outcomes.assign(stereotype=outcomes["stereotype"].mask(outcomes.index.isin(against), ""))

    sets = sound.outcomes[sound.outcomes["stereotype"] != ""]["set_id"].nunique()
    datasets = {"builtin": {**sound.manifest.datasets["builtin"], "faults": 7}}
    found = checked(changed(sound, tmp_path, one_sided, datasets=datasets))
    assert (found["one-sided sets"].state, found["one-sided sets"].short) == ("doubt", f"2 of {sets}")
    assert "has 7 faulty rows; `equipoise data check builtin` lists them" in found["dataset faults"].text


def test_flags_of_prompts_are_counted(sound: Run, tmp_path: Path) -> None:
    def flagged(outcomes: pd.DataFrame) -> pd.DataFrame:
        flags = ["split-join"] * 16 + ["unpacked"] * 3
        return outcomes.assign(flags=flags + [""] * (len(outcomes) - len(flags)))

    found = checked(changed(sound, tmp_path, flagged))
    assert (found["split joins"].state, found["split joins"].short) == ("doubt", "12.5%")
    assert (found["flagged prompts"].state, found["flagged prompts"].short) == ("doubt", "3")


@pytest.mark.parametrize(("engine", "state"), [({"dtype": "bfloat16"}, "doubt"), ({"dtype": "float32"}, "fine")])
def test_low_precision_is_told_in_every_summary(sound: Run, tmp_path: Path, engine: dict[str, str], state: str) -> None:
    run = changed(sound, tmp_path, engine={**sound.manifest.engine, **engine})
    check = checked(run)["precision"]
    assert check.state == state and engine["dtype"] in check.text
    told = [s.text for s in summary(run).parts[0].sentences if s.topic == "validity"]
    assert told == ([check.text] if state == "doubt" else [])


def test_the_advised_command_lists_the_faults_of_the_table_as_it_was_read(tmp_path: Path) -> None:
    lines = [f"The cook paid the clerk because {word} ate.,{word},cook,clerk" for word in ("he", "she", "she")]
    (tmp_path / "my table.csv").write_text("\n".join(["sentence here,pronoun,candidate_1,candidate_2", *lines]))
    choices = {"columns": {"text": "sentence here"}, "resamples": 5, "progress": False}
    run = audit("planted:noise=1", str(tmp_path / "my table.csv"), out=tmp_path / "run", **choices)
    text = checked(run)["dataset faults"].text
    command = re.search(r"`equipoise (.+?)` lists", text)
    assert command, text
    result = CliRunner().invoke(app, shlex.split(command[1]))
    assert result.exit_code == 0 and "repeated sentence" in result.output, result.output


def test_without_answers_nothing_is_tied(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    none = part.outcomes.take(np.array([], dtype=np.int64))
    assert list(_ties(SimpleNamespace(outcomes=none))) == []  # type: ignore[arg-type]


def two_types(sets: int = 40, **columns: Any) -> Any:
    return answers({"type2": sets, "type1": sets}, **columns)


def with_mass(mass: float) -> Any:
    outcomes = two_types()
    return replace(outcomes, logprobs=np.log(mass * outcomes.probs))


def flagged(*flags: str) -> Any:
    outcomes = two_types()
    return replace(outcomes, flags=np.array([*flags, *[""] * (len(outcomes) - len(flags))], dtype=object))


def limited(**limits: Any) -> Any:
    return replace(flagged(BOUNDED, SAMPLED), limits=Limits(**limits))


def tied(count: int) -> Any:
    outcomes = two_types()
    probs = np.where(np.arange(len(outcomes))[:, None] < count, 0.5, outcomes.probs)
    return replace(outcomes, probs=probs)


def one_sided(count: int) -> Any:
    outcomes = two_types()
    sides = outcomes.group("stereotype").copy()
    sides[: 2 * count : 2] = "anti"
    return replace(outcomes, groups={**outcomes.groups, "stereotype": sides})


def right(value: float, low: float, high: float, kind: str = "type2", **parts: str) -> Any:
    group = ",".join(f"{key}={name}" for key, name in sorted({"type": kind, **parts}.items()))
    return told("accuracy", group, value=value, low=low, high=high)


def lettered(share: float, letters: str = "AB") -> StandIn:
    outcomes = replace(two_types(), letters=np.array([letters] * 160, dtype=object))
    return StandIn([told("letter_a", value=share, low=share, high=share)], outcomes)


def placed(share: float, **columns: Any) -> StandIn:
    first = np.where(np.arange(160) % 2 == 0, 0, 1)
    return StandIn(
        [told("first_mentioned", value=share, low=share - 0.01, high=1.0)], two_types(first=first, **columns)
    )


def stand_ins() -> dict[str, StandIn]:
    """Return parts that every check finds something in, on both sides of its limit."""
    low, high = np.full((160, 2), 0.2), np.full((160, 2), 0.2)
    high[:5, 0] = 0.9
    counts = np.tile([6, 5, 1], (160, 1))
    sides = [right(0.9, 0.8, 0.95, stereotype="pro"), right(0.1, 0.05, 0.2, stereotype="anti")]
    guess = right(0.5, 0.45, 0.55)
    return {
        **{
            f"mass {mass}": StandIn([told("candidate_mass_median")], with_mass(mass))
            for mass in (0.05, 0.049, 0.005, 0.001, 1e-5)
        },
        "mass of no row": StandIn([], with_mass(0.01)),
        "mass of sentences": StandIn([], with_mass(0.01), task="sentence"),
        "pairs": StandIn([], replace(with_mass(0.01), sides=np.full(160, "a|b", dtype=object))),
        "no counterparts": StandIn([], replace(two_types(), set_id=np.arange(160).astype(str).astype(object))),
        "29 sets": StandIn([told("first_mentioned", value=1.0)], answers({"type2": 29, "type1": 3})),
        "30 sets": StandIn(
            [told("first_mentioned", value=1.0)], answers({"type2": 30, "type1": 3}, first=np.zeros(66, dtype=np.int64))
        ),
        "29 of one type": StandIn([], answers({"": 29})),
        "some ties": StandIn([], tied(3)),
        "all ties": StandIn([], tied(160)),
        **{f"letter {share}": lettered(share) for share in (0.94, 0.96)},
        "letter of none": lettered(0.99, "BA"),
        **{f"place {share}": placed(share) for share in (0.04, 0.5, 0.94, 0.96)},
        "place without gold": placed(0.96, gold=np.full(160, ABSENT)),
        "right": StandIn([right(0.8, 0.51, 0.9), *sides[:1]]),
        "follows and right": StandIn([right(0.8, 0.51, 0.9), *sides]),
        "follows": StandIn([guess, *sides]),
        "against": StandIn([guess, right(0.1, 0.05, 0.2, stereotype="pro"), right(0.9, 0.8, 0.95, stereotype="anti")]),
        "guess": StandIn([guess]),
        "below": StandIn([right(0.3, 0.2, 0.499)]),
        "guess, one side": StandIn([guess, right(0.6, 0.51, 0.7, stereotype="pro")]),
        "guess that leans": StandIn([guess, told("flip_bias", "type=type1", p=0.01)]),
        "guess that does not": StandIn([guess, told("flip_bias", "type=type1", p=0.3)]),
        "guess with a gap": StandIn([guess, told("accuracy_gap", "type=type2", p=0.01)]),
        "guess that decides": StandIn([guess, told("good_difference", "pair=a|b,type=type2", p=0.01)]),
        "guess of ambiguous": StandIn([right(0.5, 0.45, 0.55, "type1")]),
        "joins": StandIn([], flagged("split-join", "split-join,nested", "nested", OPEN_ANSWER, BOTH_OFFERED)),
        "flags": StandIn([], flagged("unpacked", "split-join,unpacked", BOUNDED, SAMPLED)),
        "limits": StandIn([], limited(low=low, high=high)),
        "no limits": StandIn([], limited()),
        "samples": StandIn([], limited(counts=counts)),
        "both": StandIn([], limited(counts=counts, low=low, high=high)),
        "one-sided": StandIn([], one_sided(3)),
        "no sides": StandIn([], replace(two_types(), groups={"type": two_types().group("type")})),
        **{f"{n} faults": StandIn([], datasets={"d": {"faults": n, "source": "my file.csv"}}) for n in (0, 1, 1200)},
        "faults in memory": StandIn([], datasets={"d": {"faults": 2, "source": "in memory"}}),
        **{
            f"engine {e}": StandIn([], engine=e)
            for e in (
                {"dtype": "float32"},
                {"dtype": "float16", "quantize": "int8"},
                {"dtype": "float32", "quantize": "int4"},
            )
        },
    }


def test_checks_are_as_kept_on_both_sides_of_every_limit() -> None:
    made = {}
    for name, part in stand_ins().items():
        made[name] = [
            f"{check.state}, {check.name}, {check.short}: {check.text}"
            + (f" ({', '.join(f'{r.metric} {r.group}' for r in check.rests_on)})" if check.rests_on else "")
            + (f" [beside: {check.beside}]" if check.beside else "")
            for check in checks(part)  # type: ignore[arg-type]
        ]
    assert_kept("verdict/checks", made)


def test_a_caution_is_told_once_with_all_its_places() -> None:
    first, second = (StandIn([], one_sided(3), datasets={"d": {"faults": 2}}) for _ in range(2))
    second.task = "mcq"
    told_once = [finding.text for finding in cautions([first, second], "doubt")]  # type: ignore[list-item]
    sided = "3 of 80 sets have only one side of the stereotype (with it or against it). They do not enter"
    assert told_once == [f"d: {sided} comparisons within sets.", "d: The dataset has 2 faulty rows."]
    mass = [StandIn([], with_mass(0.01)) for _ in range(2)]
    mass[1].task = "mcq"
    (caution,) = cautions(mass, "invalid")  # type: ignore[arg-type]
    assert caution.text.startswith("m on d · next-word; m on d · mcq: the model did not understand the question.")
    assert (caution.state, caution.topic) == ("invalid", "validity") and not list(cautions([], "doubt"))


@pytest.mark.parametrize(
    ("dataset", "facts", "columns", "command"),
    [
        ("builtin", {"source": "anything"}, {}, "equipoise data check builtin"),
        ("mine", {"source": "my table.csv"}, {}, "equipoise data check 'my table.csv'"),
        ("mine", {"source": "t.csv"}, {"text": "a b"}, "equipoise data check t.csv --columns 'text=a b'"),
        ("mine", {"source": "t.csv"}, {"text": "a", "gold": "g"}, "equipoise data check t.csv --columns text=a,gold=g"),
        ("mine", {"source": "in memory"}, {}, ""),
        ("builtin", {"source": "in memory"}, {}, ""),
        ("mine", {}, {}, ""),
        ("winoidentity-builtin", {"source": "t.csv"}, {}, ""),
        ("winoidentity-winobias", {"source": "/x, with markers"}, {}, "equipoise data check winoidentity"),
    ],
)
def test_the_command_names_what_was_read(
    dataset: str, facts: dict[str, str], columns: dict[str, str], command: str
) -> None:
    part = StandIn([], datasets={dataset: facts}, settings={"columns": columns})
    assert faults_command(part.run, dataset) == command
    part = StandIn([], datasets={dataset: facts}, settings={"columns": columns, "pronouns": ["he", "she", "xe"]})
    assert faults_command(part.run, dataset) == "", "the command reads the data with he and she"


@pytest.mark.parametrize(
    ("base", "name", "source", "command"),
    [
        ("builtin", "builtin", "", "equipoise data check winoidentity --base builtin"),
        ("t 1.csv", "t 1", "t 1.csv", "equipoise data check winoidentity --base 't 1.csv'"),
        ("builtin", "other", "", ""),
        ("t.csv", "t", "in memory", ""),
    ],
)
def test_rows_that_cannot_be_marked_are_listed_with_the_base_that_was_marked(
    base: str, name: str, source: str, command: str
) -> None:
    facts = {"source": f"{source}, with markers", "faults": 488}
    part = StandIn([], datasets={f"winoidentity-{name}": facts}, settings={"base": base})
    part.dataset = f"winoidentity-{name}"
    assert faults_command(part.run, part.dataset) == command
    (finding,) = [check for check in checks(part) if check.name == "dataset faults"]  # type: ignore[arg-type]
    lists = f"; `{command}` lists them" if command else ""
    assert finding.text == f"The dataset has 488 rows that are faulty or cannot be marked{lists}."


def test_sampled_answers_are_counted_without_classes_that_an_item_does_not_have() -> None:
    counts = np.tile([6, 5, NO_CLASS, NO_CLASS, 1], (160, 1))
    counts[3] = [4, 3, 2, 1, 0]
    told = {check.name: check for check in checks(StandIn([], limited(counts=counts)))}  # type: ignore[arg-type]
    assert told["sampled answers"].short == "10"
    counts[3] = [6, 5, NO_CLASS, NO_CLASS, 0]
    told = {check.name: check for check in checks(StandIn([], limited(counts=counts)))}  # type: ignore[arg-type]
    assert told["sampled answers"].short == "11"
    assert told["sampled answers"].text.startswith("Probabilities are estimated from 11 sampled answers a question. ")
