"""In: the folder `training/` of a tuning run: losses of every step, values on the validation sets, before and after.
Out: `curves.svg` and `report.html`, written into it.
"""
