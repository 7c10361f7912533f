"""In: a suite file: models, datasets and tasks, with settings, overrides, budgets and requirements.
Out: an ordinary run folder for each cell, a leaderboard, the answers of the gates, and one table of all measurements.
"""
