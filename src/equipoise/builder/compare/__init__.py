"""Datasets in, figures of their size, vocabulary, diversity and near-duplicates out."""
