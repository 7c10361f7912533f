"""In: a dataset and a task.
Out: a task folder for inspect, with a solver, a scorer and metrics of its own.
"""
