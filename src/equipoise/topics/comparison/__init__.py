"""In: several runs that were compared.
Out: what the tests between them show (differences), and the values and ranks of each (standings).
"""
