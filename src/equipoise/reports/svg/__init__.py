"""Numbers in, SVG marks out: scales, axes and colours for every chart of a page."""
