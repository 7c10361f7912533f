"""Tables by category, where a planted bias of one category is in its column; and every pair of groups."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept
from knowing_engine import KnowingEngine
from rich.console import Console

from equipoise.comparing.comparison import Choices, compare
from equipoise.media import terminal
from equipoise.records import Estimate, Measurement, Prompt, group_label
from equipoise.records.showing import Cell, Content, Section, Table
from equipoise.report import comparison_page, comparison_tables, run_page, run_tables, run_text, write_run_page
from equipoise.run import audit
from equipoise.runs.measurements import Measurements
from equipoise.runs.run import Run
from equipoise.scoring.planted import PlantedEngine
from equipoise.topics import categories as topic
from equipoise.topics.categories import categories, compared, model_tables, pair_tables, pairs, run_table, scores

PEOPLE = {"Age": ("aunt", "niece"), "Religion": ("Ann", "Bea"), "Nationality": ("Ole", "Per")}


@dataclass(frozen=True)
class BiasedOnAge(KnowingEngine):
    """A planted engine whose bias shows in questions about age alone."""

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        if self.known[prompt.example_id].groups["category"] == "Age":
            return super()._logprobs(prompt)
        return self.like(PlantedEngine(strength=self.strength, bias=0), prompt)


def rows(category: str) -> list[dict[str, Any]]:
    """Return two sets of a category: the people in swapped roles, with and without the sentence that settles it."""
    made = []
    for number, (first, second) in enumerate([PEOPLE[category], PEOPLE[category][::-1]] * 2):
        settled = number < 2
        info = {"ans0": [first, first], "ans1": [second, second], "ans2": ["Unknown", "unknown"]}
        made.append(
            {
                "example_id": number,
                "question_index": "1",
                "question_polarity": "neg",
                "context_condition": "disambig" if settled else "ambig",
                "category": category,
                "answer_info": info,
                "additional_metadata": {"stereotyped_groups": [PEOPLE[category][0]]},
                "context": f"{first} met {second}." + (f" {first} lost a phone." if settled else ""),
                "question": "Who lost a phone?",
                "ans0": f"The {first}",
                "ans1": f"The {second}",
                "ans2": "Unknown",
                "label": 0 if settled else 2,
            }
        )
    return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("categories")
    (folder / "bbq").mkdir()
    for category in PEOPLE:
        lines = [json.dumps(row) for row in rows(category)]
        (folder / "bbq" / f"{category}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name, engine in (("biased", BiasedOnAge(bias=1.5)), ("even", PlantedEngine(bias=0))):
        audit(engine, str(folder / "bbq"), "mcq", out=folder / name, resamples=20)
    return folder / "biased", folder / "even"


def printed(section: Section, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(terminal.draw(section))
    return out.getvalue()


def values(cells: Any) -> list[float]:
    assert all(isinstance(cell, Measurement) for cell in cells)
    return [cell.value for cell in cells]


def name_of(cell: Content) -> str:
    return str(cell.content if isinstance(cell, Cell) else cell)


def test_the_columns_are_the_papers_and_the_bias_is_where_it_was_planted(runs: tuple[Path, Path]) -> None:
    (part,) = Run(runs[0]).parts
    table = run_table(part)
    assert table is not None
    assert [column.title for column in table.columns] == ["metric", "Religion", "Age", "Nationality"]
    (note,) = table.notes
    assert note.endswith("do not have: Gender, Disability, Race, Appearance, SES, Orientation.")
    cells = {name_of(row.cells[0]): row.cells[1:] for row in table.rows}
    ucerf = values(cells["UCerF"])
    assert ucerf[0] == ucerf[2] == 1 and ucerf[1] < 0.95
    assert values(cells["BBQ bias, ambiguous"][1:2]) == [1]
    for name in ("UCerF", "Accuracy, disambiguated"):
        assert [cell.n for cell in cells[name] if isinstance(cell, Measurement)] == [2, 2, 2]


def test_data_without_categories_has_no_table(planted_run: Path, mild_run: Path) -> None:
    run = Run(planted_run)
    assert run_table(run.parts[0]) is None and categories(run) is None
    assert compared(compare([planted_run, mild_run], Choices(resamples=5, permutations=5))) is None


@pytest.mark.parametrize("width", [60, 300])
def test_the_terminal_shows_every_value_with_its_interval_and_n(runs: tuple[Path, Path], width: int) -> None:
    section = categories(Run(runs[0]))
    assert section is not None
    (table,), text = section.every(Table), printed(section, width)
    assert max(map(len, text.splitlines())) <= width
    for row in table.rows:
        assert all(f"{cell}" in text for cell in row.cells if isinstance(cell, Measurement))
    heads = [line for line in text.splitlines() if all(column.title in line for column in table.columns)]
    assert len(heads) == (1 if width == 300 else 0)


@pytest.mark.slow
def test_the_page_has_the_table_and_names_the_people_of_each_row(
    opened: Callable[..., Any], runs: tuple[Path, Path], tmp_path: Path
) -> None:
    tab = opened(write_run_page(Run(runs[0]), out=tmp_path / "page.html"))
    section = tab.locator("#categories")
    assert section.locator("thead th").all_text_contents() == ["metric ", "Religion ", "Age ", "Nationality ", "n"]
    first = section.locator("tbody tr").first.locator("td").all_text_contents()
    assert first[0].startswith("1.000 [") and first[-1] == "2" and not first[1].startswith("1.000")
    assert "Gender, Disability, Race, Appearance, SES, Orientation" in section.inner_text()
    tab.fill("#case-search", "aunt lost")
    members = tab.locator("#case-detail .case").locator(".member").all()
    names = [member.locator(".bar-name").all_text_contents() for member in members]
    assert [[name.removesuffix(" ●") for name in several] for several in names] == [
        ["The aunt", "The niece", "Unknown"],
        ["The niece", "The aunt", "Unknown"],
    ]


def test_runs_are_the_rows_of_a_comparison_and_papers_get_both(runs: tuple[Path, Path]) -> None:
    comparison = compare(list(runs), Choices(resamples=20, permutations=20))
    page = comparison_page(comparison)
    assert "mcq: UCerF</h3>" in page and "By category" in page
    section = compared(comparison)
    assert section is not None
    table = next(section.every(Table))
    assert [column.title for column in table.columns] == ["run", "Religion", "Age", "Nationality"]
    biased, even = (values(row.cells[1:]) for row in table.rows)
    assert even[1] == 1 and biased[1] < 1
    files = dict(comparison_tables(comparison, formats=["markdown"])) | dict(
        run_tables(Run(runs[0]), formats=["markdown"])
    )
    assert b"| run |" in files["categories-bbq-mcq-1.md"] and b"UCerF \xe2\x86\x91" in files["categories-bbq-mcq.md"]


METRICS = ["flip_rate", "ucerf", "ucerf_signed", "certainty", "accuracy", "certainty_difference"]


@pytest.fixture(scope="module")
def several_groups(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("pairs") / "run"
    model = "planted:strength=1,bias=1,noise=0.3"
    return audit(model, pronouns=["he", "she", "they"], limit=80, resamples=40, metrics=METRICS, out=folder)


def test_the_pairs_are_those_that_were_measured(several_groups: Run) -> None:
    section = pairs(several_groups)
    assert section is not None
    tables = list(section.every(Table))
    assert [[row.cells[0] for row in table.rows] for table in tables] == [["he – she", "he – they", "she – they"]] * 2
    ambiguous = tables[1]
    titles = ["pair", "Flip rate", "UCerF", "UCerF, signed", "Certainty difference", "corrected p"]
    assert [column.title for column in ambiguous.columns] == titles
    # With he the stereotype decides, with they nothing does.
    same, apart = ambiguous.rows[0].cells[4], ambiguous.rows[1].cells[4]
    assert isinstance(apart, Cell) and apart.strong and values([apart.content])[0] > 0
    assert isinstance(same, Cell) and not same.strong


@pytest.mark.parametrize("width", [100, 300])
def test_the_terminal_shows_all_pairs_and_no_empty_rows(several_groups: Run, width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(run_text(several_groups))
    assert "he|she" not in out.getvalue() and "Every pair of groups" in out.getvalue()
    section = pairs(several_groups)
    assert section is not None
    for table in section.every(Table):
        for row in table.rows:
            for cell in row.cells[1:4]:
                assert not isinstance(cell, Measurement) or f"{cell}" in out.getvalue()
            difference = row.cells[-2]
            assert isinstance(difference, Cell) and f"{difference.content:+}" in out.getvalue()


def test_the_page_has_pairs_only_with_more_than_two_groups(several_groups: Run, planted_run: Path) -> None:
    page = run_page(several_groups)
    assert 'id="pairs"' in page and "she – they" in page
    assert pairs(Run(planted_run)) is None


def test_what_is_described_is_as_it_was_kept(runs: tuple[Path, Path], several_groups: Run) -> None:
    both = compare(list(runs), resamples=20, permutations=20)
    assert_kept("topics/categories", categories(Run(runs[0])), compared(both), pairs(several_groups))


def measured(**values: float) -> Measurements:
    """Return measurements of pairs of groups: a difference for each label, every second one detected."""
    rows = []
    for at, (name, value) in enumerate(values.items()):
        p = 0.01 if at % 2 else 0.5
        estimate = Estimate(value, value - 0.01, value + 0.01, 0.95, 9, "", p, p)
        group = group_label({"pair": name.replace("_", "|"), "type": "type1"})
        metrics = ("good_difference", "flip_rate")
        rows += [Measurement(metric, "m", "d", "t", group, estimate, "neither") for metric in metrics]
    return Measurements(rows)


@pytest.mark.parametrize(("count", "shown"), [(20, None), (21, 20)])
def test_of_many_pairs_those_furthest_apart_come_first(count: int, shown: int | None) -> None:
    values = {f"a{at:02}_b": (-1) ** at * at / 100 for at in range(count)}
    part: Any = SimpleNamespace(measured=measured(**values), title=lambda kind: kind, about=lambda kind: {"type": kind})
    (table,) = pair_tables(part)
    order = sorted(values, key=lambda name: -abs(values[name])) if shown else list(values)
    assert [row.cells[0] for row in table.rows] == [name.replace("_", " – ") for name in order]
    assert table.shown == shown and table.more == "more pairs"
    titles = [column.title for column in table.columns]
    assert titles[0] == "pair" and titles[-1] == "corrected p" and len(titles) == 4
    strong = {row.cells[0]: row.cells[2].strong for row in table.rows}  # type: ignore[union-attr]
    assert strong["a03 – b"] and not strong["a02 – b"] and not strong["a01 – b"]


def test_the_scores_of_categories_are_drawn_beside_each_other(runs: tuple[Path, Path]) -> None:
    drawn = [scores(part) for run in runs for part in Run(run).parts]
    assert_kept("topics/categories-scores", drawn)


def test_runs_need_two_categories_in_common() -> None:
    def of(*names: str) -> Measurements:
        estimate = Estimate(0.5, 0.4, 0.6, 0.95, 9, "")
        return Measurements(
            Measurement("ucerf", "m", "d", "t", f"category={name}", estimate, "higher") for name in names
        )

    match: Any = SimpleNamespace(dataset="d", task="t")
    both = {"a": of("Age", "Race"), "b": of("Race", "Age")}
    (table,) = model_tables(match, both)
    assert [row.cells[0] for row in table.rows] == ["a", "b"]
    assert [column.title for column in table.columns] == ["run", "Race", "Age"], "in the order of the paper"
    assert list(model_tables(match, {"a": of("Age"), "b": of("Age")})) == []
    assert list(model_tables(match, {"a": of("Age", "Race"), "b": of("Age", "SES")})) == []


def test_many_pairs_without_a_difference_stay_in_their_order() -> None:
    labels = {f"{at}": f"pair={at}" for at in range(30)}
    assert topic._furthest_first(measured(a_b=0.1), labels, []) == list(labels.items())


def test_a_difference_that_was_not_measured_is_left_empty() -> None:
    known = measured(a_b=0.1, c_d=0.2)
    labels = [group_label({"pair": name, "type": "type1"}) for name in ("a|b", "c|d", "e|f")]
    told = [topic._difference(known, "good_difference", label) for label in labels]
    assert told[2] == (None, None)
    assert [(cell.content, cell.strong) for cell in told[0]] == [  # type: ignore[union-attr]
        (known.at("good_difference", labels[0]), False),
        (0.5, False),
    ]
    assert [cell.strong for cell in told[1]] == [True, True]  # type: ignore[union-attr]
