"""In: people's answers.
Out: a dataset with its datasheet.
"""
