"""In: a run.
Out: tables and figures for a publication.
"""
