"""A Run in; tables and figures for a publication out."""
