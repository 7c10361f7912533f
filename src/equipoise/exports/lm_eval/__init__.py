"""In: a dataset and a task.
Out: a task folder for lm-evaluation-harness, with metrics of its own.
"""
