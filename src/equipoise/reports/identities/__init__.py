"""In: a run.
Out: what it says about identity markers: tables, charts and figures.
"""
