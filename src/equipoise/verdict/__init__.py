"""In: the measurements of a run.
Out: what may be said about them: is the run usable, and what was found.
"""
