"""In: several runs on the same sentences.
Out: what they have in common, how they differ, and how far that depends on a choice, such as the estimator.
"""
