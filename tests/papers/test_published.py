"""What the papers print fits together, but for the errata; each erratum has the check that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from equipoise import packaged
from equipoise.builder.compare.diversity import vocabulary, written_texts
from equipoise.metrics import METRICS
from equipoise.papers.experiments import PAPERS
from equipoise.papers.published import ERRATA, Published, published, published_values
from equipoise.records import group_label
from equipoise.topics.published import PublishedValue

ROUNDING = 0.0005 + 1e-9


def numbers(paper: str, place: str, **parts: str) -> list[Published]:
    rows = [row for row in published() if (row.paper, row.place) == (paper, place)]
    return [row for row in rows if all(getattr(row, name) == value for name, value in parts.items())]


def number(paper: str, place: str, **parts: str) -> float:
    (row,) = numbers(paper, place, **parts)
    return row.value


def test_every_doubt_is_an_erratum_and_every_table_has_numbers() -> None:
    assert {row.doubt for row in published()} - {""} <= set(ERRATA)
    for paper in PAPERS.values():
        assert all(numbers(paper.name, place) for place in paper.places)
    others = {"tpr", "tpd", "confidence_deviation", "ucerf_renyi", "ucerf_fisher_rao"}
    sized = {row.metric for row in published() if row.place != "Table 1"}
    assert sized - others <= set(METRICS)


@pytest.mark.parametrize("table", ["Table 2", "Table 4", "Table 5", "Table 6"])
def test_fp_is_performance_times_ucerf_but_where_two_values_are_exchanged(table: str) -> None:
    options = 3 if table == "Table 5" else 2
    wrong = []
    for row in numbers("ucerf", table, metric="fp"):
        of = {"model": row.model, "type": row.type}
        ucerf, perplexity = (number("ucerf", table, metric=name, **of) for name in ("ucerf", "perplexity"))
        if row.type == "type2":
            performance = number("ucerf", table, metric="accuracy", **of)
        else:
            performance = (perplexity - 1) / (options - 1)
        if abs(performance * ucerf - row.value) > 0.0021:
            wrong.append((row.model, row.type))
            other = "type1" if row.type == "type2" else "type2"
            exchanged = number("ucerf", table, metric="ucerf", model=row.model, type=other)
            assert performance * exchanged == pytest.approx(row.value, abs=0.0021)
    falcon = [("Falcon-40B-Instruct", "type2"), ("Falcon-40B-Instruct", "type1")]
    assert wrong == (falcon if table == "Table 5" else [])


def test_the_figure_and_the_tables_of_ucerf_agree() -> None:
    for row in [*numbers("ucerf", "Table 4"), *numbers("ucerf", "Table 2")]:
        if row.metric != "fp":
            of = {"dataset": row.dataset, "type": row.type, "metric": row.metric, "model": row.model}
            assert number("ucerf", "Fig. 6", **of) == row.value, row


def test_equalized_odds_of_llama_on_synthbias_repeat_accuracy_and_are_too_large() -> None:
    impossible = set()
    for row in numbers("ucerf", "Fig. 6", dataset="synthbias", metric="eo_sum"):
        accuracy = number("ucerf", "Fig. 6", dataset="synthbias", metric="accuracy", model=row.model)
        # Four cells of equal size: both differences together are at most the errors of all cells, 4 x (1 - accuracy).
        if row.value > 4 * (1 - accuracy) + 0.01:
            impossible.add(row.model)
            assert row.value == accuracy
    assert impossible == {"Llama-3-8B-Instruct", "Llama-3-70B-Instruct"}


def test_type_1_cells_need_equation_3_without_its_half() -> None:
    """For certainties in [0, 1] with mean m, the mean of |c_A - c_B| is at most 2 min(m, 1 - m)."""
    halved, whole, cells = 0, 0, 0
    for table, options in (("Table 4", 2), ("Table 5", 3), ("Table 6", 2)):
        for row in numbers("ucerf", table, type="type1", metric="ucerf"):
            value = row.value
            if row.doubt:  # exchanged with type 2
                value = number("ucerf", table, type="type2", metric="ucerf", model=row.model)
            perplexity = number("ucerf", table, type="type1", metric="perplexity", model=row.model)
            mean = (options - perplexity) / (options - 1)
            bound = 2 * min(mean, 1 - mean) + 2 * ROUNDING
            cells, halved = cells + 1, halved + (2 * (1 - value) > bound)
            whole += (1 - value) > bound
    assert cells == 24 and halved > 0 == whole


def test_table_8_of_winoidentity_repeats_a_number_to_five_decimals() -> None:
    column = numbers("winoidentity", "Table 8", task="next-word-cot")
    repeated = {row.printed for row in column if [other.printed for other in column].count(row.printed) > 1}
    assert repeated == {"0.16975"}
    assert {row.attribute for row in column if row.printed == "0.16975"} == {"disability", "race"}


def test_table_10_of_winoidentity_has_mistrals_values_under_other_names() -> None:
    kinds = [("type1", "male"), ("type1", "female"), ("type2", "male"), ("type2", "female")]
    for attribute in ("", "disability"):
        row = numbers("winoidentity", "Table 10", attribute=attribute)
        assert [cell.model for cell in row[4:8]] == ["mixtral", "mixtral", "pythia", "pythia"]
        for cell, (kind, gender) in zip(row[4:8], kinds, strict=True):
            of = {"model": "mistral", "task": "next-word", "type": kind, "gender": gender, "attribute": attribute}
            assert cell.value == pytest.approx(number("winoidentity", "Table 6", **of), abs=ROUNDING)


def test_accuracy_does_not_always_fall_under_referent_augmentation() -> None:
    rises = []
    for row in numbers("winoidentity", "Table 3", metric="accuracy", augmentation="R"):
        before = number(
            "winoidentity", "Table 3", metric="accuracy", augmentation="none", model=row.model, type=row.type
        )
        if row.value > before:
            rises.append((row.model, row.type, before, row.value))
    assert rises == [("llama3", "type1", 0.699, 0.702)]


def test_tables_of_winoidentity_agree_with_each_other() -> None:
    for table in ("Table 8", "Table 9"):
        for row in numbers("winoidentity", table, task="next-word"):
            of = {"type": row.type, "augmentation": row.augmentation, "attribute": row.attribute}
            assert number("winoidentity", "Table 4", model="mistral", **of) == pytest.approx(row.value, abs=ROUNDING)


TABLE_10 = (("llama3", "type1"), ("llama3", "type2"), ("mistral", "type1"), ("mistral", "type2"), ("mixtral", "type1"))
"""Whose values the pairs of columns (masc, fem) of Table 10 are, whatever their headers say."""


def test_gaps_between_genders_are_those_of_the_means_but_for_mistrals() -> None:
    """Every gap that the means by gender give: unmarked it is that number, for an attribute it is at most that."""
    means: dict[tuple[str, str, str, str, str], list[float]] = {}
    for table in ("Table 6", "Table 7"):
        for row in numbers("winoidentity", table):
            means.setdefault((row.model, row.task, row.type, row.augmentation, row.attribute), []).append(row.value)
    for attribute in ("", "non-demographic", "disability"):
        cells = [row.value for row in numbers("winoidentity", "Table 10", attribute=attribute)]
        for (model, kind), pair in zip(TABLE_10, zip(cells[::2], cells[1::2], strict=True), strict=True):
            key = (model, "next-word", kind, "R" if attribute else "none", attribute)
            means.setdefault(key, list(pair))
    wrong, checked = set(), 0
    for (model, task, kind, augmentation, attribute), values in means.items():
        of = {"model": model, "task": task, "type": kind, "augmentation": augmentation, "attribute": attribute}
        gap = max(values[:2]) - min(values[:2])
        for row in [row for table in ("Table 4", "Table 8", "Table 9") for row in numbers("winoidentity", table, **of)]:
            exact = attribute in ("", "non-demographic")
            fits = abs(row.value - gap) <= 0.0015 if exact else row.value >= gap - 0.0015
            checked += 1
            wrong |= set() if fits else {(row.place, model, kind, attribute)}
    assert checked == 93
    assert wrong == {
        *((table, "mistral", "type1", "") for table in ("Table 4", "Table 8", "Table 9")),
        *(("Table 4", "mistral", kind, "non-demographic") for kind in ("type1", "type2")),
    }
    doubts = [row for row in published() if row.doubt == "winoidentity-gaps"]
    doubtful = {(row.place, row.model, row.type, row.attribute) for row in doubts}
    assert doubtful == wrong | {("Table 3", "mistral", "type1", "")}


def test_confidence_unmarked_is_the_mean_of_both_genders_but_once() -> None:
    for kind, fits in (("type1", False), ("type2", True)):
        values = [row.value for row in numbers("winoidentity", "Table 6", task="next-word", type=kind, attribute="")]
        of = {"model": "mistral", "type": kind, "metric": "confidence", "augmentation": "none"}
        assert (abs(number("winoidentity", "Table 3", **of) - sum(values) / 2) <= ROUNDING) == fits


def test_two_columns_of_the_neutral_table_repeat_genderlex() -> None:
    for repeated, dataset, original in (
        ("LLAMA-3.1-8B", "genderlex-someone", "GPT-J-6B"),
        ("DeepSeek-R1-8B", "genderlex-person", "LLAMA-3.1-8B"),
    ):
        cells = numbers("gender-ece", "neutral table", model=repeated, dataset=dataset)
        assert len(cells) == 8
        for row in cells:
            of = {"model": original, "metric": row.metric, "gender": row.gender}
            assert number("gender-ece", "GenderLex table", **of) == row.value


def test_each_half_of_figure_6_is_sorted_by_itself() -> None:
    """Both halves fall by UCerF on SynthBias, but in different orders of models: its rows are not of one model each."""
    orders = {}
    for kind in ("type1", "type2"):
        rows = numbers("ucerf", "Fig. 6", dataset="synthbias", type=kind, metric="ucerf")
        values = [row.value for row in rows]
        assert len(values) == 10 and values == sorted(values, reverse=True)
        orders[kind] = [row.model for row in rows]
    assert sorted(orders["type1"]) == sorted(orders["type2"]) and orders["type1"] != orders["type2"]
    assert {row.doubt for row in numbers("ucerf", "Fig. 6", type="type1")} == {"ucerf-6-order"}


@pytest.mark.slow
def test_table_1_counts_another_version_of_synthbias(real_data: Callable[[str], Path]) -> None:
    for name in ("winobias", "synthbias"):
        real_data(name)
        _, texts, _ = written_texts(name)
        counted = {"size": len(texts), "vocabulary": vocabulary(texts, tokenizer="paper").size}
        printed = {row.metric: row for row in numbers("ucerf", "Table 1", dataset=name) if row.metric in counted}
        agrees = {metric: printed[metric].value == count for metric, count in counted.items()}
        assert agrees == dict.fromkeys(counted, name == "winobias")
        assert {row.doubt for row in printed.values()} == ({""} if name == "winobias" else {"ucerf-1"})
        if name == "synthbias":
            assert counted == {"size": 31_728, "vocabulary": 5_280}


def made(**changes: str) -> Published:
    usual = {field.name: "" for field in fields(Published)} | {"printed": "0.250", "dataset": "winobias"}
    return Published(**{**usual, **changes})


def test_a_number_knows_its_value_its_cell_and_its_group() -> None:
    one = made(paper="ucerf", task="t", type="type1", augmentation="R", attribute="age", gender="male", metric="ucerf")
    assert one.value == 0.25 and one.cell == ("winobias", "t", "type1", "R", "age", "male", "ucerf")
    assert one.groups == {"type": "type1", "augmentation": "R", "attribute": "age", "gender": "male"}
    assert made(paper="gender-ece", gender="male").groups == {"predicted_gender": "male"}
    assert made(dataset="bbq", attribute="Age", type="x", gender="y").groups == {"category": "Age"}


def test_what_a_page_shows_of_each_paper_is_what_its_numbers_say() -> None:
    for paper in ("ucerf", "winoidentity", "gender-ece"):
        several = [one for one in published() if one.paper == paper]
        shown = published_values(paper)
        assert len(shown) == len(several) > 0
        for one, value in zip(several, shown, strict=True):
            doubt = ERRATA[one.doubt].text if one.doubt else ""
            about = (one.dataset, one.task, group_label(one.groups), one.metric, one.printed, doubt)
            assert value == PublishedValue(f"{paper}-paper, {one.place}", one.model, *about)
    assert published_values("nobody") == [] and any(one.doubt for one in published())
    assert published()[0].paper != "paper", "the first row names the columns"


def test_every_printed_number_is_read() -> None:
    lines = [line for line in packaged.text("equipoise.papers", "published.csv").splitlines() if line]
    read = published.__wrapped__()
    assert len(read) == len(lines) - 1 and lines[1].startswith(f"{read[0].paper},")
    assert (read[0].paper, read[-1].paper) == (lines[1].split(",")[0], lines[-1].split(",")[0])
