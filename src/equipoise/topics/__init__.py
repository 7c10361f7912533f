"""In: a run, or several.
Out: findings, tables and charts; a topic knows no medium.
"""
