"""A Run in, one self-contained HTML page out."""
