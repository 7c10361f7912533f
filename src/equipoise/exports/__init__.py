"""In: a run or a dataset.
Out: what other tools read: tasks for lm-evaluation-harness and inspect, trackers, model cards.
"""
