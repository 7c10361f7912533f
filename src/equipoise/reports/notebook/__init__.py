"""In: a run or a comparison.
Out: what a notebook shows: matplotlib figures, and a headline with a table as HTML.
"""
