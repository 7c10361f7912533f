"""In: run folders, of any number of models.
Out: boards of the models that were asked alike, their ranks, and the sections of every page of a site.
"""
