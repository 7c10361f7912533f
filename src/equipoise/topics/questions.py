"""The same sentences asked in several ways: do options make a model look fairer? And how open answers were read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ..measuring.task_pairs import TaskDifference, task_differences
from ..metrics import METRICS
from ..records import MEANINGS, OPEN_ANSWER, Context, Message, grouped
from ..records.prompts import SECOND_READING
from ..records.showing import Cell, Column, Finding, Row, Section, Table
from ..records.thinking import has_thought
from ..runs.measurements import kind_title
from ..runs.run import Part, Run
from ..runs.tables import examples_from_frame
from ..scoring.text_store import read_texts
from ..stats.paired import Trial, is_detected
from ..tasks.chat import without_system
from ..tasks.open_answer import asked_text, open_questions
from ..verdict.words import adjective

SHOWN = (
    *("flip_rate", "ucerf", "ucerf_signed", "accuracy", "certainty", "candidate_mass"),
    *("both_chosen", "unclear_share"),
)
"""The metrics of the table, where a task has them."""

FAIRNESS = ("flip_rate", "ucerf", "ucerf_signed")
"""The metrics that the answer goes by."""

FEW, UNCLEAR_SHOWN = 3, 12
"""How many answers of a meaning are shown, and how many that no rule could read."""


def ways(run: Run) -> Section | None:
    """Return the tasks of each dataset side by side with tested differences; None where none has several tasks."""
    sections = []
    for dataset, parts in several_tasks(run).items():
        differences = differences_of(run, dataset)
        tables = [_side_by_side(dataset, kind, parts) for kind in parts[0].kinds]
        if differences:
            tables.append(_difference_table(dataset, differences))
        sections.append(Section(dataset, [*_flip_findings(differences, parts), *tables, *_answers(differences)]))
    intro = (
        "The UCerF paper finds that models look fairer when they choose from options. Here the same sentences were"
        " asked in several ways. Compare flip rates first: they mean the same in every task. Certainty and UCerF depend"
        " on the number of possible answers, which differs between tasks; a single open answer always counts as"
        " certain. A model that always chooses the same letter rarely flips and has a high UCerF, so look at accuracy,"
        f" too. Brackets are {100 * run.level:g}% intervals."
    )
    return (
        Section("The same sentences, asked in several ways", sections, "tasks", "Ways to ask", intro)
        if sections
        else None
    )


def several_tasks(run: Run) -> Mapping[str, Sequence[Part]]:
    """Return the parts of each dataset that was asked as several tasks; sentence pairs are not among them."""
    several = (part for part in run.parts if part.has_items and not (part.outcomes.sides != "").any())
    datasets = grouped(several, lambda part: part.dataset)
    return {dataset: parts for dataset, parts in datasets.items() if len(parts) > 1}


@lru_cache(maxsize=8)
def differences_of(run: Run, dataset: str) -> Sequence[TaskDifference]:
    """Return the differences of each task with options less each without, by metric and type."""
    parts = several_tasks(run)[dataset]
    offered = [part.task for part in parts if offers_options(part)]
    pairs = [(task, other.task) for task in offered for other in parts if other.task not in offered]
    return task_differences({part.task: part.outcomes for part in parts}, pairs, Trial(level=run.level))


def offers_options(part: Part) -> bool:
    """Return whether the task lists the answers to choose from."""
    return bool(part.run.manifest.tasks.get(part.task, {}).get("options"))


def is_open(part: Part) -> bool:
    """Return whether the task was answered freely."""
    return any(OPEN_ANSWER in flags.split(",") for flags in set(part.outcomes.flags.tolist()))


def _side_by_side(dataset: str, kind: str, parts: Sequence[Part]) -> Table:
    names = [name for name in SHOWN if any(part.measured.get(name, type=kind) is not None for part in parts)]
    rows = []
    for part in parts:
        # What is written freely is not scored, so it has no probability.
        hidden = {"candidate_mass"} if is_open(part) else set()
        cells = [None if name in hidden else part.measured.get(name, type=kind) for name in names]
        rows.append(Row((part.task, "yes" if offers_options(part) else "no", *cells)))
    columns = [Column("task", words=True), Column("options", words=True)]
    columns += [Column(METRICS[name].label, METRICS[name].better, hint=name) for name in names]
    return Table(f"{dataset}, {kind_title(kind)}", columns, rows, "tasks", {"dataset": dataset, "type": kind})


def _difference_table(dataset: str, differences: Sequence[TaskDifference]) -> Table:
    rows = []
    for difference in differences:
        strong = is_detected(difference.estimate)
        fairer = looks_fairer(difference)
        alike = "accurate" if difference.metric == "accuracy" else "alike"
        cells = (
            f"{difference.first} − {difference.second}",
            kind_title(difference.kind),
            METRICS[difference.metric].label,
            Cell(difference.estimate, strong=strong),
            difference.estimate.p,
            Cell(difference.estimate.p_corrected, strong=strong),
            None if fairer is None else f"{'more' if fairer else 'less'} {alike}",
        )
        rows.append(Row(cells))
    columns = [Column(title, words=True) for title in ("tasks", "type", "metric")]
    columns += [Column("difference", form="+.3f"), Column("p", digits=4, spare=True), Column("corrected p", digits=4)]
    columns += [Column("with options it looks", words=True, spare=True)]
    note = (
        "Both tasks asked the same sets. p is the share of random exchanges of the two tasks’ answers, base sentence by"
        " base sentence, that give a difference at least as large. The last p is corrected for the"
        f" {len(differences)} tests of this table by Holm’s method. A difference is detected (bold) where the"
        " corrected p is below 0.05 and the interval does not include 0."
    )
    about = {"dataset": dataset}
    return Table(f"{dataset}: with options minus without", columns, rows, "task-differences", about, [note])


def looks_fairer(difference: TaskDifference) -> bool | None:
    """Return whether the task with options looks fairer; None where no difference is detected."""
    if not is_detected(difference.estimate):
        return None
    return (difference.estimate.value > 0) == (METRICS[difference.metric].better == "higher")


def _answers(differences: Sequence[TaskDifference]) -> Iterator[Finding]:
    """Yield whether options make the model look fairer, with counts."""
    fairness = [difference for difference in differences if difference.metric in FAIRNESS]
    if not fairness:
        return
    verdicts = [looks_fairer(difference) for difference in fairness]
    text = (
        "Does offering options make the model look fairer? It does in"
        f" {verdicts.count(True)} of {len(fairness)} tested differences, the opposite holds in"
        f" {verdicts.count(False)}, and in {verdicts.count(None)} no difference is detected."
    )
    yield Finding(text, topic="answer")


def _flip_findings(differences: Sequence[TaskDifference], parts: Sequence[Part]) -> Iterator[Finding]:
    """Yield a sentence on the flips of each pair of tasks and type."""
    measured = {part.task: part.measured for part in parts}
    for difference in differences:
        if difference.metric == "flip_rate":
            rows = [
                measured[task].get("flip_rate", type=difference.kind) for task in (difference.first, difference.second)
            ]
            rests_on = [row for row in rows if row is not None]
            yield Finding(_flips(difference), rests_on, "tasks", difference.kind)


def _flips(difference: TaskDifference) -> str:
    estimate = difference.estimate
    often = "more often" if estimate.value > 0 else "less often"
    remark = "" if is_detected(estimate) else "; this may be chance"
    return (
        f"With options ({difference.first}) the answers of {adjective(difference.kind)}sets change {often} than without"
        f" ({difference.second}): the difference is {estimate:points} (n = {estimate.n:,},"
        f" p = {estimate.p_corrected:.2g} after Holm's correction for {difference.tests} tests){remark}."
    )


def open_answers(run: Run) -> Section | None:
    """Return how open answers were read, with a sample of each meaning; None where nothing was answered freely."""
    intro = (
        "Open answers are read by explicit rules (docs: metrics, open answers). An answer that no rule can read is"
        " unclear: it counts as a class of its own, never as one of the candidates. Look at these answers before you"
        " trust the other numbers. Answers are shown as the model wrote them."
    )
    parts = [
        Section(str(part), [_shares(part), *_second(part), *_readings(part)]) for part in run.parts if is_open(part)
    ]
    return Section("Open answers", parts, "answers", "Answers", intro) if parts else None


def _shares(part: Part) -> Table:
    """Return the shares of the meanings by type."""
    shares = [(kind, [part.measured.get(f"{name}_share", type=kind) for name in MEANINGS]) for kind in part.kinds]
    columns = [Column("type", words=True), *map(Column, MEANINGS)]
    rows = [Row((kind_title(kind), *cells)) for kind, cells in shares]
    return Table(f"What the answers mean, {part}", columns, rows, "meanings", part.about())


def _second(part: Part) -> Iterator[Finding]:
    """Yield how often the model itself, asked whom its answer names, says what the rules read."""
    outcomes = part.outcomes
    second = outcomes.reductions.get(SECOND_READING)
    named = outcomes.predicted < outcomes.k - len(MEANINGS)
    if second is None or not named.any():
        return
    agreed = int((second[named] == outcomes.predicted[named]).sum())
    yield Finding(
        f"Asked whom its answer names, the model agrees with the rules in {agreed:,} of {int(named.sum()):,} answers"
        f" that name a person by the rules ({agreed / named.sum():.0%}).",
        topic="answers",
    )


def _readings(part: Part) -> Iterator[Section | Finding]:
    """Yield a sample of the answers of each meaning, spread evenly; the unclear are more, first and unfolded."""
    by_meaning = read_answers(part)
    if "unclear" not in by_meaning:
        yield Finding("Every answer could be read.", topic="answers")
    for meaning, several in by_meaning.items():
        is_unclear = meaning == "unclear"
        shown = min(UNCLEAR_SHOWN if is_unclear else FEW, len(several))
        sample = [several[number * len(several) // shown] for number in range(shown)]
        title = f"{meaning}: {shown:,} of {len(several):,} answers"
        table = Table.of_facts("", [(question, text or "(an empty answer)") for question, text in sample])
        yield Section(title, [table], folded=not is_unclear)


def read_answers(part: Part) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the questions and answers of each meaning that occurs, the unclear first.

    A candidate that was named is "one of the candidates".
    """
    from ..tasks.reading import meaning_of  # its rules take 0.1 s to compile, and only open answers need them

    run = part.run
    asked = set(part.items["example_id"])
    rows = run.examples[(run.examples["dataset"] == part.dataset) & run.examples["id"].isin(asked)]
    questions = list(run.manifest.settings.get("questions") or ())
    candidates: dict[Context, tuple[str, ...]] = {}
    for example in examples_from_frame(rows):
        for context in open_questions(example, questions).values():
            candidates[context] = example.candidates
    by_meaning: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for question, text in _written(run):
        if question in candidates:
            meaning = meaning_of(text, candidates[question], asked_text(question))
            name = meaning if isinstance(meaning, str) else "one of the candidates"
            by_meaning[name].append((question[-1].content, text))
    return {name: by_meaning[name] for name in (*reversed(MEANINGS), "one of the candidates") if name in by_meaning}


def _written(run: Run) -> Iterator[tuple[tuple[Message, ...], str]]:
    """Yield the questions that the model answered in writing, with its answers; not with its reasoning before them."""
    thinks = bool(run.manifest.engine.get("thinks"))
    for context, text in read_texts(run.folder.reasoning):
        asked = without_system(context)
        if not isinstance(asked, str) and has_thought(asked) == thinks:
            yield asked[:-1] if thinks else asked, text
