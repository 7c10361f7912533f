"""Prompts in, Scores out: engines, and the stores that keep what they answer.

`engine.open_engine` opens an engine by name; `store.ScoreStore` and `reasoning.TextStore` make runs resumable.
"""
