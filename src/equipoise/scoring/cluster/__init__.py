"""In: the name of a model, and a Ray cluster (or none: a local one is started).
Out: an engine made of engines, one in each actor, with the answers and keys of one engine in one process.
"""
