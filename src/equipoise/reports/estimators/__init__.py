"""In: runs on the same sentences.
Out: UCerF under every uncertainty estimator, how far the estimators agree, and files, tables and a figure of it.
"""
