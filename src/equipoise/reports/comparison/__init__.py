"""In: several runs on the same sentences.
Out: ranks, paired differences and their page.
"""
