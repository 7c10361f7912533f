"""In: sentences.
Out: people's answers: a web application, its database and a rehearsal with simulated raters.
"""
