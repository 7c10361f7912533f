"""The columns that metrics read, and the groups that items have: one value an item."""

from __future__ import annotations

COLUMNS = {
    "correct": "1 right, 0 wrong (a tie is wrong), NaN without a right answer on record",
    "perplexity": "2^entropy over the candidates, in [1, k]",
    "certainty": "certainty by the estimator, in [0, 1]",
    "desirability": "D in [-1, 1]",
    "performance": "correct where answerable, 1 - certainty where not",
    "stereotype": "'pro', 'anti' or ''",
    "positive": "1 if the referent is the male-stereotyped occupation, 0 if the female one, NaN if neither",
    "chosen_positive": "whether the male-stereotyped occupation was chosen",
    "mass": "raw probability of all candidates together",
    "vocab_bits": "entropy of the next token over the whole vocabulary, in bits (audits with --reductions)",
    "vocab_mass": "probability that the next token begins a candidate (audits with --reductions)",
    "u": "U of the item's counterfactual set, on the set's first item; NaN elsewhere",
    "u_eq3": "the same by the printed equation 3",
    "u_signed": "the same from certainty signed by which candidate was chosen",
    "probs": "(n, k) probabilities over the candidates",
    "logprobs": "(n, k) raw log-probabilities",
    "gold": "index of the right candidate, -1 without one",
    "gender": "'male', 'female', 'neutral' or ''",
    "y": "sentence pairs: 1 if people call the first side the biased one, 0 the second, NaN without a label",
    "p": "sentence pairs: probability of the first side against the second, NaN for other items",
    "prefers": "sentence pairs: 1 if the first side is more probable, 1/2 for a tie, NaN for other items",
    "predicted_side": "sentence pairs: name of the more probable side, '' for a tie and for other items",
    "group": "the group broken down by (metrics over groupings)",
    "confidence": "coreference confidence, P(referent) - P(the other), raw; NaN without a referent",
    "confidence_pair": "the same with the candidates' probabilities renormalised",
    "confidence_marked": "the same with 'young nurse' counted as naming the nurse, where the sentence says so",
}

IDENTITY_GROUPS = ("augmentation", "attribute", "marker", "privilege", "contrast")
"""Groups of marked sentences, which identities.py measures."""

HIDDEN_GROUPS = ("type", "other", "side", "position", "form", "split", "sides", *IDENTITY_GROUPS)
"""Groups that are not broken down by unless asked for."""
