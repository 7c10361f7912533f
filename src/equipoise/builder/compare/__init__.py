"""In: datasets.
Out: their size, vocabulary, diversity and near-duplicates.
"""
