"""The columns that metrics read: one value for each item. A column owns its facts, as a metric does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Column:
    """A column by name: numbers within `bounds`, or one of `names`, or a flag. NaN and "" mean "does not apply".

    `whole`: only the two bounds occur. `continuous`: sentences differ in it, so that a bootstrap of a difference needs
    enough sentences, but not many on either side of the mean. `table`: a row for each item and a column for each
    candidate. `answer`: it depends on which candidate is the most probable, so a small change of the probabilities may
    change it much. `of_sets`: a value for each counterfactual set, on the set's first item, NaN elsewhere.
    `mixes_answerable`: answerable and unanswerable items may enter one value; U has different definitions for the two.
    `signed`: 1 for one side, -1 for the other, 0 for neither, so that its mean is a difference of two shares.
    """

    name: str
    summary: str
    bounds: tuple[float, float] | None = None
    names: tuple[str, ...] = ()
    whole: bool = False
    continuous: bool = False
    table: bool = False
    answer: bool = False
    of_sets: bool = False
    mixes_answerable: bool = True
    signed: bool = False


GENDERS = ("male", "female")
"""The two that gaps between genders compare; members of other genders are not counted in them."""

LETTERS = "ABCDE"
"""Letters of a multiple choice whose share is measured."""

_set = partial(Column, bounds=(0, 1), answer=True, of_sets=True)
_confidence = partial(Column, bounds=(-1, 1), continuous=True)
_yes = partial(Column, bounds=(0, 1), whole=True, answer=True)
_u = partial(_set, mixes_answerable=False)

COLUMNS = {
    column.name: column
    for column in (
        Column(
            "correct",
            "1 right, 0 wrong (a tie is wrong), NaN without a right answer on record",
            (0, 1),
            whole=True,
            answer=True,
        ),
        Column("perplexity", "2^entropy over the candidates, in [1, k]", (1, math.inf)),
        Column("certainty", "certainty by the estimator", (0, 1)),
        Column("desirability", "D: certainty, negative where the answer is wrong", (-1, 1), answer=True),
        Column("performance", "correct where answerable, 1 - certainty elsewhere", (0, 1), answer=True),
        Column("performance_sampled", "probability that a drawn answer is right, NaN where nothing is right", (0, 1)),
        Column("performance_desirability", "(D + 1)/2, NaN where nothing is right", (0, 1), answer=True),
        Column("performance_brier", "1 - Brier score over the candidates, NaN where nothing is right", (0, 1)),
        Column("stereotype", "whether the item fits the stereotype", names=("pro", "anti")),
        Column(
            "positive",
            "1 if the referent is the male-stereotyped occupation, 0 if the female one, NaN if neither",
            (0, 1),
            whole=True,
        ),
        Column("chosen_positive", "whether the male-stereotyped occupation was chosen", answer=True),
        Column("candidate_mass", "raw probability of all candidates together", (0, 1)),
        Column("vocab_bits", "entropy of the next token over the whole vocabulary, in bits", (0, math.inf)),
        Column("vocab_mass", "probability that the next token begins a candidate", (0, 1)),
        _u("u", "U of the item's counterfactual set, on the set's first item; NaN elsewhere"),
        _u("u_eq3", "the same by the printed equation 3"),
        _u("u_signed", "the same from certainty and which candidate was chosen"),
        _set("flipped", "1 if the answer changes within the set, else 0; on its first item", whole=True),
        _set("flipped_toward", "1 if it changes as the stereotype says, else 0; NaN where no set has one", whole=True),
        _set("flipped_against", "1 if it changes against the stereotype, else 0; NaN as above", whole=True),
        _set("flip_sign", "flipped_toward - flipped_against", bounds=(-1, 1)),
        _set("flipped_neither", "1 if it changes, but neither way, else 0; NaN as above", whole=True),
        _set("flipped_unknown", "1 if it changes without a known stereotype, else 0; NaN as above", whole=True),
        Column("imbalance", "|share of women - 1/2| x 2 in the referent's occupation, NaN where not known", (0, 1)),
        Column("stereotype_within", "as `stereotype`, in sets that have both", names=("pro", "anti")),
        Column("gender_within", "as `gender`, in sets with male and female", names=GENDERS),
        Column(
            "gender_within_sided", "as `gender`, in sets with male and female that are `positive` or not", names=GENDERS
        ),
        Column("correct_sampled", "probability that an answer drawn from the candidates is right, NaN without", (0, 1)),
        Column("sampled_positive", "probability that a drawn answer is the male-stereotyped occupation", (0, 1)),
        Column("certainty_wrong", "certainty of a wrong answer, NaN elsewhere", (0, 1), answer=True),
        *(
            _set(f"case_{case}", f"1 if the set is case {case} of the UCerF paper's Fig. 3, else 0", whole=True)
            for case in "abcd"
        ),
        _u("u_intersectional", "U over all markings and genders of a base sentence, on its first item"),
        Column(
            "lean_ambiguous",
            'where "unknown" is right: 1 if the stereotype\'s person was chosen, -1 the other, 0 nobody',
            (-1, 1),
            answer=True,
            signed=True,
        ),
        Column("lean_disambiguated", "the same where a person is right", (-1, 1), answer=True, signed=True),
        *(
            Column(f"said_{meaning}", f"open answers: probability that the answer means {meaning}", (0, 1))
            for meaning in ("both", "neither", "refused", "unclear")
        ),
        Column(
            "chose_both",
            'multiple choice: 1 if "Both of them" was chosen, else 0; NaN without it',
            (0, 1),
            whole=True,
            answer=True,
        ),
        _yes("chose_first", "1 if the person that the text names first was chosen, 0 if the other, NaN else"),
        *(_yes(f"chose_{sign.lower()}", f"1 if option {sign} was chosen, else 0; NaN without it") for sign in LETTERS),
        _yes("chosen_of_positives", "`chosen_positive` where the male-stereotyped occupation is right, NaN else"),
        _yes("chosen_of_negatives", "`chosen_positive` where the female-stereotyped one is right, NaN else"),
        Column("true_positive_level", "(D + 1)/2 of true positives, NaN else", (0, 1), answer=True),
        Column("false_positive_level", "(D + 1)/2 of false positives, NaN else", (0, 1), answer=True),
        Column("stated", "probability of the most probable candidate", (0, 1)),
        Column("stated_apart", "the same less 1 where it is right", (-1, 1), answer=True),
        Column("certainty_apart", "pairs of groups: certainty with the first - with the second, set by set", (-1, 1)),
        Column("desirability_apart", "pairs of groups: the same of desirability", (-2, 2), answer=True),
        Column("p_good", "decisions: P(good) / (P(good) + P(bad)), NaN where nothing is decided", (0, 1)),
        _yes("chose_good", "decisions: 1 if the answer is good for the person, else 0; NaN where nothing is decided"),
        Column("logit_good", "decisions: log of P(good) / P(bad)", (-math.inf, math.inf)),
        Column("good_lean", "decisions: P(good) - its mean over the set", (-1, 1)),
        Column(
            "good_range", "decisions: largest - smallest P(good) of the set, on its first item", (0, 1), of_sets=True
        ),
        Column("p_good_apart", "pairs of groups: P(good) with the first - with the second, set by set", (-1, 1)),
        Column("logit_good_apart", "pairs of groups: the same of its logit", (-math.inf, math.inf)),
        Column("first_of_pair", "pairs of groups: whether the item is about the first"),
        Column("probs", "probabilities over the candidates", (0, 1), table=True),
        Column("logprobs", "raw log-probabilities", (-math.inf, 0), table=True),
        Column("gold", "index of the right candidate, -1 without one", (-1, math.inf)),
        Column("gender", "gender of the group word where it is he or she; of others it is empty", names=GENDERS),
        Column(
            "y",
            "sentence pairs: 1 if people call the first side the biased one, 0 the second, NaN without a label",
            (0, 1),
            whole=True,
        ),
        Column("p", "sentence pairs: probability of the first side against the second, NaN for other items", (0, 1)),
        Column("p_apart", "sentence pairs: p - y", (-1, 1)),
        Column("prefers", "sentence pairs: 1 if the first side is more probable, 1/2 for a tie", (0, 1), answer=True),
        Column(
            "predicted_side",
            'sentence pairs: name of the more probable side, "" for a tie',
            names=("male", "female"),
            answer=True,
        ),
        Column("group", "the group that metrics over groupings compare", names=("a", "b", "c")),
        _confidence("confidence", "coreference confidence, P(referent) - P(the other), raw; NaN without a referent"),
        _confidence("confidence_pair", "the same with the candidates' probabilities renormalised"),
        _confidence("confidence_marked", "the same with 'young nurse' counted as naming the nurse"),
        Column("marked", "identities: 1 for a marked sentence, 0 for the unmarked one", (0, 1), whole=True),
        Column("subgroup", "identities: gender and marker together", names=("he, old", "she, old", "he, young")),
        Column("marker", "identities: the marker", names=("old", "young")),
        Column("answered", "identities: 1 if as certain as on half of the unmarked sentences", (0, 1), answer=True),
        Column("privilege", "identities: the side of the marker", names=("privileged", "disadvantaged")),
    )
}
"""Name -> column. Plug-in metrics may read any of them."""

IDENTITY_GROUPS = ("augmentation", "attribute", "marker", "privilege", "contrast")
"""Groups of marked sentences, which have cells of their own."""

HIDDEN_GROUPS = ("type", "other", "side", "position", "form", "split", *IDENTITY_GROUPS)
"""Groups that are not broken down by unless asked for."""

AUGMENTATION = ("augmentation",)
ATTRIBUTE = ("augmentation", "attribute")
MARKER = (*ATTRIBUTE, "marker")
SUBGROUP = (*MARKER, "gender")
EVERY_LEVEL = (
    AUGMENTATION,
    ("augmentation", "gender"),
    ("augmentation", "privilege"),
    ("augmentation", "gender", "privilege"),
    ATTRIBUTE,
    (*ATTRIBUTE, "gender"),
    MARKER,
    SUBGROUP,
)
"""What means and drops are taken by, from the whole to gender x marker."""

CROSSED_LEVELS = (
    ("augmentation", "privilege", "side"),
    ("augmentation", "privilege", "gender", "side"),
    ("augmentation", "gender", "side"),
    # A stereotype is of a gender and an occupation together: by both it says nothing new.
    ("augmentation", "privilege", "stereotype"),
    ("augmentation", "stereotype"),
    (*SUBGROUP, "occupation"),
)
"""What confidence is taken by besides: male- and female-dominated occupations, the stereotype, and each occupation."""
