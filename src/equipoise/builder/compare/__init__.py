"""In: datasets, or a run.
Out: their size, vocabulary, diversity and near-duplicates; how far apart a run scores near-duplicates.
"""
