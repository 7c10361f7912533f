"""Prompts in, Scores out, by formulas with a bias of known size: for tests, docs and planning."""
