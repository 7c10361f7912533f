"""In: outcomes.
Out: measurements: every metric for every group, with an interval.
"""
