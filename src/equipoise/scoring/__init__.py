"""In: prompts.
Out: scores: the log-probability of every token of every continuation.
"""
