"""Prompts in, Scores out, by a causal model of transformers. The only folder that imports torch and transformers."""
