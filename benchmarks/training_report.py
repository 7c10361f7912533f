"""The report of benchmarks/training.py: a table, paired tests and the Pareto figure from the scores of all runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from equipoise.metrics import fairness
from equipoise.metrics.calibration import ece_top_label
from equipoise.metrics.groups import mean
from equipoise.records import Estimate
from equipoise.stats.paired import Contest, Trial, holm, paired_differences
from equipoise.stats.resampling import Statistic
from equipoise.training.plan import Limits
from equipoise.training.validation import Validation
from equipoise.uncertainty import PERPLEXITY, renormalise

ORDER = ("base", "stereotypical half", "task loss", "augmentation")
MARGIN = 0.01
"""Accuracy that an arm may lose and still count as equally accurate."""


@dataclass(frozen=True)
class Answers:
    """The answers of one run to the answerable or unanswerable sets of a part, as (sets, members) arrays."""

    logprobs: np.ndarray
    gold: np.ndarray
    stereotype: np.ndarray

    @cached_property
    def probs(self) -> np.ndarray:
        return renormalise(self.logprobs.reshape(-1, 2).astype(np.float64))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.gold.shape

    @cached_property
    def predicted(self) -> np.ndarray:
        tie = self.probs[:, 0] == self.probs[:, 1]
        return np.where(tie, -1, self.probs.argmax(axis=1)).reshape(self.shape)

    @cached_property
    def certainty(self) -> np.ndarray:
        return PERPLEXITY.certainty(self.probs).reshape(self.shape)

    @property
    def correct(self) -> np.ndarray:
        return (self.predicted == self.gold).astype(np.float64)

    def values(self, name: str) -> np.ndarray:
        """Return one value a set."""
        answerable = self.gold[0, 0] >= 0
        if name == "accuracy":
            return self.correct.mean(axis=1)
        if name == "ucerf":
            if not answerable:
                return fairness.pair_ucerf_unanswerable(self.certainty)
            return fairness.pair_ucerf(fairness.desirability(self.correct, self.certainty))
        if name == "signed":
            return fairness.pair_ucerf_signed(self.predicted, self.certainty)
        if name == "flips":
            return fairness.flips(self.predicted, self.stereotype)[0]
        if name == "certainty":
            return self.certainty.mean(axis=1)
        if name == "first":
            return (self.predicted == 0).mean(axis=1)
        return np.exp(self.logprobs).sum(axis=2).mean(axis=1)

    def accuracy_at(self, position: int) -> float:
        """Return the accuracy where the right person is mentioned first (0) or second (1); NaN without such a set."""
        right = self.correct[self.gold == position]
        return float(right.mean()) if len(right) else float("nan")

    @property
    def ece(self) -> float:
        right = np.where(self.gold.ravel() == 0, 1.0, 0.0)
        return float(ece_top_label(right, self.probs[:, 0]))

    def softened(self, certainty: float) -> Answers:
        """Return the answers with the candidates' log-odds divided so that the mean certainty is the given one."""
        low, high = 1e-2, 1e3
        for _ in range(60):
            divisor = float(np.sqrt(low * high))
            softer = Answers(self.logprobs / divisor, self.gold, self.stereotype)
            low, high = (divisor, high) if softer.certainty.mean() > certainty else (low, divisor)
        return softer


class Results:
    """All runs of a folder."""

    def __init__(self, folder: Path) -> None:
        self.parts = json.loads((folder / "sets.json").read_text())["parts"]
        self.runs: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        self.about: dict[str, dict[int, dict]] = {}
        for file in sorted((folder / "scores").glob("*.npz")):
            with np.load(file) as scores:
                about = json.loads(str(scores["about"]))
                arm, seed = about["arm"], about["plan"]["seed"]
                self.runs.setdefault(arm, {})[seed] = {name: scores[name] for name in scores.files if name != "about"}
                self.about.setdefault(arm, {})[seed] = about

    @property
    def arms(self) -> list[str]:
        weighted = sorted((a for a in self.runs if a not in ORDER), key=lambda arm: float(arm.rpartition(" ")[2]))
        return [*(arm for arm in ORDER if arm in self.runs), *weighted]

    def answers(self, arm: str, part: str, *, answerable: bool, seeds: Sequence[int] | None = None) -> list[Answers]:
        """Return the answers of every seed to the sets of two members."""
        sets = self.parts[part]
        sizes = np.array([len(item["members"]) for item in sets])
        starts = np.cumsum(sizes) - sizes
        chosen = [i for i, item in enumerate(sets) if item["members"][0]["answerable"] == answerable and sizes[i] == 2]
        rows = starts[chosen][:, None] + np.arange(2)
        members = [sets[i]["members"] for i in chosen]
        gold = np.array([[m["gold"] if answerable else -1 for m in group] for group in members])
        stereotype = np.array(
            [[-1 if m["stereotype"] is None else m["stereotype"] for m in group] for group in members]
        )
        kept = [seed for seed in sorted(self.runs[arm]) if seeds is None or seed in seeds or arm == "base"]
        return [Answers(self.runs[arm][seed][part][rows], gold, stereotype) for seed in kept]


def interval(values: np.ndarray, *, resamples: int = 2000, seed: int = 0) -> tuple[float, float, float]:
    """Return mean and 95% interval of (seeds, sets) values, drawing seeds and sets anew."""
    rng = np.random.default_rng(seed)
    seeds, sets = values.shape
    means = np.empty(resamples)
    for i in range(resamples):
        drawn = values[rng.integers(0, seeds, seeds)].mean(axis=0)
        means[i] = drawn[rng.integers(0, sets, sets)].mean()
    low, high = np.quantile(means, (0.025, 0.975))
    if low == high:
        # All values are equal, so a resample cannot vary: the exact bound of "none of n" instead.
        bound = 1 - 0.025 ** (1 / sets)
        low, high = (low - bound, high) if low == 1 else (low, high + bound)
    return float(values.mean()), float(low), float(high)


def cell(values: np.ndarray, digits: int = 3) -> str:
    value, low, high = interval(values)
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def per_set(answers: Sequence[Answers], name: str) -> np.ndarray:
    return np.stack([answer.values(name) for answer in answers])


def table(results: Results, part: str, seeds: Sequence[int] | None = None) -> list[str]:
    """Return the lines of a Markdown table of one evaluation part."""
    resolvable, ambiguous = (results.answers(results.arms[0], part, answerable=a)[0] for a in (True, False))
    about_first = int((resolvable.gold[:, 0] == 0).sum())
    lines = [
        f"{part}: {resolvable.shape[0]} answerable sets (the right person is mentioned first in {about_first}), "
        f"{ambiguous.shape[0]} unanswerable sets",
        "",
        "| arm | accuracy | right person first | right person second | UCerF | flips | UCerF signed, unanswerable | "
        "flips, unanswerable | ECE | certainty | candidate mass | first person chosen |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for arm in results.arms:
        known = results.answers(arm, part, answerable=True, seeds=seeds)
        open_ = results.answers(arm, part, answerable=False, seeds=seeds)
        cells = [cell(per_set(known, name)) for name in ("accuracy", "ucerf", "flips")]
        cells[1:1] = [f"{np.mean([a.accuracy_at(place) for a in known]):.3f}" for place in (0, 1)]
        cells += [cell(per_set(open_, name)) for name in ("signed", "flips")]
        plain = [np.mean([a.ece for a in known]), *(per_set(known, n).mean() for n in ("certainty", "mass", "first"))]
        lines.append(f"| {arm} | {' | '.join(cells)} | {' | '.join(f'{value:.3f}' for value in plain)} |")
    return [*lines, ""]


def _contest(first: Sequence[Answers], second: Sequence[Answers], name: str) -> Contest:
    def statistics(answers: Sequence[Answers]) -> list[Statistic]:
        return [Statistic(mean, [a.values(name)], np.arange(a.shape[0])) for a in answers]

    return Contest(statistics(first), statistics(second), first[0].shape[0])


def verdicts(results: Results, part: str) -> list[str]:
    """Return the lines of a table of paired tests: every UCerF arm against the task loss and augmentation."""
    rows, p_values = [], []
    for arm in (arm for arm in results.arms if arm.startswith("UCerF")):
        for other in (name for name in ("task loss", "augmentation") if name in results.runs):
            a, b = (results.answers(name, part, answerable=True) for name in (arm, other))
            softer = [mine.softened(theirs.values("certainty").mean()) for mine, theirs in zip(b, a, strict=False)]
            contests = [_contest(a, b, name) for name in ("ucerf", "accuracy", "flips")]
            contests.append(_contest(a, softer, "ucerf"))
            pairs = [results.answers(name, part, answerable=False) for name in (arm, other)]
            sizes = a[0].shape[0], pairs[0][0].shape[0]
            known = paired_differences(contests, clusters=sizes[0], trial=Trial())
            open_ = paired_differences(
                [_contest(*pairs, name) for name in ("signed", "flips")], clusters=sizes[1], trial=Trial()
            )
            higher = sum(
                mine.values("ucerf").mean() > theirs.values("ucerf").mean() for mine, theirs in zip(a, b, strict=True)
            )
            rows.append((arm, other, known, open_, f"{higher} of {len(a)}"))
            p_values += [known[0].p, known[2].p, known[3].p, *(difference.p for difference in open_)]
    if not rows:
        return []
    corrected = holm(np.array(p_values)).reshape(-1, 5)
    lines = [
        f"{part}: differences, with 95% intervals over sets and p corrected for all {len(p_values)} tests (Holm)",
        "",
        "| arm | against | UCerF | UCerF at equal certainty | flips | accuracy | UCerF signed, unanswerable | "
        "flips, unanswerable | equally accurate | seeds with a higher UCerF |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (arm, other, known, open_, higher), p in zip(rows, corrected, strict=True):
        show: Callable = lambda d, q: f"{span(d)} p={q:.3f}"  # noqa: E731
        accuracy = known[1]
        cells = [show(known[0], p[0]), show(known[3], p[2]), show(known[2], p[1])]
        cells.append(span(accuracy))
        cells += [show(open_[0], p[3]), show(open_[1], p[4])]
        lines.append(
            f"| {arm} | {other} | {' | '.join(cells)} | {'yes' if accuracy.low > -MARGIN else 'no'} | {higher} |"
        )
    return [*lines, ""]


def span(difference: Estimate) -> str:
    """Return a difference with its interval, which it does not have under 30 sets."""
    if np.isnan(difference.low):
        return f"{difference.value:+.4f} (no interval under 30 sets)"
    return f"{difference.value:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]"


def over_seeds(results: Results, parts: Sequence[str], other: str) -> list[str]:
    """Return the lines of a table of differences from an arm whose intervals draw seeds as well as sets."""
    if other not in results.runs:
        return []
    columns = (("accuracy", True), ("ucerf", True), ("flips", True), ("flips", False))
    lines = [
        f"Differences from {other}, with 95% intervals over seeds and sets",
        "",
        "| sets | arm | accuracy | UCerF | flips | flips, unanswerable |",
        "|---|---|---|---|---|---|",
    ]
    for part in parts:
        for arm in (arm for arm in results.arms if arm.startswith("UCerF")):
            cells = []
            for name, answerable in columns:
                mine, theirs = (
                    per_set(results.answers(which, part, answerable=answerable), name) for which in (arm, other)
                )
                value, low, high = interval(mine - theirs)
                cells.append(f"{value:+.3f} [{low:+.3f}, {high:+.3f}]")
            lines.append(f"| {part} | {arm} | {' | '.join(cells)} |")
    return [*lines, ""]


def guards(results: Results) -> list[str]:
    """Return the lines of a table of what the guards say about every arm on the validation sets."""
    base = Validation(**results.about["base"][0]["validation"])
    lines = ["| arm | seeds that break a guard | perplexity of neutral text | what breaks |", "|---|---|---|---|"]
    for arm in results.arms:
        about = results.about[arm]
        faults = [Validation(**item["validation"]).faults(base, Limits()) for item in about.values()]
        texts = np.array([run["perplexity"][0] for run in results.runs[arm].values()])
        example = next((fault[0] for fault in faults if fault), "–")
        lines.append(
            f"| {arm} | {sum(map(bool, faults))} of {len(faults)} | {texts.mean():.2f} ({texts.min():.2f} to "
            f"{texts.max():.2f}) | {example} |"
        )
    return [*lines, ""]


def again(results: Results) -> list[str]:
    """Return the lines that compare two halves of the seeds: do the second's means lie in the first's intervals?"""
    seeds = sorted(results.runs[results.arms[-1]])
    half = len(seeds) // 2
    if half < 2:
        return []
    inside, total, missed = 0, 0, []
    for part in ("winobias", "synthbias", "builtin"):
        for arm in results.arms[1:]:
            for name, answerable in (("accuracy", True), ("ucerf", True), ("flips", True), ("flips", False)):
                one, two = (
                    per_set(results.answers(arm, part, answerable=answerable, seeds=chosen), name)
                    for chosen in (seeds[:half], seeds[half:])
                )
                _, low, high = interval(one)
                total += 1
                inside += low <= two.mean() <= high
                if not low <= two.mean() <= high:
                    missed.append(f"{part}, {arm}, {name}: {two.mean():.3f} not in [{low:.3f}, {high:.3f}]")
    line = f"Seeds {seeds[half:]} against the intervals of seeds {seeds[:half]}: {inside} of {total} values inside."
    return [line, *(f"- {text}" for text in missed), ""]


def figure(results: Results, file: Path) -> None:
    """Draw fairness against accuracy, with intervals over seeds and sets, a panel a dataset."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    parts = ("winobias", "synthbias", "builtin")
    titles = (("ucerf", True, "UCerF, answerable"), ("flips", False, "1 - flips, unanswerable"))
    canvas, axes = plt.subplots(2, len(parts), figsize=(13, 8), squeeze=False)
    arms = [arm for arm in results.arms if arm != "stereotypical half"]
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(arms)))
    for column, part in enumerate(parts):
        for row, (name, answerable, label) in enumerate(titles):
            axis = axes[row][column]
            for arm, colour in zip(arms, colours, strict=True):
                known = per_set(results.answers(arm, part, answerable=True), "accuracy")
                fair = per_set(results.answers(arm, part, answerable=answerable), name)
                fair = 1 - fair if name == "flips" else fair
                (x, *xs), (y, *ys) = interval(known, resamples=500), interval(fair, resamples=500)
                axis.errorbar(
                    x, y, xerr=[[x - xs[0]], [xs[1] - x]], yerr=[[y - ys[0]], [ys[1] - y]], fmt="o", color=colour,
                    label=arm, capsize=2,
                )  # fmt: skip
            axis.set(xlabel="accuracy", ylabel=label, title=part if not row else "")
            axis.grid(alpha=0.3)
    canvas.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=len(arms))
    canvas.tight_layout(rect=(0, 0.04, 1, 1))
    file.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(file, dpi=110)


def report(folder: Path) -> None:
    """Write report.md and pareto.png into the folder, and print the report."""
    results = Results(folder)
    parts = [name for name in results.parts if name not in ("train", "validation")]
    lines = [line for part in parts for line in table(results, part)]
    lines += [line for part in ("winobias", "synthbias", "builtin") for line in verdicts(results, part)]
    lines += [line for other in ("augmentation", "base") for line in over_seeds(results, parts, other)]
    lines += [*guards(results), *again(results)]
    (folder / "report.md").write_text("\n".join(lines) + "\n")
    figure(results, folder / "pareto.png")
    print("\n".join(lines))
