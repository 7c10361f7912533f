"""In: a word list and a language model.
Out: draft sentences.
"""
