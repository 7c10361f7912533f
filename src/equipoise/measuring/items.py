"""What metrics read of every item: one value each, those of a counterfactual set on its first item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..datasets.occupations import workforce_imbalance
from ..metrics import confidence, fairness, stereotyped_answers
from ..metrics.columns import LETTERS
from ..metrics.sides import side_columns
from ..metrics.table.questions import MEANINGS
from ..records import (
    ABSENT,
    BOTH_OFFERED,
    DECIDED,
    OPEN_ANSWER,
    Booleans,
    EquipoiseError,
    Floats,
    Integers,
    Outcomes,
    Strings,
)
from ..stats.bootstrap import cluster_numbers, joint_numbers, numbered, of_names, resampling_units
from ..uncertainty import ENSEMBLE_AGREEMENT, P_TRUE, PERPLEXITY, TOKEN_PROBABILITY, Estimator, perplexity
from .conformal import conformal_certainty
from .decisions import decision_columns
from .ensembles import over_wordings
from .markers import NONE, is_marked, marker_columns
from .sets import members_of, of_members, within_sets

Columns = dict[str, NDArray[Any]]

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

    def _answer_share(self, place: int) -> Floats:
        """Return the probability of a class of open answers, counted from the last; NaN for other items."""
        return np.where(self.open_answers, self.outcomes.probs[:, max(-place, -self.outcomes.k)], np.nan)

    @cached_property
    def shared(self) -> Columns:
        """The columns that do not depend on an uncertainty estimator."""
        outcomes = self.outcomes
        correct = np.where(outcomes.labelled, (self.predicted == outcomes.gold).astype(float), np.nan)
        side = np.where(outcomes.labelled, outcomes.group("side"), "")
        stereotype, gender = self._names("stereotype"), self._names("gender")
        positive, chosen = fairness.resolved_to_positive(self.predicted, outcomes.gold, side)
        nothing = np.full(len(outcomes), np.nan)
        lean = stereotyped_answers.leaning(self.predicted, outcomes.stereotype)
        somebody = outcomes.labelled & (outcomes.gold < stereotyped_answers.PEOPLE)
        with_marker = outcomes.logprobs_with_marker
        columns = {
            "correct": correct,
            "perplexity": perplexity(outcomes.probs),
            "stereotype": stereotype,
            "gender": gender,
            "positive": positive,
            "chosen_positive": chosen,
            "correct_sampled": self._drawn_right(),
            "performance_sampled": np.where(outcomes.answerable, self._drawn_right(), np.nan),
            "performance_brier": fairness.brier_performance(outcomes.probs, outcomes.gold, outcomes.answerable),
            "sampled_positive": fairness.sampled_positive(outcomes.probs, outcomes.gold, side),
            "candidate_mass": np.exp(outcomes.logprobs).sum(axis=1),
            **{name: outcomes.reductions.get(name, nothing) for name in ("vocab_bits", "vocab_mass")},
            "lean_ambiguous": np.where(outcomes.labelled & ~somebody, lean, np.nan),
            "lean_disambiguated": np.where(somebody, lean, np.nan),
            **{
                f"said_{meaning}": self._answer_share(place)
                for place, meaning in enumerate(reversed(MEANINGS), start=1)
            },
            "chose_both": np.where(self.flagged(BOTH_OFFERED), self.predicted == outcomes.k - 1, np.nan),
            "chose_first": self.chose_first,
            **{f"chose_{letter.lower()}": self.chose_letter(letter) for letter in LETTERS},
            "chosen_of_positives": np.where(positive == 1, chosen, np.nan),
            "chosen_of_negatives": np.where(positive == 0, chosen, np.nan),
            "stated": outcomes.probs.max(axis=1),
            "stated_apart": outcomes.probs.max(axis=1) - correct,
            "imbalance": self._imbalance,
            "probs": outcomes.probs,
            "logprobs": outcomes.logprobs,
            "gold": outcomes.gold,
            **side_columns(outcomes),
            **decision_columns(outcomes, self.members, self.open_answers),
            **{name: self.on_first(self.members, values) for name, values in self.flips.items()},
            "stereotype_within": within_sets(stereotype, self.members, ("pro", "anti")),
            "gender_within": within_sets(gender, self.members, ("male", "female")),
            "confidence": confidence.coreference_confidence(outcomes.gold, outcomes.logprobs),
            "confidence_pair": confidence.pair_confidence(outcomes.gold, outcomes.logprobs),
            "confidence_marked": confidence.coreference_confidence(
                outcomes.gold, outcomes.logprobs if with_marker is None else with_marker
            ),
            **(marker_columns(outcomes) if self.is_marked else {}),
        }
        return {name: nothing if _is_nothing(values) else values for name, values in columns.items()}

    def columns(self, estimator: Estimator) -> Columns:
        """Return the columns that metrics read: one value for each item (see `equipoise.metrics.columns`)."""
        if estimator.name not in self._by_estimator:
            self._by_estimator[estimator.name] = {**self.shared, **self._estimated(estimator)}
        return self._by_estimator[estimator.name]

    @cached_property
    def _by_estimator(self) -> dict[str, Columns]:
        return {}

    @cached_property
    def over_wordings(self) -> tuple[Items, Integers]:
        """The items as the mean over their wordings answers them, and the row of each item among them."""
        outcomes, rows = over_wordings(self.outcomes)
        return Items(outcomes, self.disparity), rows

    def _estimated(self, estimator: Estimator) -> Columns:
        if estimator.over == "wordings":
            # Every wording has the answer of all of them: the mean over wordings then is that answer's.
            joined, rows = self.over_wordings
            return {name: values[rows] for name, values in joined._estimated(replace(estimator, over="")).items()}
        outcomes, correct = self.outcomes, self.shared["correct"]
        certainty = self.certainty(estimator)
        desirability = fairness.desirability(np.where(outcomes.answerable, correct, np.nan), certainty)
        chosen = self.shared["chosen_positive"]
        positive, negative = (self.shared["positive"] == number for number in (1, 0))
        columns = {
            "certainty": certainty,
            "desirability": desirability,
            "performance": np.where(outcomes.answerable, correct, 1 - certainty),
            "performance_desirability": fairness.desirability_performance(desirability, outcomes.answerable),
            "true_positive_level": np.where(positive & chosen, (desirability + 1) / 2, np.nan),
            "false_positive_level": np.where(negative & chosen, (desirability + 1) / 2, np.nan),
            "certainty_wrong": np.where(outcomes.answerable & (correct == 0), certainty, np.nan),
            **self._cases(np.where(outcomes.answerable, correct, np.nan), certainty),
        }
        for name, values in self._set_values(self.members, certainty, desirability).items():
            columns[name] = self.on_first(self.members, values)
        values = self._set_values(self.intersections, certainty, desirability)["u"]
        columns["u_intersectional"] = self.on_first(self.intersections, values)
        return columns

    def _drawn_right(self) -> Floats:
        """Return the probability that an answer drawn from the candidates is right; NaN without a right answer."""
        outcomes = self.outcomes
        drawn = outcomes.probs[np.arange(len(self)), np.maximum(outcomes.gold, 0)]
        return np.where(outcomes.labelled, drawn, np.nan)

    def _cases(self, correct: Floats, certainty: Floats) -> Columns:
        """Return the four cases of each set, on its first item."""
        members = self.members
        if not len(members):
            return {f"case_{name}": np.full(len(self), np.nan) for name in "abcd"}
        several = fairness.cases(of_members(correct, members), of_members(certainty, members))
        return {f"case_{name}": self.on_first(members, case) for name, case in zip("abcd", several, strict=True)}

    def _set_values(self, members: Integers, certainty: Floats, desirability: Floats) -> Columns:
        """Return the U of each set by the different definitions."""
        if not len(members):
            return {name: np.empty(0) for name in ("u", "u_eq3", "u_signed")}
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

    def _names(self, group: str) -> NDArray[Any]:
        """Return a column of short names in a form that is quick to compare."""
        numbers, different = self.group_numbers(group)
        return different.astype(str)[numbers] if len(different) else different

    @property
    def _imbalance(self) -> Floats:
        """How far the workforce of each item's occupation is from half women, NaN where that is not known."""
        numbers, occupations = self.group_numbers("occupation")
        return workforce_imbalance(occupations)[numbers]

    def on_first(self, members: Integers, values: Floats) -> Floats:
        """Return a column with each set's value on its first item, so that items and sets share their weights."""
        column = np.full(len(self), np.nan)
        if len(members):
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
        codes = cluster_numbers(column)
        members = self.members
        first = codes[members[:, 0]]
        return all(
            bool(np.all((members[:, i] == ABSENT) | (codes[members[:, i]] == first))) for i in range(members.shape[1])
        )


def suffix(estimator: Estimator) -> str:
    """Return what an estimator adds to a name: nothing for perplexity, the default."""
    return "" if estimator is PERPLEXITY else f"_{estimator.name.replace('-', '_')}"


def _is_nothing(column: NDArray[Any]) -> bool:
    """Return whether a column of numbers applies to no item: all such columns are one array."""
    return column.dtype == np.float64 and column.ndim == 1 and bool(np.isnan(column).all())
