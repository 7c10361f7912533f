"""In: a run.
Out: something a person reads.
"""
