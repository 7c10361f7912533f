"""In: token sequences.
Out: packed rows in which shared prefixes are computed once; numpy only.
"""
