"""Answers of people in, a dataset with its datasheet out."""
