"""In: a run.
Out: one self-contained HTML page.
"""
