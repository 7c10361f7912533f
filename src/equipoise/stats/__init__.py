"""In: values of items, and the clusters they belong to.
Out: intervals, p-values and bounds: how far a number can be trusted.
"""
