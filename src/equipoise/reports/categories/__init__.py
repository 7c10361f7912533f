"""In: the measurements of runs whose items have a category, such as BBQ's.
Out: tables by category in the layout of the UCerF paper's Table 8, for page, terminal and papers."""
