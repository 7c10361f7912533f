"""In: the views of identity measurements.
Out: a figure for each type and augmentation, with a radar for each attribute.
"""
