"""In: the measurements of sets with more than two groups, such as he, she, they and xe.
Out: every pair of groups by name, for page and terminal."""
