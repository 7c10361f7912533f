"""In: prompts.
Out: scores by formulas with a bias of known size: for tests, docs and planning.
"""
