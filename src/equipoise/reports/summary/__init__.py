"""In: a run.
Out: what it shows, in plain sentences with counts and intervals: the same ones for terminal, page and Python.
"""

from .legend import legend
from .sentences import Sentence
from .summary import PartSummary, Summary, part_summary, summary

__all__ = ["PartSummary", "Sentence", "Summary", "legend", "part_summary", "summary"]
