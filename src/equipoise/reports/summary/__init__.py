"""In: a run.
Out: what it shows, in plain sentences with counts and intervals: the same ones for terminal, page and Python.
"""

from .sentences import Sentence
from .summary import PartSummary, Summary, part_summary, summary

__all__ = ["PartSummary", "Sentence", "Summary", "part_summary", "summary"]
