"""In: several runs that were compared.
Out: what the tests between them show (differences), and how each of them stands (standings).
"""
