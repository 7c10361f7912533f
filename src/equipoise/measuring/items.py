"""Outcomes with what metrics, groups and tables need of them: sets, clusters, and the columns that metrics read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..datasets.occupations import workforce_imbalance
from ..metrics import confidence, fairness, stereotyped_answers
from ..metrics.columns import GENDERS, LETTERS
from ..metrics.sides import SIDE_COLUMNS, side_columns
from ..records import ABSENT, BOTH_OFFERED, DECIDED, MEANINGS, OPEN_ANSWER, EquipoiseError, Outcomes
from ..records.outcomes import Booleans, Floats, Integers, Strings
from ..stats.bootstrap import cluster_numbers, joint_numbers, numbered, of_names, resampling_units
from ..uncertainty import ENSEMBLE_AGREEMENT, P_TRUE, TOKEN_PROBABILITY, Estimator, perplexity
from .columns import Columns, LazyColumns, Maker, each
from .conformal import conformal_certainty
from .decisions import DECISION_COLUMNS, decision_columns
from .ensembles import over_wordings
from .markers import MARKER_COLUMNS, NONE, is_marked, marker_columns
from .sets import members_of, of_members, only, within_sets

FLIPS = ("flipped", "flipped_toward", "flipped_against", "flipped_neither", "flipped_unknown", "flip_sign")

MISSING = {
    ENSEMBLE_AGREEMENT: "needs the members of an ensemble, but one model answered; audit ensemble:A+B or set dropout",
    TOKEN_PROBABILITY: "needs candidates of several tokens; where each has one it is sequence-probability",
    P_TRUE: "needs the model's word on its own answers; audit with this estimator, too",
    "": "looks at the whole vocabulary, which was not stored; audit the model with whole_vocabulary",
}
"""What to say where the column of an estimator is missing, by the column ("" for all others)."""


@dataclass(frozen=True)
class Items:
    """Outcomes with what several metrics, groups and tables need of them, computed once."""

    outcomes: Outcomes
    disparity: str = "auto"

    def __len__(self) -> int:
        return len(self.outcomes)

    @cached_property
    def clusters(self) -> Integers:
        """The number of each item's resampling unit."""
        return resampling_units(self.outcomes.cluster_id)

    @property
    def cluster_count(self) -> int:
        """The number of resampling units."""
        return int(self.clusters.max(initial=-1)) + 1

    @cached_property
    def sentences(self) -> Integers:
        """The number of each item's base sentence."""
        return cluster_numbers(self.outcomes.cluster_id)

    @cached_property
    def sets(self) -> Integers:
        """The number of each item's counterfactual set."""
        return cluster_numbers(self.outcomes.set_id)

    def group_numbers(self, name: str) -> tuple[Integers, Strings]:
        """Return the number of each item's name in a group, and the name of each number; computed once."""
        if name not in self._group_numbers:
            self._group_numbers[name] = numbered(self.outcomes.group(name))
        return self._group_numbers[name]

    @cached_property
    def _group_numbers(self) -> dict[str, tuple[Integers, Strings]]:
        return {}

    @cached_property
    def variants(self) -> Integers:
        """The number of each item's variant (seed)."""
        return cluster_numbers(self.outcomes.variant)

    @cached_property
    def members(self) -> Integers:
        """The rows of each counterfactual set as (sets, members), ABSENT-padded; rows of no set are left out."""
        return members_of(joint_numbers(self.sets, self.variants))

    def matched(self, *others: Strings) -> Integers:
        """Return the rows of each set that are equal in the other columns, too, in the form of `members`."""
        equal = map(cluster_numbers, others)
        return members_of(joint_numbers(self.sets, self.variants, *equal))

    @cached_property
    def intersections(self) -> Integers:
        """The rows of each base sentence that has several markings, over all genders and markings."""
        marked = self.outcomes.group("augmentation") != ""
        if not marked.any():
            return np.empty((0, 1), dtype=np.int64)
        rows = np.flatnonzero(marked)
        return np.where(
            (members := members_of(joint_numbers(self.sentences[rows], self.variants[rows]))) == ABSENT,
            ABSENT,
            rows[members],
        )

    @cached_property
    def is_marked(self) -> bool:
        """Whether there are marked sentences with a referent on record."""
        return is_marked(self.outcomes)

    @cached_property
    def predicted(self) -> Integers:
        """The most probable candidate, ABSENT for a tie."""
        return self.outcomes.predicted

    @cached_property
    def applicable(self) -> Mapping[str, Booleans]:
        """Which items each kind of metric is defined for (`Metric.applies_to`)."""
        outcomes = self.outcomes
        pairs, marked = outcomes.sides != "", outcomes.group("augmentation")
        sided = (outcomes.group("side") != "") & ~pairs
        return {
            "sided": outcomes.labelled & sided,
            "sided answerable": outcomes.answerable & sided,
            "all": np.ones(len(outcomes), dtype=bool),
            "labelled": outcomes.labelled & ~pairs,
            "answerable": outcomes.answerable & ~pairs,
            "unanswerable": ~outcomes.answerable & ~pairs,
            "pairs": pairs,
            "labelled pairs": pairs & outcomes.labelled,
            "markers": outcomes.labelled & (outcomes.logprobs_with_marker is not None),
            "variants": (marked != "") & bool(((marked != "") & (marked != NONE)).any()),
            "reductions": np.full(len(outcomes), "vocab_bits" in outcomes.reductions),
            "polarity": outcomes.group("polarity") != "",
            "open answers": self.open_answers,
            "both offered": self.flagged(BOTH_OFFERED),
            "decided": outcomes.group("type") == DECIDED,
            "decisions": outcomes.good != ABSENT,
            "alike": outcomes.group("type") != DECIDED,
            "first named": ~np.isnan(self.chose_first),
            **{f"letter {letter}": ~np.isnan(self.chose_letter(letter)) for letter in LETTERS},
        }

    @cached_property
    def open_answers(self) -> Booleans:
        """Whether the item was answered freely."""
        return self.flagged(OPEN_ANSWER)

    def flagged(self, name: str) -> Booleans:
        """Return whether the item has that flag."""
        numbers, different = self._flags
        return np.array([name in flags.split(",") for flags in different.tolist()], dtype=bool)[numbers]

    @cached_property
    def _flags(self) -> tuple[Integers, Strings]:
        """The number of each item's flags, and the flags of each number."""
        return numbered(self.outcomes.flags)

    @cached_property
    def chose_first(self) -> Floats:
        """Whether the answer is the person that the text names first; NaN where it names neither of the two."""
        named = (self.outcomes.first != ABSENT) & np.isin(self.predicted, range(stereotyped_answers.PEOPLE))
        return np.where(named, self.predicted == self.outcomes.first, np.nan)

    def chose_letter(self, letter: str) -> Floats:
        """Return whether the answer is the option of that letter; NaN where there is none, or no answer."""
        if letter not in self._letters:
            return np.full(len(self), np.nan)
        places = of_names(lambda letters: letters.find(letter), self.outcomes.letters, np.int64)
        return np.where((places >= 0) & (self.predicted != ABSENT), self.predicted == places, np.nan)

    @cached_property
    def _letters(self) -> str:
        """All letters that options were offered under."""
        return "".join(pd.unique(self.outcomes.letters))

    @cached_property
    def shared(self) -> LazyColumns:
        """The columns that do not depend on an uncertainty estimator, each computed when it is first read."""
        outcomes, nothing = self.outcomes, self.nothing

        def side() -> Strings:
            return np.where(outcomes.labelled, outcomes.group("side"), "")

        def is_of_somebody() -> Booleans:
            return outcomes.labelled & (outcomes.gold < stereotyped_answers.PEOPLE)

        def lean() -> Floats:
            return stereotyped_answers.leaning(self.predicted, outcomes.stereotype)

        def resolved() -> Columns:
            both = fairness.resolved_to_positive(self.predicted, outcomes.gold, side())
            return dict(zip(("positive", "chosen_positive"), both, strict=True))

        def confidence_of(logprobs: Floats | None) -> Floats:
            return confidence.coreference_confidence(outcomes.gold, outcomes.logprobs if logprobs is None else logprobs)

        makers: dict[str, Maker] = {
            "correct": lambda: np.where(outcomes.labelled, (self.predicted == outcomes.gold).astype(float), np.nan),
            "perplexity": lambda: perplexity(outcomes.probs),
            "stereotype": lambda: only(self._names("stereotype"), ("pro", "anti")),
            "gender": lambda: only(self._names("gender"), GENDERS),
            **each(("positive", "chosen_positive"), resolved),
            "correct_sampled": lambda: fairness.sampled_correct(outcomes.probs, outcomes.gold),
            "performance_sampled": lambda: np.where(outcomes.answerable, columns["correct_sampled"], np.nan),
            "performance_brier": lambda: fairness.brier_performance(outcomes.probs, outcomes.gold, outcomes.answerable),
            "sampled_positive": lambda: fairness.sampled_positive(outcomes.probs, outcomes.gold, side()),
            "candidate_mass": lambda: np.exp(outcomes.logprobs).sum(axis=1),
            "vocab_bits": lambda: outcomes.reductions.get("vocab_bits", nothing),
            "vocab_mass": lambda: outcomes.reductions.get("vocab_mass", nothing),
            "lean_ambiguous": lambda: np.where(outcomes.labelled & ~is_of_somebody(), lean(), np.nan),
            "lean_disambiguated": lambda: np.where(is_of_somebody(), lean(), np.nan),
            **{
                f"said_{meaning}": partial(self._answer_share, place)
                for place, meaning in enumerate(reversed(MEANINGS), start=1)
            },
            "chose_both": lambda: np.where(self.flagged(BOTH_OFFERED), self.predicted == outcomes.k - 1, np.nan),
            "chose_first": lambda: self.chose_first,
            **{f"chose_{letter.lower()}": partial(self.chose_letter, letter) for letter in LETTERS},
            "chosen_of_positives": lambda: np.where(columns["positive"] == 1, columns["chosen_positive"], np.nan),
            "chosen_of_negatives": lambda: np.where(columns["positive"] == 0, columns["chosen_positive"], np.nan),
            "stated": lambda: outcomes.probs.max(axis=1),
            "stated_apart": lambda: columns["stated"] - columns["correct"],
            "imbalance": lambda: self._imbalance(),
            "probs": lambda: outcomes.probs,
            "logprobs": lambda: outcomes.logprobs,
            "gold": lambda: outcomes.gold,
            **each(SIDE_COLUMNS, lambda: side_columns(outcomes)),
            **each(DECISION_COLUMNS, lambda: decision_columns(outcomes, self.members, self.open_answers)),
            **{name: partial(self._flip_column, name) for name in FLIPS},
            "stereotype_within": lambda: within_sets(columns["stereotype"], self.members, ("pro", "anti")),
            "gender_within": lambda: within_sets(columns["gender"], self.members, GENDERS),
            "gender_within_sided": lambda: within_sets(columns["gender"], self.members, GENDERS, columns["positive"]),
            "confidence": lambda: confidence_of(None),
            "confidence_pair": lambda: confidence.pair_confidence(outcomes.gold, outcomes.logprobs),
            "confidence_marked": lambda: confidence_of(outcomes.logprobs_with_marker),
            **(each(MARKER_COLUMNS, lambda: marker_columns(outcomes)) if self.is_marked else {}),
        }
        columns = LazyColumns(makers, nothing)
        return columns

    def columns(self, estimator: Estimator) -> Columns:
        """Return the columns that metrics read: one value for each item (see `equipoise.metrics.columns`)."""
        if estimator.name not in self._by_estimator:
            self._by_estimator[estimator.name] = self._estimated(estimator)
        return self._by_estimator[estimator.name]

    @cached_property
    def nothing(self) -> Floats:
        """The column of all that applies to no item."""
        return np.full(len(self), np.nan)

    @cached_property
    def _by_estimator(self) -> dict[str, Columns]:
        return {}

    @cached_property
    def over_wordings(self) -> tuple[Items, Integers]:
        """The items as the mean over their wordings answers them, and the row of each item among them."""
        outcomes, rows = over_wordings(self.outcomes)
        return Items(outcomes, self.disparity), rows

    def _estimated(self, estimator: Estimator) -> LazyColumns:
        if estimator.over == "wordings":
            # Every wording has the answer of all of them: the mean over wordings then is that answer's.
            joined, rows = self.over_wordings
            of_all = joined._estimated(replace(estimator, over=""))
            return LazyColumns(
                {name: partial(of_all.take, name, rows) for name in of_all.own}, self.nothing, self.shared
            )
        outcomes, shared = self.outcomes, self.shared

        def judged() -> Floats:
            return np.where(outcomes.answerable, shared["correct"], np.nan)

        def level(positive: int) -> Floats:
            chosen = (shared["positive"] == positive) & shared["chosen_positive"]
            return np.where(chosen, (columns["desirability"] + 1) / 2, np.nan)

        def of_sets() -> Columns:
            values = self._set_values(self.members, columns["certainty"], columns["desirability"])
            return {name: self.on_first(self.members, column) for name, column in values.items()}

        def intersectional() -> Floats:
            members = self.intersections
            return self.on_first(members, self._set_values(members, columns["certainty"], columns["desirability"])["u"])

        certainty = self.certainty(estimator)  # at once: an estimator that these items cannot have is refused
        makers: dict[str, Maker] = {
            "certainty": lambda: certainty,
            "desirability": lambda: fairness.desirability(judged(), columns["certainty"]),
            "performance": lambda: np.where(outcomes.answerable, shared["correct"], 1 - columns["certainty"]),
            "performance_desirability": lambda: fairness.desirability_performance(
                columns["desirability"], outcomes.answerable
            ),
            "true_positive_level": lambda: level(1),
            "false_positive_level": lambda: level(0),
            "certainty_wrong": lambda: np.where(
                outcomes.answerable & (shared["correct"] == 0), columns["certainty"], np.nan
            ),
            **each(tuple(f"case_{name}" for name in "abcd"), lambda: self._cases(judged(), columns["certainty"])),
            **each(("u", "u_eq3", "u_signed"), of_sets),
            "u_intersectional": intersectional,
        }
        columns = LazyColumns(makers, self.nothing, shared)
        return columns

    def _cases(self, correct: Floats, certainty: Floats) -> Columns:
        """Return the four cases of each set, on its first item."""
        members = self.members
        several = fairness.cases(of_members(correct, members), of_members(certainty, members))
        return {f"case_{name}": self.on_first(members, case) for name, case in zip("abcd", several, strict=True)}

    def _set_values(self, members: Integers, certainty: Floats, desirability: Floats) -> Columns:
        """Return the U of each set by the different definitions."""
        # A range grows with the size of a set: sets of different sizes are compared pairwise.
        usual = "pairwise" if (self.members == ABSENT).any() else "range"
        kind = usual if self.disparity == "auto" else self.disparity
        eq3 = fairness.pair_ucerf(of_members(desirability, members), kind=kind)
        certainties = of_members(certainty, members)
        unanswerable = fairness.pair_ucerf_unanswerable(certainties, kind=kind)
        chosen = np.where(members == ABSENT, ABSENT, self.predicted[members])
        return {
            "u": np.where(self.outcomes.answerable[members[:, 0]], eq3, unanswerable),
            "u_eq3": eq3,
            "u_signed": fairness.pair_ucerf_signed(chosen, certainties, kind=kind),
        }

    def _answer_share(self, place: int) -> Floats:
        """Return the probability of a class of open answers, counted from the last; NaN for other self."""
        return np.where(self.open_answers, self.outcomes.probs[:, max(-place, -self.outcomes.k)], np.nan)

    def _flip_column(self, name: str) -> Floats:
        return self.on_first(self.members, self.flips[name])

    def _names(self, group: str) -> NDArray[Any]:
        """Return a column of short names in a form that is quick to compare."""
        numbers, different = self.group_numbers(group)
        return different.astype(str)[numbers] if len(different) else different

    def _imbalance(self) -> Floats:
        """Return how far the workforce of each item's occupation is from half women, NaN where that is not known."""
        numbers, occupations = self.group_numbers("occupation")
        return workforce_imbalance(occupations)[numbers]

    @cached_property
    def flips(self) -> Columns:
        """Whether each set's answer changes with the group word, and whether it goes with or against the stereotype."""
        members = self.members
        inside = members != ABSENT
        chosen = np.where(inside, self.predicted[members], ABSENT)
        expected = np.where(inside, self.outcomes.stereotype[members], ABSENT)
        flipped, toward, against = fairness.flips(chosen, expected)
        unknown = np.isnan(toward)
        # One denominator for all four ways: a set without a stereotype counts, unless no set of its type has one.
        kinds = self.outcomes.group("type")[members[:, 0]]
        with_some = np.isin(kinds, list(set(kinds[~unknown].tolist())))
        ways = {
            "flipped_toward": np.where(unknown, 0.0, toward),
            "flipped_against": np.where(unknown, 0.0, against),
            "flipped_neither": np.where(unknown, 0.0, flipped - toward - against),
            "flipped_unknown": np.where(unknown, flipped, 0.0),
            "flip_sign": np.where(unknown, 0.0, toward - against),
        }
        return {"flipped": flipped, **{name: np.where(with_some, way, np.nan) for name, way in ways.items()}}

    def firsts_among(self, rows: Integers) -> Integers:
        """Return the first item of each set whose first item is among the rows."""
        firsts = self.members[:, 0]
        return firsts[np.isin(firsts, rows)]

    def on_first(self, members: Integers, values: Floats) -> Floats:
        """Return a column with each set's value on its first item, so that items and sets share their weights."""
        column = np.full(len(self), np.nan)
        column[members[:, 0]] = values
        return column

    def certainty(self, estimator: Estimator) -> Floats:
        """Return the certainty of each item."""
        if estimator.over == "wordings":
            joined, rows = self.over_wordings
            return joined.certainty(replace(estimator, over=""))[rows]
        if estimator.over == "labels":
            return conformal_certainty(self.outcomes)
        if estimator.over == "raw":
            return estimator.certainty(np.exp(self.outcomes.logprobs))
        if estimator.over == "open answers" and not self.open_answers.all():
            raise EquipoiseError(f"estimator {estimator.name} needs open answers; audit with the task open")
        if not estimator.reduction:
            return estimator.certainty(self.outcomes.probs)
        if estimator.reduction not in self.outcomes.reductions:
            raise EquipoiseError(f"estimator {estimator.name} {MISSING.get(estimator.reduction, MISSING[''])}")
        return self.outcomes.reductions[estimator.reduction]

    def constant_within_sets(self, column: NDArray[Any]) -> bool:
        """Return whether all members of every set have the same value in the column."""
        codes, members = cluster_numbers(column), self.members
        return bool(np.all((members == ABSENT) | (codes[members] == codes[members[:, :1]])))
