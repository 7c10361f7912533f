"""In: a run.
Out: what it says about calibration by group: tables, charts and figures.
"""
