"""In: findings, tables, charts and sections.
Out: a page of one file, which fetches nothing when it is opened.
"""
