"""In: measurements.
Out: tables for a terminal.
"""
