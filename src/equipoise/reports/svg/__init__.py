"""In: numbers.
Out: SVG marks: scales, axes and colours for every chart of a page.
"""
