"""Sentences in, answers of people out: a web application, its database and a rehearsal with simulated raters."""
