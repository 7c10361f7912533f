"""In: the measurements of runs on marked sentences.
Out: figures that cross identities with occupations, and models with each other.
"""
