"""In: method calls of the survey's pages and commands.
Out: rows in SQLite or PostgreSQL, and records: who is asked what, and what they answered.
"""
