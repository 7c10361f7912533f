"""In: what an audit is to ask of a model.
Out: what that costs, before anything is spent: prompts, texts, time, and what stopping early would save.
"""
