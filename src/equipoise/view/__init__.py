"""In: a folder of runs, finished and going.
Out: a live page over all of them: a list, each run's page, comparisons, histories and a box to ask; or static files.
"""
