"""In: run folders, of any number of models.
Out: a static site: an index, a page for each metric, model and dataset, and each run's own page.
"""
