"""In: prompts, and the name of a model.
Out: scores, the log-probability of every token of every continuation; and texts that the model writes.
"""
