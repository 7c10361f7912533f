"""The words of the sentences and tables, explained for a reader who meets them for the first time."""

from __future__ import annotations

from ...runs.run import Run
from ..group_words import words_of


def legend(run: Run) -> str:
    """Return what brackets, n, sets, types and candidate mass are, as far as this run has them."""
    level = f"{100 * run.manifest.settings['level']:.10g}%"
    sentences = [f"Brackets are {level} intervals; n counts sets or sentences."]
    measured = [part.measured for part in run.parts]
    if any(metric.startswith("flip_rate") for part in measured for metric in part.metrics):
        sentences.append(f"A set is one sentence, asked with each {words_of(run.parts).group_word}.")
    if any("type1" in part.kinds for part in measured):
        sentences.append("Resolvable sentences say who is meant, ambiguous ones do not.")
    if any("candidate_mass" in part.metrics for part in measured):
        sentences.append("Candidate mass is the probability of all candidate answers together.")
    return " ".join(sentences)
