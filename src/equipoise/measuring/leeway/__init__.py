"""In: outcomes whose probabilities are known within limits, or from sampled answers.
Out: how far each measurement may move for that, and measurements with intervals that hold it.
"""
