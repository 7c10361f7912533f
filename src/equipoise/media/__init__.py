"""In: findings, tables, charts and sections (records/showing.py).
Out: what a terminal, a page, a paper, a notebook or a Markdown file shows of them.
"""
