"""A Run in; what it says of identity markers out: tables, charts and figures."""
