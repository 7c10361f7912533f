"""In: a run that asked the same sentences as several tasks.
Out: the tasks side by side with tested differences, and a sample of open answers, for page and terminal."""
