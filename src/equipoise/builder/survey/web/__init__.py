"""In: HTTP requests of raters and the administrator.
Out: pages, exports, and changes in the database.
"""
