"""In: the name of a paper, and models.
Out: a suite of what the paper ran, and its tables with the published values beside ours.
"""
