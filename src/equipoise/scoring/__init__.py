"""Prompts in, scores out."""
