"""In: prompts.
Out: scores by a causal model of transformers; the only folder that imports torch and transformers.
"""
